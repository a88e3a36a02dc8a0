"""Comparisons by group: every question of a closed survey by the answers to one of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from masquerade.server.db.long_work import Report
from masquerade.server.parties.leader_aggregation import LeaderAggregation
from masquerade.server.results.cache import ResultCache, is_large, require_finished, unreported
from masquerade.server.results.figures import Axis, Figures, Row
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Question
from masquerade.surveys.survey import Survey

if TYPE_CHECKING:
    from masquerade.results import Difference

#: Under which comparisons are kept; see `masquerade.server.results.cache`.
_FORM = "groups-1"
#: Differences, times levels, up to which a comparison is worked out while its reader waits.
MOST_AT_ONCE = 24
#: Answers to a question by which people can be compared.
_MOST_GROUPS = 12


def comparable(survey: Survey) -> list[Question]:
    """Return the questions whose answers can make groups: one of 2 to 12 labels."""
    if survey.two_parties is None:
        asked = [one for one in survey.questions if one.parts_of_whole and one.scores is None]
        few = [one for one in asked if 2 <= len(one.labels) <= _MOST_GROUPS]
        ids = [one.id for one in survey.questions]
        return [
            one
            for one in few
            if any(survey.asked_together(one.id, other) for other in ids if other != one.id)
        ]
    crossed = {name for pair in survey.encoding.cross for name in pair}
    return [one for one in survey.questions if one.id in crossed and len(one.labels) >= 2]


@dataclass(frozen=True, slots=True)
class GroupTable:
    """A question in groups: row percentages or means, and the certain differences.

    `differences`: name, interval of each alone, interval of all at once, whether it is sure.
    """

    columns: list[str]
    rows: list[tuple[str, list[Row]]]
    sure: list[str]
    differences: list[tuple[str, str, str, bool]]


@dataclass(frozen=True, slots=True)
class GroupsView:
    """All questions of a survey in the groups of one of them."""

    name: str
    words: str
    tables: Mapping[str, GroupTable]

    def of(self, question: str) -> GroupTable | None:
        """Return the table of a question; None where it cannot be crossed with the groups."""
        return self.tables.get(question)


class Groups:
    """Comparisons by group, computed once and kept."""

    def __init__(self, results: ResultCache, aggregation: LeaderAggregation) -> None:
        self._results = results
        self._aggregation = aggregation

    def text(self, record: SurveyRecord, by: str) -> str:
        """Return the comparison by a question's answers as JSON text, always the same.

        Where it has many differences, or is of many people, it is computed in the background.

        Raises
        ------
        ParameterError
            The question is unknown, or has fewer than two groups that are large enough.
        WrongState
            The survey is not closed.
        UnderWay
            It is being computed.
        """
        require_finished(record)
        long = _work(record.survey, by) > MOST_AT_ONCE or is_large(record)
        return self._results.derived(
            *(record, _key(record, by), lambda report: self._compute(record, by, report)),
            long=long,
        )

    def view(self, record: SurveyRecord, by: str) -> GroupsView:
        """Return the comparison by a question's answers as its page shows it."""
        return groups_view(record.survey, by, json.loads(self.text(record, by)))

    def _compute(self, record: SurveyRecord, by: str, report: Report = unreported) -> str:
        from masquerade.results import group_comparisons, split_group_comparisons

        def tell(done: int, of: int) -> None:
            report("comparing", done, of)

        if record.survey.two_parties is None:
            reports = self._results.reports(record, report)
            found = group_comparisons(reports, by=by, progress=tell)
        else:
            sums, count, _ = self._aggregation.sums(record.token)
            found = split_group_comparisons(record.survey, sums, by=by, count=count)
        content = [
            {
                "question": one.question,
                "option": one.option,
                "groups": [group.to_json() for group in one.groups],
                "differences": [asdict(row) for row in one.differences],
            }
            for one in found
        ]
        return json.dumps(content, ensure_ascii=False)


def _key(record: SurveyRecord, by: str) -> str:
    place = [one.id for one in record.survey.questions]
    # an id may hold anything; its place does not
    return f"{_FORM}:{record.token}:{place.index(by) if by in place else by[:40]}"


def _work(survey: Survey, by: str) -> int:
    """Return at most how many differences a comparison has, times the levels of each."""
    groups = [len(one.labels) for one in survey.questions if one.id == by]
    pairs = sum(n * (n - 1) // 2 for n in groups)
    figures = sum(1 if one.scores else len(one.labels) for one in survey.questions if one.id != by)
    return pairs * figures * len(survey.levels)


def groups_view(survey: Survey, by: str, found: Sequence[Mapping[str, Any]]) -> GroupsView:
    """Return a stored comparison as its page shows it."""
    from masquerade.results.methods import quoted

    asked = {one.id: one for one in survey.questions}
    tables = {}
    for name in dict.fromkeys(one["question"] for one in found):
        tables[name] = _table(asked[name], [one for one in found if one["question"] == name])
    family = sum(len(one["differences"]) for one in found)
    words = (
        f"People by their answer to {quoted(asked[by].short_text)}. Of {family} differences that "
        "were looked at together, * marks those whose interval “held at once” leaves out 0: in 95 "
        "of 100 such comparisons all these intervals are right."
    )
    return GroupsView(asked[by].short_text, words, tables)


def _table(question: Question, found: Sequence[Mapping[str, Any]]) -> GroupTable:
    from masquerade.results import Difference, Figure

    share = found[0]["option"] is not None
    figures = Figures(True, Axis(0, 1, percent=True), 0, parts=question.parts_of_whole)
    if not share:
        scores = question.scores or (0, 1)
        figures = Figures(False, Axis(float(min(scores)), float(max(scores))), 2)
    columns = [one["option"] or "Mean" for one in found]
    rows = []
    for place, group in enumerate(found[0]["groups"]):
        cells = [Figure.from_json(one["groups"][place]["figure"]) for one in found]
        named = list(zip(columns, cells, strict=True))
        alone = [figures.row(*one) for one in named]
        rows.append((group["group"], figures.rows(named) if share else alone))
    pairs = [Difference(**row) for one in found for row in one["differences"]]
    return GroupTable(
        columns,
        rows,
        [_sure(one) for one in pairs if one.differ],
        [_line(one) for one in pairs],
    )


def _span(low: float, high: float, *, share: bool) -> str:
    from masquerade.results.headline import outward_interval

    low, high = outward_interval(low, high, digits=2)
    if share:
        return f"{_signed(100 * low, 0)} to {_signed(100 * high, 0)} points"
    return f"{_signed(low, 2)} to {_signed(high, 2)}"


def _signed(value: float, digits: int) -> str:
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text if text.strip("+−0.") else text[1:]


def _line(one: Difference) -> tuple[str, str, str, bool]:
    share = one.option is not None
    name = f"{one.first_group} − {one.second_group}"
    return (
        f"{one.option}: {name}" if share else name,
        _span(one.low, one.high, share=share),
        _span(one.simultaneous_low, one.simultaneous_high, share=share),
        one.differ,
    )


def _sure(one: Difference) -> str:
    """Return the sentence of a difference that is there; its ends are positive."""
    more, less = one.first_group, one.second_group
    low, high = one.simultaneous_low, one.simultaneous_high
    if high < 0:
        more, less, low, high = less, more, -high, -low
    what = f"“{one.option}” is more frequent" if one.option is not None else "The mean is higher"
    span = _span(low, high, share=one.option is not None).replace("+", "")
    return f"{what} among “{more}” than among “{less}”, by {span}. *"
