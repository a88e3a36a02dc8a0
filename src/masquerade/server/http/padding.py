"""Bodies of a few sizes only, so that a watcher of the line cannot tell levels or answers apart."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

BLOCK = 1024
_ROOM = len(',"padding":""')


def padded(
    content: dict[str, Any],
    status: int = 200,
    *,
    least: int = 0,
    room: int = 0,
    media_type: str = "application/json",
) -> Response:
    """Return a JSON object, filled up with spaces to whole kibibytes.

    Parameters
    ----------
    content : dict
        Not empty.
    status : int
    least : int
        Length in bytes that the object is treated as if it had at least: that of the longest
        answer that could stand in its place.
    room : int
        How many bytes shorter it is than that one, where this is known instead.
    media_type : str
    """
    body = encoded(content)
    longest = max(len(body) + room, least)
    # Rounded up to whole blocks, with room for the name of the filling.
    size = -(-(longest + _ROOM) // BLOCK) * BLOCK
    filling = b" " * (size - len(body) - _ROOM)
    return Response(
        body[:-1] + b',"padding":"' + filling + b'"}', status_code=status, media_type=media_type
    )


def spare(value: Any, most: int) -> int:
    """Return how many bytes a value, encoded, is shorter than the longest that could be there."""
    return max(0, most - len(encoded(value)))


def encoded(content: Any) -> bytes:
    """Return JSON as it is sent."""
    # A lone half of a surrogate pair cannot be sent as UTF-8.
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        errors="replace"
    )
