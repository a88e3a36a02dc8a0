"""Spreadsheets are read as CSV files are, and written so that nothing in them runs."""

from __future__ import annotations

import datetime
import re
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import openpyxl
import pyarrow as pa
import pytest

from masquerade.answers.frames import read_table, write_table
from masquerade.errors import MissingExtra, UnreadableFile


def book(path: Path, *sheets: list[list[Any]]) -> Path:
    """Write a spreadsheet of these rows."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for rows in sheets:
        sheet = made.create_sheet()
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def test_a_sheet_is_read_as_its_csv_would_be(tmp_path: Path) -> None:
    """Whole numbers have no point, days are ISO days, empty cells are missing, the rest is text."""
    rows: list[list[Any]] = [
        ["task", "value", None],
        ["a", 3.0],
        ["b", 0.5],
        [None, True],
        ["null", datetime.date(2026, 3, 1)],
        [],
    ]
    table = read_table(book(tmp_path / "t.xlsx", rows, []))
    assert table.to_pydict() == {
        "task": ["a", "b", None, "null"],
        "value": ["3", "0.5", "TRUE", "2026-03-01T00:00:00"],
    }
    assert set(table.schema.types) == {pa.string()}


def test_a_table_survives_a_spreadsheet(tmp_path: Path) -> None:
    """Written cells are read back as text: numbers, truth values, nulls, large numbers, days."""
    table = pa.table(
        {
            "worker": ["x", "y"],
            "value": [1.25, None],
            "n": [2**53 + 1, 7],
            "ok": [True, False],
            "day": [datetime.date(2026, 1, 2)] * 2,
        }
    )
    write_table(table, tmp_path / "T.XLSX")
    assert read_table(tmp_path / "T.XLSX").to_pylist() == [
        {"worker": "x", "value": "1.25", "n": str(2**53 + 1), "ok": "TRUE", "day": "2026-01-02"},
        {"worker": "y", "value": None, "n": "7", "ok": "FALSE", "day": "2026-01-02"},
    ]


def test_no_answer_becomes_a_formula(tmp_path: Path) -> None:
    """A text that begins as a formula stands in the sheet as text, also as a column's name."""
    path = tmp_path / "t.xlsx"
    write_table(pa.table({"=A1": ["=HYPERLINK(1)", "+1"]}), path)
    with ZipFile(path) as parts:
        assert b"<f>" not in parts.read("xl/worksheets/sheet1.xml")
    assert read_table(path).to_pydict() == {"=A1": ["=HYPERLINK(1)", "+1"]}


@pytest.mark.parametrize("below", [[], [[]]], ids=["title", "title and empty row"])
def test_a_title_above_the_table_is_passed_over(tmp_path: Path, below: list[list[Any]]) -> None:
    """A first row of one cell above a row of several is said to be a title."""
    rows = [["Cats and dogs"], *below, ["task", "worker", "label"], ["a", "x", "cat"]]
    with pytest.warns(UserWarning, match="row 1 is read as a title"):
        table = read_table(book(tmp_path / "t.xlsx", rows))
    assert table.to_pylist() == [{"task": "a", "worker": "x", "label": "cat"}]


@pytest.mark.parametrize(
    ("sheets", "words"),
    [
        ([[["task"], ["a"]], [["more"]]], r"has 2 sheets that hold cells \('Sheet', 'Sheet1'\)"),
        ([[]], r"has 0 sheets that hold cells \(none\)"),
        ([[["task", None, "label"], ["a", 1, "b"]]], "column 2 has no name"),
        ([[["task"], ["a"], ["b", "c"]]], "row 2: there are cells beyond the 1 named columns"),
        ([[["task"], ["#N/A"]]], "column 'task', row 1: the cell holds the error #N/A"),
    ],
)
def test_a_sheet_that_is_no_table_is_refused(
    tmp_path: Path, sheets: list[list[list[Any]]], words: str
) -> None:
    """Nothing is guessed: not the sheet, a column's name, or the value of an error."""
    with pytest.raises(UnreadableFile, match=words):
        read_table(book(tmp_path / "t.xlsx", *sheets))


def test_what_is_no_spreadsheet_says_so(tmp_path: Path) -> None:
    """A file that only ends so is refused; so is a text that a spreadsheet cannot hold."""
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"task,label\n")
    with pytest.raises(UnreadableFile, match="cannot be read as a spreadsheet"):
        read_table(path)
    with pytest.raises(UnreadableFile, match="row 2: a text holds a control character"):
        write_table(pa.table({"x": ["fine", "\x00"]}), path)


def test_more_rows_than_a_sheet_has_are_refused(tmp_path: Path) -> None:
    """A table of over a million rows is for CSV or Parquet."""
    with pytest.raises(UnreadableFile, match="at most 1,048,575 rows, the table has 1,048,576"):
        write_table(pa.table({"x": pa.nulls(2**20)}), tmp_path / "t.xlsx")


def test_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without openpyxl the error is the line that installs it."""
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"")
    with pytest.raises(MissingExtra, match=r"\[sheets\]"):
        read_table(path)


LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 9))
ENTITIES = f'<!DOCTYPE l [<!ENTITY a0 "lol">{LAUGHS}]><worksheet'.encode()
FAR = b'<row r="9999999999"><c r="A9999999999"><v>1</v></c></row></sheetData>'


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({b"<worksheet": ENTITIES, b"<v>7</v>": b"<v>&a8;</v>"}, "cannot be read as a spreadsheet"),
        ({b"</sheetData>": FAR}, "below row"),
        ({b"<v>7</v>": b"<v>" + b"9" * 5000 + b"</v>"}, "cannot be read as a spreadsheet"),
        ({b"<v>7</v>": b"<v>seven</v>"}, "cannot be read as a spreadsheet"),
        ({b"</sheetData>": b""}, "cannot be read as a spreadsheet"),
        ({b'r="A2"': b'r="ZZZZ2"'}, "cannot be read as a spreadsheet"),
    ],
)
def test_a_hostile_sheet_is_refused(
    tmp_path: Path, changes: dict[bytes, bytes], wrong: str
) -> None:
    """Entities, a row that no sheet has, a number of 5,000 digits, broken XML: each a sentence."""
    path, hostile = book(tmp_path / "good.xlsx", [["task"], [7]]), tmp_path / "bad.xlsx"
    with ZipFile(path) as good, ZipFile(hostile, "w") as bad:
        for part in good.namelist():
            content = good.read(part)
            if part.startswith("xl/worksheets/"):
                # What a sheet says of its size need not be there.
                content = re.sub(b"<dimension[^>]*>", b"", content)
                for old, new in changes.items():
                    assert old in content
                    content = content.replace(old, new, 1)
            bad.writestr(part, content)
    with pytest.raises(UnreadableFile, match=wrong):
        read_table(hostile)
