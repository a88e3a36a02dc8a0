"""The multinomial logit likelihood of choices among several that were masked at random.

An alternative with utility x.b is chosen with probability ``pi = exp(x.b) / sum exp(x_j.b)`` (Luce
1959, McFadden 1974) and reported with probability ``P = q + (p - q) pi``: kept with p, each other
reported with q. Alternatives may be reported in groups; pi is then that of the group.
"""

from __future__ import annotations

from dataclasses import dataclass
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
