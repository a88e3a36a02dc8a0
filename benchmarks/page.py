"""Write the tables of the documentation's page of benchmarks from the run cards.

python benchmarks/page.py
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CARDS = HERE / "cards"
OUT = HERE.parent / "docs" / "benchmarks.inc"
PEERS = ("crowd-kit", "OpenDP", "pure-ldp", "choix", "statsmodels", "the draft")
HEAD = ("| what | ours | compared with | theirs | ratio | target |", "|---|---:|---|---:|---:|---|")
VERDICTS = {True: "met", False: "**missed**", None: ""}

Card = dict[str, Any]


def read_cards(folder: Path = CARDS) -> dict[str, list[Card]]:
    """Return the cards of each benchmark, in the order of their names."""
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        if lines:
            found[path.stem] = [json.loads(line) for line in lines]
    return found


def write_page(folder: Path = CARDS, out: Path = OUT) -> Path:
    """Write the tables and return the path of the file."""
    out.write_text(tables(read_cards(folder)), encoding="utf-8")
    return out


def tables(cards: dict[str, list[Card]]) -> str:
    """Return the tables of all benchmarks as Markdown."""
    against = [
        card for each in cards.values() for card in each if (card["peer"] or "").startswith(PEERS)
    ]
    first = ["## Against other libraries", "", *HEAD, *map(row, against), ""] if against else []
    return "\n".join([*first, *(section(name, each) for name, each in cards.items())])


def section(name: str, cards: list[Card]) -> str:
    """Return the heading, the circumstances and the table of one benchmark."""
    heading = [f"## {title(name)}", "", f"`benchmarks/{name}.py`. {circumstances(cards)}", ""]
    return "\n".join([*heading, *HEAD, *map(row, cards), ""])


def title(name: str) -> str:
    """Return the first sentence of a benchmark's docstring."""
    tree = ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))
    first = (ast.get_docstring(tree) or name).splitlines()[0]
    return first.rstrip(".")


def circumstances(cards: list[Card]) -> str:
    """Return size, day, machine and versions in words; the same for all cards of a run."""
    first = cards[0]
    versions: dict[str, str] = {}
    for card in cards:
        versions |= card["versions"]
    libraries = ", ".join(f"{name} {version}" for name, version in versions.items())
    size = first["size"].capitalize()
    return f"{size} sizes, {first['date']}, on {first['machine']}; {libraries}."


def row(card: Card) -> str:
    """Return the row of one card."""
    theirs = "" if card["peer_value"] is None else f"{card['peer_value']:,g}"
    if card["peer"] is not None and not theirs:
        theirs = "peer not installed"
    what = card["what"] + (f" ({card['note']})" if card["note"] else "")
    verdict = VERDICTS[card["met"]]
    cells = (
        what,
        f"{card['value']:,g} {card['unit']}".strip(),
        card["peer"] or "",
        theirs,
        "" if card["ratio"] is None else f"{card['ratio']:,g}",
        ", ".join(filter(None, (card["target"], verdict))),
    )
    return "| " + " | ".join(escaped(cells)) + " |"


def escaped(cells: Iterable[str]) -> Iterable[str]:
    """Return cells whose bars do not end them."""
    return (cell.replace("|", "\\|") for cell in cells)


if __name__ == "__main__":
    print(write_page())
