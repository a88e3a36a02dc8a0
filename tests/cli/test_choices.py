"""Names are completed and corrected, absurd values are asked back, and a command loads itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from masquerade.cli.options import completion, engines, mechanisms, methods, preference_mechanisms


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


@pytest.mark.parametrize("names", [methods, mechanisms, preference_mechanisms, engines])
def test_names_are_completed(names: object) -> None:
    """The shell is given every name that begins as what was typed, and no other."""
    assert callable(names)
    known = list(names())
    assert len(known) == len(set(known)) > 3
    first = known[0]
    assert first in completion(names)(first[:3])
    assert completion(names)("no such beginning") == []


def test_the_shell_completes_choices() -> None:
    """The program itself answers a shell that asks what may follow."""
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


def test_pandas_is_not_loaded_for_a_small_job(claims: Path) -> None:
    """A command gives its result without pandas, which pyarrow would load where it is installed."""
    code = (
        f"import sys; sys.argv = ['masquerade', 'truth', {str(claims)!r}, '--json']\n"
        "from masquerade.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


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
