"""Families of shapes that all objects' noisy counts have in common.

Empirical Bayes: P(family, template | counts of an object) is proportional to P(family)
P(template | family) P(counts | template), where the shares of the families and the places of bumps
are learnt from the noisy counts of all objects. A smooth family has templates (`templates_for`); in
a rough one an object's counts are Dirichlet-multinomial around the mean of all objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln

from masquerade.exact.arrays import Floats, Integers
from masquerade_papers.priscrowd.grid import Grid
from masquerade_papers.priscrowd.templates import (
    PARTS_OF_BIN,
    SMOOTH_FAMILIES,
    Templates,
    log_likelihoods,
    templates_for,
    with_noise,
)

#: Bins in which templates are told apart, and few enough for all pairs of bumps.
LEAST_BINS_TO_POOL, MOST_BINS_TO_POOL = 4, 41

_ROWS, _ENTRIES = 4_000, 1 << 23
_ROUNDS, _PSEUDO_COUNT = 80, 0.5
_ANYWHERE = 0.1
_TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Some objects with equally many bins and claims."""

    objects: Integers  # int array, shape (n_rows,)
    noisy: Integers  # int array, shape (n_rows, bins). Moved to 0 to `count`.
    count: int
    places: Floats  # float array, shape (bins,). Mean shares of all objects with so many bins.
    scale: float  # of the noise


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The meaning of the counts of a group's objects, given those of all."""

    group: Group
    family: Floats  # float array, shape (n_rows, n_families). Posterior; smooth ones first.
    # float arrays: posterior means over the smooth families. Shapes (n_rows, bins), stray claims
    # included; (n_rows, PARTS_OF_BIN * bins), stray claims left out; (n_rows,), log of the width in
    # parts of the grid.
    share: Floats
    fine: Floats
    log_width: Floats


