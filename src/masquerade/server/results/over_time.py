"""Surveys that repeat each other: the same questions over time, and changes since the last."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from masquerade.errors import MasqueradeError, NotFound, UnderWay
from masquerade.server.db.long_work import Report
from masquerade.server.db.single_flight import SingleFlight
from masquerade.server.db.tables import FINISHED
from masquerade.server.results.cache import ResultCache, is_large
from masquerade.server.results.figures import Axis, Row
from masquerade.server.results.view import QuestionView, result_view
from masquerade.server.surveys.lifecycle import Lifecycle
from masquerade.server.surveys.survey_records import SurveyRecord

if TYPE_CHECKING:
    from masquerade.results import Difference, SurveyReports, SurveyResult

#: Surveys that one page shows.
MOST = 12
_LINK, _CHANGES = "follows-1", "changes-1"
#: Name of the line of a mean.
_MEAN = "Mean"


@dataclass(frozen=True, slots=True)
class TimeLine:
    """One figure over time: a mean, or the share of an option."""

    label: str
    axis: Axis
    rows: list[Row]
    changed: bool = False  # whether it surely did, since the survey before


@dataclass(frozen=True, slots=True)
class QuestionOverTime:
    """A question over time, and the sentences on changes since the last survey."""

    id: str
    text: str
    lines: list[TimeLine]
    changes: list[str]


@dataclass(frozen=True, slots=True)
class OverTimeView:
    """Surveys that repeat each other, the oldest first, question by question."""

    surveys: list[SurveyRecord]
    questions: list[QuestionOverTime]
    family: int
    refused: str


class OverTime:
    """Links between a survey and the one it was copied from, and the changes in between."""

    def __init__(self, results: ResultCache, flights: SingleFlight, surveys: Lifecycle) -> None:
        self._results = results
        self._flights = flights
        self._surveys = surveys

    def link(self, token: str, before: str) -> None:
        """Keep which survey another one repeats."""
        self._flights.get_or_create(f"{_LINK}:{token}", lambda: before)

    def chain(self, record: SurveyRecord) -> list[SurveyRecord]:
        """Return the closed surveys up to this one that repeat each other, the oldest first."""
        found = [record] if record.state in FINISHED else []
        token = record.token
        while len(found) < MOST:
            try:
                token = self._flights.get_or_create(f"{_LINK}:{token}", _nothing)
                before = self._surveys.record(token)
            except NotFound:
                break
            if before.team != record.team:
                break
            if before.state in FINISHED:
                found.append(before)
        return found[::-1]

    def view(self, record: SurveyRecord) -> OverTimeView:
        """Return the page of a survey and those it repeats.

        Raises `UnderWay` while a result of many people, or the changes of two, are computed.
        """
        surveys = self.chain(record)
        for one in surveys:
            self._results.require(one)
        views = [result_view(one.survey, self._results.result(one)) for one in surveys]
        changes: list[Difference] = []
        refused = ""
        if len(surveys) > 1:
            try:
                changes = self._changes(surveys[-1], surveys[-2])
            except UnderWay:
                raise
            except MasqueradeError as error:
                refused = str(error)
        asked = views[-1].questions if views else []
        days = [str(one.closed) for one in surveys]
        titles = [f"{one.survey.title}, {one.closed}" for one in surveys]
        names = days if len(set(days)) == len(days) else titles
        questions = [
            _over_time(question, names, [view.questions for view in views], changes)
            for question in asked
        ]
        return OverTimeView(surveys, [one for one in questions if one.lines], len(changes), refused)

    def _changes(self, last: SurveyRecord, before: SurveyRecord) -> list[Difference]:
        """Return all differences of two surveys, computed once."""
        from masquerade.results import Difference, all_differences

        def compute(report: Report) -> str:
            sources = [
                self._source(one, report, what)
                for one, what in ((last, "counting"), (before, "counting the survey before"))
            ]
            report("comparing", 0, 0)
            found = all_differences(*sources)
            return json.dumps([asdict(one) for one in found], ensure_ascii=False)

        key = f"{_CHANGES}:{last.token}:{before.token}"
        long = is_large(last) or is_large(before)
        rows: list[dict[str, Any]] = json.loads(
            self._results.derived(last, key, compute, long=long)
        )
        return [Difference(**row) for row in rows]

    def _source(
        self, record: SurveyRecord, report: Report, what: str
    ) -> SurveyReports | SurveyResult:
        if record.survey.two_parties is None:
            return self._results.reports(record, lambda _, done, of: report(what, done, of))
        return self._results.result(record)


def _nothing() -> str:
    raise NotFound("this survey repeats no other.")


def _over_time(
    question: QuestionView,
    names: Sequence[str],
    views: Sequence[Sequence[QuestionView]],
    changes: Sequence[Difference],
) -> QuestionOverTime:
    """Return a question in each survey that asks it."""
    lines: dict[str, TimeLine] = {}
    for name, asked in zip(names, views, strict=True):
        same = [one for one in asked if one.id == question.id and one.kind == question.kind]
        for one in same:
            for label, axis, row in _figures(one):
                line = lines.setdefault(label, TimeLine(label, axis, []))
                line.rows.append(replace(row, label=name, whole=False, people_there=one.n))
    sure = [one for one in changes if one.question == question.id and one.differ]
    moved = {one.option or _MEAN for one in sure}
    shown = [replace(line, changed=line.label in moved) for line in lines.values()]
    return QuestionOverTime(question.id, question.text, shown, [*map(change_in_words, sure)])


def _figures(question: QuestionView) -> list[tuple[str, Axis, Row]]:
    if question.mean is not None:
        return [(_MEAN, question.mean.axis, question.mean.everybody)]
    rows = question.answered or question.bars
    return [(row.label, question.axis, row) for row in rows]


def change_in_words(one: Difference) -> str:
    """Return in words the certain changes since the survey before."""
    low, high = one.simultaneous_low, one.simultaneous_high
    way = "rose" if low > 0 else "fell"
    low, high = sorted((abs(low), abs(high)))
    if one.option is None:
        return f"The mean {way}, by {low:.2f} to {high:.2f}."
    return f"“{one.option}” {way}, by {100 * low:.0f} to {100 * high:.0f} points of 100."
