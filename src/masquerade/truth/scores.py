"""Scores against known truths: accuracy, errors, calibration.

Categories are scored in expectation over fair random tie-breaks: a task whose best score is shared
by r labels counts 1/r if the truth is among them. So a score has no luck in it, and does not reward
a fixed order of options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers import Frame, Truths, to_arrow
from masquerade.answers.frames import plain_column
from masquerade.errors import InputError, ParameterError, SchemaError
from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.exact.number import whole
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.estimator import Estimator
from masquerade.truth.numeric import NumericEstimator

#: A fitted estimator, or a table with columns ``task`` and ``label`` or ``value``.
Answers = Estimator | Frame

#: Standard errors on each side of a 95 % interval.
_REACH = 1.959963984540054


def accuracy(answers: Answers, truths: Truths | Frame) -> float:
    """Return the share of tasks with the true label.

    Parameters
    ----------
    answers : fitted estimator, table with ``task`` and ``label``, series, or dict by task
        An estimator with ``ties="random"`` is scored in expectation over its tie-breaks. The tasks
        of a series are its index.
    truths : Truths, table with ``task`` and ``truth``, pandas series, or dict by task
        Tasks without a truth, or without a label, do not count. A truth that is none of the
        options counts as missed.

    Returns
    -------
    float
        0 to 1.

    Raises
    ------
    InputError
        No task has both a label and a truth.

    Examples
    --------
    >>> from masquerade.truth import MajorityVote
    >>> claims = {"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": ["no", "no", "yes"]}
    >>> truths = Truths.from_frame({"task": ["a", "b"], "truth": ["no", "no"]})
    >>> accuracy(MajorityVote().fit(claims), truths)
    0.5
    """
    return float(hits(answers, truths).mean())


def error_rate(answers: Answers, truths: Truths | Frame) -> float:
    """Return the share of tasks with a wrong label; see `accuracy`.

    Examples
    --------
    >>> from masquerade.truth import MajorityVote
    >>> claims = {"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": ["no", "no", "yes"]}
    >>> truths = Truths.from_frame({"task": ["a", "b"], "truth": ["no", "no"]})
    >>> error_rate(MajorityVote().fit(claims), truths)
    0.5
    """
    return 1 - accuracy(answers, truths)


def error_rate_change(masked: Answers, clean: Answers, truths: Truths | Frame) -> float:
    """Return the error rate of `masked` minus that of `clean`, -1 to 1.

    Report absolute accuracy next to it: a method that is worse on clean claims has a flattering
    change (Li et al., KDD 2018, give the change only).

    Examples
    --------
    >>> truths = Truths.from_frame({"task": ["a", "b"], "truth": ["no", "no"]})
    >>> clean = pa.table({"task": ["a", "b"], "label": ["no", "no"]})
    >>> masked = pa.table({"task": ["a", "b"], "label": ["no", "yes"]})
    >>> error_rate_change(masked, clean, truths)
    0.5
    """
    return error_rate(masked, truths) - error_rate(clean, truths)


def mean_absolute_error(answers: Answers, truths: Truths | Frame) -> float:
    """Return the mean distance of values from the truths, in their unit; see `accuracy`.

    Examples
    --------
    >>> truths = Truths.from_frame({"task": ["a", "b"], "truth": [1.0, 2.0]})
    >>> mean_absolute_error(pa.table({"task": ["a", "b"], "value": [1.5, 2.0]}), truths)
    0.25
    """
    return float(np.abs(deviations(answers, truths)).mean())


def root_mean_squared_error(answers: Answers, truths: Truths | Frame) -> float:
    """Return the root of the mean squared distance of values from the truths, in their unit.

    Examples
    --------
    >>> truths = Truths.from_frame({"task": ["a", "b"], "truth": [1.0, 2.0]})
    >>> root_mean_squared_error(pa.table({"task": ["a", "b"], "value": [4.0, 6.0]}), truths)
    3.5355339059327378
    """
    off = deviations(answers, truths)
    largest = np.abs(off).max()
    if largest == 0:
        return 0.0
    # In units of the largest distance: no square overflows.
    return float(largest * np.sqrt(((off / largest) ** 2).mean()))


def scored(answers: Answers, truths: Truths | Frame) -> int:
    """Return the number of tasks that have both an answer and a truth.

    Examples
    --------
    >>> truths = Truths.from_frame({"task": ["a", "b"], "truth": ["no", "no"]})
    >>> scored(pa.table({"task": ["a", "c"], "label": ["no", "no"]}), truths)
    1
    """
    if isinstance(answers, NumericEstimator):
        return len(deviations(answers, truths))
    if isinstance(answers, CategoricalEstimator):
        return len(hits(answers, truths))
    return len(_matched(answers, truths)[0])


def hits(answers: Answers, truths: Truths | Frame) -> Floats:
    """Return for every task scored the probability that its label is the truth."""
    if isinstance(answers, NumericEstimator):
        raise ParameterError(
            f"{type(answers).__name__} gives numbers; score them with mean_absolute_error or "
            "root_mean_squared_error."
        )
    if isinstance(answers, CategoricalEstimator):
        code, counted = _scored_tasks(answers, truths)
        return _some(answers.fitted.right(code)[counted])
    answer, true = _matched(answers, truths)
    # Of different types, labels and truths are compared as text: 1 is "1".
    if answer.type != true.type:
        answer, true = answer.cast(pa.string()), true.cast(pa.string())
    equal = pc.equal(answer, true).to_numpy(zero_copy_only=False)
    return _some(equal.astype(np.float64))


def _scored_tasks(fit: CategoricalEstimator, truths: Truths | Frame) -> tuple[Codes, Integers]:
    """Return each task's truth as a code, and the tasks that have a truth and a label."""
    code = Truths.of(truths).codes(fit.claims_)
    # -1 is an unknown truth; -2, one that is none of the options, counts as missed.
    return code, np.flatnonzero((code != -1) & (fit.labels_ >= 0))


