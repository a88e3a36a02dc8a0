"""Correlations of masked scores, from the unbiased worth of reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from masquerade.analysis.design import Masks
from masquerade.analysis.variables import Variable, missing_rows, numbers_of, read_masked
from masquerade.analysis.worth import worth_of
from masquerade.answers import Frame, to_arrow
from masquerade.answers.frames import missing_column, plain_column
from masquerade.answers.result import Result
from masquerade.errors import EmptyTable
from masquerade.exact.arrays import Floats


@dataclass(frozen=True, slots=True)
class Correlation(Result):
    """Pearson's correlation of answers.

    Attributes
    ----------
    value : float or None
        None where the masks leave a spread that is not above 0.
    low, high : float
    naive : float
        Of reports, taken for answers.
    people : int
    sampling_error, mechanism_error : float or None
        Between two parties: by who answered, and by their noise.

    Examples
    --------
    >>> Correlation(0.4, 0.2, 0.6, 0.1, 300).value
    0.4
    """

    value: float | None
    low: float
    high: float
    naive: float | None
    people: int
    sampling_error: float | None = None
    mechanism_error: float | None = None


def correlate(first: Variable, second: Variable, *, confidence: float = 0.95) -> Correlation:
    """Return the correlation of two variables, with an interval by scores.

    With v the worth of a score and u of its square, q = u - 2 m v + m^2 and A = mean q; the
    interval is of all rho with |mean t| <= z sd(t) / sqrt n, t = (v1 - m1)(v2 - m2) -
    rho sqrt(A1 A2) / 2 (q1 / A1 + q2 / A2): a quadratic in rho.
    """
    return _correlated(_Scores.of(first), _Scores.of(second), confidence)


@dataclass(frozen=True, slots=True)
class _Scores:
    """Unbiased scores of people, of their squares, and the reports taken for answers."""

    worth: Floats
    square: Floats
    naive: Floats | None

    @classmethod
    def of(cls, variable: Variable) -> _Scores:
        worth, square = worth_of(variable)
        known = (variable.report >= 0).all()
        return cls(worth, square, np.array(variable.scores)[variable.report] if known else None)


def _correlated(first: _Scores, second: _Scores, confidence: float) -> Correlation:
    people = len(first.worth)
    spreads, centred = [], []
    for one in (first, second):
        v, u = one.worth, one.square
        centred.append(v - v.mean())
        spreads.append(u - 2 * v.mean() * v + v.mean() ** 2)
    scored = [one.naive for one in (first, second) if one.naive is not None]
    naive: float | None = None
    if len(scored) == 2 and all(np.ptp(one) > 0 for one in scored):
        naive = float(np.corrcoef(scored[0], scored[1])[0, 1])
    a1, a2 = (float(one.mean()) for one in spreads)
    if people < 2 or not (a1 > 0 and a2 > 0):
        return Correlation(None, -1.0, 1.0, naive, people)
    root = math.sqrt(a1 * a2)
    product = centred[0] * centred[1]
    scale = root / 2 * (spreads[0] / a1 + spreads[1] / a2)
    value = float(product.mean()) / root
    z = float(ndtri(0.5 + confidence / 2))
    low, high = _between(product, scale, z**2 / people)
    return Correlation(min(max(value, -1.0), 1.0), low, high, naive, people)


def _between(product: Floats, scale: Floats, cut: float) -> tuple[float, float]:
    """Return the ends of {rho: (mean a - rho mean b)^2 <= cut var(a - rho b)}, in [-1, 1]."""
    (vaa, vab), (_, vbb) = np.cov(product, scale)
    a, b = float(product.mean()), float(scale.mean())
    c2, c1, c0 = b * b - cut * vbb, -2 * (a * b - cut * vab), a * a - cut * vaa
    if c2 <= 0:  # the spread itself is not known
        return -1.0, 1.0
    root = math.sqrt(max(c1 * c1 - 4 * c2 * c0, 0.0))
    low, high = (-c1 - root) / (2 * c2), (-c1 + root) / (2 * c2)
    return min(max(low, -1.0), 1.0), max(min(high, 1.0), -1.0)


def correlation(
    data: Frame,
    first: str,
    second: str,
    *,
    mechanisms: Mapping[str, Masks] | None = None,
    options: Mapping[str, Sequence[Any]] | None = None,
    levels: str | None = None,
    confidence: float = 0.95,
) -> Correlation:
    """Return the correlation of two columns of numbers, each seen through its mask.

    Rows without a value in one of them are left out.

    Examples
    --------
    >>> people = {"stress": [1, 2, 3, 4] * 20, "ill": [0, 0, 1, 1] * 20}
    >>> round(correlation(people, "stress", "ill").value, 3)
    0.894
    """
    table, masks = to_arrow(data), mechanisms or {}
    for name in (first, second):
        if name not in table.column_names:
            raise missing_column(name, list(table.column_names))
    gone = missing_rows(table, first) | missing_rows(table, second)
    table = table.filter(pa.array(~gone))
    if len(table) < 2:
        raise EmptyTable("fewer than 2 people have both values; a correlation needs more.")

    def read(name: str) -> _Scores:
        if name in masks:
            known = (options or {}).get(name)
            return _Scores.of(read_masked(table, name, masks[name], options=known, levels=levels))
        values = numbers_of(plain_column(table, name), name)
        return _Scores(values, values**2, values)

    return _correlated(read(first), read(second), confidence)
