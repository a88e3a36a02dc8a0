"""Log lines for operators: events and places, never people or their requests.

No line holds an address, a token, a query, a header or a body. An exception is logged by its type
and the places it passed; its text is left out, for the text of a database's error can hold what
somebody sent. There is no log of requests: it would say who answered when.
"""

from __future__ import annotations

import json
import logging
import math
import time
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import masquerade
from masquerade.server.http.database_faults import database_cause

_PACKAGE = Path(masquerade.__file__).parent
_LONGEST = 300
_MINUTE, _MOST_CAUSES = 60.0, 1000


class Lines(logging.Formatter):
    """A line of text for each record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields = fields_of(record)
        line = f"{fields.pop('time')} {fields.pop('level').upper()} {fields.pop('message')}"
        fields.pop("logger")
        return line + "".join(f" {name}={_word(value)}" for name, value in fields.items())


class JsonLines(logging.Formatter):
    """A JSON object on one line for each record.

    Keys: ``time`` (UTC), ``level``, ``logger``, ``message``, and what belongs to the message;
    ``error``, ``place`` and ``frames`` with an exception.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return json.dumps(fields_of(record), ensure_ascii=False)


def configure(log_format: str) -> None:
    """Log to standard error: as text warnings and errors, as JSON also starts, ends and sweeps."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if log_format == "json" else Lines())
    handler.addFilter(Seldom())
    root = logging.getLogger()
    # Handlers of libraries go: their lines could hold addresses.
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    own = logging.getLogger("masquerade")
    own.setLevel(logging.INFO if log_format == "json" else logging.WARNING)


def fields(**values: Any) -> dict[str, Any]:
    """Return the argument `extra` of a logger's call, with values beside the message."""
    return {"fields": values}


def described(error: BaseException) -> dict[str, Any]:
    """Return the type of an exception and the places it passed, innermost last."""
    frames = _frames(error.__traceback__)
    own = [frame for frame in frames if frame.startswith("masquerade/")]
    place = (own or frames or ["nowhere"])[-1]
    told = {"error": type(error).__qualname__, "place": place, "frames": frames}
    cause = database_cause(error)
    return told if cause is None else {**told, "cause": cause}


class Repeats:
    """Counts of one cause's errors, of which one line a minute is written."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lines: dict[str, tuple[float, int]] = {}

    def due(self, cause: str) -> int | None:
        """Count an error; return how many there were since the last line, where one is due."""
        now = self._now()
        last, count = self._lines.get(cause, (-math.inf, 0))
        if now - last < _MINUTE:
            self._lines[cause] = (last, count + 1)
            return None
        if len(self._lines) >= _MOST_CAUSES:
            self._lines.clear()
        self._lines[cause] = (now, 0)
        return count + 1


class Seldom(logging.Filter):
    """Lets one line a minute pass of each warning of the HTTP library, with how often it came.

    Anybody can cause such a warning by a few bytes that are no HTTP: a line for each would fill a
    disk.
    """

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._repeats = Repeats(now=now)

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is written."""
        seldom = record.name.startswith("uvicorn") and record.levelno <= logging.WARNING
        if not seldom or record.exc_info:
            return True
        count = self._repeats.due(record.getMessage())
        if count is not None and count > 1:
            record.fields = {"count": count}
        return count is not None


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of a log line for a record."""
    moment = datetime.fromtimestamp(record.created, UTC)
    # Other libraries put what they know of an exception on the lines after the first.
    message = record.getMessage().partition("\n")[0][:_LONGEST]
    fields: dict[str, object] = {
        "time": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": message,
    }
    more = getattr(record, "fields", None)
    if isinstance(more, Mapping):
        fields.update(more)
    if record.exc_info and record.exc_info[1] is not None:
        fields.update(described(record.exc_info[1]))
    return fields


def _frames(trace: TracebackType | None) -> list[str]:
    return [
        f"{_module(frame.filename)}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(trace)
    ]


def _module(file: str) -> str:
    path = Path(file)
    if path.is_relative_to(_PACKAGE):
        return f"masquerade/{path.relative_to(_PACKAGE)}"
    return "/".join(path.parts[-2:])


def _word(value: Any) -> str:
    return " < ".join(reversed(value)) if isinstance(value, list) else str(value)
