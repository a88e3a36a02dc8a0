"""Faults of databases and disks, by the names that SQLite, PostgreSQL and the system give them.

A name holds nothing that somebody sent, and nothing of the database's contents.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Final

#: Errors of a disk; any other of the system is no fault of the database.
_DISK: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that passes, or that whoever runs the server ends; nothing is lost by it."""

    names: tuple[str, ...]  # beginnings of names of SQLite and the system, and of SQLSTATEs
    words: str
    remedy: str


_FAULTS: Final = (
    Fault(("SQLITE_FULL", "53100", "ENOSPC", "EDQUOT"), "its disk is full", "Free some space."),
    Fault(
        ("SQLITE_READONLY", "25006", "EROFS"),
        "it is read-only",
        "Let this account write to its file, its folder and its disk.",
    ),
    Fault(("SQLITE_IOERR", "58030", "EIO"), "its disk fails", "Look at the disk."),
    Fault(
        ("SQLITE_CANTOPEN", "58P01"),
        "a file of it cannot be opened",
        "Is its folder there, and may this account use it?",
    ),
    Fault(
        ("SQLITE_BUSY", "SQLITE_LOCKED", "55P03"),
        "somebody else holds its lock",
        "Let the other program end, and start it again.",
    ),
    Fault(("57P",), "it ends or has not started yet", "Wait until it has started."),
    Fault(("53300",), "it has no connection left", "Let others end theirs, or allow more."),
    Fault(("53200", "SQLITE_NOMEM"), "it has no memory left", "Give it more."),
    Fault(("08",), "it does not answer", "Is it running?"),
)
_WORDS: Final = (
    ("disk is full", "SQLITE_FULL"),
    ("readonly database", "SQLITE_READONLY"),
    ("disk I/O error", "SQLITE_IOERR"),
    ("unable to open database", "SQLITE_CANTOPEN"),
    ("is locked", "SQLITE_BUSY"),
)


def database_cause(error: BaseException) -> str | None:
    """Return the name or SQLSTATE of a database's error or a disk's; None for any other."""
    if isinstance(error, OSError) and error.errno in _DISK:
        return errno.errorcode[error.errno]
    # SQLAlchemy's errors have the driver's within them.
    origin = getattr(error, "orig", None)
    return None if origin is None else driver_cause(origin)


def driver_cause(error: BaseException) -> str:
    """Return the name or SQLSTATE of a driver's error; where it has none, the name of its class."""
    name = getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None)
    if not name and type(error).__module__.startswith("sqlcipher3"):  # which has no names
        name = next((name for words, name in _WORDS if words in str(error)), None)
    return str(name) if name else type(error).__qualname__


def fault_of(cause: str) -> Fault | None:
    """Return the fault of a name or SQLSTATE; None where it is a fault of statements or data.

    Examples
    --------
    >>> fault_of("SQLITE_IOERR_WRITE").words
    'its disk fails'
    """
    return next((one for one in _FAULTS if cause.startswith(one.names)), None)
