"""Commands that run without extras, and the messages of the others."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from masquerade.lazy import EXTRAS, install_command

ROOT = Path(__file__).parents[2]

#: Each line reads what lines before it wrote.
DATA_COMMANDS = """
simulate crowd --tasks 20 --workers 12 --out claims.csv --truth-out truth.csv
truth claims.csv --truth truth.csv --out labels.csv
randomize claims.csv --mechanism randomized-response:options=2,epsilon=1 --options 0,1 --out r.csv
truth r.csv --mechanism randomized-response:options=2,epsilon=1 --options 0,1
privacy randomized-response:options=4,epsilon=1
audit randomized-response:options=2,epsilon=1 --samples 2000
plan randomized-response:options=2,epsilon=1 --margin 0.05
plan two-parties:questions=10,options=5,rho=0.5 --people 500
simulate comparisons --voters 20 --records 10 --features 3 --out choices.csv
prefer choices.csv --mechanism none
release numbers.csv --epsilon 1 --domain 0 10 --out synthetic.csv
select pool.csv --budget 5
caps --home home
helper tasks --help
helper show --help
""".strip().splitlines()

RUN_EACH = """
import sys

class Absent:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent)
from masquerade.cli import main
for line in {lines}:
    sys.argv = ["masquerade", *line.split()]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
"""


def without(absent: set[str], lines: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run commands, one after the other, where these packages cannot be imported."""
    code = RUN_EACH.format(absent=sorted(absent), lines=lines)
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )


def test_every_data_command_runs_without_extras(tmp_path: Path) -> None:
    """Commands that read and write files need nothing but the base install."""
    rows = [f"{task},{worker},{worker}\n" for task in "ab" for worker in range(10)]
    (tmp_path / "numbers.csv").write_text("task,worker,value\n" + "".join(rows))
    (tmp_path / "pool.csv").write_text("person,cost,level\nann,1,low\nbob,2,high\ncat,1,none\n")
    absent = {*EXTRAS, "pandas", "polars", "dask"} - {"pydantic"}  # which comes with typer
    done = without(absent, DATA_COMMANDS, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "labels.csv").read_text().startswith('"task","label"')


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        pytest.param("demo", "server", marks=pytest.mark.exhaustive),
        ("serve", "server"),
        pytest.param("doctor", "server", marks=pytest.mark.exhaustive),
        pytest.param("user list", "server", marks=pytest.mark.exhaustive),
        ("answer http://127.0.0.1:9/s/5a5a5a5a5a5a5a5a --questions --home home", "client"),
        ("truth claims --engine dask", "dask"),
    ],
)
def test_a_command_says_which_extra_it_needs(line: str, extra: str, tmp_path: Path) -> None:
    """Where packages are missing, one line says how to install them, and the exit code is 1."""
    lines = [line]
    if "claims" in line:
        (tmp_path / "claims").mkdir()
        lines.insert(0, "simulate crowd --tasks 5 --out claims/part.parquet --json")
    done = without(set(EXTRAS) - {"pydantic"}, lines, tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0].endswith(install_command(extra))


def test_every_package_of_an_extra_is_known_to_the_command() -> None:
    """The table of packages has all that the extras for users install, under the right extra."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    extra_of = {
        re.match(r"[\w-]+", requirement)[0].lower(): extra  # type: ignore[index]
        for extra in set(EXTRAS.values())
        for requirement in extras[extra]
    }
    del extra_of["masquerade"], extra_of["pandas"]  # pandas is in no command of its own
    known = {
        distribution.lower().replace("_", "-"): EXTRAS[name]
        for name, distributions in packages_distributions().items()
        for distribution in distributions
        if name in EXTRAS
    }
    assert extra_of.items() <= known.items()
    assert set(EXTRAS.values()) == set(extras) - {"docs", "figures", "frames", "test"}


def test_make_demo_installs_what_the_demonstration_needs() -> None:
    """It shows a survey between two parties as well, which has an extra of its own."""
    [line] = [
        line
        for line in (ROOT / "Makefile").read_text().splitlines()
        if "--editable '.[server" in line
    ]
    (extras,) = re.findall(r"\.\[([\w,]+)\]", line)
    assert {EXTRAS["fastapi"], EXTRAS["pyhpke"], EXTRAS["Crypto"]} <= set(extras.split(","))
