"""Weighted means of numbers: workers near the crowd's values count more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import chdtri, stdtrit

from masquerade.answers import Claims
from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.truth.estimator import check_iteration, check_positive, check_proper_share
from masquerade.truth.numeric.estimator import (
    AfterRound,
    NumericEstimator,
    NumericSolution,
    ValueIntervals,
    no_round,
)
from masquerade.truth.numeric.location import SortedValues
from masquerade.truth.report_mechanisms import Masks


@dataclass(frozen=True, slots=True, eq=False)
class ScaledClaims:
    """Answered claims, sorted by task, shifted and scaled to -1 to 1."""

    # int array, shape (n_claims,). Place of the claim's task among the answered tasks, ascending.
    task: Integers
    worker: Codes  # int array, shape (n_claims,)
    value: Floats  # float array, shape (n_claims,). From -1 to 1.
    # of_task, of_worker: number of claims; at least 1 for a task.
    of_task: Floats
    of_worker: Floats
    median: Floats  # float array, shape (n_answered,)
    tasks: Integers  # int array, shape (n_answered,)
    n_tasks: int
    n_workers: int
    # middle, half_width: ``middle + half_width * value`` is on the claims' scale.
    middle: float
    half_width: float

    @classmethod
    def of(cls, claims: Claims) -> ScaledClaims:
        """Return the answered claims. Their order does not matter. Cost: n log n."""
        answered = claims.answered()
        order = np.lexsort((answered.worker, answered.value, answered.task))
        value, worker = answered.value[order], answered.worker[order]
        of_worker = np.bincount(worker, minlength=claims.n_workers).astype(np.float64)
        # halves before the difference: that of two large values would overflow
        low, high = (value.min(), value.max()) if len(value) else (0.0, 0.0)
        middle, half_width = low / 2 + high / 2, high / 2 - low / 2
        scaled = (value - middle) / (half_width if half_width > 0 else 1.0)
        by_task = SortedValues.of(claims)
        median = (by_task.median() - middle) / (half_width if half_width > 0 else 1.0)
        return cls(
            by_task.task,
            worker,
            scaled,
            by_task.count.astype(np.float64),
            of_worker,
            median,
            by_task.tasks,
            claims.n_tasks,
            claims.n_workers,
            float(middle),
            float(half_width),
        )

    def by_task(self, figure: Floats) -> Floats:
        """Return each task's sum over its claims."""
        return np.bincount(self.task, figure, len(self.tasks)).astype(np.float64)

    def by_worker(self, figure: Floats) -> Floats:
        """Return each worker's sum over the worker's claims."""
        return np.bincount(self.worker, figure, self.n_workers).astype(np.float64)

    def on_claims_scale(self, value: Floats, error: Floats, reach: Floats) -> ValueIntervals:
        """Return scaled values and their errors on the claims' scale."""

        def over_all(figure: Floats) -> Floats:
            out = np.full(self.n_tasks, np.nan)
            out[self.tasks] = figure
            return out

        centre = self.middle + self.half_width * value
        reach = self.half_width * reach
        return ValueIntervals(
            over_all(centre),
            over_all(self.half_width * error),
            over_all(centre - reach),
            over_all(centre + reach),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Weighting:
    """A rule by which values of tasks give weights of workers."""

    weights: Callable[[Floats], Floats]  # of workers, from values of tasks
    tolerance: float
    max_iterations: int
    after_round: AfterRound

    def means(
        self, crowd: ScaledClaims, weight: Floats, confidence: float
    ) -> tuple[NumericSolution, Floats]:
        """Alternate between weighted means, at first by `weight`, and weights given these.

        Return the solution, and the scaled values that the last weights follow from.
        """
        value, converged, rounds = np.full(len(crowd.tasks), np.nan), False, 0
        while not converged and rounds < self.max_iterations:
            each = weight[crowd.worker]
            before, value = value, crowd.by_task(each * crowd.value) / crowd.by_task(each)
            weight, rounds = self.weights(value), rounds + 1
            converged = bool(np.abs(value - before).max(initial=0.0) < 2 * self.tolerance)
            self.after_round()
        counted = np.where(crowd.of_worker > 0, weight, 0.0)
        shares = {"weight": counted / max(counted.sum(), 1e-300)}
        error = weighted_error(crowd, value, weight, confidence)
        intervals = crowd.on_claims_scale(value, *error)
        return NumericSolution(intervals, shares, converged, rounds), value


def weighted_error(
    crowd: ScaledClaims, value: Floats, weight: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """Return each weighted mean's standard error and how far its interval reaches.

    Workers' variances are estimated from residuals, divided by what is left of the claims after the
    means took their share, and shrunk to the crowd's with the strength of one claim. The reach is
    Student's, with the degrees of freedom of the task's own claims (Satterthwaite) where these
    workers did little else.
    """
    each = weight[crowd.worker]
    total = crowd.by_task(each)
    share = each / total[crowd.task]
    # A claim leaves 1 - share of a degree of freedom: the mean took the rest.
    squares = crowd.by_worker((crowd.value - value[crowd.task]) ** 2)
    free = crowd.by_worker(1 - share)
    pooled = squares.sum() / max(free.sum(), 1e-300) if free.sum() > 0 else np.nan
    variance = (squares + pooled) / (free + 1)
    part = share**2 * variance[crowd.worker]
    squared = crowd.by_task(part)
    error = np.sqrt(squared)
    # Satterthwaite: (sum of variances)**2 / sum of variance**2 / degrees
    freedom = crowd.by_task(part**2 / (free[crowd.worker] + 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = np.maximum(np.where(freedom > 0, squared**2 / freedom, np.inf), 1.0)
    reach = stdtrit(np.minimum(degrees, 1e6), (1 + confidence) / 2) * error
    return error, reach


@dataclass(eq=False, kw_only=True)
class CATD(NumericEstimator):
    """Weight workers by the upper confidence limit of their variance.

    A worker's weight is the ``significance / 2`` quantile of chi-square with as many degrees of
    freedom as the worker has claims, over the sum of squared distances from the values, each
    divided by the task's standard deviation. So a worker with two lucky claims does not outweigh
    one with a hundred good ones.

    Parameters
    ----------
    significance : float
        Above 0 and below 1.
    floor : float
        Least mean square of a worker's claims, as a share of the crowd's, above 0. The default only
        keeps weights finite.
    tolerance, max_iterations, confidence
        Iteration ends when no value changes by more than this share of the range of all claims, or
        after so many rounds, with ``converged_`` false; see `NumericEstimator`.

    Notes
    -----
    Li, Li, Gao, Su, Zhao, Demirbas, Fan and Han, "A confidence-aware approach for truth discovery
    on long-tail data", PVLDB 8(4), 2014. Values start at the medians. In large crowds it is near
    the truth; in small ones the best worker may come to decide alone: a worker never seen to err
    owns the result. There ``floor=1e-6, max_iterations=10`` keeps others in.

    **Cost**: each round linear in claims; memory linear in claims.

    Examples
    --------
    >>> table = {"task": [1, 1, 1, 2, 2, 2], "worker": ["x", "y", "z"] * 2,
    ...          "value": [1.0, 1.1, 4.0, 2.0, 2.2, 9.0]}
    >>> CATD().fit(table).values_.round(1).tolist()
    [1.1, 2.2]
    """

    name: ClassVar[str] = "catd"

    significance: float = 0.05
    floor: float = 1e-12
    tolerance: float = 1e-6
    max_iterations: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations, tolerance=self.tolerance)
        check_proper_share(significance=self.significance)
        check_positive(floor=self.floor)

    def solve(
        self, claims: Claims, mechanism: Masks, after_round: AfterRound = no_round
    ) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        crowd = ScaledClaims.of(claims)
        mean = crowd.by_task(crowd.value) / crowd.of_task
        spread = crowd.by_task((crowd.value - mean[crowd.task]) ** 2) / crowd.of_task
        spread[spread == 0] = 1.0
        count = np.maximum(crowd.of_worker, 1)
        # `chdtri` takes the upper tail: this is the quantile of significance / 2.
        quantile = chdtri(count, 1 - self.significance / 2)

        def weights(value: Floats) -> Floats:
            off = (crowd.value - value[crowd.task]) ** 2 / spread[crowd.task]
            typical = off.mean() if off.any() else 1.0
            # CATD: chi-square quantile over the sum of squares
            squares = np.maximum(crowd.by_worker(off), self.floor * typical * count)
            return np.asarray(quantile / squares)

        rule = Weighting(weights, self.tolerance, self.max_iterations, after_round)
        return rule.means(crowd, weights(crowd.median), self.confidence)[0]
