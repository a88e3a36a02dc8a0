"""Names are completed and corrected, absurd values are asked back, and a command loads itself."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from masquerade import cli
from masquerade.cli.options import completion, mechanisms, methods, preference_mechanisms


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--kind", "categorial"], "categorical"),
        (["--duplicates", "frist"], "first"),
        (["--engine", "streem"], "stream"),
    ],
)
def test_a_mistyped_choice_is_corrected(
    run: Run, claims: Path, words: list[str], meant: str
) -> None:
    """Wrong usage ends with exit code 2, lists the choices and names the one that is meant."""
    outcome = run("truth", claims, *words)
    assert outcome.code == 2
    assert f"Did you mean '{meant}'?" in " ".join(outcome.err.replace("\u2502", " ").split())


def test_a_mistyped_name_or_command_is_corrected(run: Run, claims: Path) -> None:
    """Methods, mechanisms and commands are corrected alike."""
    assert "Did you mean 'majority-vote'?" in run("truth", claims, "--method", "majority-vot").err
    outcome = run("privacy", "randomised-response:options=4,epsilon=1")
    assert (outcome.code, "Did you mean 'randomized-response'?" in outcome.err) == (1, True)
    assert "Did you mean 'truth'?" in run("truht", claims).err


@pytest.mark.parametrize("names", [methods, mechanisms, preference_mechanisms])
def test_names_are_completed(names: object) -> None:
    """The shell is given every name that begins with the typed text, and no other."""
    assert callable(names)
    known = list(names())
    assert len(known) == len(set(known)) > 3
    first = known[0]
    assert first in completion(names)(first[:3])
    assert completion(names)("no such beginning") == []


def test_the_shell_completes_choices() -> None:
    """The program itself answers a shell that asks for the possible next words."""
    asked = {
        "_MASQUERADE_COMPLETE": "complete_bash",
        "COMP_WORDS": "masquerade truth x.csv --duplicates f",
        "COMP_CWORD": "4",
    }
    done = subprocess.run(
        [Path(sys.executable).with_name("masquerade")],
        env=os.environ | asked,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["first"]


def test_absurd_values_are_asked_back(run: Run) -> None:
    """A percentage where a share is expected, and an epsilon that protects nobody."""
    plan = run("plan", "randomized-response:options=2,epsilon=1", "--margin", "0.05")
    assert plan.code == 0
    words = ("--margin", "0.05", "--confidence", "95")
    asked = run("plan", "randomized-response:options=2,epsilon=1", *words)
    assert (asked.code, "Did you mean 0.95" in asked.err) == (1, True)
    loud = run("privacy", "randomized-response:options=2,epsilon=30", "--json")
    assert "Did you mean a smaller one?" in " ".join(loud.err.split())
    assert loud.json["epsilon_event"] > 20
    assert not run("privacy", "randomized-response:options=2,epsilon=3").err


def test_every_command_asks_back_about_an_absurd_epsilon(
    run: Run, claims: Path, tmp_path: Path
) -> None:
    """One note on standard error, without a path of a file, and the command goes on."""
    numbers, choices = tmp_path / "n.csv", tmp_path / "c.csv"
    numbers.write_text("task,worker,value\n" + "".join(f"a,w{n},{n}\n" for n in range(9)))
    choices.write_text("voter,price\n" + "".join(f"v{n},{n % 3 - 1}\n" for n in range(9)))
    loud = "randomized-response:options=2,epsilon"
    masked = ("--options", "yes,no", "--out", tmp_path / "r.csv", "--json")
    levels = tmp_path / "levels.csv"
    levels.write_text(f'level,mechanism\nlow,"{loud}=50"\nhigh,"{loud}=1"\n')
    begun = ("--tasks", claims, "--options", "yes,no")
    for words in (
        ("plan", f"{loud}=1e9", "--margin", "0.05"),
        ("plan", "two-parties:questions=1,options=2,epsilon=50", "--people", "100"),
        ("plan", f"{loud}=inf", "--margin", "0.05"),
        ("randomize", claims, "--mechanism", f"{loud}=50", *masked),
        ("release", numbers, "--epsilon", "50", "--domain", "0", "9", "--out", tmp_path / "s.csv"),
        ("prefer", choices, "--epsilon", "50", "--ranges", "price=-1:1"),
        ("collect", "begin", tmp_path / "one", *begun, "--mechanism", f"{loud}=50"),
        ("collect", "begin", tmp_path / "two", *begun, "--levels", levels),
    ):
        done = run(*words)
        notes = [line for line in done.err.splitlines() if "Did you mean a smaller one?" in line]
        assert (done.code, len(notes)) == (0, 1), (words, done.err)
        assert notes[0].startswith("note: epsilon is ")
        assert ".py" not in done.err
    silent = run("randomize", claims, "--mechanism", f"{loud}=0", *masked, "--overwrite")
    assert "noise alone and says nothing" in silent.err
    assert not run("randomize", claims, "--mechanism", f"{loud}=1", *masked, "--overwrite").err


def test_a_percentage_is_told_as_a_share(run: Run) -> None:
    """--margin 5% is wrong usage that says 0.05; another text is no number."""
    plan = ("plan", "randomized-response:options=2,epsilon=1", "--margin")
    asked = run(*plan, "5%")
    assert (asked.code, "0.05" in asked.err) == (2, True)
    assert "is no number" in " ".join(run(*plan, "few").err.split())
    assert run(*plan, "0.05").code == 0


def test_a_command_loads_itself_and_no_other() -> None:
    """Asking one command for help loads neither other commands nor numpy."""
    code = (
        "import sys; sys.argv = ['masquerade', 'truth', '--help']\n"
        "from masquerade.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "names = {'numpy', 'masquerade.cli.answer', 'masquerade.cli.serve'}\n"
        "print(names & set(sys.modules), 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set() False"


def test_a_small_job_loads_little(claims: Path) -> None:
    """Truth is found without pandas, graphs of scipy, Parquet, and what numpy brings for its own.

    pyarrow would load pandas where it is installed, and scipy all modules of numpy. An older scipy
    loads its graphs, and with them numpy's tests, whatever is asked of it: these two are its own.
    """
    bare = "import sys, scipy.sparse; print('scipy.sparse.csgraph' in sys.modules)"
    older = subprocess.run([sys.executable, "-c", bare], capture_output=True, text=True, check=True)
    scipys = {"numpy.testing._private.utils", "scipy.sparse.csgraph"}
    unwanted = {"pandas", "numpy.f2py.crackfortran", "pyarrow.parquet"}
    if older.stdout.strip() == "False":
        unwanted |= scipys
    code = (
        f"import sys; sys.argv = ['masquerade', 'truth', {str(claims)!r}, '--json']\n"
        "from masquerade.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print({unwanted!r} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize(("name", "kept"), [("demo", True), ("serve", True), ("truth", False)])
def test_a_server_may_use_pandas(monkeypatch: pytest.MonkeyPatch, name: str, kept: bool) -> None:
    """A server can look for pandas, for files of SPSS; other commands do without."""
    found: list[bool] = []

    def look() -> None:
        try:
            found.append(find_spec("pandas") is not None)
        except ModuleNotFoundError:
            found.append(False)

    pytest.importorskip("pandas")
    monkeypatch.delitem(sys.modules, "formulaic", raising=False)
    monkeypatch.delitem(sys.modules, "pandas")
    monkeypatch.setattr(cli, "command_line", lambda _name: look)
    monkeypatch.setattr("sys.argv", ["masquerade", name])
    cli.main()
    assert found == [kept]


def test_no_colour_where_none_is_wanted(claims: Path) -> None:
    """With NO_COLOR set nothing is coloured, even on a terminal; without it something is."""
    program = Path(sys.executable).with_name("masquerade")
    for extra, coloured in (({"NO_COLOR": "1"}, False), ({}, True)):
        environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        done = subprocess.run(
            [program, "truth", "--help"],
            env=environment | {"FORCE_COLOR": "1", "TERM": "xterm-256color"} | extra,
            capture_output=True,
            text=True,
        )
        assert ("\x1b[3" in done.stdout or "\x1b[1;3" in done.stdout) == coloured
