"""A crowd's numbers, scaled for iteration, and the sums that weighting needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.answers import Claims
from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.truth.numeric.estimator import Located
from masquerade.truth.numeric.sorted_values import Sorted


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """Answered claims, sorted by task, moved and scaled to -1 to 1.

    Attributes
    ----------
    task : int array, shape (n_claims,)
        Place of the claim's task among the answered tasks, ascending.
    worker : int array, shape (n_claims,)
    value : float array, shape (n_claims,)
        From -1 to 1.
    of_task, of_worker : float arrays
        Number of claims; at least 1 for a task.
    median : float array, shape (n_answered,)
    tasks : int array, shape (n_answered,)
    n_tasks, n_workers : int
    middle, half_width : float
        ``middle + half_width * value`` is on the claims' scale.
    """

    task: Integers
    worker: Codes
    value: Floats
    of_task: Floats
    of_worker: Floats
    median: Floats
    tasks: Integers
    n_tasks: int
    n_workers: int
    middle: float
    half_width: float

    @classmethod
    def of(cls, claims: Claims) -> Crowd:
        """Return the answered claims. The order of rows does not matter. Cost: n log n."""
        told = claims.answered()
        order = np.lexsort((told.worker, told.value, told.task))
        value, worker = told.value[order], told.worker[order]
        low, high = (value.min(), value.max()) if len(value) else (0.0, 0.0)
        middle, half_width = low / 2 + high / 2, high / 2 - low / 2
        scaled = (value - middle) / (half_width if half_width > 0 else 1.0)
        by_task = Sorted.of(claims)
        median = (by_task.median() - middle) / (half_width if half_width > 0 else 1.0)
        return cls(
            by_task.task,
            worker,
            scaled,
            by_task.count.astype(np.float64),
            np.bincount(worker, minlength=claims.n_workers).astype(np.float64),
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

    def located(self, value: Floats, error: Floats, reach: Floats) -> Located:
        """Return scaled values and their errors on the claims' scale."""

        def over_all(figure: Floats) -> Floats:
            out = np.full(self.n_tasks, np.nan)
            out[self.tasks] = figure
            return out

        centre = self.middle + self.half_width * value
        reach = self.half_width * reach
        return Located(
            over_all(centre),
            over_all(self.half_width * error),
            over_all(centre - reach),
            over_all(centre + reach),
        )
