"""Numbers: the median or the mean of each task's claims, with intervals where they exist."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrik, betainc, stdtrit

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.mechanisms import Mechanism
from masquerade.truth.components import components
from masquerade.truth.estimator import Estimator, Kind

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Sorted:
    """Values sorted within tasks.

    Attributes
    ----------
    task : int32 array, shape (n_claims,)
        Ascending.
    value : float array, shape (n_claims,)
        Ascending within a task.
    start, count : int array, shape (n_tasks,)
        Where a task's values begin, and how many they are (at least 1).
    """

    task: NDArray[np.int32]
    value: Floats
    start: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, claims: Claims) -> Sorted:
        """Return the claims sorted by task, then value. Cost: n log n."""
        order = np.lexsort((claims.value, claims.task))
        count = np.bincount(claims.task, minlength=claims.n_tasks)
        return cls(claims.task[order], claims.value[order], np.cumsum(count) - count, count)

    def scale(self) -> Floats:
        """Return each task's largest absolute value, or 1: divided by it, no square overflows."""
        first, last = self.value[self.start], self.value[self.start + self.count - 1]
        largest = np.maximum(np.abs(first), np.abs(last))
        return np.where(largest > 0, largest, 1.0)

    def total(self, values: Floats) -> Floats:
        """Return each task's sum of `values`, which are in sorted order."""
        return np.bincount(self.task, values, len(self.count)).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """Each task's value, its standard error and interval; NaN where there is none."""

    value: Floats
    standard_error: Floats
    low: Floats
    high: Floats


@dataclass(eq=False, kw_only=True)
class NumericEstimator(Estimator):
    """Base of the methods for numbers, one task at a time.

    Parameters
    ----------
    confidence : float
        Coverage of the intervals, above 0 and below 1.
    """

    kind: ClassVar[Kind] = "numeric"

    confidence: float = 0.95
    _found: Located | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ParameterError(
                f"confidence is {self.confidence}, expected above 0 and below 1, such as 0.95."
            )

    @abstractmethod
    def _locate(self, values: Sorted) -> Located:
        """Return each task's value and interval."""

    def _learn(self, claims: Claims, mechanism: Mechanism | None) -> None:
        self._found = self._locate(Sorted.of(claims))

    @property
    def truths_(self) -> pa.Table:
        """The values found: ``task``, ``value``."""
        return pa.table({"task": self.claims_.tasks, "value": self.values_})

    @property
    def values_(self) -> Floats:
        """Each task's value, shape (n_tasks,), in the order of ``claims_.tasks``."""
        _ = self.claims_  # raises where nothing is fitted
        assert self._found is not None
        return self._found.value

    @property
    def intervals_(self) -> pa.Table:
        """``task``, ``value``, ``claims``, ``standard_error``, ``low``, ``high``.

        Null where a task has too few claims for the figure.
        """
        claims, value = self.claims_, self.values_
        assert self._found is not None
        found = self._found
        return pa.table(
            {
                "task": claims.tasks,
                "value": value,
                "claims": np.bincount(claims.task, minlength=claims.n_tasks),
                **{
                    name: pa.array(column, from_pandas=True)
                    for name, column in (
                        ("standard_error", found.standard_error),
                        ("low", found.low),
                        ("high", found.high),
                    )
                },
            }
        )

    @property
    def components_(self) -> int:
        """Number of groups of workers and tasks that share no answer with one another."""
        return components(self.claims_).count

    @property
    def converged_(self) -> bool:
        """True: nothing is iterated."""
        return self.claims_ is not None

    @property
    def iterations_(self) -> int:
        """1: nothing is iterated."""
        return int(self.converged_)


@dataclass(eq=False, kw_only=True)
class Mean(NumericEstimator):
    """Take the mean of each task's claims.

    The interval is Student's, for two claims or more: right for claims that are independent and
    roughly normal around the truth, and blind to a bias that workers share.

    Examples
    --------
    >>> table = {"task": ["a", "a", "a"], "worker": ["x", "y", "z"], "value": [1.0, 2.0, 6.0]}
    >>> Mean().fit(table).truths_.to_pylist()
    [{'task': 'a', 'value': 3.0}]
    """

    name: ClassVar[str] = "mean"

    def _locate(self, values: Sorted) -> Located:
        count, scale = values.count, values.scale()
        value = values.value / scale[values.task]
        mean = values.total(value) / count
        squares = values.total((value - mean[values.task]) ** 2)
        enough = count >= 2
        error = np.full(len(mean), np.nan)
        error[enough] = np.sqrt(squares[enough] / (count[enough] - 1) / count[enough])
        reach = stdtrit(np.maximum(count - 1, 1), (1 + self.confidence) / 2) * error
        figures = (mean, error, mean - reach, mean + reach)
        return Located(*(figure * scale for figure in figures))


@dataclass(eq=False, kw_only=True)
class Median(NumericEstimator):
    """Take the median of each task's claims, the middle of the two middle ones if even.

    The standard error is Maritz and Jarrett's (1978), for two claims or more; it comes from
    the exact bootstrap variance of the middle order statistic, and is a tenth or so too large with
    few claims. The interval runs between two order
    statistics and covers the population's median with at least the confidence asked for, whatever
    the distribution; it exists from six claims on at 95 %.

    Examples
    --------
    >>> table = {"task": ["a", "a", "a"], "worker": ["x", "y", "z"], "value": [1.0, 2.0, 6.0]}
    >>> Median().fit(table).truths_.to_pylist()
    [{'task': 'a', 'value': 2.0}]
    """

    name: ClassVar[str] = "median"

    def _locate(self, values: Sorted) -> Located:
        start, count = values.start, values.count
        middle = values.value[start + (count - 1) // 2]
        # half of each, so that the sum of two large values cannot overflow
        median = middle / 2 + values.value[start + count // 2] / 2
        low, high = np.full(len(median), np.nan), np.full(len(median), np.nan)
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
        return Located(median, self._standard_error(values), low, high)

    def _standard_error(self, values: Sorted) -> Floats:
        n = values.count[values.task]
        rank = np.arange(len(n)) - values.start[values.task] + 1
        shape = (n + 1) / 2
        share = betainc(shape, shape, rank / n) - betainc(shape, shape, (rank - 1) / n)
        scale = values.scale()
        value = values.value / scale[values.task]
        centre = values.total(share * value)
        error: Floats = np.sqrt(values.total(share * (value - centre[values.task]) ** 2))
        error[values.count < 2] = np.nan
        return error * scale
