"""Differences between groups of people, with their intervals and tests."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation import (
    Counts,
    Crowd,
    Estimate,
    Figures,
    holm,
    ratio_difference,
    ratios,
)
from masquerade.estimation import difference as difference_of
from masquerade.estimation.sums import SummedPeople
from masquerade.exact.arrays import Floats
from masquerade.exact.number import in_range
from masquerade.lazy import suggestion
from masquerade.mechanisms import parse_mechanism
from masquerade.results.cross_tables import FEWEST_IN_CELL, table_crowd
from masquerade.results.json_form import JsonValue
from masquerade.results.question_figures import Figure, QuestionResult
from masquerade.results.question_reports import (
    BOUNDS,
    AnswerReports,
    QuestionReports,
    question_reports,
)
from masquerade.results.question_result import CONFIDENCE
from masquerade.results.reports import SurveyReports
from masquerade.results.typed_result import SurveyResult
from masquerade.surveys import Question
from masquerade.surveys.kinds import kinds


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
    first, second : float or None
        The estimate of each group; None where nothing is known of it.
    value : float or None
        ``first - second``, within its interval.
    standard_error : float or None
        Of the unbiased difference: people sampled and masks drawn, both.
    low, high : float
        Ends of the confidence interval.
    confidence : float
        How often such an interval holds.
    probability : float
        With which a difference at least as large comes out where there is none (two-sided); of
        several groups, corrected for the number of their pairs (Holm).

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
    first: float | None
    second: float | None
    value: float | None
    standard_error: float | None
    low: float
    high: float
    confidence: float
    probability: float


@dataclass(frozen=True, slots=True)
class GroupFigure(JsonValue):
    """A figure of one group of people."""

    group: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class GroupComparison(Result):
    """A share or a mean of several groups, and the differences of all pairs.

    Attributes
    ----------
    question : str
        Id.
    option : str or None
        Whose share it is; None for a mean.
    groups : tuple of GroupFigure
    differences : tuple of Difference
        Probabilities are corrected for the number of pairs (Holm).

    Examples
    --------
    >>> GroupComparison("ill", "Yes", (), ()).question
    'ill'
    """

    question: str
    option: str | None
    groups: tuple[GroupFigure, ...]
    differences: tuple[Difference, ...]


#: What a difference can be computed from.
Source = SurveyResult | SurveyReports | Mapping[str, Any]


def difference(
    first: Source,
    second: Source,
    question: str,
    *,
    option: str | None = None,
    confidence: float = CONFIDENCE,
) -> Difference:
    """Return by how much two surveys differ in a share or a mean: first minus second.

    Both ask the question of different people, so their likelihoods multiply. What people gave to
    one survey says nothing of the other; where the same people answered both, the interval is not
    right.

    Parameters
    ----------
    first, second : SurveyReports, SurveyResult, or JSON object of a result
        Masked on devices or between two parties, also one of each. A mean of numbers that were
        masked on devices, and levels that are withheld, need the reports.
    question : str
        Id, in both surveys.
    option : str, optional
        Whose share, of those who answered; default the mean, of ratings and numbers.
    confidence : float
        0 to 1, both excluded.

    Raises
    ------
    ParameterError
        There is no such question or option in both, it has no mean, both are the same reports, or a
        result does not say enough.
    EmptyTable
        Nobody answered one of them.

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
    sides = [_Side.of(one) for one in (first, second)]
    if sides[0].inputs == sides[1].inputs:
        raise ParameterError("both are the result of the same reports; give two of other people.")
    figures = [side.figures(question, option) for side in sides]
    names = (sides[0].title, sides[1].title)
    if names[0] == names[1]:
        names = (sides[0].token, sides[1].token)
    return _difference(
        (question, option), names, figures, difference_of(*figures), confidence=confidence
    )


