"""Write the tables of the documentation's page of benchmarks from the run cards.

python benchmarks/page.py
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from masquerade.plots import COLOURS, new_figure

HERE = Path(__file__).parent
CARDS = HERE / "cards"
OUT = HERE.parent / "docs" / "benchmarks.inc"
PEERS = (
    *("crowd-kit", "peerannot", "arena-rank", "choix", "statsmodels", "opendp", "pure-ldp"),
    *("RRreg", "rr", "survey", "svy", "samplics", "the draft"),
)
HEAD = ("| what | ours | compared with | theirs | ratio | target |", "|---|---:|---|---:|---:|---|")
FIGURE = "![Ratios of times against other libraries, as bars; the table has them](benchmarks.png)"
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
    """Write the tables, draw the ratios beside them, and return the path of the tables."""
    cards = read_cards(folder)
    out.write_text(tables(cards), encoding="utf-8")
    of_peers = cards.get("peers", ())
    # Targets are of our own sizes: none is of another library.
    lines = [line.rpartition(" |")[0].rpartition("|")[0] + "|" for line in map(row, of_peers)]
    beside = "\n".join(
        ["| what | ours | compared with | theirs | ratio |", "|---|---:|---|---:|---:|", *lines, ""]
    )
    out.with_name("peers.inc").write_text(beside, encoding="utf-8")
    draw_ratios([card for each in cards.values() for card in each], out.with_suffix(".png"))
    return out


def draw_ratios(cards: list[Card], out: Path) -> None:
    """Draw how many times as long as we each other library takes for the same."""
    alike = [
        card
        for card in cards
        if (card["peer"] or "").startswith(PEERS)
        and card["ratio"] is not None
        and card["unit"]  # accuracies have none, and are no ratio of times
        and "per call" not in card["peer"]  # a batch is compared with a batch
    ]
    if not alike:
        return
    alike.sort(key=lambda card: float(card["ratio"]))
    figure, (axes,) = new_figure(size=(9, 1.2 + 0.28 * len(alike)))
    for place, card in enumerate(alike):
        axes.barh(place, card["ratio"] - 1, left=1, color=COLOURS[0], height=0.7)
        axes.annotate(f" {card['ratio']:.3g}", (card["ratio"], place), va="center", fontsize=8)
    names = [f"{card['what']}: {card['peer']}" for card in alike]
    axes.set_yticks(range(len(alike)), names, fontsize=8)
    axes.set_xscale("log")
    axes.set_xlim(min(1.0, alike[0]["ratio"] / 2), 2 * alike[-1]["ratio"])
    axes.xaxis.set_major_formatter("{x:g}")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("their time / ours (to the right of 1 ours is quicker)", fontsize=9)
    axes.set_title("Against other libraries, like for like", loc="left", fontsize=11)
    axes.grid(axis="x", alpha=0.4)
    axes.set_axisbelow(True)
    figure.savefig(out, dpi=90)


def tables(cards: dict[str, list[Card]]) -> str:
    """Return the tables of all benchmarks as Markdown."""
    against = [
        card for each in cards.values() for card in each if (card["peer"] or "").startswith(PEERS)
    ]
    first = ["## Against other libraries", "", FIGURE, "", *HEAD, *map(row, against), ""]
    first = first if against else []
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
        ratio_in_words(card),
        ", ".join(filter(None, (card["target"], verdict))),
    )
    return "| " + " | ".join(escaped(cells)) + " |"


def ratio_in_words(card: Card) -> str:
    """Return the ratio to another library, or one that has a target; a mere baseline has none."""
    rival = (card["peer"] or "").startswith(PEERS) or card["target"]
    return f"{card['ratio']:,g}" if rival and card["ratio"] is not None else ""


def escaped(cells: Iterable[str]) -> Iterable[str]:
    """Return cells that do not end with their bars."""
    return (cell.replace("|", "\\|") for cell in cells)


if __name__ == "__main__":
    print(write_page())
