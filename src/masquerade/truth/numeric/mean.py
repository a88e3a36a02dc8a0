"""The mean of each task's claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import stdtrit

from masquerade.answers import Claims
from masquerade.mechanisms import Mechanism
from masquerade.truth.numeric.estimator import Found, Located, NumericEstimator
from masquerade.truth.numeric.sorted_values import Sorted


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

    def _solve(self, claims: Claims, mechanism: Mechanism | None) -> Found:
        values = Sorted.of(claims)
        count, scale = values.count, values.scale()
        value = values.value / scale[values.task]
        mean = values.total(value) / count
        squares = values.total((value - mean[values.task]) ** 2)
        enough = count >= 2
        error = np.full(len(mean), np.nan)
        error[enough] = np.sqrt(squares[enough] / (count[enough] - 1) / count[enough])
        reach = stdtrit(np.maximum(count - 1, 1), (1 + self.confidence) / 2) * error
        figures = (mean, error, mean - reach, mean + reach)
        return Found(Located(*(values.spread_out(figure * scale) for figure in figures)))
