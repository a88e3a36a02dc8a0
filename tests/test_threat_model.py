"""The threat model names tests that are there, and a test for each claim called kept or proven."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
THREATS = tuple(
    f"docs/explanation/{name}.md"
    for name in ("threat-model", "threats-of-participants", "threats-of-surveyors")
)
PUBLIC = ("what-is-public", "public-in-a-survey", "public-on-a-server")
PAGES = (
    *THREATS,
    "docs/explanation/two-parties.md",
    *(f"docs/reference/{name}.md" for name in PUBLIC),
)
_NAMED = re.compile(r"`(tests/[\w/.-]+\.(?:py|mjs|json)|benchmarks/\w+\.py)(?:::(\w+))?`|`::(\w+)`")


def rows() -> list[list[str]]:
    """Return the cells of each attack in the threat model."""
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in THREATS]
    lines = [line for text in texts for line in text.splitlines()]
    cells = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if "|" in line
    ]
    return [one for one in cells if len(one) == 3 and one[2].strip("| -")]


def functions(file: Path) -> set[str]:
    """Return the names of a module's functions."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_test_that_is_named_is_there() -> None:
    """Files and functions that the pages name exist, so that a promise has not lost its test."""
    missing, named = [], 0
    for page in PAGES:
        file = ""
        for found in _NAMED.finditer((ROOT / page).read_text(encoding="utf-8")):
            file = found.group(1) or file
            function = found.group(2) or found.group(3)
            named += 1
            if not (ROOT / file).is_file():
                missing.append(file)
            elif function and function not in functions(ROOT / file):
                missing.append(f"{file}::{function}")
    assert missing == []
    assert named > 100


def test_every_attack_has_its_verdict() -> None:
    """No row of an attack ends before it says kept, proven, not given or on what it depends."""
    short = []
    for page in THREATS:
        attacks = False
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
            attacks = line.startswith("| what they try") or (attacks and line.startswith("|"))
            cells = line.strip().strip("|").split(" | ")
            if attacks and not line.startswith(("| what they try", "|---")):
                short += [line[:80]] if len(cells) != 3 or not cells[2].strip() else []
    assert short == []


def test_whatever_is_kept_names_its_test() -> None:
    """Each row that says kept or proven names a test that attacks it."""
    found = [row for row in rows() if re.match(r"(kept|proven)\b", row[2].strip(" |"))]
    assert len(found) > 50
    assert [row[0] for row in found if not _NAMED.search(row[1])] == []
