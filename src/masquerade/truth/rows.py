"""Maxima, sums and counts of many rows of a few columns, for which numpy's own are slow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from masquerade.exact.arrays import Codes, Flags, Floats


def blocks(n_rows: int, size: int = 1 << 14) -> Iterator[slice]:
    """Yield all rows, block by block: what is worked out of a block stays in the cache."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def row_max(table: Floats) -> Floats:
    """Return the largest entry of each row, shape (n_rows,)."""
    top: Floats = table[:, 0].copy()
    for column in range(1, table.shape[1]):
        np.maximum(top, table[:, column], out=top)
    return top


def row_sum(table: Floats) -> Floats:
    """Return the sum of each row, shape (n_rows,)."""
    total: Floats = table[:, 0].copy()
    for column in range(1, table.shape[1]):
        total += table[:, column]
    return total


def row_count(table: Flags) -> Codes:
    """Return how many entries of each row are true, shape (n_rows,)."""
    if table.shape[1] > np.iinfo(np.int8).max:
        return np.asarray(table.sum(axis=1), dtype=np.int32)
    small = table.view(np.int8)  # bytes are quicker to add up
    total = small[:, 0].copy()
    for column in range(1, table.shape[1]):
        total += small[:, column]
    return total.astype(np.int32)
