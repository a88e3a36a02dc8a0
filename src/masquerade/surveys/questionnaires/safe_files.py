"""Files of strangers, read within limits: XML without document types, sheets, tables, JSON."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from masquerade.errors import UnreadableFile

MOST_BYTES = 20_000_000
MOST_UNPACKED = 50_000_000
_MOST_PARTS = 2_000
_MOST_NODES = 1_000_000
_MOST_DEPTH = 200
_MOST_COLUMNS, _MOST_ROWS, _MOST_CELL = 500, 20_000, 100_000
_MOST_TEXT = 10_000_000  # letters in all cells of a book together
_CELL = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


@dataclass(slots=True)
class Node:
    """An element of XML, its name without a namespace."""

    name: str
    attributes: dict[str, str]
    children: list[Node] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text that stands in it directly."""
        return "".join(self.pieces)

    def all(self, name: str) -> list[Node]:
        """Return its children of a name."""
        return [child for child in self.children if child.name == name]

    def first(self, name: str) -> Node | None:
        """Return its first child of a name."""
        return next((child for child in self.children if child.name == name), None)

    def walk(self) -> Iterator[Node]:
        """Yield it and all elements below it."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            yield one
            waiting += reversed(one.children)


def require_size(content: bytes) -> None:
    """Raise where a file is empty, or larger than any questionnaire."""
    if not content.strip():
        raise UnreadableFile("the file is empty; export the questionnaire again.")
    if len(content) > MOST_BYTES:
        raise UnreadableFile(
            f"the file has {len(content) / 1e6:.0f} MB; a questionnaire has at most "
            f"{MOST_BYTES / 1e6:.0f}. Export the questionnaire alone, without responses."
        )


def read_xml(content: bytes) -> Node:
    """Return the root element of XML.

    Raises `UnreadableFile`: it is no XML, or it has a document type, which could name entities that
    grow without limit or lead to other files.
    """
    return _read_xml(content, _Left())


@dataclass(slots=True)
class _Left:
    """What may still be read of a file: elements of XML in all its parts, letters in all cells."""

    nodes: int = _MOST_NODES
    letters: int = _MOST_TEXT


def _read_xml(content: bytes, left: _Left) -> Node:
    parser = expat.ParserCreate(namespace_separator=" ")
    root = Node("", {})
    stack = [root]

    def refuse(*_: object) -> None:
        raise UnreadableFile(
            "the file declares a document type or entities (<!DOCTYPE>), which no questionnaire "
            "needs; export it again from the tool itself."
        )

    def start(name: str, attributes: dict[str, str]) -> None:
        left.nodes -= 1
        if left.nodes < 0 or len(stack) > _MOST_DEPTH:
            raise UnreadableFile("the file has too many or too deeply nested elements.")
        plain = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        node = Node(name.rpartition(" ")[2], plain)
        stack[-1].children.append(node)
        stack.append(node)

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.CharacterDataHandler = lambda data: stack[-1].pieces.append(data)
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise UnreadableFile(f"the file is no well-formed XML: {error}.") from None
    except (ValueError, LookupError) as error:  # an encoding that is not known
        raise UnreadableFile(f"the file's encoding cannot be read: {error}.") from None
    return root.children[0]


def read_json(content: bytes) -> Any:
    """Return the value of JSON in UTF-8."""
    try:
        return json.loads(decoded(content))
    except json.JSONDecodeError as error:
        raise UnreadableFile(
            f"the file is no JSON: line {error.lineno}, column {error.colno}: {error.msg}."
        ) from None
    except (RecursionError, ValueError):
        raise UnreadableFile(
            "the file's JSON is nested too deeply, or has a huge number."
        ) from None


def decoded(content: bytes) -> str:
    """Return a text in UTF-8, or in UTF-16 with a mark."""
    marked = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        text = content.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"the file is no text in UTF-8 (byte {error.start + 1}); save it in UTF-8."
        ) from None
    if "\0" in text:
        raise UnreadableFile("the file holds NUL characters; it is no text.")
    return text


def read_tabs(text: str) -> list[dict[str, str]]:
    """Return the rows of a table with tabs between its columns, by the names in its first row."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t"))
    except csv.Error as error:
        raise UnreadableFile(f"the file is no table with tabs: {error}.") from None
    names = [name.strip().lower() for name in rows[0]] if rows else []
    return [dict(zip(names, row, strict=False)) for row in rows[1:] if any(map(str.strip, row))]


