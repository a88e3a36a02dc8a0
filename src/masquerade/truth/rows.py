"""Maxima and counts of many rows of a few columns, for which numpy's own are slow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def row_max(table: Floats) -> Floats:
    """Return the largest entry of each row, shape (n_rows,)."""
    top: Floats = table[:, 0].copy()
    for column in range(1, table.shape[1]):
        np.maximum(top, table[:, column], out=top)
    return top


def row_count(table: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return how many entries of each row are true, shape (n_rows,)."""
    if table.shape[1] > np.iinfo(np.int8).max:
        return np.asarray(table.sum(axis=1), dtype=np.int32)
    small = table.view(np.int8)  # bytes are quicker to add up
    total = small[:, 0].copy()
    for column in range(1, table.shape[1]):
        total += small[:, column]
    return total.astype(np.int32)
