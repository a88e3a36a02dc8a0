"""Groups of people by their answer to one question, and their differences.

Who is in a group is masked too: nobody's group is known, and what a group answers is found through
both masks. Between two parties the tables are those that were declared before the survey opened.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation import Crowd, Figures, ratio_difference, ratios
from masquerade.estimation.sums import SummedPeople
from masquerade.exact.arrays import Floats
from masquerade.exact.number import in_range
from masquerade.lazy import suggestion
from masquerade.results import sum_reports
from masquerade.results.cross_tables import FEWEST_IN_CELL, table_crowd
from masquerade.results.differences import (
    Comparison,
    Difference,
    EstimatedFigures,
    require_question,
)
from masquerade.results.json_form import JsonValue
from masquerade.results.question_figures import Figure
from masquerade.results.question_result import CONFIDENCE
from masquerade.results.reports import SurveyReports
from masquerade.surveys import Question
from masquerade.surveys.survey import Survey


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
        One family with those of all questions and options of the same groups.

    Examples
    --------
    >>> GroupComparison("ill", "Yes", (), ()).question
    'ill'
    """

    question: str
    option: str | None
    groups: tuple[GroupFigure, ...]
    differences: tuple[Difference, ...]


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
    After the example of `masquerade.results.survey_result`:

    >>> found = group_difference(reports, "ill", by="night", groups=("Yes", "No"), option="Yes")
    >>> found.low < 0 < found.high
    True
    """
    if len(groups) != 2 or groups[0] == groups[1]:
        raise ParameterError(f"groups is {groups!r}, expected two different answers to {by!r}.")
    in_range(confidence, "confidence", above=0, below=1)
    crossed = Crossed.of(reports, question, by)
    figures = [crossed.figures(group, [option]) for group in groups]
    found = crossed.comparison([option], groups, [EstimatedFigures(one) for one in figures])
    return found.differences(confidence)[0]


#: Takes how many differences are worked out, and how many there are.
Progress = Callable[[int, int], None]


def group_comparisons(
    reports: SurveyReports,
    *,
    by: str,
    confidence: float = CONFIDENCE,
    progress: Progress | None = None,
) -> tuple[GroupComparison, ...]:
    """Return every other question's mean or shares in the groups of one question's answers.

    All differences are one family: their simultaneous intervals hold together.

    Parameters
    ----------
    reports : SurveyReports
    by : str
        Id of the question of categories whose answers make the groups; groups of which fewer than
        20 reports are there are left out.
    confidence : float
    progress : callable, optional
        Is told how many differences are worked out, and how many there are.

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
    require_question(by, places)
    reports = reports.asked_of(by)
    if not len(reports):
        raise EmptyTable(f"nobody was asked {by!r}; a comparison needs some.")
    found = []
    for question in codebook.questions:
        if question.id == by:
            continue
        try:
            found.append(Crossed.of(reports, question.id, by))
        except ParameterError:
            # numbers and several answers cannot be crossed, nor what was drawn without the other
            continue
    labels = codebook.questions[places[by]].labels
    sent = [
        reports.people[reports.report[:, places[by]] == code].sum() for code in range(len(labels))
    ]
    return _compared(found, by, labels, sent, confidence, progress)


def split_group_comparisons(
    survey: Survey,
    sums: Sequence[Sequence[int]],
    *,
    by: str,
    count: int,
    confidence: float = CONFIDENCE,
) -> tuple[GroupComparison, ...]:
    """Return the comparisons of a survey between two parties, from its declared tables.

    Parameters
    ----------
    survey : Survey
    sums : sequence of sequences of int
        Of each block, with the noise of both parties.
    by : str
        Id of the question whose answers make the groups.
    count : int
        Responses in the sums.
    confidence : float

    Raises
    ------
    ParameterError
        No table with this question was declared, or fewer than two groups are large enough.
    EmptyTable
        Nobody answered.
    """
    if not count:
        raise EmptyTable("there are no sums; a comparison needs some.")
    require_question(by, [one.id for one in survey.questions])
    people, found = SummedPeople(count), []
    for place, pair in enumerate(survey.encoding.cross):
        if by in pair:
            crowd, _ = sum_reports.table_crowd(
                survey.encoding, place, sums, noise=survey.split_noise, people=people
            )
            other = pair[1 - pair.index(by)]
            asked = {one.id: one for one in survey.questions}
            found.append(Crossed(crowd, asked[other], asked[by], by_first=pair[0] == by))
    place = [one.id for one in survey.questions].index(by)
    labels = survey.questions[place].labels
    return _compared(found, by, labels, list(sums[place][: len(labels)]), confidence)


