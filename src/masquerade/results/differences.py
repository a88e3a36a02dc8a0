"""Differences between two groups of people, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.exact.number import in_range
from masquerade.lazy import suggestion
from masquerade.results.cross_tables import FEWEST_IN_CELL, symbol_channel
from masquerade.results.question_result import CONFIDENCE
from masquerade.results.reports import SurveyReports
from masquerade.results.typed_result import SurveyResult
from masquerade.surveys import Question
from masquerade.surveys.codebook import labels_of

#: Standard errors that a group's share of the people must be above 0, for a ratio to be linear.
_FEWEST_ERRORS = 5.0


@dataclass(frozen=True, slots=True)
class Difference(Result):
    """A difference between two groups of people: of a share, or of a mean.

    Attributes
    ----------
    question : str
        Id.
    option : str or None
        Whose share it is; None for a mean.
    first_group, second_group : str
        Their names.
    first, second : float
        The unbiased estimate of each group.
    value : float
        ``first - second``.
    standard_error : float
        Of `value`: people sampled and masks drawn, both.
    low, high : float
        Ends of the confidence interval.
    confidence : float
        How often such an interval holds.
    probability : float
        With which a difference at least as large comes out where there is none (two-sided).

    Examples
    --------
    >>> found = Difference("ill", "Yes", "2025", "2026", 0.6, 0.5, 0.1, 0.04, 0.02, 0.18, 0.95,
    ...                    0.012)
    >>> found.low > 0
    True
    """

    question: str
    option: str | None
    first_group: str
    second_group: str
    first: float
    second: float
    value: float
    standard_error: float
    low: float
    high: float
    confidence: float
    probability: float


def difference(
    first: SurveyResult | SurveyReports | Mapping[str, Any],
    second: SurveyResult | SurveyReports | Mapping[str, Any],
    question: str,
    *,
    option: str | None = None,
    confidence: float = CONFIDENCE,
) -> Difference:
    """Return by how much two surveys differ in a share or a mean: first minus second.

    Both ask the question of different people, so their errors are independent and the squares add.
    What people gave to one survey says nothing of the other; where the same people answered both,
    the interval is not right.

    Parameters
    ----------
    first, second : SurveyResult, SurveyReports, or result of `survey_result` or `split_result`
        Masked on devices or between two parties, also one of each.
    question : str
        Id, in both surveys.
    option : str, optional
        Whose share; default the mean, of ratings and numbers.
    confidence : float
        0 to 1, both excluded.

    Raises
    ------
    ParameterError
        There is no such question or option in both, it has no mean, or both are the same reports.
    EmptyTable
        Nobody answered one of them.

    Notes
    -----
    Each estimate is the survey's own (`value`, never what is shown). Shares and sums of two parties
    have normal intervals; means have Student's, with the degrees of freedom of Welch.

    Examples
    --------
    >>> from masquerade.results import Codebook
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.survey import Survey
    >>> asked = (Choice("ill", "Have you worked while ill?", ("Yes", "No")),)
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("low",))
    >>> def group(token, every):
    ...     book = Codebook(token, survey, survey.content_hash())
    ...     rows = [[int(n % every == 0)] for n in range(400)]
    ...     return SurveyReports.from_rows(book, [f"p{n}" for n in range(400)], ["low"] * 400, rows)
    >>> found = difference(group("a" * 16, 4), group("b" * 16, 2), "ill", option="Yes")
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2)
    (0.41, 0.3, 0.51)
    """
    in_range(confidence, "confidence", above=0, below=1)
    results = [SurveyResult.of(one) for one in (first, second)]
    if results[0].inputs == results[1].inputs:
        raise ParameterError("both are the result of the same reports; give two of other people.")
    parts = [_figure(result, question, option) for result in results]
    (one, error, degrees), (other, other_error, other_degrees) = parts
    squares = error**2, other_error**2
    variance = sum(squares)
    # Welch (1947) and Satterthwaite (1946): degrees of freedom of a sum of two variances
    parts_of_degrees = sum(v**2 / d for v, d in zip(squares, (degrees, other_degrees), strict=True))
    together = variance**2 / parts_of_degrees if parts_of_degrees else math.inf
    names = (results[0].title, results[1].title)
    if names[0] == names[1]:
        names = (results[0].survey, results[1].survey)
    return _difference(
        question,
        option,
        names,
        (one, other),
        math.sqrt(variance),
        confidence=confidence,
        degrees=together,
    )


def group_difference(
    reports: SurveyReports,
    question: str,
    *,
    by: str,
    groups: tuple[str, str],
    option: str | None = None,
    confidence: float = CONFIDENCE,
) -> Difference:
    """Return by how much two groups of one survey differ, told apart by another question's answer.

    Who is in which group is masked too: nobody's group is known, and what a group answers is found
    through both masks, as in `cross_table`. A person counts in both groups at once, positively or
    negatively, so the errors of the groups hang together; they are added person by person.

    Parameters
    ----------
    reports : SurveyReports
    question : str
        Id of a question of categories or of a rating masked as one.
    by : str
        Id of the question of categories whose answer makes the group.
    groups : tuple of two str
        Two answers to it.
    option : str, optional
        Whose share among a group; default the mean of a rating among those who gave one.
    confidence : float
        0 to 1, both excluded.

    Raises
    ------
    ParameterError
        There is no such question, group or option; answers are not masked one by one; or a group
        is too small, or too little known behind its mask, for an honest interval.
    EmptyTable
        Nobody answered.

    Notes
    -----
    A figure of a group is a ratio of two averages over people, of contributions that are unbiased
    given the answers. Its error is that of its linear part (Woodruff, 1971); therefore a group's
    share of the people has to be at least five standard errors above 0. Everybody counts once, at
    whatever level.

    Examples
    --------
    >>> from masquerade.results import Codebook
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.survey import Survey
    >>> asked = tuple(Choice(name, f"{name}?", ("Yes", "No")) for name in ("ill", "night"))
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("low",))
    >>> book = Codebook("0123456789abcdef", survey, survey.content_hash())
    >>> rows = [[int(n % 3 == 0), n % 2] for n in range(900)]
    >>> people = [f"p{n}" for n in range(900)]
    >>> reports = SurveyReports.from_rows(book, people, ["low"] * 900, rows)
    >>> found = group_difference(reports, "ill", by="night", groups=("Yes", "No"), option="Yes")
    >>> found.low < 0 < found.high
    True
    """
    in_range(confidence, "confidence", above=0, below=1)
    codebook = reports.codebook
    place = {asked.id: i for i, asked in enumerate(codebook.questions)}
    for name in (question, by):
        if name not in place:
            raise ParameterError(
                f"question {name!r} is none of the survey's: {', '.join(place)}."
                f"{suggestion(name, place)}"
            )
    if question == by:
        raise ParameterError(f"question {question!r} makes the groups itself; name another.")
    if len(groups) != 2 or groups[0] == groups[1]:
        raise ParameterError(f"groups is {groups!r}, expected two different answers to {by!r}.")
    if not len(reports):
        raise EmptyTable("there are no reports; a difference needs some.")
    a, b = place[question], place[by]
    worth, counts = _worth(codebook.questions[a], option)
    members = [_code(codebook.questions[b], name) for name in groups]
    for name, code in zip(groups, members, strict=True):
        said = int(np.count_nonzero(reports.report[:, b] == code))
        if said < FEWEST_IN_CELL:
            raise ParameterError(
                f"{said} reports to {by!r} say {name!r}, expected at least {FEWEST_IN_CELL}: a "
                "group needs more people, or a survey of its own (`difference`)."
            )
    n = len(reports)
    # total[person, group] and size[person, group]: unbiased for what the person's answer is worth
    # in the group, and for whether the person counts there, given the answers.
    total, size = np.empty((n, 2)), np.empty((n, 2))
    for position, level in enumerate(codebook.levels):
        here = reports.level == position
        if not here.any():
            continue
        sent = reports.report[here]
        x, y = (symbol_channel(codebook.levels[level][i], level) for i in (a, b))
        left, right = (
            (np.eye(channel.symbols) - channel.other) / channel.signal for channel in (x, y)
        )
        # Both masks are independent given the answers: contributions multiply.
        inside = right[members][:, sent[:, b]].T
        total[here] = (worth @ left)[sent[:, a], None] * inside
        size[here] = (counts @ left)[sent[:, a], None] * inside
    mean = size.mean(axis=0)
    error = size.std(axis=0, ddof=1) / math.sqrt(n)
    for name, share, sd in zip(groups, mean.tolist(), error.tolist(), strict=True):
        if share < _FEWEST_ERRORS * sd:
            raise ParameterError(
                f"the share of people in the group {name!r} is {share:.3f} with a standard error "
                f"of {sd:.3f}, expected at least {_FEWEST_ERRORS:g} times that: behind these masks "
                "an interval would not hold. Ask more people, mask less, or give each group a "
                "survey of its own (`difference`)."
            )
    ratio = total.mean(axis=0) / mean
    # Linear part of both ratios, person by person: it holds how the groups' errors hang together.
    linear = (total - ratio * size) / mean
    spread = (linear[:, 0] - linear[:, 1]).std(ddof=1) / math.sqrt(n)
    return _difference(
        question,
        option,
        (groups[0], groups[1]),
        (float(ratio[0]), float(ratio[1])),
        float(spread),
        confidence=confidence,
        degrees=math.inf,
    )


def _figure(result: SurveyResult, question: str, option: str | None) -> tuple[float, float, float]:
    """Return an estimate of a result, its standard error and its degrees of freedom."""
    title, asked = result.title, {one.id: one for one in result.questions}
    if not asked:
        raise EmptyTable(f"nobody answered {title!r}; a difference needs two groups of people.")
    if question not in asked:
        raise ParameterError(
            f"{title!r} has no question {question!r}, expected one of {', '.join(asked)}."
            f"{suggestion(question, asked)}"
        )
    one = asked[question]
    labels = [answer.label for answer in one.options]
    degrees = math.inf
    if option is None:
        if one.mean is None:
            raise ParameterError(
                f"question {question!r} has no mean; give option=, one of {labels}.", field="option"
            )
        found = one.mean.mean
        if not result.split:
            # As the interval of the mean itself: a degree of freedom for the mean of each level.
            levels = sum(count != 0 for count in one.n_by_level.values())
            degrees = max(float(one.n - levels), 1.0)
    else:
        if option not in labels:
            raise ParameterError(
                f"question {question!r} of {title!r} has no option {option!r}, expected one of "
                f"{labels}.{suggestion(option, labels)}",
                field="option",
            )
        found = one.option(option).share
    if found.value is None or found.standard_error is None:
        raise EmptyTable(f"{title!r} says nothing of {question!r}; a difference needs an estimate.")
    return found.value, found.standard_error, degrees


def _worth(question: Question, option: str | None) -> tuple[Floats, Floats]:
    """Return the value of each answer in a figure, and whether it counts in it (0 or 1)."""
    labels = labels_of(question)
    if option is not None:
        code = _code(question, option)
        return np.eye(len(labels))[code], np.ones(len(labels))
    if not labels:
        raise ParameterError(
            f"question {question.id!r} asks for a number; between groups of one survey, answers "
            "have to be of categories or ratings. Give each group a survey of its own "
            "(`difference`)."
        )
    if question.scores is None:
        raise ParameterError(
            f"question {question.id!r} has no mean here; give option=, one of {labels}.",
            field="option",
        )
    counts = np.zeros(len(labels))  # "prefer not to say" has no score
    counts[: len(question.scores)] = 1.0
    worth = np.zeros(len(labels))
    worth[: len(question.scores)] = question.scores
    return worth, counts


def _code(question: Question, answer: str) -> int:
    labels = labels_of(question)
    if answer not in labels:
        raise ParameterError(
            f"question {question.id!r} has no answer {answer!r}, expected one of {labels}."
            f"{suggestion(answer, labels)}"
        )
    return labels.index(answer)


def _difference(
    question: str,
    option: str | None,
    groups: tuple[str, str],
    values: tuple[float, float],
    error: float,
    *,
    confidence: float,
    degrees: float,
) -> Difference:
    value = values[0] - values[1]
    upper = 0.5 + confidence / 2
    normal = math.isinf(degrees)
    reach = error * float(ndtri(upper) if normal else stdtrit(degrees, upper))
    # shares differ by at most 1; the interval holds the nearest possible difference
    inside = value if option is None else min(max(value, -1.0), 1.0)
    low, high = inside - reach, inside + reach
    if option is not None:
        low, high = max(low, -1.0), min(high, 1.0)
    statistic = abs(value) / error if error else math.inf if value else 0.0
    # with so many degrees of freedom Student's distribution is the normal one
    tail = float(stdtr(min(degrees, 1e9), -statistic))
    return Difference(
        question,
        option,
        *groups,
        *values,
        value,
        error,
        low,
        high,
        confidence,
        min(2 * tail, 1.0),
    )
