"""The first line of a docstring names a thing, or describes a function, in plain words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RIDDLE = re.compile(r"\b(?:what|who|whose|whom|whatever|whoever)\b", re.IGNORECASE)

#: The largest share of first lines with such a word.
LARGEST_SHARE = 0.01
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def first_lines(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the place and the first line of each docstring below a folder."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
                line = 1 if isinstance(node, ast.Module) else node.lineno
                yield f"{path.relative_to(folder)}:{line}", text.splitlines()[0]


@pytest.mark.parametrize("name", ["src/masquerade", "papers", "benchmarks", "tools", "tests"])
def test_first_lines_of_docstrings_name_the_thing(name: str) -> None:
    """First lines say `An audit-log entry.`, and not `What somebody did` or `Whose it is`."""
    lines = list(first_lines(ROOT / name))
    riddles = [f"{place}: {line}" for place, line in lines if RIDDLE.search(line)]
    assert len(riddles) <= LARGEST_SHARE * len(lines), "\n".join(riddles)
