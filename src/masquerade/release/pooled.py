"""The engine `pooled`: a private histogram read in the light of all the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from masquerade.errors import ParameterError
from masquerade.exact.coins import WordSource
from masquerade.release.density import DensityModel
from masquerade.release.engine import Progress, claims_of
from masquerade.release.grid import Grid
from masquerade.release.histogram import Histogram, noisy_counts, shares_of
from masquerade.release.mixture import Mixtures
from masquerade.release.objects import Floats, Integers, ObjectClaims
from masquerade.release.release import Release
from masquerade.release.shapes import FINE, Shapes, likelihoods, shapes_for

Flags = NDArray[np.bool_]

FEW_CLAIMS = 20
SMALL_PRODUCT = 50
LEAST_BINS_TO_POOL, MOST_BINS_TO_POOL = 4, 40

_ROWS, _ENTRIES = 4_000, 1 << 23
_ROUNDS, _PSEUDO_COUNT = 50, 0.5
_ANYWHERE = 0.1


@dataclass(frozen=True, kw_only=True)
class PooledHistogram(Histogram):
    """As `hist`, and where claims are few or epsilon small, read each count knowing all others.

    The noisy counts are those of `hist`, at the same cost. What is done with them is new: a prior
    over shapes (one bump with stray claims, or two bumps, of ten widths) and places is learnt from
    the noisy counts of all objects, and each object's density is the mean of the shapes given its
    own noisy counts, the distribution of the noise being known. Stray claims are left out.

    A public rule says which objects are read so: those with at most 20 claims, or whose number of
    claims times epsilon is at most 50, in 4 to 40 bins. All others are as `hist` has them.

    It estimates what claims are drawn from, not the few claims that were made: with a large epsilon
    and a handful of claims `hist` is nearer to the claims themselves.

    Privacy
    -------
    As `Histogram`: everything after the noisy counts is computed from them and from what is public.
    """

    name: ClassVar[str] = "pooled"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reliability is not None:
            raise ParameterError(
                "pooled knows the distribution of plain counts, not of weighted ones; use hist "
                "with reliability."
            )

    def _draw(
        self,
        data: ObjectClaims | DensityModel,
        samples: int,
        source: WordSource,
        progress: Progress | None,
    ) -> Release:
        """Return a release drawn with the words of `source`; see `Engine.draw`."""
        claims = claims_of(data)
        grid = self.grid(claims, self.of_object)
        noisy = noisy_counts(claims, grid, None, self.of_object, source)
        pooled = self.is_pooled(claims, grid)
        share = shares_of(noisy, claims.count.astype(np.float64), grid)
        plain = self.smoothed(grid.mixtures(share))
        if pooled.any():
            found = self._read(claims.count, grid, noisy, pooled, progress)
            plain = self.smoothed(_spliced(plain, grid, found, np.flatnonzero(pooled)))
        return self.release(
            claims, grid, plain, samples, source,
            pooled_objects=int(pooled.sum()),
            rule=f"pooled where claims <= {FEW_CLAIMS} or claims * epsilon <= {SMALL_PRODUCT}, "
            f"and {LEAST_BINS_TO_POOL} <= bins <= {MOST_BINS_TO_POOL}",
        )  # fmt: skip

    def is_pooled(self, claims: ObjectClaims, grid: Grid) -> Flags:
        """Return which objects the public rule reads together, shape (n_objects,)."""
        n = claims.count
        few = (n <= FEW_CLAIMS) | (n * float(self.of_object) <= SMALL_PRODUCT)
        bins = (grid.bins >= LEAST_BINS_TO_POOL) & (grid.bins <= MOST_BINS_TO_POOL)
        return np.asarray(few & (n > 0) & bins)

    def _read(
        self,
        count: Integers,
        grid: Grid,
        noisy: Integers,
        pooled: Flags,
        progress: Progress | None,
    ) -> list[Floats]:
        """Return the fine shares of each pooled object, in order."""
        chosen = np.flatnonzero(pooled)
        epsilon = float(self.of_object)
        places: dict[int, Floats] = {}
        for bins in np.unique(grid.bins[chosen]):
            of = chosen[grid.bins[chosen] == bins]
            rows = noisy[grid.offset[of, None] + np.arange(bins)]
            seen = np.maximum((rows / count[of, None]).mean(axis=0), 0.0)
            seen = seen / seen.sum() if seen.sum() > 0 else np.full(bins, 1 / bins)
            places[int(bins)] = (1 - _ANYWHERE) * seen + _ANYWHERE / bins
        # An even choice of objects, blind to their counts, is enough to learn the families from.
        some = chosen[:: max(len(chosen) // _ROWS, 1)]
        evidence = np.concatenate(
            [
                _of_families(weight * shapes.prior(places[bins]), shapes)
                for _, bins, shapes, weight in _chunks(some, count, grid, noisy, epsilon)
            ]
        )
        family = _family_shares(evidence)
        found: dict[int, Floats] = {}
        for part, bins, shapes, weight in _chunks(chosen, count, grid, noisy, epsilon):
            prior = family[shapes.family] * shapes.prior(places[bins])
            weight *= prior.astype(np.float32)
            total = weight.sum(axis=1, keepdims=True)
            even = np.float32(1 / weight.shape[1])
            weight = np.where(total > 0, weight / np.where(total > 0, total, 1), even)
            for i, row in zip(
                part.tolist(), (weight @ shapes.bump).astype(np.float64), strict=True
            ):
                found[i] = row / row.sum()
            if progress is not None:
                progress(len(found))
        return [found[i] for i in chosen.tolist()]


def _chunks(
    chosen: Integers, count: Integers, grid: Grid, noisy: Integers, epsilon: float
) -> Iterator[tuple[Integers, int, Shapes, NDArray[np.float32]]]:
    """Yield some objects of equal bins and claims, and the likelihood of each shape for them."""
    for bins in np.unique(grid.bins[chosen]).tolist():
        shapes = shapes_for(bins)
        of_bins = chosen[grid.bins[chosen] == bins]
        for n in np.unique(count[of_bins]).tolist():
            of = of_bins[count[of_bins] == n]
            step = max(_ENTRIES // len(shapes.family), 1)
            for start in range(0, len(of), step):
                part = of[start : start + step]
                rows = noisy[grid.offset[part, None] + np.arange(bins)]
                yield part, bins, shapes, likelihoods(rows, n, epsilon, shapes)


def _of_families(weight: Floats, shapes: Shapes) -> Floats:
    """Return the sums over each family, shape (n_rows, n_families)."""
    first = np.searchsorted(shapes.family, np.arange(shapes.families))
    return np.asarray(np.add.reduceat(weight, first, axis=1))


def _family_shares(evidence: Floats) -> Floats:
    """Return how common each family is, by maximum likelihood with half an object in each."""
    share = np.full(evidence.shape[1], 1 / evidence.shape[1])
    for _ in range(_ROUNDS):
        part = evidence * share
        total = part.sum(axis=1, keepdims=True)
        part /= np.where(total > 0, total, 1.0)
        share = part.sum(axis=0) + _PSEUDO_COUNT
        share /= share.sum()
    return share


def _spliced(plain: Mixtures, grid: Grid, found: list[Floats], chosen: Integers) -> Mixtures:
    """Return the mixtures with those of the chosen objects replaced by fine ones."""
    bins = grid.bins[chosen] * FINE
    offset = np.concatenate(([0], np.cumsum(bins)))
    fine = Grid(bins, grid.low[chosen], grid.width[chosen] / FINE, offset).mixtures(
        np.concatenate(found)
    )
    count = np.diff(plain.offset)
    count[chosen] = np.diff(fine.offset)
    total = np.concatenate(([0], np.cumsum(count)))
    is_new = np.zeros(len(count), dtype=np.bool_)
    is_new[chosen] = True
    to_new = np.repeat(is_new, count)
    from_old = np.repeat(~is_new, np.diff(plain.offset))
    merged = []
    for name in ("location", "weight", "width"):
        values = np.empty(int(total[-1]))
        values[to_new] = getattr(fine, name)
        values[~to_new] = getattr(plain, name)[from_old]
        merged.append(values)
    return Mixtures(total, *merged)
