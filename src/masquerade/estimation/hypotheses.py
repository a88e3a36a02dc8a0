"""Tests: of several differences at once, of levels that are alike, of independence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation.curves import LevelCurve
from masquerade.estimation.figures import ALIKE, Crowd, Figures
from masquerade.exact.arrays import Floats

#: p-value below which a reader is told that levels differ.
DIFFER = 0.05

_DRAWS = 2000
_SEED = 20141


@dataclass(frozen=True, slots=True)
class Test(Result):
    """A test of a hypothesis.

    Attributes
    ----------
    statistic : float
    degrees : int
        Degrees of freedom of its chi-squared distribution; 0 where nothing was tested.
    probability : float
        With which a statistic at least as large comes out where the hypothesis is true.

    Examples
    --------
    >>> Test(4.2, 1, 0.04).probability
    0.04
    """

    __test__ = False  # not one of pytest's

    statistic: float
    degrees: int
    probability: float


def holm(probabilities: Sequence[float]) -> tuple[float, ...]:
    """Return p-values of several tests, corrected for their number (Holm 1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    (0.03, 0.06, 0.06)
    """
    p = np.asarray(probabilities, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return tuple(corrected.tolist())


def levels_alike(crowd: Crowd, scores: ArrayLike | None = None) -> Test:
    """Test whether all levels have the same figures: the shares, or given ones.

    The least W of one figure for all levels is at most a chi-squared number with a degree of
    freedom fewer than there are levels; of several figures the most odd counts, times their number.

    Examples
    --------
    >>> from masquerade.estimation import Counts
    >>> levels_alike(Crowd.of([Counts.of([12, 8]), Counts.of([2, 18])])).probability < 0.01
    True
    """
    there = [one for one in crowd.groups if one.n > 0]
    if len(there) < 2:
        return Test(0.0, 0, 1.0)
    alike = Crowd.of(there, bound=ALIKE)
    figures: Figures = alike.shares() if scores is None else alike.figures(scores)
    assert isinstance(figures.curve, LevelCurve)
    least = figures.curve.least
    statistic = float(np.max(least))
    degrees = len(there) - 1
    # two shares are one figure
    count = len(least) if len(least) > 2 else 1
    return Test(statistic, degrees, min(1.0, count * float(chdtrc(degrees, statistic))))


def independence(tables: Sequence[Any]) -> Test:
    """Test whether answers to two questions are independent, from tables of pairs of reports.

    Masks are invertible and independent of each other, so answers are independent exactly where
    reports are: nothing has to be unmasked. Each level has a table of its own.

    Parameters
    ----------
    tables : sequence of int array, shape (n_rows, n_columns)

    Notes
    -----
    Pearson's chi-squared over rows and columns that occur. Where fewer than 1 report is expected in
    a cell, by permutations of the reports (2,000, of a fixed seed), which is exact.

    Examples
    --------
    >>> independence([[[30, 10], [10, 30]]]).degrees
    1
    """
    counts = [np.asarray(table, dtype=np.float64) for table in tables]
    counts = [one[one.sum(axis=1) > 0][:, one.sum(axis=0) > 0] for one in counts if one.sum() > 0]
    if not counts:
        raise EmptyTable("there are no reports; a test needs at least one.")
    if any((one != np.round(one)).any() for one in counts):
        raise ParameterError("a test of independence needs whole counts; give those of reports.")
    statistic = math.fsum(_pearson(one) for one in counts)
    degrees = sum((one.shape[0] - 1) * (one.shape[1] - 1) for one in counts)
    if not degrees:
        return Test(0.0, 0, 1.0)
    fewest = min(float(_expected(one).min()) for one in counts)
    if fewest >= 1:
        return Test(statistic, degrees, float(chdtrc(degrees, statistic)))
    rng = np.random.default_rng(_SEED)
    pairs = [_people(one) for one in counts]
    larger = 0
    for _ in range(_DRAWS):
        drawn = 0.0
        for (rows, columns), one in zip(pairs, counts, strict=True):
            mixed = rng.permutation(columns) + one.shape[1] * rows
            cells = np.bincount(mixed, minlength=one.size).astype(np.float64)
            drawn += _pearson(cells.reshape(one.shape))
        larger += drawn >= statistic * (1 - 1e-9)
    return Test(statistic, degrees, (larger + 1) / (_DRAWS + 1))


def _expected(count: Floats) -> Floats:
    expected: Floats = np.outer(count.sum(axis=1), count.sum(axis=0)) / count.sum()
    return expected


def _pearson(count: Floats) -> float:
    expected = _expected(count)
    return float(((count - expected) ** 2 / expected).sum())


def _people(count: Floats) -> tuple[Floats, Floats]:
    cell = np.repeat(np.arange(count.size), count.ravel().astype(int))
    return cell // count.shape[1], cell % count.shape[1]
