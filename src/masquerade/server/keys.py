"""The two keys of a server, and the files that hold them.

The server's key seals secrets within the database, and vouches for backups. It lies outside the
database, so that a copy of the database, or of a backup, has neither the secrets of one-time codes
and webhooks in it nor what makes a backup genuine. All that is done with it is done with keys
derived from it, one for each purpose.

The database's key encrypts an SQLite file as a whole (SQLCipher, the extra ``sealed``). Rewriting
takes the order of arrival out of a file some seconds after a change. A key that lies elsewhere
closes those seconds and the log of the latest changes too: who copies the data folder has neither
without the key.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from masquerade.errors import OperationError, ParameterError, UnreadableFile

_KEY = re.compile(r"[0-9a-f]{64}")
_HOW = "make one with: openssl rand -hex 32"


@dataclass(frozen=True, slots=True)
class ServerKey:
    """A key of 256 bits.

    `hexadecimal`: 64 digits; not shown.
    """

    hexadecimal: str = field(repr=False)

    def derived(self, purpose: str) -> bytes:
        """Return the key for one purpose (HMAC-SHA256 of its name; RFC 5869, expansion)."""
        name = f"masquerade {purpose}".encode() + b"\x01"
        return hmac.digest(bytes.fromhex(self.hexadecimal), name, hashlib.sha256)


def checked_key(name: str, value: str) -> str:
    """Return a key of 256 bits in hexadecimal.

    Raises `ParameterError` (it is none; the message does not show it).
    """
    key = value.strip().lower()
    if not _KEY.fullmatch(key):
        raise ParameterError(
            f"{name} has {len(key)} letters that are no key, expected 64 hexadecimal digits; "
            f"{_HOW}."
        )
    return key


def read_database_key(file: Path) -> str:
    """Return the key in a file; raises the errors of `_read_key`."""
    return _read_key(file, "database", f"; {_HOW}.")


def read_server_key(file: Path) -> ServerKey:
    """Return the key in a file; raises the errors of `_read_key`."""
    advice = (
        ". It was made when the server first started; put it there, or name its place with "
        "server_key_file."
    )
    return ServerKey(_read_key(file, "server", advice))


def _read_key(file: Path, whose: str, advice: str) -> str:
    """Return the key in a file.

    Raises `UnreadableFile` (the file is not there or cannot be read) or `ParameterError` (there is
    no key in it).
    """
    try:
        content = file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise UnreadableFile(f"cannot read the {whose}'s key in {file}: {why}{advice}") from error
    return checked_key(f"the file {file}", content)


def make_server_key(file: Path) -> ServerKey:
    """Return the key in a file, which is made for this account's eyes only where it is not there.

    Of several processes one makes it: it appears whole.

    Raises `OperationError` (it cannot be made).
    """
    draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            write_private(draft, f"{secrets.token_hex(32)}\n")
            try:
                os.link(draft, file)  # unlike a renaming, never over another's
                flush_folder(file.parent)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
    except OSError as error:
        raise OperationError(
            f"cannot make the server's key in {file}: {error.strerror}. Name a place that can be "
            "written with server_key_file, or make one with: openssl rand -hex 32."
        ) from error
    return read_server_key(file)


def copy_server_key(source: Path, file: Path) -> None:
    """Put the key in `source` into `file`, where that is not there."""
    if not file.exists():
        key = read_server_key(source)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(file, f"{key.hexadecimal}\n")


def write_private(file: Path, content: str) -> None:
    """Write a new file for this account's eyes only, and see it on the disk."""
    number = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(number, "w", encoding="ascii") as writing:
        writing.write(content)
        writing.flush()
        os.fsync(writing.fileno())
    flush_folder(file.parent)


def flush_folder(folder: Path) -> None:
    """See on the disk which files a folder has, where the system can."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
