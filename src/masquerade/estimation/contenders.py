"""The option that is ahead, or the set of those that may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from masquerade.answers.result import Result
from masquerade.estimation.figures import CONFIDENCE, Crowd, Figures, check_confidence, cut_of
from masquerade.exact.arrays import Floats

#: With fewer people no option is named.
FEWEST_TO_NAME = 20


@dataclass(frozen=True, slots=True)
class Ahead(Result):
    """Which of several options is ahead, as far as reports tell.

    Attributes
    ----------
    named : int or None
        The first option, where it is surely ahead of the second. In at most 1 - confidence of all
        surveys an option is named that is not.
    candidates : tuple of int
        Options that may be ahead, the most frequent first; the true first is among them with the
        confidence.
    statistics : tuple of float
        W of "as many as the first" for each option; 0 for the first itself.

    Examples
    --------
    >>> from masquerade.estimation import Counts
    >>> ahead(Crowd.of([Counts.of([41, 24, 5])])).named
    0
    """

    named: int | None
    candidates: tuple[int, ...]
    statistics: tuple[float, ...]


def ahead(crowd: Crowd, *, options: int | None = None, confidence: float = CONFIDENCE) -> Ahead:
    """Return which answer of one question most people have.

    Parameters
    ----------
    crowd : Crowd
    options : int, optional
        How many answers, the first ones, can be ahead; "no answer" is none of them.
    confidence : float
    """
    k = crowd.symbols if options is None else options
    unit = np.eye(crowd.symbols)

    def pairs(first: int, others: Sequence[int]) -> Figures:
        return crowd.figures(unit[first] - unit[list(others)])

    return first_options(crowd.shares().value[:k], pairs, n=crowd.n, confidence=confidence)


def first_options(
    values: ArrayLike,
    pairs: Callable[[int, Sequence[int]], Figures],
    *,
    n: float,
    confidence: float = CONFIDENCE,
) -> Ahead:
    """Return which of several figures is the largest.

    Parameters
    ----------
    values : float array
        Their estimates.
    pairs : callable
        Gives the differences of one figure to others.
    n : float
        Number of people.

    Notes
    -----
    The first of a multinomial may be named when it beats the second in a two-sided test of this
    pair, with no correction for the number of options (Hung and Fithian 2019). The set has all
    options within the .95 quantile of the largest of k - 1 differences from one that is as
    frequent as all of them.
    """
    check_confidence(confidence)
    value = np.asarray(values, dtype=np.float64)
    first, k = int(np.argmax(value)), len(value)
    others = [place for place in range(k) if place != first]
    if not others:
        return Ahead(first if n >= FEWEST_TO_NAME else None, (first,), (0.0,))
    statistic = np.zeros(k)
    statistic[others] = pairs(first, others).statistic(0.0)
    cut = cut_of(confidence)
    within = max(cut, largest_difference(k, confidence) ** 2)
    order = [first, *sorted(others, key=lambda place: -value[place])]
    named = first if n >= FEWEST_TO_NAME and statistic[others].min() > cut else None
    candidates = tuple(place for place in order if place == first or statistic[place] <= within)
    return Ahead(named, (first,) if named is not None else candidates, tuple(statistic.tolist()))


@lru_cache(maxsize=256)
def largest_difference(k: int, confidence: float) -> float:
    """Return the quantile of the largest of ``(Z_j - Z_0) / sqrt 2``, j from 1 to k - 1."""
    node, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / math.sqrt(2 * math.pi)

    def missed(g: float) -> float:
        # given Z_0, the others are independent
        below: Floats = ndtr(node + math.sqrt(2) * g) ** (k - 1)
        return float(weight @ below) - confidence

    low, high = -10.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if missed(middle) < 0 else (low, middle)
    return high
