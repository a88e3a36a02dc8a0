"""No test promises how fast a machine is: every wait is long, and no assertion reads a clock."""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).parent
SHORTEST_SECONDS = 60
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time"}
MEANT = "# meant to pass"
"""Stands beside a short wait whose end is what the test waits for."""

SUSPECT = re.compile(r"timeout|join\(\s*[\d.]|" + "|".join(CLOCKS))
"""Without one of these there is neither a wait nor a clock, and a module need not be parsed."""

SOURCES = [path for path in sorted(FOLDER.rglob("*.py")) if path.name != "patience.py"]


def short_waits(tree: ast.AST) -> list[int]:
    """Return the lines of calls that wait for less than a minute."""
    found = []
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        waits = [word.value for word in call.keywords if word.arg == "timeout"]
        seconds = 1.0
        if name in ("set_default_timeout", "set_default_navigation_timeout"):
            waits, seconds = call.args[:1], 0.001
        elif isinstance(call.func, ast.Attribute) and name in ("join", "settimeout"):
            waits = [*waits, *call.args[:1]]
        for wait in waits:
            constant = wait.value if isinstance(wait, ast.Constant) else None
            if isinstance(constant, int | float) and constant * seconds < SHORTEST_SECONDS:
                found.append(call.lineno)
    return found


def clocks_in_assertions(tree: ast.AST) -> list[int]:
    """Return the lines of assertions that read a clock."""
    return [
        part.lineno
        for statement in ast.walk(tree)
        if isinstance(statement, ast.Assert)
        for part in ast.walk(statement)
        if isinstance(part, ast.Attribute) and part.attr in CLOCKS
    ]


def test_no_wait_is_short_and_no_assertion_is_timed() -> None:
    """Waits last a minute or more unless their end is meant; no assertion is timed."""
    wrong = []
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if not SUSPECT.search(text):
            continue
        tree, lines, name = ast.parse(text), text.splitlines(), path.relative_to(FOLDER)
        short = [line for line in short_waits(tree) if MEANT not in lines[line - 1]]
        wrong += [f"{name}:{line}: a short wait" for line in short]
        wrong += [f"{name}:{line}: an assertion on a clock" for line in clocks_in_assertions(tree)]
    assert wrong == []
