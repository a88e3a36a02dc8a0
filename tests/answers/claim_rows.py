"""Claims of tests, as rows."""

from __future__ import annotations

from typing import Any

from masquerade.answers import Claims

ROWS = {
    "task": ["b", "a", "b", "a"],
    "worker": ["y", "y", "x", "x"],
    "label": ["yes", "no", "yes", "maybe"],
}


def rows_of(claims: Claims) -> list[tuple[Any, ...]]:
    """Return the claims as rows of plain values."""
    return [tuple(row.values()) for row in claims.to_arrow().to_pylist()]


def expected(frame: dict[str, list[Any]] | None = None) -> list[tuple[Any, ...]]:
    """Return the rows of a dict of lists."""
    return list(zip(*(frame or ROWS).values(), strict=True))


def changed(**columns: Any) -> dict[str, Any]:
    """Return the rows with other columns."""
    return {**ROWS, **columns}
