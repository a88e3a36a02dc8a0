"""Weights that know how sure they are: for crowds where most workers say little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import chdtri

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.mechanisms import Mechanism
from masquerade.truth.iteration import check_iteration
from masquerade.truth.numeric.crowd import Crowd
from masquerade.truth.numeric.estimator import Found, NumericEstimator
from masquerade.truth.numeric.quality_weighted import weighted_error

_SMALLEST = 1e-6


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
    tolerance, max_iterations, confidence
        See `QualityWeighted`.

    Notes
    -----
    Li, Li, Gao, Su, Zhao, Demirbas, Fan and Han, "A confidence-aware approach for truth discovery
    on long-tail data", PVLDB 8(4), 2014 (CATD), equation 6. Values start at the medians. Ours is
    the floor under the sum of squares, a millionth of the crowd's mean square a claim, and the ten
    rounds: a worker never seen to err would own the result, and with more rounds, in a small crowd,
    the best worker more and more does.

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
    tolerance: float = 1e-6
    max_iterations: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations, tolerance=self.tolerance)
        if not 0 < self.significance < 1:
            raise ParameterError(
                f"significance is {self.significance}, expected above 0 and below 1."
            )

    def _solve(self, claims: Claims, mechanism: Mechanism | None) -> Found:
        crowd = Crowd.of(claims)
        mean = crowd.by_task(crowd.value) / crowd.of_task
        spread = crowd.by_task((crowd.value - mean[crowd.task]) ** 2) / crowd.of_task
        spread[spread == 0] = 1.0
        count = crowd.of_worker
        quantile = chdtri(np.maximum(count, 1), 1 - self.significance / 2)
        value, converged, iterations = crowd.median, False, 0
        weight = quantile
        while not converged and iterations < self.max_iterations:
            iterations += 1
            off = (crowd.value - value[crowd.task]) ** 2 / spread[crowd.task]
            squares = crowd.by_worker(off)
            typical = off.mean() if off.size and off.sum() > 0 else 1.0
            weight = quantile / np.maximum(squares, _SMALLEST * typical * np.maximum(count, 1))
            each = weight[crowd.worker]
            earlier, value = value, crowd.by_task(each * crowd.value) / crowd.by_task(each)
            moved = np.abs(value - earlier).max(initial=0.0)
            converged = bool(moved < 2 * self.tolerance)
        located = crowd.located(value, *weighted_error(crowd, value, weight, self.confidence))
        shown = np.where(count > 0, weight, 0.0)
        workers = {"weight": shown / max(shown.sum(), 1e-300)}
        return Found(located, workers, converged, iterations)
