"""The quality-weighted mean: workers near the crowd's values count more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import stdtrit

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import Mechanism
from masquerade.truth.iteration import check_iteration
from masquerade.truth.numeric.crowd import Crowd
from masquerade.truth.numeric.estimator import Found, NumericEstimator

FEW_CLAIMS = 3
"""A worker with fewer claims borrows the crowd's variance, as if from this many claims."""


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
        if not 0 < self.floor < np.inf:
            raise ParameterError(f"floor is {self.floor}, expected above 0.")

    def _solve(self, claims: Claims, mechanism: Mechanism | None) -> Found:
        crowd = Crowd.of(claims)
        count = crowd.of_worker
        weight = np.ones(crowd.n_workers)
        value, converged, iterations = np.zeros(len(crowd.tasks)), False, 0
        while not converged and iterations < self.max_iterations:
            iterations += 1
            each = weight[crowd.worker]
            earlier, value = value, crowd.by_task(each * crowd.value) / crowd.by_task(each)
            squares = crowd.by_worker((crowd.value - value[crowd.task]) ** 2)
            variance = _shrunk(squares, count)
            weight = 1 / np.maximum(np.sqrt(variance), 2 * self.floor)  # the range is 2
            moved = np.abs(value - earlier).max(initial=0.0)
            converged = iterations > 1 and bool(moved < 2 * self.tolerance)
        located = crowd.located(value, *weighted_error(crowd, value, weight, self.confidence))
        shown = np.where(count > 0, weight, 0.0)
        workers = {
            "standard_deviation": np.where(count > 0, np.sqrt(variance), np.nan) * crowd.half_width,
            "weight": shown / max(shown.sum(), 1e-300),
        }
        return Found(located, workers, converged, iterations)


def _shrunk(squares: Floats, count: Floats) -> Floats:
    pooled = squares.sum() / max(count.sum(), 1.0)
    few = count < FEW_CLAIMS
    borrowed = few * FEW_CLAIMS
    shrunk: Floats = (squares + borrowed * pooled) / np.maximum(count + borrowed, 1)
    return shrunk


def weighted_error(
    crowd: Crowd, value: Floats, weight: Floats, confidence: float
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
    squares = crowd.by_worker((crowd.value - value[crowd.task]) ** 2)
    free = crowd.by_worker(1 - share)
    pooled = squares.sum() / max(free.sum(), 1e-300) if free.sum() > 0 else np.nan
    variance = (squares + pooled) / (free + 1)
    part = share**2 * variance[crowd.worker]
    squared = crowd.by_task(part)
    error = np.sqrt(squared)
    freedom = crowd.by_task(part**2 / (free[crowd.worker] + 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = np.maximum(np.where(freedom > 0, squared**2 / freedom, np.inf), 1.0)
    reach = stdtrit(np.minimum(degrees, 1e6), (1 + confidence) / 2) * error
    return error, reach