def read_sheets(content: bytes) -> dict[str, list[dict[str, str]]]:
    """Return the sheets of a spreadsheet (.xlsx): rows by the names in the first row.

    Names of sheets and columns are in lower case. Read without a library for spreadsheets: a
    stranger's file is unpacked within limits, and its XML has no document type. The limits are of
    the whole book.
    """
    left = _Left()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as book:
            _require_small(book)
            names = {one.filename for one in book.infolist()}
            if "xl/workbook.xml" not in names:
                raise UnreadableFile(
                    "the file is a ZIP archive and no spreadsheet; choose the .xlsx file itself."
                )
            strings = _strings(book, left) if "xl/sharedStrings.xml" in names else []
            return {
                title.strip().lower(): _rows(_read_xml(book.read(path), left), strings, left)
                for title, path in _sheet_paths(book, left)
                if path in names
            }
    except (
        *(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError),
        *(EOFError, KeyError, OSError),
    ) as error:
        raise UnreadableFile(f"the file cannot be read as a spreadsheet: {error}.") from None


def _require_small(book: zipfile.ZipFile) -> None:
    parts = book.infolist()
    if len(parts) > _MOST_PARTS or sum(one.file_size for one in parts) > MOST_UNPACKED:
        raise UnreadableFile(
            f"the file unpacks to more than {MOST_UNPACKED / 1e6:.0f} MB or {_MOST_PARTS} parts; "
            "no questionnaire does."
        )
    # What a part says of its own size need not be true; reading stops there all the same.
    if any(one.flag_bits & 1 for one in parts):
        raise UnreadableFile("the spreadsheet has a password; save it without one.")


def _sheet_paths(book: zipfile.ZipFile, left: _Left) -> Iterator[tuple[str, str]]:
    relations = _read_xml(book.read("xl/_rels/workbook.xml.rels"), left)
    targets = {
        one.attributes.get("Id", ""): one.attributes.get("Target", "") for one in relations.children
    }
    sheets = _read_xml(book.read("xl/workbook.xml"), left).first("sheets")
    named: set[str] = set()
    for sheet in sheets.children if sheets else []:
        target = targets.get(sheet.attributes.get("id", ""), "").lstrip("/")
        path = target if target[:3] == "xl/" else f"xl/{target}"
        if path in named:  # it would be unpacked and read as often as it is named
            raise UnreadableFile(
                f"the file cannot be read: two of its sheets are one part, {path}."
            )
        named.add(path)
        yield sheet.attributes.get("name", ""), path


def _strings(book: zipfile.ZipFile, left: _Left) -> list[str]:
    root = _read_xml(book.read("xl/sharedStrings.xml"), left)
    # Cut once: each cell that names a text then holds the same one, and no copy of it.
    return [_text_of(one)[:_MOST_CELL] for one in root.all("si")]


def _text_of(node: Node) -> str:
    # Phonetic guides (rPh) stand beside the text, and are not part of it.
    direct = [one.text for one in node.all("t")]
    runs = [t.text for run in node.all("r") for t in run.all("t")]
    return "".join((*direct, *runs))


def _rows(sheet: Node, strings: list[str], left: _Left) -> list[dict[str, str]]:
    data = sheet.first("sheetData")
    names: dict[int, str] = {}
    rows: list[dict[str, str]] = []
    for row in data.all("row")[:_MOST_ROWS] if data else []:
        cells: dict[int, str] = {}
        for place, cell in enumerate(row.all("c")):
            found = _CELL.fullmatch(cell.attributes.get("r", ""))
            column = _column(found[1]) if found else place
            text = _cell(cell, strings)[:_MOST_CELL]
            left.letters -= len(text)  # many cells can name one long text
            if left.letters < 0:
                raise UnreadableFile(
                    f"the cells hold more than {_MOST_TEXT / 1e6:.0f} million letters; no "
                    "questionnaire does."
                )
            if text.strip() and column < _MOST_COLUMNS:
                cells[column] = text
        if not names:
            names = {column: text.strip().lower() for column, text in cells.items()}
        elif cells:
            rows.append({names[at]: text for at, text in cells.items() if at in names})
    return rows


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _cell(cell: Node, strings: list[str]) -> str:
    kind = cell.attributes.get("t", "n")
    if kind == "inlineStr":
        inline = cell.first("is")
        return "" if inline is None else _text_of(inline)
    value = cell.first("v")
    text = "" if value is None else value.text
    if kind == "s":
        return strings[int(text)] if text.isdigit() and int(text) < len(strings) else ""
    if kind == "b":
        return "TRUE" if text == "1" else "FALSE"
    if kind == "e":
        return ""
    # A whole number is kept as 1.0 by some programs.
    return text.removesuffix(".0") if kind == "n" else text
