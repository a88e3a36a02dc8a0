"""The key of an SQLite database that is encrypted as a whole (SQLCipher, the extra ``sealed``).

Rewriting takes the order of arrival out of a file some seconds after a change. A key that lies
elsewhere closes those seconds and the log of the latest changes too: who copies the data folder has
neither without the key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from masquerade.errors import OperationError, ParameterError, UnreadableFile

_KEY = re.compile(r"[0-9a-f]{64}")
_HOW = "make one with: openssl rand -hex 32"


def checked_key(name: str, value: str) -> str:
    """Return a key of 256 bits in hexadecimal.

    Raises
    ------
    ParameterError
        It is none; the message does not show it.
    """
    key = value.strip().lower()
    if not _KEY.fullmatch(key):
        raise ParameterError(
            f"{name} has {len(key)} letters that are no key, expected 64 hexadecimal digits; "
            f"{_HOW}."
        )
    return key


def read_key(file: Path) -> str:
    """Return the key in a file.

    Raises
    ------
    UnreadableFile
        The file is not there or cannot be read.
    ParameterError
        There is no key in it.
    """
    try:
        content = file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise UnreadableFile(f"cannot read the database's key in {file}: {why}; {_HOW}.") from error
    return checked_key(f"the file {file}", content)


def sealed_driver() -> ModuleType:
    """Return the driver for encrypted SQLite databases.

    Raises
    ------
    OperationError
        It is not installed.
    """
    try:
        from sqlcipher3 import dbapi2
    except ImportError as error:
        raise OperationError(
            "a database with a key needs SQLCipher; pip install 'masquerade[sealed]'."
        ) from error
    found: ModuleType = dbapi2
    return found


def unlock(key: str) -> Callable[[Any, Any], None]:
    """Return what gives a new connection the key, before anything else is asked of it."""

    def give(connection: Any, _record: Any) -> None:
        connection.execute(f"PRAGMA key=\"x'{key}'\"")

    return give
