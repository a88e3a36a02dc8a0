"""Least squares of the worth of masked ratings: a mean by columns in clear."""

from __future__ import annotations

import math

import numpy as np

from masquerade.analysis.design import Design, FitOptions
from masquerade.analysis.profile import Reference
from masquerade.analysis.result import Naive, Regression, Term
from masquerade.analysis.terms import binary_columns, scales, told_from_zero
from masquerade.analysis.variables import Variable
from masquerade.errors import InputError, ParameterError
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