def readings(
    noisy: Integers,
    count: Integers,
    grid: Grid,
    chosen: Integers,
    scale: float,
    concentrations: tuple[float, ...] = (),
) -> Iterator[Reading]:
    """Yield readings of the noisy counts of the chosen objects, some objects at a time.

    Shapes: `noisy` (n_bins,). `count` (n_objects,): claims about each, at least 1 for those that
    are chosen. `chosen` (n_chosen,): objects. `scale`: of the noise. `concentrations`: of the rough
    families, one each.
    """
    places = _places(noisy, count, grid, chosen)
    # An even choice of objects, blind to their counts, is enough to learn the families from.
    some = chosen[:: max(len(chosen) // _ROWS, 1)]
    every = len(some) == len(chosen)
    families: list[Floats] = []
    kept: list[tuple[Group, _Evidence]] = []
    entries = 0
    for group in _groups(noisy, count, grid, some, scale, places):
        evidence = _Evidence.of(group, concentrations)
        families.append(evidence.family)
        entries += evidence.template.size
        if every and entries <= _ENTRIES:
            kept.append((group, evidence))
    share = _family_shares(np.concatenate(families))
    if every and entries <= _ENTRIES:
        # few enough that all of the evidence was kept, so that none is weighed twice
        yield from (evidence.reading(group, share) for group, evidence in kept)
        return
    kept.clear()
    for group in _groups(noisy, count, grid, chosen, scale, places):
        yield _Evidence.of(group, concentrations).reading(group, share)


@dataclass(frozen=True, slots=True, eq=False)
class _Evidence:
    """P(counts | template) and P(counts | family), up to a factor an object."""

    templates: Templates | None
    template: Floats  # [row, template], times P(template | family)
    family: Floats  # [row, family]

    @classmethod
    def of(cls, group: Group, concentrations: tuple[float, ...]) -> _Evidence:
        rows, bins = group.noisy.shape
        rough = _log_rough(group, concentrations)
        if not LEAST_BINS_TO_POOL <= bins <= MOST_BINS_TO_POOL:
            smooth = np.zeros((rows, SMOOTH_FAMILIES))
            rough -= rough.max(axis=1, keepdims=True)
            return cls(None, smooth, np.concatenate((smooth, np.exp(rough)), axis=1))
        templates = templates_for(bins)
        likelihood = log_likelihoods(group.noisy, group.count, group.scale, templates)
        top = likelihood.max(axis=1, keepdims=True)
        likelihood -= top
        weight = np.exp(likelihood, out=likelihood)
        # weight[row, template] = P(counts | template) P(template | family), the latter by where all
        # claims lie.
        weight *= templates.prior(group.places).astype(np.float32)
        # templates stand family by family, so each family is one run of columns
        first = np.searchsorted(templates.family, np.arange(SMOOTH_FAMILIES))
        smooth = np.add.reduceat(weight, first, axis=1).astype(np.float64)
        # One reference for smooth and rough families, so that their likelihoods compare.
        highest = np.maximum(top, rough.max(axis=1, keepdims=True, initial=-np.inf))
        family = np.concatenate((smooth * np.exp(top - highest), np.exp(rough - highest)), axis=1)
        return cls(templates, weight, family)

    def reading(self, group: Group, family_share: Floats) -> Reading:
        """Return the posterior, given how common each family is."""
        # Bayes: P(family | counts) of each row.
        posterior = self.family * family_share
        total = posterior.sum(axis=1, keepdims=True)
        posterior = np.where(total > 0, posterior / np.where(total > 0, total, 1.0), family_share)
        rows, bins = group.noisy.shape
        if self.templates is None:
            even = np.full((rows, bins), 1 / bins)
            fine = np.full((rows, bins * PARTS_OF_BIN), 1 / (bins * PARTS_OF_BIN))
            return Reading(group, posterior, even, fine, np.zeros(rows))
        weight = self.template * family_share[self.templates.family].astype(np.float32)
        sums = weight.sum(axis=1, keepdims=True)
        # float32 likelihoods can all underflow: then the counts tell nothing of the templates
        weight /= np.where(sums > 0, sums, 1)
        weight[sums[:, 0] <= 0] = 1 / weight.shape[1]
        # Posterior means: templates weighted by how probable the counts make them.
        fine = (weight @ self.templates.bump).astype(np.float64)
        wide = weight.astype(np.float64)
        share = wide @ self.templates.share
        # a sum of float32 is 1 to seven digits only
        fine /= fine.sum(axis=1, keepdims=True)
        share /= share.sum(axis=1, keepdims=True)
        return Reading(group, posterior, share, fine, wide @ np.log(self.templates.width))


def _places(noisy: Integers, count: Integers, grid: Grid, chosen: Integers) -> dict[int, Floats]:
    """Return P(place) for each number of bins: mean noisy shares, a tenth spread over all bins."""
    places = {}
    for bins in np.unique(grid.bins[chosen]).tolist():
        of = chosen[grid.bins[chosen] == bins]
        rows = noisy[grid.offset[of, None] + np.arange(bins)]
        # Noise averages out over objects; what it leaves below 0 is cut.
        share = np.maximum((rows / count[of, None]).mean(axis=0), 0.0)
        share = share / share.sum() if share.sum() > 0 else np.full(bins, 1 / bins)
        places[bins] = (1 - _ANYWHERE) * share + _ANYWHERE / bins
    return places


def _groups(
    noisy: Integers,
    count: Integers,
    grid: Grid,
    chosen: Integers,
    scale: float,
    places: dict[int, Floats],
) -> Iterator[Group]:
    for bins in np.unique(grid.bins[chosen]).tolist():
        pooled = LEAST_BINS_TO_POOL <= bins <= MOST_BINS_TO_POOL
        # So many rows at a time that their table of likelihoods stays small.
        step = max(_ENTRIES // len(templates_for(bins).family), 1) if pooled else _ROWS
        of_bins = chosen[grid.bins[chosen] == bins]
        for n in np.unique(count[of_bins]).tolist():
            of = of_bins[count[of_bins] == n]
            for start in range(0, len(of), step):
                part = of[start : start + step]
                rows = noisy[grid.offset[part, None] + np.arange(bins)]
                yield Group(part, np.clip(rows, 0, n), n, places[bins], scale)


def _log_rough(group: Group, concentrations: tuple[float, ...]) -> Floats:
    """Return log P(counts | rough family), bins taken for independent, shape (n_rows, families)."""
    k = np.arange(group.count + 1.0)
    log_choose = gammaln(group.count + 1) - gammaln(k + 1) - gammaln(group.count - k + 1)
    found = []
    for alpha in concentrations:
        one = (alpha * group.places)[:, None]
        other = np.maximum(alpha - one, 1e-9)
        # table[bin, y]: beta-binomial counts, and their noise
        law = np.exp(log_choose + betaln(k + one, group.count - k + other) - betaln(one, other))
        table = np.log(with_noise(law, group.scale) + _TINY)
        found.append(table[np.arange(len(table)), group.noisy].sum(axis=1))
    return np.stack(found, axis=1) if found else np.empty((len(group.noisy), 0))


def _family_shares(evidence: Floats) -> Floats:
    """Return how common each family is, by maximum likelihood with half an object in each."""
    share = np.full(evidence.shape[1], 1 / evidence.shape[1])
    for _ in range(_ROUNDS):
        # E-step: P(family | counts) of each row
        part = evidence * share
        total = part.sum(axis=1, keepdims=True)
        part /= np.where(total > 0, total, 1.0)
        # M-step: shares proportional to their expected numbers and a pseudo-count
        before, share = share, part.sum(axis=0) + _PSEUDO_COUNT
        share /= share.sum()
        if (share == before).all():
            break  # every further round would give the same
    return share
