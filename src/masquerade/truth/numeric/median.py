"""The median of each task's claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import bdtr, bdtrik, betainc

from masquerade.answers import Claims
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import Mechanism
from masquerade.truth.numeric.estimator import Found, Located, NumericEstimator
from masquerade.truth.numeric.sorted_values import Sorted


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

    def _solve(self, claims: Claims, mechanism: Mechanism | None) -> Found:
        values = Sorted.of(claims)
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
        return Found(Located(*map(values.spread_out, figures)))


def _standard_error(values: Sorted) -> Floats:
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