def _compared(
    crossed: Sequence[Crossed],
    by: str,
    labels: Sequence[str],
    sent: Sequence[float],
    confidence: float,
    progress: Progress | None = None,
) -> tuple[GroupComparison, ...]:
    """Return the comparisons of groups that are large enough."""
    if not crossed:
        raise ParameterError(f"no question of the survey can be crossed with {by!r}.")
    names = [name for name, n in zip(labels, sent, strict=True) if n >= FEWEST_IN_CELL]
    if len(names) < 2:
        raise ParameterError(
            f"{len(names)} of the answers to {by!r} have {FEWEST_IN_CELL} reports, expected two "
            "groups at least; more people are needed, or another question."
        )
    rows: list[tuple[Crossed, list[str | None], list[EstimatedFigures], list[Comparison]]] = []
    for one in crossed:
        options = one.options
        figures = [EstimatedFigures(one.figures(name, options)) for name in names]
        pairs = [
            one.comparison(
                options, (names[first], names[second]), [figures[first], figures[second]]
            )
            for first, second in itertools.combinations(range(len(names)), 2)
        ]
        rows.append((one, options, figures, pairs))
    family = sum(len(options) * len(pairs) for _, options, _, pairs in rows)
    found, done = [], 0
    for one, options, figures, pairs in rows:
        differences = []
        for pair in pairs:
            differences.append(pair.differences(confidence, family=family))
            done += len(options)
            if progress is not None:
                progress(done, family)
        groups = [one.shown(own, options, confidence) for own in figures]
        for place, option in enumerate(options):
            named = zip(names, groups, strict=True)
            found.append(
                GroupComparison(
                    one.question.id,
                    option,
                    tuple(GroupFigure(name, own[place]) for name, own in named),
                    tuple(pair[place] for pair in differences),
                )
            )
    return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class Crossed:
    """A question by the answers to another, through the masks of both."""

    crowd: Crowd
    question: Question
    by: Question
    by_first: bool = True  # whether the groups are the rows of the table

    @classmethod
    def of(cls, reports: SurveyReports, question: str, by: str) -> Crossed:
        """Return the table of two questions; `ParameterError` where masks do not allow it."""
        codebook = reports.codebook
        places = {asked.id: place for place, asked in enumerate(codebook.questions)}
        for name in (question, by):
            require_question(name, places)
        if question == by:
            raise ParameterError(f"question {question!r} makes the groups itself; name another.")
        if not len(reports):
            raise EmptyTable("there are no reports; a difference needs some.")
        crowd = table_crowd(reports, places[by], places[question])
        return cls(crowd, codebook.questions[places[question]], codebook.questions[places[by]])

    @property
    def options(self) -> list[str | None]:
        """Options with the shares to compare; None for a mean."""
        return [None] if self.question.scores else [*self.question.labels]

    def figures(self, group: str, options: Sequence[str | None]) -> Figures:
        """Return the shares or the mean of a group."""
        there = np.zeros(len(self.by.codes))
        there[_code(self.by, group)] = 1.0
        parts, wholes = [], []
        for option in options:
            worth, counts, low, high = _worth(self.question, option)
            tables = np.outer(there, worth), np.outer(there, counts)
            part, whole = ((one if self.by_first else one.T).ravel() for one in tables)
            parts.append(part)
            wholes.append(whole)
        return ratios(self.crowd, parts, wholes, low=low, high=high)

    def comparison(
        self,
        options: Sequence[str | None],
        groups: tuple[str, str],
        sides: Sequence[EstimatedFigures],
    ) -> Comparison:
        """Return the comparison of two groups with these figures."""
        between = ratio_difference(*(one.figures for one in sides))
        return Comparison(self.question.id, options, groups, sides, between, bounded=True)

    def shown(
        self, figures: EstimatedFigures, options: Sequence[str | None], confidence: float
    ) -> list[Figure]:
        """Return the shares or the mean of a group as a person reads them."""
        n, found = int(self.crowd.n), []
        for option, one in zip(options, figures.estimates(confidence), strict=True):
            *_, low, high = _worth(self.question, option)
            found.append(Figure.of(one, n, width=high - low))
        return found


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
