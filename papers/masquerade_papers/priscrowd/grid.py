"""Bins of a private histogram, by a public rule that is blind to the claims' values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.exact.arrays import Floats, Integers, on_simplex
from masquerade.release.grouped_claims import GroupedClaims
from masquerade.release.knots import Domain
from masquerade_papers.priscrowd.mixtures import Mixtures

LEAST_BINS, MOST_BINS = 8, 80


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Equal bins for each object."""

    bins: Integers  # int array, shape (n_objects,)
    # low, width: float arrays, shape (n_objects,). Low end of the first bin, and the width of each.
    low: Floats
    width: Floats
    # int array, shape (n_objects + 1,). The bins of object i are those from ``offset[i]`` to
    # ``offset[i + 1]``.
    offset: Integers

    @classmethod
    def of(cls, claims: GroupedClaims, domain: Domain, bins: Integers) -> Grid:
        """Return the grid with this many bins, or one bin an answer where answers are fewer."""
        low, high = domain.ends(claims.objects)
        if domain.step is not None:
            step = float(domain.step)
            # half a step around each answer, so that no answer lies on an edge
            answers = np.rint((high - low) / step).astype(np.int64) + 1
            low, high = low - step / 2, high + step / 2
            # a bin that holds no possible answer would hold noise alone
            bins = np.minimum(bins, answers)
        return cls(bins, low, (high - low) / bins, np.concatenate(([0], np.cumsum(bins))))

    @property
    def object(self) -> Integers:
        """The object of each bin, shape (n_bins,)."""
        return np.repeat(np.arange(len(self.bins)), self.bins)

    @property
    def centre(self) -> Floats:
        """The middle of each bin, shape (n_bins,)."""
        of = self.object
        inside = np.arange(len(of)) - self.offset[of]
        return np.asarray(self.low[of] + (inside + 0.5) * self.width[of])

    def bin_of(self, claims: GroupedClaims) -> Integers:
        """Return the bin of each claim, among the bins of all objects."""
        of = claims.object
        number = np.floor((claims.value - self.low[of]) / self.width[of])
        # claims beyond the domain are counted in the bin at the nearer end
        inside = np.clip(number, 0, self.bins[of] - 1).astype(np.int64)
        return np.asarray(inside + self.offset[of])

    def mixtures(self, share: Floats, width: Floats | None = None) -> Mixtures:
        """Return densities with a bump at the middle of each bin.

        Shapes: `share` (n_bins,): sums to 1 in each object, or to 0 where nothing is known. `width`
        (n_objects,): of an object's bumps; default: half a bin.
        """
        width = self.width / 2 if width is None else width
        of, known = self.object, share > 0
        count = np.bincount(of[known], minlength=len(self.bins))
        return Mixtures(
            np.concatenate(([0], np.cumsum(count))),
            self.centre[known],
            share[known],
            width[of[known]],
        )


def bins_by_rule(count: Integers, epsilon: float) -> Integers:
    """Return the number of bins, ``4 sqrt(n epsilon / 2)``, from 8 to 80.

    `count` (n_objects,): number of claims, which is public. `epsilon`: of one object.
    """
    # count over 2 / epsilon: the claims in units of the noise's scale
    wanted = np.rint(4 * np.sqrt(count * epsilon / 2))
    bins: Integers = np.clip(wanted, LEAST_BINS, MOST_BINS).astype(np.int64)
    return bins


def nearest_counts(values: Floats, total: Floats, bins: Integers) -> Floats:
    """Return the nearest numbers of at least 0 that sum to a total, object by object.

    Shapes: `values` (n_bins,). `total` (n_objects,): above 0. `bins` (n_objects,): how many of the
    values belong to each object.
    """
    nearest = np.empty(len(values))
    offset = np.concatenate(([0], np.cumsum(bins)))
    for size in np.unique(bins):
        of = np.flatnonzero(bins == size)
        # at[object, bin]: objects with equally many bins are projected together
        at = offset[of, None] + np.arange(size)
        nearest[at] = on_simplex(values[at], total[of])
    return nearest
