"""The pool: one noisy histogram of all claims together, smoothed as far as its noise asks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.exact.arrays import Floats, Integers

#: Standard deviations, in cells, of the kernels that are tried in turn.
_WIDTHS = (0, 1, 2, 4, 8, 16)
#: Most noise in a cell, of what an even share of the claims would be.
_MOST_NOISE = 0.3
#: How many standard deviations above its neighbours a cell is a heap of its own.
_HEAP = 4.0
_ROUNDS = 3
#: Share that is even, whatever the pool says: no cell is impossible.
_FLOOR = 0.005


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """A released histogram of all claims.

    Attributes
    ----------
    counts : float array, shape (n_cells,)
        Noisy counts; they add to `claims`.
    claims : int
        Public or released number of claims in it, at least 1.
    variance : float
        Of the noise of one cell.
    """

    counts: Floats
    claims: int
    variance: float

    @classmethod
    def of(cls, noisy: Integers, *, claims: int | None, variance: float) -> Pool:
        """Return a pool of noisy counts; `claims`: their number where it is public."""
        number = max(1, round(noisy.sum())) if claims is None else max(1, claims)
        # what noise adds to the total is taken off evenly
        return cls(noisy + (number - noisy.sum()) / noisy.size, number, variance)

    @property
    def shares(self) -> Floats:
        """The smoothed shares of the cells, each above 0, shape (n_cells,)."""
        return with_floor(self._smoothed())

    def _smoothed(self) -> Floats:
        cells, noise = self.counts.size, self.variance**0.5
        grid = np.arange(cells)
        for width in _WIDTHS:
            apart = grid[:, None] - grid[None, :]
            kernel = np.exp(-0.5 * (apart / width) ** 2) if width else np.eye(cells)
            kernel /= kernel.sum(axis=1, keepdims=True)
            error = noise * np.sqrt((kernel**2).sum(axis=1)).max()
            if error <= _MOST_NOISE * self.claims / cells:
                return self._without_heaps(kernel, noise) if width else self.counts
        return np.full(cells, self.claims / cells)

    def _without_heaps(self, kernel: Floats, noise: float) -> Floats:
        """Return smoothed counts; heaps, as at round numbers, stand as they were counted."""
        heap = np.zeros(self.counts.size, dtype=np.bool_)
        smooth = kernel @ self.counts
        for _ in range(_ROUNDS):
            rest = np.maximum(kernel @ (~heap).astype(np.float64), 1e-12)
            smooth = kernel @ np.where(heap, 0.0, self.counts) / rest
            heap = self.counts > smooth + _HEAP * noise
        return np.where(heap, self.counts, smooth)


def with_floor(counts: Floats) -> Floats:
    """Return counts as shares, none negative, with a small even share in each cell."""
    positive = np.maximum(counts, 0.0)
    total = positive.sum()
    shape = positive / total if total > 0 else np.full(counts.size, 1 / counts.size)
    return np.asarray((1 - _FLOOR) * shape + _FLOOR / counts.size)
