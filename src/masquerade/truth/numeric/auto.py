"""One method for all numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags
from masquerade.mechanisms import LatticeMechanism, Mechanism
from masquerade.truth.numeric.channel_em import ChannelEM
from masquerade.truth.numeric.estimator import NumericEstimator, NumericSolution
from masquerade.truth.numeric.reliability import HeavyTail, Reliability
from masquerade.truth.numeric.weighted_mean import QualityWeighted
from masquerade.truth.ties import digest

_ENOUGH_CLAIMS = 4  # on a task, to split them in two halves
_CLEARLY = 0.9  # ratio of root mean squares below which heavy tails are taken
# Enough to compare two methods by.
_ROUGHLY: dict[str, Any] = {"tolerance": 1e-3, "max_iterations": 20}


@dataclass(eq=False, kw_only=True)
class NumericAuto(NumericEstimator):
    """Choose by looking at the claims, never at truths.

    Masked claims go to `ChannelEM`, and so do categories that stand for numbers; what matrix
    factorization rebuilds goes to `QualityWeighted`. Other numbers go to `Reliability`, or to
    `HeavyTail` where that agrees with itself clearly better: the claims on each task are split in
    two halves by worker, and heavy tails are taken where the values from the two halves differ by
    less than 0.9 times as much (root mean square).

    Parameters
    ----------
    levels : tuple of float, optional
        See `ChannelEM`.
    confidence : float
        See `NumericEstimator`.

    Examples
    --------
    >>> table = {"task": [1, 1, 1, 2, 2, 2], "worker": ["x", "y", "z"] * 2,
    ...          "value": [1.0, 1.1, 4.0, 2.0, 2.2, 9.0]}
    >>> NumericAuto().fit(table).chosen_.name
    'reliability'
    """

    name: ClassVar[str] = "numeric-auto"
    ordinal: ClassVar[bool] = True

    levels: tuple[float, ...] | None = None
    _chosen: NumericEstimator | None = field(default=None, init=False, repr=False)

    def solve(self, claims: Claims, mechanism: Mechanism | None) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        method: NumericEstimator
        if claims.kind == "categorical" or isinstance(mechanism, LatticeMechanism):
            method = ChannelEM(confidence=self.confidence, levels=self.levels)
        elif mechanism is not None:
            method = QualityWeighted(confidence=self.confidence)
        else:
            method = self._steadier(claims)
        self._chosen = method.fit(claims, mechanism=mechanism)
        return self._chosen.solution_

    def _steadier(self, claims: Claims) -> NumericEstimator:
        methods = (Reliability(confidence=self.confidence), HeavyTail(confidence=self.confidence))
        first = halves(claims)
        if not first.any() or first.all():
            return methods[0]
        parts = [_part(claims, side) for side in (first, ~first)]
        apart = []
        for method in methods:
            one, other = (replace(method, **_ROUGHLY).fit(part).values_ for part in parts)
            # Tasks that were not split have a value from one half only.
            both = ~np.isnan(one) & ~np.isnan(other)
            # Divided by the largest difference, so that no square overflows.
            largest = max(np.abs(one[both] - other[both]).max(initial=0.0), 1e-300)
            apart.append(largest * np.sqrt((((one - other)[both] / largest) ** 2).sum()))
        return methods[int(apart[1] < _CLEARLY * apart[0])]

    @property
    def constant_(self) -> float:
        """That of the method chosen."""
        return self.chosen_.constant_

    @property
    def chosen_(self) -> NumericEstimator:
        """The fitted method that was chosen."""
        _ = self.claims_  # raises where nothing is fitted
        if self._chosen is None:
            raise ParameterError("nothing was chosen")
        return self._chosen


def halves(claims: Claims) -> Flags:
    """Return which claims are in the first half of their task; tasks of fewer than 4 are in none.

    Workers are ordered by a digest of their names, so that the order of rows does not matter.
    """
    priority = digest(claims.workers)[claims.worker]
    # By task, then by worker; values decide where digests are equal.
    order = np.lexsort((claims.value, priority, claims.task))
    count = np.bincount(claims.task, minlength=claims.n_tasks)
    place = np.empty(len(order), dtype=np.int64)
    # the place of a claim within its task; even places are the first half
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    return np.asarray((place % 2 == 0) & (count >= _ENOUGH_CLAIMS)[claims.task])


def _part(claims: Claims, rows: Flags) -> Claims:
    return replace(
        claims, task=claims.task[rows], worker=claims.worker[rows], value=claims.value[rows]
    )