def all_differences(
    first: Source, second: Source, *, confidence: float = CONFIDENCE
) -> tuple[Difference, ...]:
    """Return all differences of two surveys: of the means and shares of the questions they share.

    Probabilities of one question are corrected for the number of its options (Holm).

    Parameters
    ----------
    first, second : as in `difference`
    confidence : float

    Raises
    ------
    ParameterError
        They share no question, or are the same reports.
    """
    asked = [SurveyResult.of(one).questions for one in (first, second)]
    known = {one.id: one for one in asked[1]}
    found: list[Difference] = []
    for question in asked[0]:
        if question.id not in known:
            continue
        options: list[str | None] = [None]
        if question.mean is None or known[question.id].mean is None:
            theirs = [option.label for option in known[question.id].options]
            options = [one.label for one in question.options if one.label in theirs]
        rows = [
            difference(first, second, question.id, option=option, confidence=confidence)
            for option in options
        ]
        found += _corrected(rows)
    if not found:
        raise ParameterError("the surveys share no question; give two that ask the same.")
    return tuple(found)


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
    through both masks, as in `cross_table`. Where a group may be empty, nothing is known of it, and
    the interval says so.

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
        There is no such question, group or option, or answers are not masked one by one.
    EmptyTable
        Nobody answered.

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
    if len(groups) != 2 or groups[0] == groups[1]:
        raise ParameterError(f"groups is {groups!r}, expected two different answers to {by!r}.")
    in_range(confidence, "confidence", above=0, below=1)
    crossed = _Crossed.of(reports, question, by)
    figures = [crossed.figures(group, option) for group in groups]
    found = ratio_difference(*figures)
    return _difference((question, option), groups, figures, found, confidence=confidence)


def group_comparisons(
    reports: SurveyReports, *, by: str, confidence: float = CONFIDENCE
) -> tuple[GroupComparison, ...]:
    """Return every other question's mean or shares in the groups of one question's answers.

    Parameters
    ----------
    reports : SurveyReports
    by : str
        Id of the question of categories whose answers make the groups; groups of which fewer than
        20 reports are there are left out.
    confidence : float

    Raises
    ------
    ParameterError
        There is no such question, fewer than two groups, or no question that can be crossed with
        it.
    EmptyTable
        Nobody answered.
    """
    if not len(reports):
        raise EmptyTable("there are no reports; a comparison needs some.")
    codebook = reports.codebook
    places = {asked.id: place for place, asked in enumerate(codebook.questions)}
    _require(by, places)
    labels = codebook.questions[places[by]].labels
    names = [
        label
        for code, label in enumerate(labels)
        if reports.people[reports.report[:, places[by]] == code].sum() >= FEWEST_IN_CELL
    ]
    if len(names) < 2:
        raise ParameterError(
            f"{len(names)} of the answers to {by!r} have {FEWEST_IN_CELL} reports, expected two "
            "groups at least; more people are needed, or another question."
        )
    found = []
    for question in codebook.questions:
        if question.id == by:
            continue
        try:
            crossed = _Crossed.of(reports, question.id, by)
        except ParameterError:
            continue  # numbers, and several answers, cannot be crossed
        options: list[str | None] = [None] if question.scores else [*question.labels]
        found += [crossed.comparison(names, option, confidence=confidence) for option in options]
    if not found:
        raise ParameterError(f"no question of the survey can be crossed with {by!r}.")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Side:
    """A survey as one side of a difference."""

    token: str
    title: str
    inputs: str
    reports: SurveyReports | None
    result: SurveyResult | None

    @classmethod
    def of(cls, source: Source) -> _Side:
        if isinstance(source, SurveyReports):
            book = source.codebook
            if not len(source):
                raise EmptyTable(
                    f"nobody answered {book.survey.title!r}; a difference needs two groups of "
                    "people."
                )
            return cls(book.token, book.survey.title, source.digest(), source, None)
        result = SurveyResult.of(source)
        if not result.questions:
            raise EmptyTable(
                f"nobody answered {result.title!r}; a difference needs two groups of people."
            )
        return cls(result.survey, result.title, result.inputs, None, result)

    def figures(self, question: str, option: str | None) -> Figures:
        """Return the mean of a question, or the share of one option."""
        if self.reports is not None:
            labels, found = self._of_reports(self.reports, question)
        else:
            assert self.result is not None
            asked = [one.id for one in self.result.questions]
            _require(question, asked, title=self.title)
            one = self.result.question(question)
            labels, found = [o.label for o in one.options], _of_result(self.result, one)
        if option is None:
            mean = found.mean_figures()
            if mean is None:
                raise ParameterError(
                    f"question {question!r} has no mean; give option=, one of {labels}.",
                    field="option",
                )
            return mean
        if option not in labels:
            raise ParameterError(
                f"question {question!r} of {self.title!r} has no option {option!r}, expected one "
                f"of {labels}.{suggestion(option, labels)}",
                field="option",
            )
        return found.share_figures(labels.index(option))

    def _of_reports(
        self, reports: SurveyReports, question: str
    ) -> tuple[list[str], QuestionReports]:
        book = reports.codebook
        places = {one.id: place for place, one in enumerate(book.questions)}
        _require(question, places, title=self.title)
        place = places[question]
        names = [name for name, n in reports.counts().items() if n]
        sent = {name: reports.sent(name, place) for name in names}
        pool = None if book.pool is None else [float(book.pool[name]) for name in names]
        asked = book.questions[place]
        found = question_reports(asked, sent, estimator=book.survey.estimator, pool=pool)
        return asked.codes, found


