"""Quantiles of answers, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from masquerade.answers.result import Result
from masquerade.estimation.figures import CONFIDENCE, Crowd, check_confidence, cut_of
from masquerade.exact.arrays import Floats

_NOBODY = 1e-12  # of all: what rounding leaves of none


@dataclass(frozen=True, slots=True)
class Quantile(Result):
    """A quantile of answers, with its interval.

    Attributes
    ----------
    share : float
        Share of people at or below it.
    value : float
        NaN where nobody seems to have answered.
    low, high : float
        Ends of the confidence interval: possible answers.

    Examples
    --------
    >>> Quantile(share=0.5, value=3.2, low=2.8, high=3.6).value
    3.2
    """

    share: float
    value: float
    low: float
    high: float


def quantile(
    crowd: Crowd,
    ends: Sequence[tuple[float, float]],
    share: float,
    *,
    confidence: float = CONFIDENCE,
) -> Quantile:
    """Return the smallest answer that at least a share of the people stay at or below.

    Parameters
    ----------
    crowd : Crowd
        Its first answers are ranges; those after them are of people who did not answer.
    ends : sequence of pairs of numbers
        First and last answer of each range, in ascending order.
    share : float
        Above 0 and below 1.

    Notes
    -----
    An answer is in the interval unless fewer people than `share` are at or below it, or more are
    below it, surely (W above the cut). The value is where the cumulative shares cross, made to rise
    (isotonic regression) and straight within a range.

    Examples
    --------
    >>> from masquerade.estimation import Counts
    >>> crowd = Crowd.of([Counts.of([20, 60, 20])])
    >>> half = quantile(crowd, [(1, 1), (2, 2), (3, 3)], 0.5)
    >>> half.value, half.low, half.high
    (2.0, 2.0, 2.0)
    """
    check_confidence(confidence)
    check_confidence(share)
    ranges = len(ends)
    answered = (np.arange(crowd.symbols) < ranges).astype(np.float64)
    base = float(crowd.figures(answered).value[0])
    if base <= _NOBODY:
        return Quantile(share, math.nan, ends[0][0], ends[-1][1])
    place = np.arange(crowd.symbols)
    # below[at]: 1 for answers up to range `at`, less their share of those who answered
    below = (place <= np.arange(ranges - 1)[:, None]).astype(np.float64)
    first, last = 0, ranges - 1
    if ranges > 1:
        figures = crowd.figures(below - share * answered)
        sure = figures.statistic(0.0) > cut_of(confidence)
        missing = np.flatnonzero(sure & (figures.value < 0))
        reached = np.flatnonzero(sure & (figures.value > 0))
        first = int(missing[-1]) + 1 if missing.size else 0
        last = int(reached[0]) if reached.size else ranges - 1
    rising = [0.0]
    if ranges > 1:
        value = crowd.figures(below).value / base
        rising += np.clip(_isotonic(value), 0.0, 1.0).tolist()
    rising.append(1.0)
    at = next(one for one in range(ranges) if rising[one + 1] >= share)
    part = (share - rising[at]) / max(rising[at + 1] - rising[at], 1e-12)
    start, stop = ends[at]
    low, high = float(ends[first][0]), float(ends[max(first, last)][1])
    return Quantile(share, min(max(start + (stop - start) * min(part, 1.0), low), high), low, high)


def _isotonic(values: ArrayLike) -> Floats:
    """Return the nearest values that never fall: pool adjacent violators."""
    pools: list[list[float]] = []
    for value in np.asarray(values, dtype=np.float64).tolist():
        pools.append([value, 1.0])
        # Neighbours in the wrong order become their common mean.
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, size = pools.pop()
            total = pools[-1][1] + size
            pools[-1] = [(pools[-1][0] * pools[-1][1] + mean * size) / total, total]
    return np.repeat([mean for mean, _ in pools], [int(size) for _, size in pools])
