"""The Gaussian truth model: normal truths, normal errors, a variance for each worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import stdtrit

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.mechanisms import Mechanism
from masquerade.truth.iteration import check_iteration
from masquerade.truth.numeric.crowd import Crowd
from masquerade.truth.numeric.estimator import Found, NumericEstimator


@dataclass(eq=False, kw_only=True)
class GaussianTruth(NumericEstimator):
    """Infer normal truths from normal claims whose variance is the worker's.

    Claims are standardised within their task; a task's standardised truth is N(0, 1), a claim of a
    worker N(truth, variance of the worker), the variance inverse-gamma; by
    expectation-maximisation.

    Parameters
    ----------
    shape, scale : float
        Of the inverse-gamma prior of a worker's variance, above 0. Its mode is
        ``scale / (shape + 1)``.
    tolerance, max_iterations, confidence
        See `QualityWeighted`.

    Notes
    -----
    Zhao and Han, "A probabilistic model for estimating real-valued truth from conflicting sources",
    QDB 2012 (GTM). Where all claims on a task agree, its standard deviation is taken as 1.

    The interval is the posterior's, with Student's quantile for one claim less than the task has:
    standardised claims make it a share of the claims' own spread, which few claims tell badly (with
    the normal quantile, 90 % intervals of four claims a task hold 76 % of truths).

    **Cost**: each round linear in claims; memory linear in claims.

    Examples
    --------
    >>> table = {"task": [1, 1, 1, 2, 2, 2], "worker": ["x", "y", "z"] * 2,
    ...          "value": [1.0, 1.1, 4.0, 2.0, 2.2, 9.0]}
    >>> GaussianTruth().fit(table).values_.round(1).tolist()
    [2.0, 4.2]
    """

    name: ClassVar[str] = "gaussian-truth"

    shape: float = 10.0
    scale: float = 10.0
    tolerance: float = 1e-6
    max_iterations: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations, tolerance=self.tolerance)
        for name, number in (("shape", self.shape), ("scale", self.scale)):
            if not 0 < number < np.inf:
                raise ParameterError(f"{name} is {number}, expected above 0.")

    def _solve(self, claims: Claims, mechanism: Mechanism | None) -> Found:
        crowd = Crowd.of(claims)
        mean = crowd.by_task(crowd.value) / crowd.of_task
        spread = np.sqrt(crowd.by_task((crowd.value - mean[crowd.task]) ** 2) / crowd.of_task)
        spread[spread == 0] = 1.0
        claim = (crowd.value - mean[crowd.task]) / spread[crowd.task]
        variance = np.ones(crowd.n_workers)
        truth, converged, iterations = np.zeros(len(mean)), False, 0
        while not converged and iterations < self.max_iterations:
            iterations += 1
            precision = 1 / variance[crowd.worker]
            left = 1 / (1 + crowd.by_task(precision))
            earlier, truth = truth, left * crowd.by_task(precision * claim)
            squares = crowd.by_worker((claim - truth[crowd.task]) ** 2 + left[crowd.task])
            variance = (2 * self.scale + squares) / (2 * (self.shape + 1) + crowd.of_worker)
            moved = (np.abs(truth - earlier) * spread).max(initial=0.0)
            converged = iterations > 1 and bool(moved < 2 * self.tolerance)
        error = spread * np.sqrt(left) if iterations else spread
        # A task's scale is learnt from its own claims.
        freedom = np.maximum(crowd.of_task - 1, 1)
        reach = stdtrit(freedom, (1 + self.confidence) / 2) * error
        located = crowd.located(mean + spread * truth, error, reach)
        told = crowd.of_worker > 0
        workers = {
            "standard_deviation": np.where(told, np.sqrt(variance), np.nan),
            "weight": np.where(told, 1 / variance, 0.0),
        }
        return Found(located, workers, converged, iterations)
