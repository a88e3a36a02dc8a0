"""A page of results as a reader sees it: charts, tables and headlines, taken from its HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "input", "img", "hr"}
_NUMBER = re.compile(r"[−-]?\d+(?:\.\d+)?")


@dataclass
class Element:
    """An element of a page."""

    tag: str
    attributes: dict[str, str]
    parts: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text within, with single spaces."""
        inner = (part if isinstance(part, str) else part.text for part in self.parts)
        return " ".join(" ".join(inner).split())

    @property
    def classes(self) -> set[str]:
        """The element's classes."""
        return set(self.attributes.get("class", "").split())

    def all(self, tag: str, *classes: str) -> Iterator[Element]:
        """Yield the elements within that have a tag and all these classes."""
        for part in self.parts:
            if isinstance(part, Element):
                if part.tag == tag and part.classes.issuperset(classes):
                    yield part
                yield from part.all(tag, *classes)

    def first(self, tag: str, *classes: str) -> Element | None:
        """Return the first of `all`, or None."""
        return next(self.all(tag, *classes), None)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.stack = [Element("page", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        one = Element(tag, {name: value or "" for name, value in attrs})
        self.stack[-1].parts.append(one)
        if tag not in _VOID:
            self.stack.append(one)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.stack[-1].parts.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack[-1].tag == tag, f"</{tag}> closes <{self.stack[-1].tag}>"
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        self.stack[-1].parts.append(data)


def read_page(html: str) -> Element:
    """Return a page as a tree."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert len(reader.stack) == 1, [one.tag for one in reader.stack]
    return reader.stack[0]


def numbers(text: str) -> list[float]:
    """Return the numbers of a text, as a reader takes them."""
    return [float(found.replace("−", "-")) for found in _NUMBER.findall(text)]


def table_rows(table: Element) -> list[dict[str, str]]:
    """Return the rows of a table's body by the names of its columns."""
    head = table.first("thead")
    body = table.first("tbody")
    assert head is not None
    assert body is not None
    names = [cell.text for cell in head.all("th")]
    rows = []
    for row in body.all("tr"):
        cells = [p.text for p in row.parts if isinstance(p, Element) and p.tag in ("th", "td")]
        assert len(cells) == len(names), (names, cells)
        rows.append(dict(zip(names, cells, strict=True)))
    return rows
