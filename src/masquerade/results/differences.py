"""Differences between two surveys or waves, with their intervals and tests."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation import (
    Counts,
    Crowd,
    Estimate,
    Figures,
)
from masquerade.estimation import difference as difference_of
from masquerade.estimation.sums import SummedPeople
from masquerade.exact.arrays import Floats
from masquerade.exact.number import in_range
from masquerade.lazy import suggestion
from masquerade.mechanisms import parse_mechanism
from masquerade.results.question_figures import QuestionResult
from masquerade.results.question_reports import (
    BOUNDS,
    AnswerReports,
    QuestionReports,
    question_reports,
)
from masquerade.results.question_result import CONFIDENCE
from masquerade.results.reports import SurveyReports
from masquerade.results.typed_result import SurveyResult
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
        With which a difference at least as large comes out where there is none (two-sided), times
        `family` (Bonferroni), at most 1.
    simultaneous_low, simultaneous_high : float
        Ends of an interval that holds together with those of the whole family.
    family : int
        Number of differences that are looked at together.

    Examples
    --------
    >>> found = Difference("ill", "Yes", "2025", "2026", 0.6, 0.5, 0.1, 0.04, 0.02, 0.18, 0.95,
    ...                    0.012, 0.02, 0.18, 1)
    >>> found.differ
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
    simultaneous_low: float
    simultaneous_high: float
    family: int

    @property
    def differ(self) -> bool:
        """Whether the two surely differ, also after looking at the whole family."""
        return not self.simultaneous_low <= 0 <= self.simultaneous_high


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedFigures:
    """Figures with their intervals, each confidence computed once."""

    figures: Figures
    _known: dict[float, tuple[Estimate, ...]] = field(default_factory=dict, init=False)

    def estimates(self, confidence: float) -> tuple[Estimate, ...]:
        """Return each figure with its interval."""
        if confidence not in self._known:
            self._known[confidence] = self.figures.estimates(confidence)
        return self._known[confidence]


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Figures of two groups of people, and the figures of their differences.

    Attributes
    ----------
    question : str
    options : sequence of str or None
        One for each figure.
    groups : (str, str)
    sides : sequence of EstimatedFigures
        Of both groups.
    between : Figures
    bounded : bool
        Whether the interval is cut at what those of the two groups allow. The likelihood of both
        groups together cannot reach further; one that is straightened at the estimate can.
    """

    question: str
    options: Sequence[str | None]
    groups: tuple[str, str]
    sides: Sequence[EstimatedFigures]
    between: Figures
    bounded: bool = False

    def differences(self, confidence: float, *, family: int = 1) -> tuple[Difference, ...]:
        """Return the differences, as some of a family that is looked at together."""
        found = self.between.estimates(confidence)
        alone = self._ends(found, confidence)
        together = alone
        if family > 1:
            wide = 1 - (1 - confidence) / family
            together = self._ends(self.between.estimates(wide), wide)
        chance = self.between.probabilities(0.0)
        rows = []
        for place, option in enumerate(self.options):
            low, high = alone[place]
            # The nearest that are possible, of each group and of the difference.
            first, second = (
                float(one.figures.curve.possible[place])
                if math.isfinite(one.figures.value[place])
                else None
                for one in self.sides
            )
            value = None
            if first is not None and second is not None:
                value = min(max(first - second, low), high)
            error = found[place].standard_error
            rows.append(
                Difference(
                    question=self.question,
                    option=option,
                    first_group=self.groups[0],
                    second_group=self.groups[1],
                    first=first,
                    second=second,
                    value=value,
                    standard_error=error if math.isfinite(error) else None,
                    low=low,
                    high=high,
                    confidence=confidence,
                    probability=min(1.0, family * float(chance[place])),
                    simultaneous_low=min(together[place][0], low),
                    simultaneous_high=max(together[place][1], high),
                    family=family,
                )
            )
        return tuple(rows)

    def _ends(self, found: Sequence[Estimate], confidence: float) -> list[tuple[float, float]]:
        """Return the ends of the intervals of the differences."""
        if not self.bounded:
            return [(one.low, one.high) for one in found]
        sides = [one.estimates(confidence) for one in self.sides]
        ends = []
        for one, first, second in zip(found, *sides, strict=True):
            low = max(one.low, first.low - second.high)
            ends.append((low, max(min(one.high, first.high - second.low), low)))
        return ends


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
    names = _names(sides)
    estimated = [EstimatedFigures(one) for one in figures]
    [found] = Comparison(question, [option], names, estimated, difference_of(*figures)).differences(
        confidence
    )
    return found


def all_differences(
    first: Source, second: Source, *, confidence: float = CONFIDENCE
) -> tuple[Difference, ...]:
    """Return all differences of two surveys: of the means and shares of the questions they share.

    All of them are one family: their simultaneous intervals hold together, and probabilities are
    corrected for their number.

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
    sides, pending = [_Side.of(one) for one in (first, second)], list[Comparison]()
    if sides[0].inputs == sides[1].inputs:
        raise ParameterError("both are the result of the same reports; give two of other people.")
    for question in asked[0]:
        if question.id not in known:
            continue
        options: list[str | None] = [None]
        if question.mean is None or known[question.id].mean is None:
            theirs = [option.label for option in known[question.id].options]
            options = [one.label for one in question.options if one.label in theirs]
        for option in options:
            figures = [side.figures(question.id, option) for side in sides]
            between = difference_of(*figures)
            estimated = [EstimatedFigures(one) for one in figures]
            pending.append(Comparison(question.id, [option], _names(sides), estimated, between))
    if not pending:
        raise ParameterError("the surveys share no question; give two that ask the same.")
    family = len(pending)
    return tuple(row for one in pending for row in one.differences(confidence, family=family))


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
            require_question(question, asked, title=self.title)
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
        require_question(question, places, title=self.title)
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
    if mechanism is None:
        raise ParameterError(
            f"reports of {text} are sets of answers, of which a result does not say enough for a "
            "difference; give the reports (read_reports)."
        )
    return Counts.of(np.rint(count), mechanism)


def _names(sides: Sequence[_Side]) -> tuple[str, str]:
    """Return the titles of two surveys, or their tokens where the titles are equal."""
    names = (sides[0].title, sides[1].title)
    return (sides[0].token, sides[1].token) if names[0] == names[1] else names


def require_question(
    question: str, known: Sequence[str] | Mapping[str, int], *, title: str = ""
) -> None:
    """Raise unless a question is one of those known."""
    if question not in known:
        where = f"{title!r} has no question {question!r}" if title else f"question {question!r}"
        missing = ", expected one of" if title else " is none of the survey's:"
        raise ParameterError(
            f"{where}{missing} {', '.join(known)}.{suggestion(question, list(known))}"
        )
