"""The unbiased worth of masked ratings: least squares of means, and correlations of scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from masquerade.analysis.design import Design, FitOptions, Masks
from masquerade.analysis.profile import Reference
from masquerade.analysis.result import Naive, Regression, Term
from masquerade.analysis.terms import binary_columns, scales, told_from_zero
from masquerade.analysis.variables import Variable, missing_rows, numbers_of, read_masked
from masquerade.answers import Frame, to_arrow
from masquerade.answers.frames import missing_column, plain_column
from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, InputError, ParameterError
from masquerade.exact.arrays import Floats

#: Share of the outcome's spread below which a residual is rounding.
_EXACT = 1e-20


def worth_of(variable: Variable) -> tuple[Floats, Floats]:
    """Return an unbiased score of each person's report, and of its square.

    v solves C' v = score, so that E v = score whatever the answer is. Rows of the table of the
    same mask are solved together; reports in clear are their own score.

    Raises
    ------
    ParameterError
        Answers have no scores, or a channel cannot be undone.
    """
    if variable.scores is None:
        raise ParameterError(
            f"the answers of {variable.name} are no numbers, so that they have no mean."
        )
    scores = np.array(variable.scores)
    wanted = np.column_stack([scores, scores**2])
    known = variable.seen.table[:-1]  # the last row is of unknown reports
    if (variable.seen.code == len(known)).any():
        raise ParameterError(
            f"{variable.name} has people without a report; leave them out, missing='drop'."
        )
    worth = np.empty((len(known), 2))
    start = 0
    while start < len(known):
        # rows of one mask add to 1 for every answer
        stop, total = start, np.zeros(len(scores))
        while stop < len(known) and not np.allclose(total, 1):
            total = total + known[stop]
            stop += 1
        channel = known[start:stop].T  # [answer, report]
        if not np.allclose(total, 1) or np.linalg.matrix_rank(channel, tol=1e-9) < len(scores):
            raise ParameterError(
                f"the mask of {variable.name} cannot be undone by a worth of each report; use "
                "model='ordered'."
            )
        worth[start:stop] = np.linalg.lstsq(channel, wanted, rcond=None)[0]
        start = stop
    found = worth[variable.seen.code]
    return found[:, 0], found[:, 1]


def worth_regression(design: Design, fitting: FitOptions) -> Regression:
    """Return the least squares of an outcome's worth on columns in clear, with robust errors."""
    if design.masked:
        raise ParameterError(
            f"model is 'linear', and {design.masked[0].name} and {design.outcome.name} are both "
            "masked; use model='ordered', or `correlation` for two variables.",
            field="model",
        )
    values = worth_of(design.outcome)[0]
    x = np.column_stack([np.ones(design.people), design.clear.values])
    weight = np.ones(design.people) if design.weight is None else design.weight
    columns = np.concatenate([[1.0], scales(design.clear, weight)])
    if np.linalg.matrix_rank((x - np.append(0.0, x[:, 1:].mean(axis=0))) / columns) < x.shape[1]:
        raise InputError(
            f"the columns {list(design.clear.names)} say the same of these {design.people} people; "
            "leave one out, or ask more people."
        )
    bread = np.linalg.inv((x * weight[:, None]).T @ x)
    beta = bread @ (x.T @ (weight * values))
    rows = x * (weight * (values - x @ beta))[:, None]
    correction = design.people / max(design.people - x.shape[1], 1)
    if design.cluster is not None:
        sums = np.zeros((int(design.cluster.max()) + 1, x.shape[1]))
        np.add.at(sums, design.cluster, rows)
        rows, correction = sums, len(sums) / max(len(sums) - 1, 1)
    reference = Reference(len(rows) if design.cluster is not None else len(rows) - x.shape[1] + 1)
    spread = float(weight @ (values - x @ beta) ** 2 / weight.sum())
    half = float(np.ptp(np.array(design.outcome.scores))) / 2
    if not spread > _EXACT * half**2:
        raise InputError(
            f"{design.outcome.name} follows from the columns without any error, so that there is "
            "no error to state; use model='ordered', or ask more people."
        )
    variance = correction * bread @ (rows.T @ rows) @ bread
    z = math.sqrt(reference.cut(fitting.confidence))
    names = ("(constant)", *design.clear.names)
    binary = binary_columns(design)
    terms = [
        _term(
            *(name, float(beta[place]), math.sqrt(float(variance[place, place])), z, reference),
            slope=place > 0,
            unit=half / float(columns[place]),
            binary=place - 1 in binary,
        )
        for place, name in enumerate(names)
    ]
    return Regression(
        formula=design.formula,
        model="linear",
        outcome=design.outcome.name,
        answers=(),
        terms=told_from_zero(terms, reference),
        naive=_naive(design.outcome, bread @ (x * weight[:, None]).T, names),
        log_likelihood=-0.5 * design.people * (math.log(2 * math.pi * spread) + 1),
        parameters=x.shape[1] + 1,
        people=design.people,
        patterns=design.people,
        confidence=fitting.confidence,
        penalty=0.0,
        notes=("least squares of the unbiased worth of each report, with robust errors",),
    )


def _term(
    name: str,
    value: float,
    error: float,
    z: float,
    reference: Reference,
    *,
    slope: bool,
    unit: float,
    binary: bool,
) -> Term:
    square = (value / error) ** 2
    return Term(
        *(name, None, value, error, value - z * error, value + z * error),
        *(square, reference.probability(square)),
        slope=slope,
        unit=unit,
        binary=binary,
    )


def _naive(outcome: Variable, solver: Floats, names: tuple[str, ...]) -> tuple[Naive, ...]:
    """Return the slopes of reports taken for answers; none where a report is no answer."""
    if (outcome.report < 0).any():
        return ()
    slopes = solver @ np.array(outcome.scores)[outcome.report]
    found = zip(names[1:], slopes[1:], strict=True)
    return tuple(Naive(name, None, float(one)) for name, one in found)


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
