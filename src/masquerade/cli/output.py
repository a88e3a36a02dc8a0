"""Results on standard output, for people or for machines; everything else on standard error."""

from __future__ import annotations

import errno
import json
import math
import sys
from collections.abc import Mapping
from typing import Any


def complain(error: Exception) -> None:
    """Say on standard error what went wrong."""
    sys.stderr.write(f"{type(error).__name__}: {error}\n")


def show(result: Mapping[str, Any], *, as_json: bool, title: str) -> None:
    """Print a result: one JSON object, or a table of its entries."""
    if as_json:
        sys.stdout.write(json.dumps(_finite(result), ensure_ascii=False, allow_nan=False) + "\n")
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for key, value in result.items():
        table.add_row(escape(key.replace("_", " ")), escape(_text(value)))
    Console().print(table)


def _finite(value: Any) -> Any:
    """Return a result that JSON can hold: what is infinite as a text, what is no number as null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _text(value: Any) -> str:
    if isinstance(value, float):
        if 1e-3 <= abs(value) < 1e9:  # all digits of an amount of loss: never rounded down
            return f"{value:.6f}".rstrip("0").rstrip(".")
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return "\n".join(f"{key.replace('_', ' ')}: {_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(_text(item) for item in value)
    return "–" if value is None else str(value)


def disk_trouble(error: BaseException) -> str | None:
    """Return what is wrong with the disk, where that is why something ended; else None."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _DISK_ERRORS:
            place = "" if cause.filename is None else f" at {cause.filename}"
            return f"nothing can be written{place}: {cause.strerror}. Make room, or name another."
        if type(cause).__module__ in ("sqlite3", "sqlcipher3.dbapi2") and any(
            words in str(cause) for words in _DISK_WORDS
        ):
            return f"the database cannot be written: {cause}. Is its disk full or read-only?"
        cause = cause.__cause__ or cause.__context__
    return None


_DISK_ERRORS = (errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.ENOENT)
_DISK_WORDS = ("readonly database", "disk is full", "disk I/O error", "unable to open database")
