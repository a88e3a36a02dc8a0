"""Draw the diagrams of the documentation: an SVG for each text in ``docs/diagrams``.

python tools/diagrams.py [--check]

A text has a line for each thing: ``title``, ``desc``, and either ``actor KEY NAME | SUBTITLE``,
``KEY > KEY | MESSAGE`` and ``note KEY | TEXT`` (messages in the order of time), or ``columns`` and
``row`` (a comparison), or ``layer`` (one above the other).
"""

from __future__ import annotations

import sys
import textwrap
from html import escape
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "diagrams"
WIDTH = 960

STYLE = """
    .ground { fill: #fbf9fb; } .box { fill: #f1e9f2; stroke: #8a6a90; stroke-width: 1.5; }
    .first { fill: #e6f1ec; stroke: #3f7d63; } text { fill: #241a28; }
    .note { fill: #ffffff; stroke: #8a6a90; stroke-dasharray: 4 3; }
    .small { font-size: 13px; } .quiet { fill: #5d4f63; } .head { font-weight: 650; }
    .way { stroke: #5d4f63; stroke-width: 1.8; fill: none; } .tip { fill: #5d4f63; }
    .life { stroke: #b7a6bb; stroke-dasharray: 3 5; }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #17111a; } .box { fill: #251b29; stroke: #a88bae; }
      .first { fill: #14261f; stroke: #6fb695; } text { fill: #f2eaf4; }
      .note { fill: #1d1521; stroke: #a88bae; } .quiet { fill: #bfafc4; }
      .way { stroke: #bfafc4; } .tip { fill: #bfafc4; } .life { stroke: #5d4f63; }
    }
"""

Lines = list[tuple[str, str]]


def words(x: float, y: float, text: str, kind: str = "", anchor: str = "middle") -> str:
    """Return a line of text."""
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str = "box") -> str:
    """Return a rectangle with round corners."""
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="9"/>'


def parts(text: str) -> list[str]:
    """Return the cells of a line."""
    return [part.strip() for part in text.split("|")]


def sequence(lines: Lines) -> tuple[list[str], int]:
    """Return messages between actors, and the height of the drawing."""
    actors = [text.split(" ", 1) for kind, text in lines if kind == "actor"]
    step = WIDTH / len(actors)
    place = {key: step * (number + 0.5) for number, (key, _) in enumerate(actors)}
    steps = [(kind, text) for kind, text in lines if kind not in ("title", "desc", "actor")]
    height = 160 + 46 * len(steps)
    drawn = [f'<path class="life" d="M{x} 124V{height - 22}"/>' for x in place.values()]
    for number, (key, text) in enumerate(actors):
        name, below = parts(text)
        drawn += [
            box(place[key] - 135, 64, 270, 60, "box first" if number == 0 else "box"),
            words(place[key], 90, name, "head"),
            words(place[key], 110, below, "small quiet"),
        ]
    for number, (kind, text) in enumerate(steps):
        y = 168 + 46 * number
        if kind == "note":
            key, said = parts(text)
            wide = 7.2 * len(said) + 24
            middle = min(max(place[key], wide / 2 + 12), WIDTH - wide / 2 - 12)
            drawn += [box(middle - wide / 2, y - 22, wide, 30, "note")]
            drawn += [words(middle, y - 2, said, "small")]
            continue
        to, said = parts(text.removeprefix("> "))
        start, end = place[kind], place[to]
        way = 1 if end > start else -1
        drawn += [
            f'<path class="way" d="M{start} {y}H{end - 10 * way}"/>',
            f'<path class="tip" d="M{end} {y}l{-12 * way} -6v12z"/>',
            box((start + end) / 2 - 3.6 * len(said), y - 22, 7.2 * len(said), 17, "ground"),
            words((start + end) / 2, y - 8, said, "small"),
        ]
    return drawn, height


def comparison(lines: Lines) -> tuple[list[str], int]:
    """Return a table of columns and rows, and the height of the drawing."""
    columns = parts(next(text for kind, text in lines if kind == "columns"))
    rows = [parts(text) for kind, text in lines if kind == "row"]
    wide, left = (WIDTH - 190) / len(columns), 170
    drawn, y = [], 60
    for number, head in enumerate(columns):
        x = left + wide * number
        drawn.append(
            box(x, y, wide - 12, 72 + 66 * len(rows), "box first" if not number else "box")
        )
        for line, text in enumerate(textwrap.wrap(head, 19)):
            drawn.append(words(x + wide / 2 - 6, y + 28 + 20 * line, text, "head"))
    for number, (name, *cells) in enumerate(rows):
        top = y + 92 + 66 * number
        for line, text in enumerate(textwrap.wrap(name, 20)):
            drawn.append(words(20, top + 16 * line, text, "small quiet", "start"))
        for place, cell in enumerate(cells):
            for line, text in enumerate(textwrap.wrap(cell, 22)):
                x = left + wide * (place + 0.5) - 6
                drawn.append(words(x, top + 16 * line, text, "small"))
    return drawn, y + 96 + 66 * len(rows)


def layers(lines: Lines) -> tuple[list[str], int]:
    """Return boxes one above the other, and the height of the drawing."""
    drawn = []
    rows = [parts(text) for kind, text in lines if kind == "layer"]
    for number, (names, what) in enumerate(rows):
        y = 60 + 56 * number
        each = names.split(", ")
        wide = (460 - 10 * (len(each) - 1)) / len(each)
        for place, name in enumerate(each):
            x = 24 + (wide + 10) * place
            drawn += [box(x, y, wide, 42, "box" if number else "box first")]
            drawn += [words(x + wide / 2, y + 26, name, "head")]
        drawn.append(words(504, y + 26, what, "small quiet", "start"))
    return drawn, 76 + 56 * len(rows)


def draw(text: str) -> str:
    """Return the SVG of a text."""
    lines: Lines = []
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        lines += [(kind, rest)] if rest else []
    known = dict(lines)
    kinds = {kind for kind, _ in lines}
    make = sequence if "actor" in kinds else comparison if "columns" in kinds else layers
    drawn, height = make(lines)
    inside = "\n".join(f"  {part}" for part in drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-labelledby="title what" font-family="system-ui, sans-serif" font-size="15">\n'
        f'  <title id="title">{escape(known["title"])}</title>\n'
        f'  <desc id="what">{escape(known["desc"])}</desc>\n  <style>{STYLE}  </style>\n'
        f'  <rect class="ground" width="{WIDTH}" height="{height}" rx="14"/>\n'
        f"  {words(24, 38, known['title'], 'head', 'start')}\n{inside}\n</svg>\n"
    )


def main(arguments: list[str]) -> int:
    """Draw every diagram, or with ``--check`` say which are not up to date."""
    stale = []
    for path in sorted(FOLDER.glob("*.txt")):
        out = path.with_suffix(".svg")
        picture = draw(path.read_text(encoding="utf-8"))
        if "--check" not in arguments:
            out.write_text(picture, encoding="utf-8")
        elif not out.exists() or out.read_text(encoding="utf-8") != picture:
            stale.append(out.name)
    if stale:
        sys.stderr.write(f"not up to date: {', '.join(stale)}; run python tools/diagrams.py\n")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