_RANGE = re.compile(r"(-?[0-9.e+]+)(?: to (-?[0-9.e+]+))?(?: \(.*\))?")


def _of_result(result: SurveyResult, question: QuestionResult) -> QuestionReports:
    """Return the reports of a question as far as its result has them."""
    options = question.options
    needs = ParameterError(
        f"the result of {result.title!r} does not say enough of {question.id!r} for a difference; "
        "give the reports (read_reports)."
    )
    if not options or not kinds()[question.kind].parts_of_whole:
        raise needs
    shares = np.array([option.reported_share for option in options])
    answers = sum(option.of_answered is not None for option in options) or len(options)
    scores, low, high = None, 0.0, 1.0
    if question.mean is not None:
        ends = [_ends(option.label) for option in options[:answers]]
        scores = tuple((first + last) / 2 for first, last in ends)
        low, high = ends[0][0], ends[-1][1]
    if result.split:
        variance = float(question.mechanism.rpartition("=")[2])
        sums = SummedPeople(question.n).sums(shares * question.n, variance)
        crowd = Crowd.of([sums])
    else:
        parts = [(part.n, part.mechanism, part.options) for part in question.by_level]
        if sum(n for n, _, _ in parts) != question.n:
            if ";" in question.mechanism or len(result.levels) > 1:
                raise needs
            crowd = Crowd.of([_counts(shares * question.n, question.mechanism)])
        else:
            groups = [
                _counts(np.array([one.reported_share for one in some]) * n, text)
                for n, text, some in parts
            ]
            crowd = Crowd.of(groups, bound=BOUNDS[result.estimator])
    return AnswerReports(crowd, shares, answers, scores, low, high)


def _ends(label: str) -> tuple[float, float]:
    found = _RANGE.fullmatch(label)
    if found is None:
        raise ParameterError(f"the option {label!r} is no number.")
    first = float(found[1])
    return first, first if found[2] is None else float(found[2])


def _counts(count: Floats, text: str) -> Counts:
    mechanism = parse_mechanism(text).label_response
    assert mechanism is not None
    return Counts.of(np.rint(count), mechanism)