def chances_of_truth(chances: Floats, code: Codes) -> Floats:
    """Return the chance that the label is the truth, of the tasks that have both."""
    # -1 is an unknown truth; -2, one that is none of the options, counts as missed.
    counted = np.flatnonzero((code != -1) & (chances.sum(axis=1) > 0))
    right = chances[counted, np.maximum(code[counted], 0)]
    return np.asarray(right * (code[counted] >= 0))


def deviations(answers: Answers, truths: Truths | Frame) -> Floats:
    """Return value minus truth for every task scored."""
    if isinstance(answers, CategoricalEstimator):
        raise ParameterError(
            f"{type(answers).__name__} gives labels; score them with accuracy or error_rate."
        )
    if isinstance(answers, NumericEstimator):
        off = answers.values_ - Truths.of(truths).numbers(answers.claims_)
        return _some(off[~np.isnan(off)])
    answer, true = _matched(answers, truths)
    try:
        return _some(answer.cast(pa.float64()).to_numpy() - true.cast(pa.float64()).to_numpy())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(f"values and truths must be numbers to be compared: {error}") from error


def _some(scores: Floats) -> Floats:
    if len(scores) == 0:
        raise InputError(
            "no task has both an answer and a truth; check that the two tables name tasks alike."
        )
    return scores


def _matched(answers: Answers, truths: Truths | Frame) -> tuple[pa.Array, pa.Array]:
    """Return answers and truths of the tasks that have both, aligned."""
    table = to_arrow(_as_frame(answers))
    column = next((name for name in ("label", "value") if name in table.column_names), None)
    if "task" not in table.column_names or column is None:
        raise SchemaError(
            f"the answers have columns {table.column_names}; expected 'task' and 'label' (or "
            "'value')."
        )
    true = Truths.of(truths).of_tasks(plain_column(table, "task"))
    answer = plain_column(table, column)
    both = pc.and_(pc.is_valid(true), pc.is_valid(answer))
    return answer.filter(both), true.filter(both)


