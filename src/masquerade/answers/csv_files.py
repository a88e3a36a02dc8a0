"""CSV files as tables of texts: any separator of columns, in the usual encodings."""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from masquerade.errors import UnreadableFile

#: Texts that a CSV file may hold for "no value"; each is reported, never read as a label. Between
#: quotes they are text, as `write_table` writes them: somebody may be called null.
MISSING_TEXT = ("", "NaN", "nan", "null", "NULL")

#: What separates columns, by its name; the first that stands in a header of one column is taken.
SEPARATORS = {"tabs": "\t", "semicolons": ";", "bars": "|"}

_ANY_BYTES = "latin-1"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF8_LETTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)

Source = Callable[[], Any]


def read_csv(source: Source, called: str | Path) -> pa.Table:
    """Read a file of separated columns, every one as text.

    The separator is a comma, or a tab, semicolon or bar where the header has no comma. The text is
    UTF-8; UTF-16 by its mark; else Windows-1252, if no letter of it is written as in UTF-8. A
    warning says which was taken, unless it is commas and UTF-8.

    Parameters
    ----------
    source : callable
        Opens the file anew: a path, or a reader of bytes. By the path's ending it is unpacked.
    called : str or Path
        Name of the file in errors.

    Raises
    ------
    UnreadableFile
        The message names the row, and what is wrong with it.
    """
    start = _content(source, 2)
    if not start:
        raise UnreadableFile(
            f"{called} cannot be read: it is empty; expected a first row with the names of columns."
        )
    if start in _UTF16:
        source = _decoded_source(source, called, "utf-16", "UTF-16")
    try:
        return _read(source, called)
    except _NotUtf8 as error:
        content = _content(source)
        if _UTF8_LETTER.search(content):
            raise UnreadableFile(str(error)) from error
        try:
            content.decode("cp1252")
        except UnicodeDecodeError:
            raise UnreadableFile(str(error)) from error
        return _read(_decoded_source(source, called, "cp1252", "Windows-1252"), called)


class _NotUtf8(UnreadableFile):
    """Bytes of a file are not UTF-8."""


def _content(source: Source, size: int | None = None) -> bytes:
    opened = source()
    with pa.input_stream(opened) if isinstance(opened, Path) else opened as stream:
        return bytes(stream.read(size))


def _decoded_source(source: Source, called: str | Path, encoding: str, said: str) -> Source:
    try:
        text = _content(source).decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{called} cannot be read: {error}; save it as UTF-8.") from error
    warnings.warn(f"{called} is read as {said}.", stacklevel=2)
    data = text.encode()
    return lambda: pa.BufferReader(data)


def _read(source: Source, called: str | Path) -> pa.Table:
    header, separator = _header(source, called)
    parse = pa_csv.ParseOptions(newlines_in_values=True, delimiter=separator)
    try:
        names = [_decoded(name) for name in header]
    except UnicodeDecodeError as error:
        raise _NotUtf8(
            f"{called} cannot be read: its header is not UTF-8 text; expected a CSV file, saved as "
            "UTF-8, whose first row names the columns."
        ) from error
    # Spreadsheets put a byte order mark before the header.
    names[0] = names[0].removeprefix("\ufeff")
    try:
        return pa_csv.read_csv(
            source(),
            parse_options=parse,
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=list(MISSING_TEXT),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        _refuse_broken_row(source(), header, separator, called)
        raise UnreadableFile(f"{called} cannot be read: {error}") from error


def _header(source: Source, called: str | Path) -> tuple[list[str], str]:
    """Return the columns' names, in Latin-1, and their separator."""
    # As Latin-1, which every byte is: pyarrow aborts where it hands over a row that is not UTF-8.
    found = _names(source, ",")
    for said, mark in SEPARATORS.items():
        if len(found) == 1 and mark in found[0]:
            warnings.warn(f"{called} is read as separated by {said}.", stacklevel=2)
            return _names(source, mark), mark
    return found, ","


def _names(source: Source, separator: str) -> list[str]:
    lenient = pa_csv.ParseOptions(
        newlines_in_values=True, delimiter=separator, invalid_row_handler=lambda _row: "skip"
    )
    anything = pa_csv.ReadOptions(encoding=_ANY_BYTES)
    with pa_csv.open_csv(source(), read_options=anything, parse_options=lenient) as reader:
        return list(reader.schema.names)


def _decoded(latin: str, errors: str = "strict") -> str:
    """Return the UTF-8 text of bytes that were read as Latin-1."""
    return latin.encode(_ANY_BYTES).decode(errors=errors)


def _refuse_broken_row(source: Any, names: list[str], separator: str, called: str | Path) -> None:
    """Refuse a file's first broken row, if one is found; its `names` are read in Latin-1."""
    ragged: list[pa_csv.InvalidRow] = []

    def note(row: pa_csv.InvalidRow) -> str:
        ragged.append(row)
        return "skip"

    table = pa_csv.read_csv(
        source,
        read_options=pa_csv.ReadOptions(
            use_threads=False,  # only then are rows numbered
            encoding=_ANY_BYTES,
        ),
        parse_options=pa_csv.ParseOptions(
            newlines_in_values=True, delimiter=separator, invalid_row_handler=note
        ),
        convert_options=pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.binary())),
    )
    if ragged:
        row = ragged[0]  # its number counts the header
        text = _decoded(row.text, "replace")
        raise UnreadableFile(
            f"{called} cannot be read: row {row.number - 1} has {row.actual_columns} fields where "
            f"the header has {row.expected_columns}: {text[:100]!r}; quote fields that hold a "
            "comma, a quote or a line break."
        )
    for number, fields in enumerate(zip(*table.columns, strict=True), start=1):
        for name, field in zip(names, fields, strict=True):
            content = field.as_py().decode().encode(_ANY_BYTES)
            try:
                content.decode()
            except UnicodeDecodeError as error:
                raise _NotUtf8(
                    f"{called} cannot be read: column {_decoded(name)!r}, row {number}: "
                    f"{content[:100]!r} is not UTF-8; save the file as UTF-8."
                ) from error
