"""The README, the tutorials and the guides are true: every block of code in them runs.

The blocks of a page share one namespace and one empty folder, and run from top to bottom.

- ``python`` with ``>>>``: as a doctest, what is shown is compared; without: it has to run.
- ``console``: commands after ``$``; what is shown below a command is compared with its output.
- ``sh``: one command a line.

``masquerade`` commands run in this process. Those that serve until Ctrl-C are checked for their
options alone, ``make`` for having the target, ``pip`` for naming extras that exist.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import typer

from masquerade.cli import app, main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Their commands need a server, a second machine, or an hour.
NOT_RUN = {
    *(
        "accounts",
        "agreement",
        "client",
        "data-protection",
        "datenschutz",
        "desk",
        "helper",
        "install",
        "operations",
    ),
    *("reach", "reproduce", "scale", "surveys", "surveys-from-a-program"),
    *("audience-and-waves", "back-up-a-server", "survey-interface", "watch-a-server"),
}
PAGES = [
    ROOT / "README.md",
    DOCS / "explanation" / "participants.md",
    *(
        path
        for folder in ("tutorials", "how-to")
        for path in sorted((DOCS / folder).glob("*.md"))
        if path.stem not in NOT_RUN
    ),
]
NOT_CODE = {"text", "{toctree}", "{image}", "{include}", "{raw}", "csv", "json"}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ENDLESS = {"serve", "demo"}
_FENCE = re.compile(
    r"^(?P<fence>`{3,}|:{3,})(?P<language>\S*).*\n(?P<code>(?:.*\n)*?)(?P=fence)$", re.M
)


@dataclass(frozen=True)
class Block:
    """A block of code of a page, and the line that it begins on."""

    language: str
    code: str
    line: int


@dataclass
class Page:
    """A page that runs: its namespace, and how many things ran."""

    path: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})
    ran: int = 0

    def where(self, block: Block) -> str:
        """Return the place of a block for messages."""
        return f"{self.path.name}, line {block.line}"


def blocks(path: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    text = path.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        yield Block(found["language"], found["code"], text.count("\n", 0, found.start("code")) + 1)


def run_python(page: Page, block: Block) -> None:
    """Run a block of Python, as a doctest where it shows results."""
    if ">>>" not in block.code:
        code = "\n" * (block.line - 1) + block.code
        exec(compile(code, str(page.path), "exec"), page.names)
        page.ran += 1
        return
    test = doctest.DocTestParser().get_doctest(
        block.code, page.names, page.where(block), str(page.path), block.line - 1
    )
    test.globs = page.names  # the parser copies: names would not reach the next block
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    failed = runner.run(test, out=report.write, clear_globs=False).failed
    page.ran += len(test.examples)
    assert not failed, report.getvalue()


def run_commands(page: Page, block: Block) -> None:
    """Run the commands of a block and compare the lines shown below them."""
    if block.language == "sh":
        shown = [(line, "") for line in block.code.splitlines() if line.strip()]
    else:
        parts = re.split(r"^\$ ", block.code, flags=re.M)
        assert not parts[0].strip(), f"{page.where(block)}: a console block begins with $"
        shown = [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts[1:]]
    for command, wanted in shown:
        printed = run_command(shlex.split(command, comments=True), page.where(block))
        page.ran += 1
        if wanted.strip():
            same = doctest.OutputChecker().check_output(wanted, printed, OPTIONS)
            assert same, f"{page.where(block)}: {command}\nshown:\n{wanted}\nprinted:\n{printed}"


def run_command(words: list[str], where: str) -> str:
    """Run one command and return its output."""
    program, *rest = words
    if program == "masquerade" and rest[0] in ENDLESS:
        command = typer.main.get_command(app)
        command.commands[rest[0]].make_context(rest[0], rest[1:])  # type: ignore[attr-defined]
    elif program == "masquerade":
        return run_masquerade(rest, where)
    elif program == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
        assert rest[0] in targets, f"{where}: the Makefile has no {rest[0]}"
    elif words[:2] == ["pip", "install"]:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        for extra in re.findall(r"\[([a-z,]+)\]", " ".join(words[2:])):
            assert set(extra.split(",")) <= set(project["optional-dependencies"]), where
    else:
        pytest.fail(f"{where}: nothing here knows how to run {words}", pytrace=False)
    return ""


def run_masquerade(words: list[str], where: str) -> str:
    """Run the command line in this process and return its standard output."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["masquerade", *words])
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as ended:
                code = int(ended.code or 0)
    assert code == 0, f"{where}: masquerade {' '.join(words)} ended with {code}:\n{err.getvalue()}"
    return out.getvalue()


RUNNERS = {"python": run_python, "sh": run_commands, "console": run_commands}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_block_of_the_page_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that is typed from top to bottom gives the results that it shows."""
    monkeypatch.chdir(tmp_path)
    page = Page(path)
    for block in blocks(path):
        if block.language not in NOT_CODE:
            assert block.language in RUNNERS, f"{page.where(block)}: a block of no language"
            RUNNERS[block.language](page, block)
    assert page.ran


def test_the_tutorials_are_all_there() -> None:
    """Pages that are not found would pass unread."""
    names = {path.stem for path in PAGES}
    assert {"README", "survey", "crowd", "preference", "release"} <= names
    assert {path.stem for path in DOCS.rglob("*.md")} >= NOT_RUN


def test_what_a_page_shows_is_compared(tmp_path: Path) -> None:
    """A page with a false result, in either form, fails."""
    page = Page(tmp_path / "page.md")
    with pytest.raises(AssertionError, match="Expected"):
        run_python(page, Block("python", ">>> 1 + 1\n3\n", 1))
    with pytest.raises(AssertionError, match="shown"):
        run_commands(page, Block("console", "$ masquerade --version\nsomething else\n", 1))
    with pytest.raises(AssertionError, match="no nonsense"):
        run_command(["make", "nonsense"], "here")
