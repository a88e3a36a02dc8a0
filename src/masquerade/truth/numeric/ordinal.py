"""Claims for methods by levels: numbers, or categories that stand for numbers."""

from __future__ import annotations

from masquerade.answers import Claims, Frame
from masquerade.mechanisms import Mechanism


def ordinal_claims(data: Claims | Frame, mechanism: Mechanism | None) -> Claims:
    """Return claims of either kind; those of a table are of the mechanism's, else numeric."""
    if isinstance(data, Claims):
        return data
    if mechanism is None:
        return Claims.from_frame(data, kind="numeric")
    return Claims.from_frame(data, kind=mechanism.kind, null=mechanism.null)