@dataclass(frozen=True, slots=True, eq=False)
class _Crossed:
    """A question by the answers to another, through the masks of both."""

    crowd: Crowd
    question: Question
    by: Question

    @classmethod
    def of(cls, reports: SurveyReports, question: str, by: str) -> _Crossed:
        codebook = reports.codebook
        places = {asked.id: place for place, asked in enumerate(codebook.questions)}
        for name in (question, by):
            _require(name, places)
        if question == by:
            raise ParameterError(f"question {question!r} makes the groups itself; name another.")
        if not len(reports):
            raise EmptyTable("there are no reports; a difference needs some.")
        crowd = table_crowd(reports, places[by], places[question])
        return cls(crowd, codebook.questions[places[question]], codebook.questions[places[by]])

    def figures(self, group: str, option: str | None) -> Figures:
        """Return the share or the mean of a group."""
        worth, counts, low, high = _worth(self.question, option)
        there = np.zeros(len(self.by.codes))
        there[_code(self.by, group)] = 1.0
        part, whole = np.outer(there, worth).ravel(), np.outer(there, counts).ravel()
        return ratios(self.crowd, [part], whole, low=low, high=high)

    def comparison(
        self, names: Sequence[str], option: str | None, *, confidence: float
    ) -> GroupComparison:
        """Return a figure of each group, and the differences of all pairs."""
        figures = {name: self.figures(name, option) for name in names}
        _, _, low, high = _worth(self.question, option)
        n = int(self.crowd.n)
        rows = [
            _difference(
                (self.question.id, option),
                pair,
                [figures[name] for name in pair],
                ratio_difference(*(figures[name] for name in pair)),
                confidence=confidence,
            )
            for pair in itertools.combinations(names, 2)
        ]
        return GroupComparison(
            self.question.id,
            option,
            tuple(
                GroupFigure(name, Figure.of(one.estimates(confidence)[0], n, width=high - low))
                for name, one in figures.items()
            ),
            tuple(_corrected(rows)),
        )


def _require(question: str, known: Sequence[str] | Mapping[str, int], *, title: str = "") -> None:
    if question not in known:
        where = f"{title!r} has no question {question!r}" if title else f"question {question!r}"
        missing = ", expected one of" if title else " is none of the survey's:"
        raise ParameterError(
            f"{where}{missing} {', '.join(known)}.{suggestion(question, list(known))}"
        )


def _worth(question: Question, option: str | None) -> tuple[Floats, Floats, float, float]:
    """Return the worth of answers in a figure, the answers that count, and the figure's range."""
    labels = question.codes
    counts = np.ones(len(labels))
    if option is not None:
        code = _code(question, option)
        if code < len(question.labels):
            counts[len(question.labels) :] = 0.0  # the share is of those who answered
        return np.eye(len(labels))[code], counts, 0.0, 1.0
    if question.scores is None:
        raise ParameterError(
            f"question {question.id!r} has no mean here; give option=, one of {labels}.",
            field="option",
        )
    counts[len(question.scores) :] = 0.0  # "prefer not to say" has no score
    worth = np.zeros(len(labels))
    worth[: len(question.scores)] = question.scores
    return worth, counts, float(min(question.scores)), float(max(question.scores))


def _code(question: Question, answer: str) -> int:
    labels = question.codes
    if answer not in labels:
        raise ParameterError(
            f"question {question.id!r} has no answer {answer!r}, expected one of {labels}."
            f"{suggestion(answer, labels)}"
        )
    return labels.index(answer)


def _difference(
    figure: tuple[str, str | None],
    groups: tuple[str, str],
    sides: Sequence[Figures],
    between: Figures,
    *,
    confidence: float,
) -> Difference:
    found: Estimate = between.estimates(confidence)[0]
    # The nearest that are possible, of each group and of the difference.
    first, second = (
        float(one.curve.possible[0]) if math.isfinite(one.value[0]) else None for one in sides
    )
    value = None
    if first is not None and second is not None:
        value = min(max(first - second, found.low), found.high)
    error = found.standard_error if math.isfinite(found.standard_error) else None
    question, option = figure
    return Difference(
        question,
        option,
        groups[0],
        groups[1],
        first,
        second,
        value,
        error,
        found.low,
        found.high,
        confidence,
        float(between.probabilities(0.0)[0]),
    )


def _corrected(rows: Sequence[Difference]) -> list[Difference]:
    """Return differences with probabilities corrected for their number (Holm)."""
    corrected = holm([row.probability for row in rows]) if rows else ()
    return [replace(row, probability=p) for row, p in zip(rows, corrected, strict=True)]
