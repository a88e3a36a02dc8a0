"""Mean and median of each task's claims, with intervals that assume nothing about workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import bdtr, bdtrik, betainc, stdtrit

from masquerade.answers import Claims
from masquerade.exact.arrays import Floats, Integers
from masquerade.truth.numeric.estimator import (
    AfterRound,
    NumericEstimator,
    NumericSolution,
    ValueIntervals,
    no_round,
)
from masquerade.truth.report_mechanisms import Masks


@dataclass(eq=False, kw_only=True)
class Mean(NumericEstimator):
    """Take the mean of each task's claims.

    The interval is Student's, for two claims or more: right for claims that are independent and
    roughly normal around the truth, and blind to a bias that workers share. Masked claims with
    added noise keep their mean; those of randomized and quantised response are drawn to the middle
    of the domain, and `ChannelEM` undoes that.

    Examples
    --------
    >>> table = {"task": ["a", "a", "a"], "worker": ["x", "y", "z"], "value": [1.0, 2.0, 6.0]}
    >>> Mean().fit(table).truths_.to_pylist()
    [{'task': 'a', 'value': 3.0}]
    """

    name: ClassVar[str] = "mean"

    def solve(
        self, claims: Claims, mechanism: Masks, after_round: AfterRound = no_round
    ) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        values = SortedValues.of(claims)
        count, scale = values.count, values.scale()
        # In units of the task's largest value: squares cannot overflow.
        value = values.value / scale[values.task]
        mean = values.total(value) / count
        squares = values.total((value - mean[values.task]) ** 2)
        enough = count >= 2
        error = np.full(len(mean), np.nan)
        # s / sqrt(n), and Student's quantile with n - 1 degrees of freedom
        error[enough] = np.sqrt(squares[enough] / (count[enough] - 1) / count[enough])
        reach = stdtrit(np.maximum(count - 1, 1), (1 + self.confidence) / 2) * error
        figures = (mean, error, mean - reach, mean + reach)
        return NumericSolution(
            ValueIntervals(*(values.spread_out(figure * scale) for figure in figures))
        )


@dataclass(eq=False, kw_only=True)
class Median(NumericEstimator):
    """Take the median of each task's claims, the middle of the two middle ones if even.

    The standard error is Maritz and Jarrett's (1978), for two claims or more; it comes from
    the exact bootstrap variance of the middle order statistic, and is a tenth or so too large with
    few claims. The interval runs between two order statistics and covers the population's median
    with at least the confidence asked for, whatever the distribution; it exists from six claims on
    at 95 %.

    Examples
    --------
    >>> table = {"task": ["a", "a", "a"], "worker": ["x", "y", "z"], "value": [1.0, 2.0, 6.0]}
    >>> Median().fit(table).truths_.to_pylist()
    [{'task': 'a', 'value': 2.0}]
    """

    name: ClassVar[str] = "median"

    def solve(
        self, claims: Claims, mechanism: Masks, after_round: AfterRound = no_round
    ) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        values = SortedValues.of(claims)
        start, count = values.start, values.count
        low, high = np.full(len(count), np.nan), np.full(len(count), np.nan)
        # With k smallest and k largest left out, the interval misses with 2 P(Bin(n, 1/2) <= k).
        tail = (1 - self.confidence) / 2
        # The largest number whose binomial tail is at most `tail`; the inverse is real-valued and
        # may be off by its rounding.
        spared = np.floor(np.nan_to_num(bdtrik(tail, count, 0.5), nan=-1.0))
        spared += (spared < count) & (bdtr(np.maximum(spared + 1, 0), count, 0.5) <= tail)
        spared -= (spared >= 0) & (bdtr(np.maximum(spared, 0), count, 0.5) > tail)
        spared = spared.astype(np.int64)
        exists = spared >= 0
        low[exists] = values.value[(start + spared)[exists]]
        high[exists] = values.value[(start + count - 1 - spared)[exists]]
        figures = (values.median(), _standard_error(values), low, high)
        return NumericSolution(ValueIntervals(*map(values.spread_out, figures)))


def _standard_error(values: SortedValues) -> Floats:
    n = values.count[values.task]
    rank = np.arange(len(n)) - values.start[values.task] + 1
    shape = (n + 1) / 2
    # Maritz and Jarrett: the weight of an order statistic in the bootstrap median is a difference
    # of incomplete beta functions.
    share = betainc(shape, shape, rank / n) - betainc(shape, shape, (rank - 1) / n)
    scale = values.scale()
    value = values.value / scale[values.task]
    centre = values.total(share * value)
    error: Floats = np.sqrt(values.total(share * (value - centre[values.task]) ** 2))
    error[values.count < 2] = np.nan
    return error * scale


@dataclass(frozen=True, slots=True, eq=False)
class SortedValues:
    """Values sorted within the tasks that have any."""

    # int array, shape (n_answered,). The tasks that have an answer; "task" below is a place in it.
    tasks: Integers
    task: Integers  # int array, shape (n_claims,). Ascending.
    value: Floats  # float array, shape (n_claims,). Ascending within a task.
    # start, count: int array, shape (n_answered,). Where a task's values begin, and how many they
    # are (at least 1).
    start: Integers
    count: Integers
    n_tasks: int  # all tasks

    @classmethod
    def of(cls, claims: Claims) -> SortedValues:
        """Return the answered claims sorted by task, then value. Cost: n log n."""
        answered = claims.answered()
        order = np.lexsort((answered.value, answered.task))
        count = np.bincount(answered.task, minlength=claims.n_tasks)
        tasks = np.flatnonzero(count)
        count = count[tasks]
        task = np.repeat(np.arange(len(tasks)), count)
        start = np.cumsum(count) - count
        return cls(tasks, task, answered.value[order], start, count, claims.n_tasks)

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
