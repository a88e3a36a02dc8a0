"""Weighted means of numbers: workers near the crowd's values count more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtri, stdtrit

from masquerade.answers import Claims
from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.truth.estimator import check_iteration, check_positive, check_proper_share
from masquerade.truth.numeric.estimator import NumericEstimator, NumericSolution, ValueIntervals
from masquerade.truth.numeric.location import SortedValues
from masquerade.truth.numeric.programs import Loop, Program, Section, everywhere
from masquerade.truth.report_mechanisms import Masks

#: A worker with fewer claims borrows the crowd's variance, as if from this many claims.
FEW_CLAIMS = 3


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
    def of(cls, claims: Claims) -> Program[ScaledClaims]:
        """Return the answered claims of a block. Their order does not matter. Cost: n log n.

        Range and numbers of claims of workers are those of all blocks.
        """
        answered = claims.answered()
        order = np.lexsort((answered.worker, answered.value, answered.task))
        value, worker = answered.value[order], answered.worker[order]
        of_worker, low, high = yield from everywhere(
            np.bincount(worker, minlength=claims.n_workers).astype(np.float64),
            most=(-value.min(initial=np.inf), value.max(initial=-np.inf)),
        )
        # halves before the difference: that of two large values would overflow
        low, high = (-low, high) if low > -np.inf else (0.0, 0.0)
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
        """Return each worker's sum over the worker's claims in the block."""
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


@dataclass(eq=False, kw_only=True)
class QualityWeighted(NumericEstimator):
    """Alternate between weighted means and the workers' distance from them.

    A worker's weight is one over the root mean square distance of the worker's claims from the
    current values. It knows nothing of masks: on masked claims it is the published decoder, kept
    for comparison ("naive" for randomized response), and on what matrix factorization rebuilds it
    is that mechanism's decoder.

    Parameters
    ----------
    floor : float
        Smallest distance, as a share of the range of all claims, above 0. Without it a worker who
        is at the estimate by chance owns the result.
    tolerance : float
        Iteration ends when no value changes by more than this share of the range.
    max_iterations : int
        Rounds after which the result is returned with ``converged_`` false.
    confidence : float
        See `NumericEstimator`.

    Notes
    -----
    Sun et al., IEEE Big Data 2018, algorithm 1. Ours are the floor, the stopping rule and the
    treatment of workers with fewer than three claims, whose variance is shrunk to the crowd's.

    The interval takes weights and workers' variances as known and errors as independent.

    **Cost**: each round linear in claims; memory linear in claims.

    Examples
    --------
    >>> table = {"task": [1, 1, 1, 2, 2, 2], "worker": ["x", "y", "z"] * 2,
    ...          "value": [1.0, 1.1, 4.0, 2.0, 2.2, 9.0]}
    >>> QualityWeighted().fit(table).values_.round(1).tolist()
    [1.8, 3.8]
    """

    name: ClassVar[str] = "quality-weighted"

    floor: float = 0.05
    tolerance: float = 1e-6
    max_iterations: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations, tolerance=self.tolerance)
        check_positive(floor=self.floor)

    def program(self, claims: Claims, mechanism: Masks) -> Program[NumericSolution]:
        """Return values and intervals; see `NumericEstimator.program`."""
        crowd: ScaledClaims = yield Section(partial(ScaledClaims.of, claims))
        count = crowd.of_worker

        def parts(value: Floats) -> tuple[Floats]:
            return (crowd.by_worker((crowd.value - value[crowd.task]) ** 2),)

        def deviation(squares: Floats) -> Floats:
            pooled = squares.sum() / max(count.sum(), 1.0)
            borrowed = (count < FEW_CLAIMS) * FEW_CLAIMS
            spread = (squares + borrowed * pooled) / np.maximum(count + borrowed, 1)
            return np.asarray(np.sqrt(spread))

        def weights(squares: Floats) -> Floats:
            # algorithm 1: one over the distance; floored, for the range is 2
            return 1 / np.maximum(deviation(squares), 2 * self.floor)

        rule = Weighting(parts, weights, self.tolerance, self.max_iterations)
        solution, squares = yield from rule.means(crowd, np.ones(crowd.n_workers), self.confidence)
        apart = np.where(count > 0, deviation(squares), np.nan) * crowd.half_width
        return replace(solution, workers={"standard_deviation": apart, **solution.workers})


@dataclass(frozen=True, slots=True, eq=False)
class Weighting:
    """A rule by which values of tasks give weights of workers."""

    # Sums over a block's claims, given its values; their totals give the weights.
    parts: Callable[[Floats], tuple[Any, ...]]
    weights: Callable[..., Floats]
    tolerance: float
    max_iterations: int

    def means(
        self, crowd: ScaledClaims, weight: Floats, confidence: float
    ) -> Program[tuple[NumericSolution, Floats]]:
        """Alternate between weighted means, at first by `weight`, and weights given these.

        Return the solution, and the first of the sums that the last weights follow from.
        """
        start = WeightedRound(weight, np.full(len(crowd.tasks), np.nan))
        last: WeightedRound = yield Loop(start, partial(self._next, crowd))
        error = yield from weighted_error(crowd, last.value, last.weight, confidence)
        counted = np.where(crowd.of_worker > 0, last.weight, 0.0)
        shares = {"weight": counted / max(counted.sum(), 1e-300)}
        intervals = crowd.on_claims_scale(last.value, *error)
        return NumericSolution(intervals, shares, last.converged, last.rounds), last.sums

    def _next(
        self, crowd: ScaledClaims, state: WeightedRound
    ) -> Program[tuple[WeightedRound, bool]]:
        each = state.weight[crowd.worker]
        value = crowd.by_task(each * crowd.value) / crowd.by_task(each)
        change = np.abs(value - state.value).max(initial=0.0)
        *totals, change = yield from everywhere(*self.parts(value), most=(change,))
        converged, rounds = bool(change < 2 * self.tolerance), state.rounds + 1
        found = WeightedRound(self.weights(*totals), value, totals[0], converged, rounds)
        return found, converged or rounds >= self.max_iterations


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRound:
    """The state of weighted means after a round."""

    weight: Floats  # float array, shape (n_workers,)
    value: Floats  # float array, shape (n_answered,). From -1 to 1; NaN before the first round.
    sums: Any = None  # the first of the totals that `weight` follows from
    converged: bool = False
    rounds: int = 0


def weighted_error(
    crowd: ScaledClaims, value: Floats, weight: Floats, confidence: float
) -> Program[tuple[Floats, Floats]]:
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
    squares, free = yield from everywhere(
        crowd.by_worker((crowd.value - value[crowd.task]) ** 2), crowd.by_worker(1 - share)
    )
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
class ConfidenceAware(NumericEstimator):
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
        Least mean square of a worker's claims, as a share of the crowd's, above 0.
    tolerance, max_iterations, confidence
        See `QualityWeighted`.

    Notes
    -----
    Li, Li, Gao, Su, Zhao, Demirbas, Fan and Han, "A confidence-aware approach for truth discovery
    on long-tail data", PVLDB 8(4), 2014 (CATD). Values start at the medians. Ours are
    the floor and the ten rounds: a worker never seen to err would own the result, and with more
    rounds, in a small crowd, the best worker more and more does. `CATD` has neither.

    **Cost**: each round linear in claims; memory linear in claims.

    Examples
    --------
    >>> table = {"task": [1, 1, 1, 2, 2, 2], "worker": ["x", "y", "z"] * 2,
    ...          "value": [1.0, 1.1, 4.0, 2.0, 2.2, 9.0]}
    >>> ConfidenceAware().fit(table).values_.round(1).tolist()
    [1.1, 2.2]
    """

    name: ClassVar[str] = "confidence-aware"

    significance: float = 0.05
    floor: float = 1e-6
    tolerance: float = 1e-6
    max_iterations: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations, tolerance=self.tolerance)
        check_proper_share(significance=self.significance)
        check_positive(floor=self.floor)

    def program(self, claims: Claims, mechanism: Masks) -> Program[NumericSolution]:
        """Return values and intervals; see `NumericEstimator.program`."""
        crowd: ScaledClaims = yield Section(partial(ScaledClaims.of, claims))
        mean = crowd.by_task(crowd.value) / crowd.of_task
        spread = crowd.by_task((crowd.value - mean[crowd.task]) ** 2) / crowd.of_task
        spread[spread == 0] = 1.0
        count = crowd.of_worker
        # `chdtri` takes the upper tail: this is the quantile of significance / 2.
        quantile = chdtri(np.maximum(count, 1), 1 - self.significance / 2)

        def parts(value: Floats) -> tuple[Floats, float, int]:
            off = (crowd.value - value[crowd.task]) ** 2 / spread[crowd.task]
            return crowd.by_worker(off), float(off.sum()), off.size

        def weights(squares: Floats, total: float, size: int) -> Floats:
            typical = total / size if total > 0 else 1.0
            least = self.floor * typical * np.maximum(count, 1)
            # CATD: chi-square quantile over the sum of squares
            return np.asarray(quantile / np.maximum(squares, least))

        rule = Weighting(parts, weights, self.tolerance, self.max_iterations)
        totals = yield from everywhere(*parts(crowd.median))
        solution, _ = yield from rule.means(crowd, weights(*totals), self.confidence)
        return solution


@dataclass(eq=False, kw_only=True)
class CATD(ConfidenceAware):
    """`ConfidenceAware` as it was published: without a floor to speak of, and until it is at rest.

    In large crowds nearer the truth than with the floor and ten rounds; in small ones the best
    worker may come to decide alone.

    Parameters
    ----------
    significance, floor, tolerance, max_iterations, confidence
        See `ConfidenceAware`; the floor only keeps weights finite.

    Examples
    --------
    >>> table = {"task": [1, 1, 1, 2, 2, 2], "worker": ["x", "y", "z"] * 2,
    ...          "value": [1.0, 1.1, 4.0, 2.0, 2.2, 9.0]}
    >>> CATD().fit(table).values_.round(1).tolist()
    [1.1, 2.2]
    """

    name: ClassVar[str] = "catd"

    floor: float = 1e-12
    max_iterations: int = 50
