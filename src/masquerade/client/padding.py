"""Bodies of requests whose length says nothing of the answers or the level."""

from __future__ import annotations

import json
from typing import Any

BLOCK = 1024
_ROOM_FOR_A_REPORT = 20  # the longest whole number a report can be, its sign and a comma
_ROOM_FOR_A_LEVEL = 64


def padded(content: dict[str, Any]) -> bytes:
    """Return an object as JSON, filled up with spaces to a multiple of 1 KiB.

    The multiple depends on the number of reports only, neither on the reports nor on the level.
    The page does the same (``padded`` in ``web/static/app/api.js``).

    Examples
    --------
    >>> len(padded({"survey": "5a", "level": "high"})), len(padded({"reports": [-12] * 100}))
    (1024, 3072)
    """
    reports = content.get("reports", [])
    emptied = {**content, "reports": [], "level": "", "padding": ""}
    room = _ROOM_FOR_A_REPORT * len(reports) + _ROOM_FOR_A_LEVEL
    bare = len(_json({**content, "padding": ""}))
    size = -(-max(len(_json(emptied)) + room, bare) // BLOCK) * BLOCK
    return _json({**content, "padding": " " * (size - bare)})


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
