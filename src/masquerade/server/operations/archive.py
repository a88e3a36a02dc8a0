"""The form of a backup: lines of JSON, compressed, that no database product owns.

::

    {"masquerade_backup": 1, "revision": "0003", "day": "2026-03-14", "tables": {...}}
    ["survey", "3f...", "Work", ...]
    ...
    {"rows": {"survey": 1, ...}, "sha256": "..."}
    {"hmac_sha256": "..."}

The first line names the schema's revision, and the columns of each table with their kinds. Then
comes a line a row; columns of JSON are their text as it is kept. The last line counts the rows and
has the hash of all lines before it, so a file that was cut short by accident is found out.

Behind it stands an HMAC of all bytes before it, by the server's key: who does not have that key can
neither change a file nor make one. It is checked over the bytes as they lie
there, before anything is unpacked or read.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import hmac
import json
import re
import shutil
import struct
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final, cast

from sqlalchemy import JSON, BigInteger, Boolean, Column, Integer, LargeBinary, String

from masquerade.errors import BrokenBackup, OperationError
from masquerade.server.keys import ServerKey

VERSION = 1
_IN_MEMORY = 64 * 2**20
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
    """The header of a backup."""

    revision: str  # of the schema
    day: str  # ISO date on which it was made
    made_by: str  # version of Masquerade
    tables: dict[str, Columns]  # name of each table to its columns, each with its kind


def kind_of(column: Column[Any]) -> str:
    """Return the kind of a column, where backups have a form for it."""
    for type_, kind in _KINDS:
        if isinstance(column.type, type_):
            return kind
    raise OperationError(
        f"column {column.name} of table {column.table.name} is of type {column.type}, for which "
        "backups have no form."
    )


class _Authenticated:
    """Passes bytes on to a file and computes their HMAC."""

    def __init__(self, file: IO[bytes], key: ServerKey) -> None:
        self._file = file
        self.mac = _new_mac(key)

    def write(self, content: bytes) -> int:
        """Write."""
        self.mac.update(content)
        return self._file.write(content)

    def flush(self) -> None:
        """Write the buffered bytes to the file."""
        self._file.flush()


class ArchiveWriter:
    """Writes a backup that `key`, where there is one, vouches for."""

    def __init__(self, file: IO[bytes], header: Header, *, key: ServerKey | None) -> None:
        self._file = file
        self._authenticated = None if key is None else _Authenticated(file, key)
        # Without a name and a time: the same rows give the same bytes.
        self._zip = gzip.GzipFile(
            filename="",
            mode="wb",
            fileobj=cast("IO[bytes]", self._authenticated or file),
            compresslevel=6,
            mtime=0,
        )
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
        # Of all lines before the last one, which holds it.
        digest = self._digest.hexdigest()
        self._line({"rows": dict(self._rows), "sha256": digest})
        # Closing writes the last bytes, which the authentication code has to cover.
        self._zip.close()
        if self._authenticated is not None:
            self._file.write(_seal_of(self._authenticated.mac.hexdigest()))
        return dict(self._rows)

    def _line(self, content: Any) -> None:
        line = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self._digest.update(line)
        self._zip.write(line)


@contextlib.contextmanager
def authentic(file: IO[bytes], key: ServerKey | None) -> Iterator[IO[bytes]]:
    """Open the content of a backup that `key` vouches for; None believes the file as it is.

    The bytes that are checked are the bytes that are read afterwards, whatever becomes of `file`
    meanwhile. Above 64 MiB they lie in a file without a name.
    """
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as private:
        copy = cast("IO[bytes]", private)
        shutil.copyfileobj(file, copy)
        _authenticate(copy, key)
        copy.seek(0)
        yield copy


def _authenticate(copy: IO[bytes], key: ServerKey | None) -> None:
    """Check the seal at the end of a file, and take it off."""
    end = max(copy.tell() - _SEAL_BYTES, 0)
    copy.seek(end)
    seal = copy.read()
    sealed = _SEAL.fullmatch(seal) is not None
    if key is not None:
        if not sealed:
            raise BrokenBackup(
                "this backup was cut short, or has no authentication code, so that anybody can "
                "have written it; nothing of it was read. Take another one; or, where you know "
                "where it has been, restore it with --unauthenticated."
            )
        mac = _new_mac(key)
        copy.seek(0)
        left = end
        while left:
            piece = copy.read(min(left, 2**20))
            mac.update(piece)
            left -= len(piece)
        if not hmac.compare_digest(_seal_of(mac.hexdigest()), seal):
            raise BrokenBackup(
                "this backup was changed, or made with another server key; nothing of it was read. "
                "Take another one, or name the key of the server that made it with "
                "--server-key-file."
            )
    # Also where it was not checked: the reader refuses whatever comes after the last line.
    if sealed:
        copy.truncate(end)


def _new_mac(key: ServerKey) -> hmac.HMAC:
    return hmac.new(key.derived("backups"), digestmod=hashlib.sha256)


def _seal_of(mac: str) -> bytes:
    """Return the end of a backup: a line of JSON as a member of gzip, always of one form.

    Stored, not compressed (RFC 1951, 3.2.4): libraries' output differs between versions.
    """
    line = json.dumps({"hmac_sha256": mac}).encode() + b"\n"
    # RFC 1952: deflate, no flags, no time, an unknown system.
    head = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    block = b"\x01" + struct.pack("<HH", len(line), len(line) ^ 0xFFFF) + line
    return head + block + struct.pack("<II", zlib.crc32(line), len(line))


_SEAL_BYTES: Final = len(_seal_of("0" * 64))
# The last 8 bytes are a checksum and a length; the code is compared as a whole later.
_SEAL: Final = re.compile(
    re.escape(_seal_of("0" * 64)).replace(b"0" * 64, b"[0-9a-f]{64}", 1)[:-8] + rb".{8}", re.DOTALL
)


class ArchiveReader:
    """Reads a backup and checks its form and its digest."""

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

        Where that raises, forget what was yielded.
        """
        counted: Counter[str] = Counter()
        while True:
            # Of all lines so far: the one that is read next may be the last, which holds it.
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
        # Not `isinstance`: true would pass for a number.
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
        except (ValueError, RecursionError) as error:
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
