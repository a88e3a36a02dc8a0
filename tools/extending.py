"""Write the lists of docs/architecture.md, from the registries.

``python -m tools.extending`` writes the part of the page; with ``--check`` it fails where the page
says something else.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from pathlib import Path

import masquerade
from masquerade.mechanisms.registry import MECHANISMS
from masquerade.surveys.kinds import kinds
from masquerade.truth.methods import METHODS

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
PACKAGE = Path(masquerade.__file__).parent
FIRST, LAST = "<!-- registered: first -->\n", "<!-- registered: last -->\n"


def table() -> str:
    """Return the part of the page in Markdown."""
    parts = [
        "A kind of question is one module in `surveys/kinds` and one in `static/app/kinds`; a "
        "mechanism is one module\nin `mechanisms`; a method is one in `truth`. Registries find "
        "them, and tests of their contracts run over all.\nThis is what is registered.",
        "",
        "**Kinds of question**",
        "",
        *_rows(["name", "its files", "it is"], [_kind(one) for one in kinds().values()]),
        "",
        "**Mechanisms**",
        "",
        *_rows(
            ["name", "its file", "an example"], [_mechanism(one) for one in MECHANISMS.values()]
        ),
        "",
        "**Methods of truth inference**",
        "",
        *_rows(["name", "its file"], [(_code(one.name), _code(_file(one))) for one in METHODS]),
    ]
    return "\n".join(parts) + "\n"


def _kind(one: type) -> tuple[str, ...]:
    kind = kinds()[one.kind]  # type: ignore[attr-defined]
    declares = [
        "a number on a scale" if kind.summable else "",
        "" if kind.parts_of_whole else "options that go together",
        "an item of labelling tasks" if kind.labelling else "",
        "" if kind.cannot_decide else "decides over other questions",
    ]
    files = f"{_code(_file(kind))}, {_code(f'static/app/kinds/{kind.kind}.js')}"
    return _code(kind.kind), files, "; ".join(filter(None, declares))


def _mechanism(one: type) -> tuple[str, ...]:
    mechanism = MECHANISMS[one.name]  # type: ignore[attr-defined]
    return _code(mechanism.name), _code(_file(mechanism)), _code(mechanism.example)


def _file(one: type) -> str:
    return Path(str(inspect.getsourcefile(one))).resolve().relative_to(PACKAGE.resolve()).as_posix()


def _code(text: str) -> str:
    return f"`{text}`"


def _rows(head: list[str], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [head, ["---"] * len(head), *map(list, rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def page() -> str:
    """Return the page with the part as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(FIRST)
    after = rest.split(LAST)[1]
    return f"{before}{FIRST}\n{table()}\n{LAST}{after}"


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where it says other things")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
    elif page() != PAGE.read_text(encoding="utf-8"):
        sys.stderr.write(f"{PAGE} is not current; run python -m tools.extending.\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
