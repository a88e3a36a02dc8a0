"""Bodies of requests as they are read: nothing unknown, and wrong ones cost little."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

_MOST_UNKNOWN = 20


class StrictBody(BaseModel):
    """A body whose unknown fields are refused; where there are many, all of them at once."""

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
