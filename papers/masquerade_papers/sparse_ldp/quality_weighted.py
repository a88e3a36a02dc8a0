"""Algorithm 1 of Sun et al.: weighted means, and one over the workers' distance from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from masquerade.answers import Claims
from masquerade.exact.arrays import Floats
from masquerade.truth.estimator import check_iteration, check_positive
from masquerade.truth.numeric.catd import ScaledClaims, Weighting
from masquerade.truth.numeric.estimator import (
    AfterRound,
    NumericEstimator,
    NumericSolution,
    no_round,
)
from masquerade.truth.report_mechanisms import Masks

#: A worker with fewer claims borrows the crowd's variance, as if from this many claims.
FEW_CLAIMS = 3


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

    def solve(
        self, claims: Claims, mechanism: Masks, after_round: AfterRound = no_round
    ) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        crowd = ScaledClaims.of(claims)
        count = crowd.of_worker

        def deviation(value: Floats) -> Floats:
            squares = crowd.by_worker((crowd.value - value[crowd.task]) ** 2)
            pooled = squares.sum() / max(count.sum(), 1.0)
            borrowed = (count < FEW_CLAIMS) * FEW_CLAIMS
            spread = (squares + borrowed * pooled) / np.maximum(count + borrowed, 1)
            return np.asarray(np.sqrt(spread))

        def weights(value: Floats) -> Floats:
            # algorithm 1: one over the distance; floored, for the range is 2
            return 1 / np.maximum(deviation(value), 2 * self.floor)

        rule = Weighting(weights, self.tolerance, self.max_iterations, after_round)
        solution, value = rule.means(crowd, np.ones(crowd.n_workers), self.confidence)
        apart = np.where(count > 0, deviation(value), np.nan) * crowd.half_width
        return replace(solution, workers={"standard_deviation": apart, **solution.workers})
