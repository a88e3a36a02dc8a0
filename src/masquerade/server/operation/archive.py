"""The form of a backup: lines of JSON, compressed, that no database product owns.

::

    {"masquerade_backup": 1, "revision": "0002", "day": "2026-03-14", "tables": {...}}
    ["survey", "3f...", "Work", ...]
    ...
    {"rows": {"survey": 1, ...}, "sha256": "..."}

The first line names the schema's revision, and the columns of each table with their kinds. Then
comes a line a row; columns of JSON are their text as it is kept. The last line counts the rows and
has the hash of all lines before it, so a file that was cut short or changed is found out.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from sqlalchemy import JSON, BigInteger, Boolean, Column, Integer, LargeBinary, String

from masquerade.errors import BrokenBackup, OperationError

VERSION = 1
_KINDS: tuple[tuple[type[Any], str], ...] = (
    (Boolean, "boolean"),
    (BigInteger, "integer"),
    (Integer, "integer"),
    (JSON, "json"),
    (LargeBinary, "bytes"),
    (String, "text"),  # also Text
)
_PYTHON: dict[str, type[Any]] = {
    "boolean": bool,
    "integer": int,
    "json": str,
    "bytes": str,
    "text": str,
}

Columns = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Header:
    """What a backup says of itself.

    Attributes
    ----------
    revision : str
        Of the schema.
    day : str
        ISO date on which it was made.
    made_by : str
        Version of Masquerade.
    tables : dict
        Name of each table to its columns, each with its kind.
    """

    revision: str
    day: str
    made_by: str
    tables: dict[str, Columns]


def kind_of(column: Column[Any]) -> str:
    """Return the kind of a column.

    Raises
    ------
    OperationError
        Backups have no form for it.
    """
    for type_, kind in _KINDS:
        if isinstance(column.type, type_):
            return kind
    raise OperationError(
        f"column {column.name} of table {column.table.name} is of type {column.type}, for which "
        "backups have no form."
    )


class ArchiveWriter:
    """Writes a backup.

    Parameters
    ----------
    file : binary file
    header : Header
    """

    def __init__(self, file: IO[bytes], header: Header) -> None:
        # Without a name and a time: the same rows give the same bytes.
        self._zip = gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0)
        self._digest = hashlib.sha256()
        self._rows: Counter[str] = Counter()
        self._bytes = {
            name: [place for place, (_, kind) in enumerate(columns, start=1) if kind == "bytes"]
            for name, columns in header.tables.items()
        }
        self._line(
            {
                "masquerade_backup": VERSION,
                "made_by": header.made_by,
                "day": header.day,
                "revision": header.revision,
                "tables": header.tables,
            }
        )

    def add(self, table: str, row: Sequence[Any]) -> None:
        """Write a row."""
        line = [table, *row]
        for place in self._bytes[table]:
            if line[place] is not None:
                line[place] = base64.b64encode(line[place]).decode()
        self._rows[table] += 1
        self._line(line)

    def end(self) -> dict[str, int]:
        """Write the last line, and return the number of rows of each table that has any."""
        digest = self._digest.hexdigest()
        self._line({"rows": dict(self._rows), "sha256": digest})
        self._zip.close()
        return dict(self._rows)

    def _line(self, content: Any) -> None:
        line = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self._digest.update(line)
        self._zip.write(line)


class ArchiveReader:
    """Reads a backup and checks all that it says.

    Parameters
    ----------
    file : binary file

    Raises
    ------
    BrokenBackup
        The file is none, or of a form that this version does not know.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = gzip.GzipFile(fileobj=file, mode="rb")
        self._digest = hashlib.sha256()
        first = self._next()
        if not isinstance(first, dict) or "masquerade_backup" not in first:
            raise BrokenBackup("this is no backup of Masquerade; name a file that backup made.")
        if first["masquerade_backup"] != VERSION:
            raise BrokenBackup(
                f"this backup is of form {first['masquerade_backup']!r} and this version reads "
                f"form {VERSION}; restore it with the version that made it ({first['made_by']})."
            )
        try:
            tables = {
                str(name): [(str(column), str(kind)) for column, kind in columns]
                for name, columns in first["tables"].items()
            }
            self.header = Header(
                str(first["revision"]), str(first["day"]), str(first["made_by"]), tables
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise BrokenBackup("the first line of this backup was changed.") from error

    def rows(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield the table and the values of each row, then check the end.

        Raises
        ------
        BrokenBackup
            The file was cut short or changed; forget what was yielded.
        """
        counted: Counter[str] = Counter()
        while True:
            before = self._digest.hexdigest()
            line = self._next()
            if isinstance(line, dict):
                break
            name = line[0] if isinstance(line, list) and line else None
            columns = self.header.tables.get(name) if isinstance(name, str) else None
            if columns is None or len(line) != len(columns) + 1:
                raise _changed(f"row {sum(counted.values()) + 1} is of no table that it names")
            counted[line[0]] += 1
            yield line[0], [self._value(*one) for one in zip(columns, line[1:], strict=True)]
        if line.get("sha256") != before or line.get("rows") != dict(counted):
            raise _changed("its content does not have the hash in its last line")
        if self._read():
            raise _changed("something comes after its last line")

    def _value(self, column: tuple[str, str], value: Any) -> Any:
        name, kind = column
        if value is None:
            return None
        if type(value) is not _PYTHON.get(kind):
            raise _changed(f"a value of column {name} is no {kind}")
        return base64.b64decode(value) if kind == "bytes" else value

    def _next(self) -> Any:
        line = self._read()
        if not line.endswith(b"\n"):
            raise BrokenBackup(
                "this backup was cut short: its last line is missing. Take an older one."
            )
        self._digest.update(line)
        try:
            return json.loads(line)
        except ValueError as error:
            raise _changed("a line is no JSON") from error

    def _read(self) -> bytes:
        try:
            return self._zip.readline()
        except EOFError:
            return b""
        except (gzip.BadGzipFile, zlib.error) as error:
            raise BrokenBackup("this is no backup, or it was changed.") from error


def _changed(how: str) -> BrokenBackup:
    return BrokenBackup(f"this backup was changed: {how}. Take another one.")
