"""Private histograms of which each is read in the light of all: the engine `pooled`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.release.engine import Data, Progress, claims_of
from masquerade.release.grid import Grid
from masquerade.release.grouped_claims import GroupedClaims
from masquerade.release.histogram import Histogram, noisy_counts, shares_of
from masquerade.release.mixtures import Mixtures
from masquerade.release.release import Release
from masquerade.release.templates import PARTS_OF_BIN, Templates, likelihoods, templates_for

FEW_CLAIMS = 20
SMALL_PRODUCT = 50
LEAST_BINS_TO_POOL, MOST_BINS_TO_POOL = 4, 40

_ROWS, _ENTRIES = 4_000, 1 << 23
_ROUNDS, _PSEUDO_COUNT = 50, 0.5
_ANYWHERE = 0.1


@dataclass(frozen=True, kw_only=True)
class PooledHistogram(Histogram):
    """As `hist`, and where claims are few or epsilon small, read each count knowing all others.

    The noisy counts are those of `hist`, at the same cost. What is done with them differs: a prior
    over templates (one bump with stray claims, or two bumps, of ten widths) and places is learnt
    from the noisy counts of all objects (empirical Bayes), and each object's density is the mean of
    the templates given its own noisy counts, the distribution of the noise being known. Stray
    claims are left out.

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
        counts = {"pooled_objects": int(pooled.sum()), "rule": rule}
        return self.release(claims, grid, plain, samples, source, **counts)

    def is_pooled(self, claims: GroupedClaims, grid: Grid) -> Flags:
        """Return which objects the public rule reads together, shape (n_objects,)."""
        n = claims.count
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
        """Return the posterior mean share of each part of a bin, for each pooled object in order.

        Empirical Bayes: P(template | counts) is proportional to P(family) P(place | family)
        P(counts | template); the first two are learnt from the noisy counts of all objects.
        """
        chosen = np.flatnonzero(pooled)
        epsilon = float(self.epsilon_of_object)
        places: dict[int, Floats] = {}
        for bins in np.unique(grid.bins[chosen]):
            of = chosen[grid.bins[chosen] == bins]
            rows = noisy[grid.offset[of, None] + np.arange(bins)]
            # P(place): the mean noisy share of each bin, a tenth of it spread over all bins
            share = np.maximum((rows / count[of, None]).mean(axis=0), 0.0)
            share = share / share.sum() if share.sum() > 0 else np.full(bins, 1 / bins)
            places[int(bins)] = (1 - _ANYWHERE) * share + _ANYWHERE / bins
        # An even choice of objects, blind to their counts, is enough to learn the families from.
        some = chosen[:: max(len(chosen) // _ROWS, 1)]
        evidence = np.concatenate(
            [
                _family_evidence(weight * templates.prior(places[bins]), templates)
                for _, bins, templates, weight in _chunks(some, count, grid, noisy, epsilon)
            ]
        )
        family = _family_shares(evidence)
        posterior: dict[int, Floats] = {}
        for part, bins, templates, weight in _chunks(chosen, count, grid, noisy, epsilon):
            prior = family[templates.family] * templates.prior(places[bins])
            weight *= prior.astype(np.float32)
            total = weight.sum(axis=1, keepdims=True)
            # float32 likelihoods can all underflow: then the counts tell nothing of the templates
            even = np.float32(1 / weight.shape[1])
            weight = np.where(total > 0, weight / np.where(total > 0, total, 1), even)
            for i, row in zip(
                part.tolist(), (weight @ templates.bump).astype(np.float64), strict=True
            ):
                # a sum of float32 is 1 to seven digits only
                posterior[i] = row / row.sum()
            if progress is not None:
                progress(len(posterior))
        return [posterior[i] for i in chosen.tolist()]


def _chunks(
    chosen: Integers, count: Integers, grid: Grid, noisy: Integers, epsilon: float
) -> Iterator[tuple[Integers, int, Templates, NDArray[np.float32]]]:
    """Yield some objects of equal bins and claims, and the likelihood of each shape for them."""
    for bins in np.unique(grid.bins[chosen]).tolist():
        templates = templates_for(bins)
        of_bins = chosen[grid.bins[chosen] == bins]
        for n in np.unique(count[of_bins]).tolist():
            of = of_bins[count[of_bins] == n]
            step = max(_ENTRIES // len(templates.family), 1)
            for start in range(0, len(of), step):
                part = of[start : start + step]
                rows = noisy[grid.offset[part, None] + np.arange(bins)]
                yield part, bins, templates, likelihoods(rows, n, epsilon, templates)


def _family_evidence(weight: Floats, templates: Templates) -> Floats:
    """Return P(counts | family): sums over each family's templates, shape (n_rows, n_families)."""
    # templates stand family by family, so each family is one run of columns
    first = np.searchsorted(templates.family, np.arange(templates.families))
    return np.asarray(np.add.reduceat(weight, first, axis=1))


def _family_shares(evidence: Floats) -> Floats:
    """Return how common each family is, by maximum likelihood with half an object in each."""
    share = np.full(evidence.shape[1], 1 / evidence.shape[1])
    for _ in range(_ROUNDS):
        # E-step: P(family | counts) of each row
        part = evidence * share
        total = part.sum(axis=1, keepdims=True)
        part /= np.where(total > 0, total, 1.0)
        # M-step: shares proportional to their expected numbers and a pseudo-count
        share = part.sum(axis=0) + _PSEUDO_COUNT
        share /= share.sum()
    return share


def _spliced(plain: Mixtures, grid: Grid, fine_shares: list[Floats], chosen: Integers) -> Mixtures:
    """Return the mixtures with those of the chosen objects replaced by fine ones."""
    bins = grid.bins[chosen] * PARTS_OF_BIN
    offset = np.concatenate(([0], np.cumsum(bins)))
    fine = Grid(bins, grid.low[chosen], grid.width[chosen] / PARTS_OF_BIN, offset).mixtures(
        np.concatenate(fine_shares)
    )
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
