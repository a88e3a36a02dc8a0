"""The output of ``--help``: every command with an example that runs."""

from __future__ import annotations

import io
import itertools
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from masquerade.cli import app
from masquerade.cli.options import methods

Run = Callable[..., Any]

#: Commands whose examples are run, each after those that write what it reads.
ON_FILES = (
    ("simulate", "crowd"),
    ("simulate", "comparisons"),
    ("truth",),
    ("randomize",),
    ("collect", "begin"),
    ("collect", "add"),
    ("collect", "next"),
    ("collect", "ask"),
    ("collect", "labels"),
    ("collect", "advice"),
    ("collect", "predict"),
    ("prefer",),
    ("release",),
    ("privacy",),
    ("audit",),
    ("plan",),
    ("select",),
)


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Return every command below `command` with its words."""
    if not hasattr(command, "commands"):
        yield words, command
        return
    if words and command.invoke_without_command:
        yield words, command
    for name, below in command.commands.items():
        yield from commands(below, (*words, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


def example(words: tuple[str, ...]) -> list[str]:
    """Return the words of the example in a command's help, ``masquerade`` left out."""
    found = re.search(r"Example: masquerade (.*)\Z", COMMANDS[words].help, re.DOTALL)
    assert found is not None, f"the help of {' '.join(words)} has no example"
    return shlex.split(found.group(1))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_help_ends_with_an_example_of_its_command(words: tuple[str, ...]) -> None:
    """An example names its command, and its arguments and options are accepted."""
    said = example(words)
    assert tuple(said[: len(words)]) == words
    COMMANDS[words].make_context(" ".join(words), said[len(words) :])


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_and_argument_is_explained(words: tuple[str, ...]) -> None:
    """Each has a help text, which ends as a sentence and does not begin with a dash."""
    for parameter in COMMANDS[words].params:
        said = parameter.help or ""
        assert said.endswith("."), (words, parameter.name, said)
        assert not said.startswith("-"), (words, parameter.name, said)


@pytest.mark.parametrize(
    ("command", "option", "names"),
    [("truth", "method", methods)],
)
def test_help_names_every_choice(command: str, option: str, names: Callable[[], list[str]]) -> None:
    """A method or an engine that is added is named in the help of its option."""
    parameter = next(one for one in COMMANDS[(command,)].params if one.name == option)
    said = set(re.findall(r"[a-z0-9-]+", parameter.help))
    assert set(names()) <= said


def test_examples_on_files_run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples that need no server run as they stand, in a folder with files of these names."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{task},{worker},{worker}\n" for task in "ab" for worker in range(10)]
    Path("numbers.csv").write_text("task,worker,value\n" + "".join(rows))
    Path("pool.csv").write_text("person,cost,level\nann,1,low\nbob,2,high\ncat,1,none\n")
    for words in ON_FILES:
        outcome = run(*example(words))
        assert (outcome.code, outcome.err) == (0, ""), (words, outcome.err)


def test_a_dash_is_standard_input_and_output(
    run: Run, claims: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``truth - --out -`` reads claims and prints labels; the summary goes to standard error."""
    data = io.BytesIO(claims.read_bytes())
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=data))
    outcome = run("truth", "-", "--method", "majority-vote", "--out", "-", "--json")
    assert outcome.out.splitlines() == ['"task","label"', '"a","yes"', '"b","no"', '"c","yes"']
    assert '"method": "majority-vote"' in outcome.err


def test_a_release_to_standard_output_is_refused(run: Run, claims: Path) -> None:
    """A release needs a file, for others stand beside it."""
    outcome = run("release", claims, "--epsilon", 1, "--domain", 0, 10, "--out", "-")
    assert outcome.code == 1
    assert "files beside it" in outcome.err


def test_truth_prints_the_first_labels_with_their_posteriors(run: Run, claims: Path) -> None:
    """Without ``--out`` a person sees labels and how sure they are, not only counts."""
    outcome = run("truth", claims, "--method", "majority-vote")
    assert re.search(r"b\s+│\s+no\s+│\s+1\.000", outcome.out)


@pytest.mark.parametrize("width", [60, 80])
def test_help_fits_the_terminal_and_is_broken_by_it_alone(width: int) -> None:
    """No line is wider than the terminal; each holds all words that fit before the next begins."""
    for words in COMMANDS:
        shown = CliRunner(env={"COLUMNS": str(width)}).invoke(app, [*words, "--help"])
        lines = [line.rstrip() for line in shown.output.splitlines()]
        assert shown.exit_code == 0, words
        assert max(map(len, lines)) <= width, words
        for line, after in itertools.pairwise(lines):
            if re.match(r" \w", line) and re.match(r" \S", after):
                assert len(line) + 1 + len(after.split()[0]) >= width, (words, line, after)
