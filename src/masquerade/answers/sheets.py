"""Spreadsheets (.xlsx) in and out: one sheet, with the columns' names in its first row."""

from __future__ import annotations

import math
import warnings
import zlib
from collections.abc import Iterator
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile

import pyarrow as pa

from masquerade.errors import MasqueradeError, MissingExtra, UnreadableFile

_MOST_ROWS = 2**20 - 1  # of a sheet, beside the names
_WHOLE = 2**53  # whole numbers up to this are exact in a spreadsheet
_BATCH = 1 << 14
# A file that is no archive, lacks a part, or holds broken XML (an error of its own kind of syntax).
_BROKEN = (OSError, BadZipFile, LookupError, ValueError, TypeError, ParseError, zlib.error)
_MOST_TITLES = 2  # rows above the names: a title, and an empty row

Cell = str | int | float | bool | None


def read_sheet(path: Path) -> pa.Table:
    """Return the one sheet of a spreadsheet that holds anything, every column as text.

    As `read_table` reads CSV: an empty cell is a missing value. A formula counts as the value that
    the spreadsheet's program kept for it.

    Raises
    ------
    MissingExtra
        openpyxl is not installed.
    UnreadableFile
        The file is no spreadsheet, no sheet or several hold cells, a column has no name, or a cell
        holds an error.
    """
    openpyxl = _library()
    try:
        # Opened here, as the library leaves a file open that it cannot read.
        with path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            return _only_table(book, path)
    except MasqueradeError:
        raise
    except _BROKEN as error:
        raise UnreadableFile(f"{path} cannot be read as a spreadsheet: {error}") from error


def _only_table(book: Any, path: Path) -> pa.Table:
    filled = [sheet for sheet in book.worksheets if any(_rows(sheet))]
    if len(filled) != 1:
        names = ", ".join(repr(sheet.title) for sheet in filled) or "none"
        raise UnreadableFile(
            f"{path} has {len(filled)} sheets that hold cells ({names}); expected one. Keep "
            "one sheet, or export it as CSV."
        )
    return _table(filled[0], path)


def _rows(sheet: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a sheet up to the last that holds anything."""
    empty: list[tuple[Any, ...]] = []
    for number, row in enumerate(sheet.iter_rows(values_only=True)):
        # A cell may name any row, and all rows before it are made.
        if number > _MOST_ROWS:
            raise UnreadableFile(
                f"the sheet {sheet.title!r} has a cell below row {_MOST_ROWS + 1:,}, the last that "
                "a sheet has; save the file anew."
            )
        if all(cell is None for cell in row):
            empty.append(row)
            continue
        yield from empty
        empty.clear()
        yield row


def _table(sheet: Any, path: Path) -> pa.Table:
    rows = _rows(sheet)
    first, rows = _below_titles(rows, path)
    names = [None if cell is None else str(cell) for cell in first]
    while names and names[-1] is None:
        names.pop()
    for place, name in enumerate(names, start=1):
        if name is None:
            raise UnreadableFile(f"{path}: column {place} has no name; fill in its first cell.")
    columns: list[list[str | None]] = [[] for _ in names]
    for number, row in enumerate(rows, start=1):
        if any(cell is not None for cell in row[len(names) :]):
            raise UnreadableFile(
                f"{path}, row {number}: there are cells beyond the {len(names)} named columns; "
                "name every column, or clear them."
            )
        for name, column, cell in zip(names, columns, row, strict=False):
            column.append(_text(cell, f"{path}, column {name!r}, row {number}"))
        for column in columns[len(row) :]:
            column.append(None)
    arrays = [pa.array(column, pa.string()) for column in columns]
    return pa.Table.from_arrays(arrays, names=[str(name) for name in names])


def _below_titles(
    rows: Iterator[tuple[Any, ...]], path: Path
) -> tuple[tuple[Any, ...], Iterator[tuple[Any, ...]]]:
    """Return the row of names and the rows below; titles of one cell above them are passed over."""
    ahead = list(islice(rows, _MOST_TITLES + 1))
    filled = [sum(cell is not None for cell in row) for row in ahead]
    titles = next((place for place, cells in enumerate(filled) if cells > 1), 0)
    held = [place for place in range(titles) if filled[place]]
    # A table of one column has no row of several cells after its first one.
    if titles and held == [0]:
        warnings.warn(
            f"{path}: row 1 is read as a title, and row {titles + 1} as the columns' names.",
            stacklevel=2,
        )
        ahead = ahead[titles:]
    return ahead[0], chain(ahead[1:], rows)


def _text(cell: Any, where: str) -> str | None:
    """Return a cell as it would stand in a CSV file of the sheet; `where` is for errors."""
    if cell is None or cell == "":
        return None
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float):
        # A spreadsheet has one kind of number: 3 may be kept as 3.0.
        return str(int(cell)) if cell.is_integer() and abs(cell) <= _WHOLE else repr(cell)
    if isinstance(cell, str):
        if cell in ("#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"):
            raise UnreadableFile(f"{where}: the cell holds the error {cell}; mend or clear it.")
        return cell
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)


def write_sheet(table: pa.Table, path: Path) -> None:
    """Write `table` as a spreadsheet of one sheet; no text becomes a formula.

    Raises
    ------
    MissingExtra
        openpyxl is not installed.
    UnreadableFile
        There are more rows than a sheet has, or a text holds what a spreadsheet cannot.
    """
    openpyxl = _library()
    if table.num_rows > _MOST_ROWS:
        raise UnreadableFile(
            f"{path}: a sheet has at most {_MOST_ROWS:,} rows, the table has {table.num_rows:,}; "
            "write .csv or .parquet."
        )
    cell_of = import_module("openpyxl.cell").WriteOnlyCell
    unfit = import_module("openpyxl.utils.exceptions").IllegalCharacterError
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()

    def cell(value: Any) -> Any:
        known = _cell(value)
        if not isinstance(known, str):
            return known
        made = cell_of(sheet, known)
        made.data_type = "s"  # "=1+1" is somebody's answer, and is shown as it is
        return made

    row = 0
    try:
        sheet.append([cell(name) for name in table.column_names])
        for batch in table.to_batches(max_chunksize=_BATCH):
            for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                row += 1
                sheet.append([cell(value) for value in values])
    except unfit as error:
        sheet.close()  # its temporary file
        raise UnreadableFile(
            f"{path}, row {row}: a text holds a control character, which a spreadsheet cannot; "
            "write .csv or .parquet."
        ) from error
    book.save(path)


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _WHOLE else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def _library() -> Any:
    try:
        return import_module("openpyxl")
    except ImportError as error:
        raise MissingExtra("spreadsheets need openpyxl", "sheets") from error
