"""Log-linear models from one table of two parties: odds of any answers, by any answers.

The two parties reveal the table's counts plus normal noise of a known variance, and only of tables
that a survey declared before anybody answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from masquerade.aggregate.noise import SumNoise
from masquerade.analysis.result import Regression
from masquerade.analysis.two_parties import normal_terms
from masquerade.errors import InputError, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.surveys.question_encoding import Counts
from masquerade.surveys.two_party_encoding import Encoding

_LARGEST = 8.0
_STEPS = 100


def declared_odds(
    encoding: Encoding,
    sums: Sequence[Sequence[float]],
    *,
    noise: SumNoise,
    outcome: str,
    predictors: Sequence[str],
) -> Regression:
    """Return the logistic or multinomial regression from the table that a survey declared.

    Predictors with scores enter by them, others by their labels against the first. People who gave
    no answer to one of the questions are left out, as no table tells what they would have said.

    Parameters
    ----------
    encoding : Encoding
        Of the survey, with its `cross`.
    sums : sequence
        The noisy sums of all blocks, as both parties' aggregate shares give them.
    noise : SumNoise
        Of one party; both have added it.
    outcome : str
        Id of a question.
    predictors : sequence of str
        Ids of other questions.

    Raises
    ------
    ParameterError
        No declared table has all of these questions.
    InputError
        Noise hides the coefficients.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from masquerade.surveys import Choice
    >>> asked = (Choice("ill", "Ill?", ("No", "Yes")), Choice("boss", "Knows?", ("No", "Yes")))
    >>> found = Encoding(asked, cross=(("boss", "ill"),))
    >>> noise = SumNoise(found.blocks, (Fraction(9, 2),) * 3)
    >>> sums = [[90, 70], [85, 75], [60, 25, 30, 45]]
    >>> fit = declared_odds(found, sums, noise=noise, outcome="ill", predictors=["boss"])
    >>> [(one.name, round(one.estimate, 6)) for one in fit.terms]
    [('(constant)', -0.875469), ('boss[Yes]', 1.280934)]
    """
    names = [outcome, *predictors]
    table = _smallest(encoding, names)
    place = encoding.tables_from + encoding.cross.index(table)
    counts = np.reshape(np.asarray(sums[place], dtype=np.float64), encoding.shape(table))
    others = tuple(at for at, one in enumerate(table) if one not in names)
    counts = counts.sum(axis=others)
    kept = [one for one in table if one in names]
    counts = np.transpose(counts, [kept.index(one) for one in (*predictors, outcome)])
    counts = counts[tuple(slice(encoding.of(one).answers) for one in (*predictors, outcome))]
    codings = [_coding(encoding, one) for one in predictors]
    cells = [np.concatenate(one) for one in product(*(rows for _, rows in codings))]
    summed = prod(encoding.shape(tuple(table[at] for at in others)))
    fitted = log_linear(
        counts.reshape(len(cells), -1),
        cells,
        variance=float(noise.published_variance(place)) * summed,
        names=[name for columns, _ in codings for name in columns],
        answers=_labels(encoding, outcome),
    )
    return replace(fitted, formula=f"{outcome} ~ {' + '.join(predictors)}", outcome=outcome)


def _smallest(encoding: Encoding, names: Sequence[str]) -> tuple[str, ...]:
    """Return the declared table of all these questions that has the fewest cells."""
    holding = [one for one in encoding.cross if set(names) <= set(one)]
    if not holding:
        raise ParameterError(
            f"no table of {list(names)} together was declared, so that no odds can be told; "
            "declare it before the next survey opens.",
            field="predictor",
        )
    return min(holding, key=lambda one: prod(encoding.shape(one)))


def _labels(encoding: Encoding, name: str) -> tuple[str, ...]:
    return encoding.symbols(name)[: encoding.of(name).answers]


def _coding(encoding: Encoding, name: str) -> tuple[list[str], Floats]:
    """Return the columns of a predictor, and their values at each of its answers."""
    labels, part = _labels(encoding, name), encoding.of(name)
    if isinstance(part, Counts) and part.scores is not None:
        return [name], np.asarray(part.scores, dtype=np.float64)[:, None]
    return [f"{name}[{label}]" for label in labels[1:]], np.eye(len(labels))[:, 1:]


def log_linear(
    counts: Any,
    columns: Any,
    *,
    variance: float,
    names: Sequence[str] | None = None,
    answers: Sequence[str] = ("0", "1"),
    confidence: float = 0.95,
) -> Regression:
    """Return a logistic or multinomial regression from one declared table of two parties.

    Parameters
    ----------
    counts : array, shape (cells, answers)
        Noisy counts: cells are combinations of predictors, columns the answers to the outcome.
    columns : array, shape (cells, columns)
        What the predictors of each cell are, without a constant.
    variance : float
        Of the noise of one count.

    Raises
    ------
    InputError
        Noise hides the coefficients: there is no root, or one beyond 8.

    Notes
    -----
    The score sum X'(n1 - (n0 + n1) p) = 0 is linear in the counts, so that noise does not bias it;
    counts are not projected first.

    Examples
    --------
    >>> fit = log_linear([[60, 25], [30, 45]], [[0], [1]], variance=9)
    >>> [round(one.estimate, 6) for one in fit.terms]
    [-0.875469, 1.280934]
    """
    table = np.asarray(counts, dtype=np.float64)
    x = np.column_stack([np.ones(len(table)), np.asarray(columns, dtype=np.float64)])
    names = list(names or [f"x{place}" for place in range(1, x.shape[1])])
    k, total = table.shape[1] - 1, table.sum(axis=1)
    theta = _root(x, table, names)
    p, information = _score_parts(x, total, theta, k)
    inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
    # of the score of answer a in a cell: x (n_a - n p_a), each count with its own noise
    noise = np.zeros_like(information)
    for cell in range(len(table)):
        weights = np.column_stack([-p[cell], np.eye(k) - p[cell][:, None]])
        noise += np.kron(weights @ weights.T, np.outer(x[cell], x[cell]))
    shown = ["(constant)", *names]
    several = k > 1
    labels = [(name, answers[a + 1] if several else None) for a in range(k) for name in shown]
    terms = normal_terms(
        [name for name, _ in labels],
        theta,
        inverse,
        variance * inverse @ noise @ inverse,
        confidence,
        answers=[answer for _, answer in labels],
    )
    whole = np.column_stack([1 - p.sum(axis=1), p])
    return Regression(
        formula=f"{'outcome'} ~ {' + '.join(names)}",
        model="multinomial" if several else "logistic",
        outcome="outcome",
        answers=tuple(answers),
        terms=terms,
        naive=(),
        log_likelihood=float((table * np.log(whole)).sum()),
        parameters=len(theta),
        people=round(float(total.sum())),
        patterns=len(table),
        confidence=confidence,
        penalty=0.0,
        notes=("from one table of two parties: errors hold sampling and the parties' noise",),
    )


def _root(x: Floats, table: Floats, names: Sequence[str]) -> Floats:
    """Return where the score of the counts is zero, by Newton's method."""
    total, k = table.sum(axis=1), table.shape[1] - 1
    theta = np.zeros(k * x.shape[1])
    for _ in range(_STEPS):
        p, information = _score_parts(x, total, theta, k)
        score = (x.T @ (table[:, 1:] - total[:, None] * p)).T.ravel()
        if not np.linalg.eigvalsh(information)[0] > 0:
            break
        step = np.linalg.solve(information, score)
        step *= min(1.0, 4 / max(float(np.abs(step).max()), 1e-300))
        theta = theta + step
        if float(np.abs(theta).max()) > _LARGEST:
            break
        if float(np.abs(step).max()) < 1e-11:
            return theta
    raise _hidden(names)


def _score_parts(x: Floats, total: Floats, theta: Floats, k: int) -> tuple[Floats, Floats]:
    """Return P(answer) but of the first, and the information, of each cell's counts."""
    eta = x @ theta.reshape(k, -1).T
    raw = np.exp(eta - eta.max(axis=1, keepdims=True).clip(0))
    base = np.exp(-eta.max(axis=1).clip(0))
    p = raw / (base + raw.sum(axis=1))[:, None]
    width = x.shape[1]
    out = np.zeros((k * width, k * width))
    for a in range(k):
        for b in range(k):
            weight = total * p[:, a] * ((a == b) - p[:, b])
            out[a * width : (a + 1) * width, b * width : (b + 1) * width] = (
                x * weight[:, None]
            ).T @ x
    return p, out


def _hidden(names: Sequence[str]) -> InputError:
    return InputError(
        f"the noise of the two parties hides the coefficients of {list(names)}: no number is "
        "stated. Ask more people, or use fewer predictors."
    )
