"""The multinomial logit likelihood of choices among several that were masked at random.

An alternative with utility x.b is chosen with probability ``pi = exp(x.b) / sum exp(x_j.b)`` (Luce
1959, McFadden 1974) and reported with probability ``P = q + (p - q) pi``: kept with p, each other
reported with q. Alternatives may be reported in groups; pi is then that of the group.

Groups are planned from public menus and weights that earlier reports gave, before anybody answers:
masking an answer with few options adds less noise than one with many, so alternatives that are
alike, or that hardly anybody takes, are worth reporting as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from masquerade.exact.arrays import Floats, Integers
from masquerade.preference.masked_choices import (
    TYPICAL_MARGIN,
    WIDE_MARGIN,
    MaskedChoicesFit,
    at_least_zero,
)

_MOST_STEPS = 60
_MOST_HALVINGS = 30
_FEW_VOTERS = 10
_CLOSE = 1e-10  # length of a step, relative to the weights, at which the fit ends


class MenuPoint(NamedTuple):
    """The likelihood at some weights."""

    value: float
    score: Floats  # of each choice, shape (n_choices, n_features)
    information: Floats  # expected, shape (n_features, n_features)
    noise: Floats  # covariance of the score under masking the same choices again


@dataclass(frozen=True, slots=True, eq=False)
class MaskedMenus:
    """Masked choices from menus, and the likelihood of weights that they give."""

    values: Floats  # shape (n_alternatives, n_features)
    offsets: Integers  # shape (n_choices + 1,)
    reports: Integers  # the reported group's number in its menu, shape (n_choices,)
    keep: Floats  # probability p of keeping a choice, shape (n_choices,)
    other: Floats  # probability q of each other report, shape (n_choices,)
    # First alternative of each group, ascending, shape (n_groups,): alternatives of a menu stand
    # group by group. None: each alternative is a group.
    groups: Integers | None = None

    @classmethod
    def grouped(
        cls,
        values: Floats,
        offsets: Integers,
        group: Integers,
        reports: Integers,
        keep: Floats,
        other: Floats,
    ) -> MaskedMenus:
        """Return masked choices from alternatives in any order; `group` of each, in its menu."""
        menu = np.repeat(np.arange(len(reports)), np.diff(offsets))
        order = np.lexsort((group, menu))
        new = np.diff(menu, prepend=-1) + np.abs(np.diff(group[order], prepend=-1))
        return cls(values[order], offsets, reports, keep, other, np.flatnonzero(new))

    @property
    def _menu(self) -> Integers:
        return np.repeat(np.arange(len(self.reports)), np.diff(self.offsets))

    @property
    def _groups(self) -> Integers:
        return np.arange(len(self.values)) if self.groups is None else self.groups

    def _sum(self, of_alternatives: Floats) -> Floats:
        """Return sums over each menu."""
        return np.asarray(np.add.reduceat(of_alternatives, self.offsets[:-1], axis=0))

    def chances(self, weights: Floats) -> Floats:
        """Return the probability pi of choosing each alternative from its menu."""
        utility = self.values @ weights
        utility -= np.maximum.reduceat(utility, self.offsets[:-1])[self._menu]
        power = np.exp(utility)
        return np.asarray(power / self._sum(power)[self._menu])

    def value(self, weights: Floats) -> float:
        """Return the log-likelihood of the reports."""
        starts = self._groups
        pi = np.add.reduceat(self.chances(weights), starts)
        own = pi[np.searchsorted(starts, self.offsets[:-1]) + self.reports]
        return float(np.log(self.other + (self.keep - self.other) * own).sum())

    def at(self, weights: Floats) -> MenuPoint:
        """Return the likelihood, its score and information at `weights`."""
        menu, each, starts = self._menu, self.chances(weights), self._groups
        mean = self._sum(each[:, None] * self.values)
        slope = each[:, None] * (self.values - mean[menu])  # d pi / d b
        # From here on a row is a group: its pi is the sum over its alternatives, and so its slope.
        pi, slope = np.add.reduceat(each, starts), np.add.reduceat(slope, starts, axis=0)
        first = np.searchsorted(starts, self.offsets[:-1])
        menu = menu[starts]
        contrast = (self.keep - self.other)[menu]
        reported = self.other[menu] + contrast * pi
        scores = contrast[:, None] * slope / reported[:, None]  # of each report there could be
        own = first + self.reports
        information = (scores * reported[:, None]).T @ scores
        # E[score | answer r] = (p - q) s_r + q sum s_j; the rest of the information is the mask's.
        every = np.add.reduceat(scores, first, axis=0)
        given = contrast[:, None] * scores + (self.other[:, None] * every)[menu]
        noise = information - (given * pi[:, None]).T @ given
        return MenuPoint(float(np.log(reported[own]).sum()), scores[own], information, noise)

    def ridge(self, margin: float) -> float:
        """Return the ridge of a prior under which the typical margin has this size."""
        sizes = np.diff(self.offsets)[:, None]
        centre = self._sum(self.values) / sizes
        apart = float(((self.values - centre[self._menu]) ** 2).sum(axis=1).mean())
        # A difference of two alternatives has twice the square of one from the menu's mean.
        return (2 * apart if apart > 0 else 1.0) / margin**2

    def fit_narrow(self) -> Floats:
        """Return the weights that are published: those of the narrow prior, from 0."""
        return self.fit(np.zeros(self.values.shape[1]), self.ridge(TYPICAL_MARGIN))

    def fit(self, start: Floats, ridge: float) -> Floats:
        """Return the weights of the greatest ``likelihood - ridge / 2 |b|**2`` near `start`.

        Fisher scoring, steps at most 1 long and halved where the value would fall: masked choices
        have no concave likelihood, so that the start decides.
        """
        weights = start.copy()
        for _ in range(_MOST_STEPS):
            point = self.at(weights)
            value = point.value - ridge / 2 * float(weights @ weights)
            score = point.score.sum(axis=0) - ridge * weights
            step = np.linalg.solve(point.information + ridge * np.eye(len(weights)), score)
            step /= max(1.0, float(np.linalg.norm(step)))
            for _ in range(_MOST_HALVINGS):
                moved = weights + step
                after = self.value(moved) - ridge / 2 * float(moved @ moved)
                if after >= value - 1e-12 * (1 + abs(value)):
                    break
                step = step / 2
            weights = weights + step
            if float(np.linalg.norm(step)) <= _CLOSE * (1 + float(np.linalg.norm(weights))):
                break
        return weights


def fit_masked_menus(masked: MaskedMenus, voter: Integers) -> MaskedChoicesFit:
    """Return the weights of the greatest likelihood, with their errors.

    `voter` (n_choices,): whose choice it is; choices of one voter depend on one another. Two fits
    as in `fit_masked_choices`: the narrow prior's weights are published, the wide prior's fit gives
    their errors, with the gap between the two (rule H of the specification's page on intervals).
    """
    d = masked.values.shape[1]
    weights = masked.fit_narrow()
    narrow, wide = masked.ridge(TYPICAL_MARGIN), masked.ridge(WIDE_MARGIN)
    wider = masked.fit(weights, wide)
    point = masked.at(wider)
    bread = np.linalg.inv(point.information + wide * np.eye(d))
    if len(np.unique(voter)) < _FEW_VOTERS:
        spread = point.information  # too few voters to estimate a covariance from
    else:
        scores = np.zeros((int(voter.max(initial=0)) + 1, d))
        np.add.at(scores, voter, point.score)
        scores = scores[np.bincount(voter) > 0]
        scores -= scores.mean(axis=0)
        spread = scores.T @ scores * (len(scores) / (len(scores) - 1))
    own = masked.at(weights)
    own_bread = np.linalg.inv(own.information + narrow * np.eye(d))
    noise = own_bread @ own.noise @ own_bread
    gap = wider - weights
    return MaskedChoicesFit(
        weights,
        noise,
        at_least_zero(bread @ spread @ bread - noise),
        wide * bread @ bread + np.outer(gap, gap),
    )


_ALL_PARTITIONS = 6  # alternatives up to which every partition is tried: 203 of them
_BLOCK_SHARE = 8  # a block of choices is planned together, an eighth of those before it


def plan_groups(
    values: Floats, offsets: Integers, epsilons: Sequence[float], weights: Floats | None = None
) -> Integers:
    """Return the group of each alternative, 0, 1, ... in each menu, shape (n_alternatives,).

    `values` (float array, shape (n_alternatives, n_features)): public features of every alternative
    of every menu.
    `offsets` (int array, shape (n_choices + 1,)): the alternatives of choice i are
    ``offsets[i]:offsets[i + 1]``.
    `epsilons`: of each choice.
    `weights` (float array, shape (n_features,), optional): what earlier reports say of the weights.
    Default: indifference.

    Notes
    -----
    A choice's group g is kept with probability p and exchanged with q; its report has the
    information ``sum (p - q)**2 dpi_g dpi_g' / P_g`` on the weights, where ``dpi_g`` is the sum
    over the group of ``pi (x - mean)``. Menus are taken in order, each with the partition that adds
    most to the log determinant of the information so far (greedy D-optimal design, Fedorov 1972),
    so that no direction is left out, also where all menus are the same. Of five alternatives the
    best partition has .999 of what the best channel of any kind has, by linear programming
    (Kairouz, Oh and Viswanath 2014), and at indifference 2.2, 1.6 and 1.1 times the information of
    reporting each by itself at epsilon .5, 1 and 2. What is protected does not depend on the plan.
    """
    sizes, d = np.diff(offsets), values.shape[1]
    menu = np.repeat(np.arange(len(sizes)), sizes)
    utility = np.zeros(len(values)) if weights is None else values @ weights
    # Multinomial logit: P(alternative) = e**u / sum of its menu; less the largest u, against
    # overflow.
    power = np.exp(utility - np.maximum.reduceat(utility, offsets[:-1])[menu])
    chance = power / np.add.reduceat(power, offsets[:-1])[menu]
    mean = np.add.reduceat(values * chance[:, None], offsets[:-1], axis=0)
    slope = chance[:, None] * (values - mean[menu])  # d pi / d b of each alternative
    groups = np.zeros(len(values), dtype=np.int64)
    # One choice without a mask, on average: a start that favours no direction of the menus.
    start = (values - mean[menu]).T @ slope / max(len(sizes), 1)
    information = start + np.eye(d) * (float(np.trace(start)) / d * 1e-3 + 1e-12)
    loss = np.asarray(epsilons, dtype=np.float64)
    done = 0
    while done < len(sizes):
        block = np.arange(done, min(done + max(1, done // _BLOCK_SHARE), len(sizes)))
        done += len(block)
        # A gain adds trace(information^-1 gain) to the log determinant, to first order: in this
        # metric a sum of squared lengths.
        metric = np.linalg.cholesky(np.linalg.inv(information))
        for (k, epsilon), some in _alike(sizes[block], loss[block], block):
            rows = offsets[some][:, None] + np.arange(k)
            seen = slope[rows] @ metric  # [choice, alternative, feature]
            best = _best_partitions(seen, chance[rows], epsilon)
            groups[rows] = best
            # Sums of the groups' slopes, empty groups with nothing.
            member = (best[:, None, :] == np.arange(k)[:, None]).astype(np.float64)
            other, contrast = _channel(best.max(axis=1, keepdims=True) + 1, epsilon)
            reported = other + contrast * (member @ chance[rows][:, :, None])[:, :, 0]
            moved = member @ slope[rows] * (contrast / np.sqrt(reported))[:, :, None]
            information = information + np.einsum("nga,ngb->ab", moved, moved)
    return groups


def _alike(
    sizes: Integers, epsilons: Floats, choices: Integers
) -> Iterator[tuple[tuple[int, float], Integers]]:
    """Yield the choices of each size of menu and epsilon."""
    for k, epsilon in sorted(set(zip(sizes.tolist(), epsilons.tolist(), strict=True))):
        yield (k, epsilon), choices[(sizes == k) & (epsilons == epsilon)]


def _channel(groups: Integers, epsilon: float) -> tuple[Floats, Floats]:
    """Return q and p - q of randomized response among so many groups."""
    # q = 1 / (e**epsilon + m - 1); beyond 500 it is 0 to all digits.
    other: Floats = 1 / (np.expm1(min(epsilon, 500.0)) + groups)
    return other, 1 - groups * other


def _best_partitions(slope: Floats, chance: Floats, epsilon: float) -> Integers:
    """Return the most informative partition of each menu, (n_choices, k).

    `slope` (n_choices, k, n_features): of each alternative's chance, scaled so that information
    counts alike in all directions. `chance` (n_choices, k).
    """
    n, k, _ = slope.shape
    if k <= _ALL_PARTITIONS:
        partitions, subsets, parts = _partitions(k)
        # |sum of slopes|**2 and chance of every subset; a partition's gain is a sum of its parts'.
        squares = (np.einsum("si,nid->nsd", subsets, slope) ** 2).sum(axis=2)
        reported = chance @ subsets.T
        gains = []
        for m in range(2, k + 1):
            other, contrast = _channel(np.array(m), epsilon)
            gains.append((contrast**2 * squares / (other + contrast * reported)) @ parts[m - 2])
        most: Integers = partitions[np.argmax(np.concatenate(gains, axis=1), axis=1)]
        return most
    # Along each of the two longest axes of a menu, in groups of nearly equal numbers.
    _, axes = np.linalg.eigh(slope @ slope.transpose(0, 2, 1))
    best, gain = np.tile(np.arange(k), (n, 1)), np.full(n, -np.inf)
    for axis in (axes[:, :, -1], axes[:, :, -2]):
        # The rank of each alternative along the axis
        rank = np.argsort(np.argsort(axis, axis=1, kind="stable"), axis=1)
        for m in range(2, k + 1):
            groups = rank * m // k
            member = (groups[:, None, :] == np.arange(m)[:, None]).astype(np.float64)
            other, contrast = _channel(np.array(m), epsilon)
            reported = other + contrast * (member @ chance[:, :, None])[:, :, 0]
            found = (contrast**2 * ((member @ slope) ** 2).sum(axis=2) / reported).sum(axis=1)
            better = found > gain
            best[better], gain[better] = groups[better], found[better]
    return best


@cache
def _partitions(k: int) -> tuple[Integers, Floats, tuple[Floats, ...]]:
    """Return all partitions of k alternatives into two or more groups, by number of groups.

    With them the subsets of alternatives, shape (n_subsets, k), and for each number of groups which
    subsets a partition is made of, shape (n_subsets, n_partitions).
    """
    found = [[0]]
    for _ in range(k - 1):
        found = [[*each, group] for each in found for group in range(max(each) + 2)]
    found = sorted((each for each in found if max(each) > 0), key=max)
    subsets = [[code >> i & 1 for i in range(k)] for code in range(1, 2**k - 1)]
    member = np.array(subsets, dtype=np.float64)
    parts = []
    for m in range(2, k + 1):
        columns = np.zeros((len(subsets), sum(max(each) == m - 1 for each in found)))
        for place, each in enumerate(each for each in found if max(each) == m - 1):
            for group in range(m):
                columns[sum(1 << i for i in range(k) if each[i] == group) - 1, place] = 1
        parts.append(columns)
    return np.array(found, dtype=np.int64), member, tuple(parts)