def _as_frame(answers: Any) -> Frame:
    # By task: a dict of labels, or a series, as crowd-kit's, of which the tasks are the index.
    if isinstance(answers, Mapping) and not any(map(_is_column, answers.values())):
        return {"task": list(answers), "label": list(answers.values())}
    if (
        hasattr(answers, "index")
        and hasattr(answers, "to_numpy")
        and not hasattr(answers, "columns")
    ):
        return {"task": answers.index.to_numpy(), "label": answers.to_numpy()}
    return answers


def _is_column(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def expected_calibration_error(
    fit: CategoricalEstimator, truths: Truths | Frame, *, bins: int = 10
) -> float:
    """Return the mean distance between how sure labels are and how often they are right.

    Parameters
    ----------
    fit : CategoricalEstimator
        Fitted. Tied labels count as their chance to be picked.
    truths : Truths, table with ``task`` and ``truth``, pandas series, or dict by task
        Tasks without a truth, or without a label, do not count.
    bins : int
        Equal parts of the range 0 to 1 of posteriors, at least 1.

    Returns
    -------
    float
        0 (calibrated) to 1; biased upwards where few tasks are scored, for chance alone makes
        shares differ from probabilities.

    Raises
    ------
    InputError
        No task has both a label and a truth.

    Notes
    -----
    Naeini et al., "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.

    Examples
    --------
    >>> from masquerade.simulate import crowd
    >>> from masquerade.truth import OneCoin
    >>> claims, truths = crowd(np.random.default_rng(1), tasks=40, workers=10)
    >>> expected_calibration_error(OneCoin().fit(claims), truths) < 0.2
    True
    """
    table = calibration_table(fit, truths, bins=bins)
    tasks, sure, right = (
        table[name].to_numpy() for name in ("tasks", "mean_posterior", "accuracy")
    )
    return float((tasks * np.abs(sure - right)).sum() / tasks.sum())


def calibration_table(
    fit: CategoricalEstimator, truths: Truths | Frame, *, bins: int = 10
) -> pa.Table:
    """Return a row for each range of posteriors that labels have: how many are right.

    Returns
    -------
    pyarrow.Table
        ``least``, ``most`` (the range of posteriors), ``tasks``, ``mean_posterior``, ``accuracy``,
        ``low``, ``high`` (95 % interval of the accuracy, of Wilson, 1927).

    Examples
    --------
    >>> from masquerade.simulate import crowd
    >>> from masquerade.truth import OneCoin
    >>> claims, truths = crowd(np.random.default_rng(1), tasks=40, workers=10)
    >>> calibration_table(OneCoin().fit(claims), truths, bins=4).column_names[:4]
    ['least', 'most', 'tasks', 'mean_posterior']
    """
    bins = whole(bins, "bins", low=1)
    sure, right = _sureness(fit, truths)
    # A posterior of exactly 1 belongs to the last range.
    place = np.minimum((sure * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    some = np.flatnonzero(count)
    n, share = count[some], np.bincount(place, right, bins)[some] / count[some]
    middle = (share + _REACH**2 / (2 * n)) / (1 + _REACH**2 / n)
    reach = _REACH * np.sqrt(share * (1 - share) / n + (_REACH / (2 * n)) ** 2)
    reach /= 1 + _REACH**2 / n
    return pa.table(
        {
            "least": some / bins,
            "most": (some + 1) / bins,
            "tasks": n,
            "mean_posterior": np.bincount(place, sure, bins)[some] / n,
            "accuracy": share,
            "low": np.maximum(middle - reach, 0.0),
            "high": np.minimum(middle + reach, 1.0),
        }
    )


def _sureness(fit: CategoricalEstimator, truths: Truths | Frame) -> tuple[Floats, Floats]:
    """Return for every task scored its label's posterior, and the chance that it is right."""
    code, counted = _scored_tasks(fit, truths)
    right = _some(fit.fitted.right(code)[counted])
    return np.clip(fit.fitted.sureness[counted], 0, 1), right
