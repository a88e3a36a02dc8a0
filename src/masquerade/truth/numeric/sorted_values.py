"""Values sorted within tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.answers import Claims
from masquerade.exact.arrays import Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Sorted:
    """Values sorted within tasks that have any.

    Attributes
    ----------
    tasks : int array, shape (n_answered,)
        The tasks that have an answer; "task" below is a place in it.
    task : int array, shape (n_claims,)
        Ascending.
    value : float array, shape (n_claims,)
        Ascending within a task.
    start, count : int array, shape (n_answered,)
        Where a task's values begin, and how many they are (at least 1).
    n_tasks : int
        All tasks.
    """

    tasks: Integers
    task: Integers
    value: Floats
    start: Integers
    count: Integers
    n_tasks: int

    @classmethod
    def of(cls, claims: Claims) -> Sorted:
        """Return the answered claims sorted by task, then value. Cost: n log n."""
        told = claims.answered()
        order = np.lexsort((told.value, told.task))
        count = np.bincount(told.task, minlength=claims.n_tasks)
        tasks = np.flatnonzero(count)
        count = count[tasks]
        task = np.repeat(np.arange(len(tasks)), count)
        return cls(tasks, task, told.value[order], np.cumsum(count) - count, count, claims.n_tasks)

    def scale(self) -> Floats:
        """Return each task's largest absolute value, or 1: divided by it, no square overflows."""
        first, last = self.value[self.start], self.value[self.start + self.count - 1]
        largest = np.maximum(np.abs(first), np.abs(last))
        return np.where(largest > 0, largest, 1.0)

    def total(self, values: Floats) -> Floats:
        """Return each task's sum of `values`, which are in sorted order."""
        return np.bincount(self.task, values, len(self.count)).astype(np.float64)

    def median(self) -> Floats:
        """Return each task's median, the middle of the two middle ones if even."""
        middle = self.value[self.start + (self.count - 1) // 2]
        # half of each, so that the sum of two large values cannot overflow
        median: Floats = middle / 2 + self.value[self.start + self.count // 2] / 2
        return median

    def spread_out(self, values: Floats) -> Floats:
        """Return values of the answered tasks as an array over all, NaN elsewhere."""
        out = np.full(self.n_tasks, np.nan)
        out[self.tasks] = values
        return out
