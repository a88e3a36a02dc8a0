"""Claims for the tests of the release room."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from masquerade.release import GroupedClaims

Grouped = Callable[[Sequence[Sequence[float]]], GroupedClaims]


@pytest.fixture(scope="session")
def grouped() -> Grouped:
    """Return a function from rows, one an object, one value a user, to claims."""

    def make(rows: Sequence[Sequence[float]]) -> GroupedClaims:
        cells = [(i, j, x) for i, row in enumerate(rows) for j, x in enumerate(row)]
        return GroupedClaims.of(
            {
                "task": [f"o{i:04}" for i, _, _ in cells],
                "worker": [f"u{j:04}" for _, j, _ in cells],
                "value": [float(x) for _, _, x in cells],
            }
        )

    return make


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder of the real data sets, or skip."""
    found = os.environ.get("MASQUERADE_DATA")
    if not found:
        pytest.skip("name the folder of the real data sets in MASQUERADE_DATA")
    return Path(found)
