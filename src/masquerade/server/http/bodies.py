"""Bodies of requests and responses: read without unknown fields, sent in a few sizes only.

So a watcher of the line cannot tell levels or answers apart by the size of a response.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError
from starlette.responses import Response

BLOCK = 1024
_ROOM = len(',"padding":""')
_MOST_UNKNOWN = 20


class StrictBody(BaseModel):
    """A body that may have no unknown fields; where it has many, one error counts them all."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _few_unknown(cls, given: Any) -> Any:
        # Each unknown field would be an error of its own, and a body has room for thousands.
        if isinstance(given, dict) and len(given) > len(cls.model_fields) + _MOST_UNKNOWN:
            fields = ", ".join(cls.model_fields)
            counts = {"count": len(given), "fields": fields}
            message = "{count} fields are given; known are {fields}"
            raise PydanticCustomError("too_many_fields", message, counts)
        return given


def padded(
    content: Any,
    status: int = 200,
    *,
    least: int = 0,
    room: int = 0,
    media_type: str = "application/json",
) -> Response:
    """Return a JSON object, filled up with spaces to whole kibibytes.

    `least`: bytes of the longest answer that could stand in its place; `room`: how many bytes
        shorter it is than that one, where this is known instead.
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
    """Return JSON as it is sent; dataclasses are objects in it."""
    # A lone half of a surrogate pair cannot be sent as UTF-8.
    text = json.dumps(
        content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_members
    )
    return text.encode(errors="replace")


def _members(value: Any) -> Mapping[str, object]:
    # Not `asdict`, which would copy what large answers share.
    return {one.name: getattr(value, one.name) for one in fields(value)}
