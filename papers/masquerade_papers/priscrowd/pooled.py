"""Private histograms of which each is read in the light of all: the engine `pooled`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from masquerade.answers import Progress
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.release.grouped_claims import GroupedClaims
from masquerade_papers.priscrowd.engines import Data, claims_of
from masquerade_papers.priscrowd.families import LEAST_BINS_TO_POOL, MOST_BINS_TO_POOL, readings
from masquerade_papers.priscrowd.grid import Grid
from masquerade_papers.priscrowd.histogram import Histogram, noisy_counts, shares_of
from masquerade_papers.priscrowd.mixtures import Mixtures
from masquerade_papers.priscrowd.release import Release
from masquerade_papers.priscrowd.templates import PARTS_OF_BIN

FEW_CLAIMS = 20
SMALL_PRODUCT = 50


@dataclass(frozen=True, kw_only=True)
class PooledHistogram(Histogram):
    """As `hist`, and where claims are few or epsilon small, read each count knowing all others.

    The noisy counts are those of `hist`, at the same cost. What is done with them differs: a prior
    over templates (one bump with stray claims, or two bumps, of ten widths) and places is learnt
    from the noisy counts of all objects (empirical Bayes), and each object's density is the mean of
    the templates given its own noisy counts, the distribution of the noise being known. Stray
    claims are left out.

    A public rule says which objects are read so: those with at most 20 claims, or whose number of
    claims times epsilon is at most 50, in 4 to 41 bins. All others are as `hist` has them.

    It estimates what claims are drawn from, not the few claims that were made: with a large epsilon
    and a handful of claims `hist` is nearer to the claims themselves.

    Privacy
    -------
    As `Histogram`: everything after the noisy counts is computed from them and from what is public.

    Examples
    --------
    >>> PooledHistogram(epsilon=1, domain=(0, 10)).unit
    'claim'
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
        self, data: Data, samples: int, source: WordSource, progress: Progress | None
    ) -> Release:
        claims = claims_of(data)
        grid = self.grid(claims, self.epsilon_of_object)
        noisy = noisy_counts(claims, grid, None, self.epsilon_of_object, source)
        pooled = self.is_pooled(claims, grid)
        share = shares_of(noisy, claims.count.astype(np.float64), grid)
        plain = self.smoothed(grid.mixtures(share))
        if pooled.any():
            fine = self._posterior_shares(claims.count, grid, noisy, pooled, progress)
            plain = self.smoothed(_spliced(plain, grid, fine, np.flatnonzero(pooled)))
        rule = (
            f"pooled where claims <= {FEW_CLAIMS} or claims * epsilon <= {SMALL_PRODUCT}, "
            f"and {LEAST_BINS_TO_POOL} <= bins <= {MOST_BINS_TO_POOL}"
        )
        return self.release(
            claims,
            grid,
            plain,
            samples,
            source,
            pooled_objects=int(pooled.sum()),
            rule=rule,
        )

    def is_pooled(self, claims: GroupedClaims, grid: Grid) -> Flags:
        """Return which objects the public rule reads together, shape (n_objects,)."""
        n = claims.count
        # By public numbers alone: a rule that read counts would have to be paid for.
        few = (n <= FEW_CLAIMS) | (n * float(self.epsilon_of_object) <= SMALL_PRODUCT)
        bins = (grid.bins >= LEAST_BINS_TO_POOL) & (grid.bins <= MOST_BINS_TO_POOL)
        return np.asarray(few & (n > 0) & bins)

    def _posterior_shares(
        self,
        count: Integers,
        grid: Grid,
        noisy: Integers,
        pooled: Flags,
        progress: Progress | None,
    ) -> list[Floats]:
        """Return the posterior mean share of each part of a bin, for each pooled object."""
        chosen, scale = np.flatnonzero(pooled), 2 / float(self.epsilon_of_object)
        posterior: dict[int, Floats] = {}
        for reading in readings(noisy, count, grid, chosen, scale):
            posterior |= zip(reading.group.objects.tolist(), reading.fine, strict=True)
            if progress is not None:
                progress(len(posterior), len(chosen))
        return [posterior[i] for i in chosen.tolist()]


def _spliced(plain: Mixtures, grid: Grid, fine_shares: list[Floats], chosen: Integers) -> Mixtures:
    """Return the mixtures with those of the chosen objects replaced by fine ones."""
    bins = grid.bins[chosen] * PARTS_OF_BIN
    offset = np.concatenate(([0], np.cumsum(bins)))
    fine = Grid(bins, grid.low[chosen], grid.width[chosen] / PARTS_OF_BIN, offset).mixtures(
        np.concatenate(fine_shares)
    )
    # Bumps an object: one that was pooled has more, as its bins are divided.
    count = np.diff(plain.offset)
    count[chosen] = np.diff(fine.offset)
    total = np.concatenate(([0], np.cumsum(count)))
    is_new = np.zeros(len(count), dtype=np.bool_)
    is_new[chosen] = True
    # to_new[bump of the result], from_old[bump of the plain mixtures]
    to_new = np.repeat(is_new, count)
    from_old = np.repeat(~is_new, np.diff(plain.offset))
    merged = []
    for name in ("location", "weight", "width"):
        values = np.empty(int(total[-1]))
        values[to_new] = getattr(fine, name)
        values[~to_new] = getattr(plain, name)[from_old]
        merged.append(values)
    return Mixtures(total, *merged)
