"""Masked reports as the database has them, and results computed from them once and for ever."""

from __future__ import annotations

import contextlib
import itertools
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from sqlalchemy import Connection, Text, func, select
from sqlalchemy import cast as as_type

from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.lazy import suggestion
from masquerade.server.db.long_work import LongWork, Report
from masquerade.server.db.plain_rows import plain_rows
from masquerade.server.db.single_flight import SingleFlight
from masquerade.server.db.tables import FINISHED, PARTICIPATION, SUBMITTED
from masquerade.server.db.transactions import Transactions, reads
from masquerade.server.parties.leader_aggregation import LeaderAggregation
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys.survey import Survey

if TYPE_CHECKING:
    from masquerade.results import (
        Codebook,
        ReportCounts,
        SurveyReports,
        SurveyResult,
    )

#: People whose reports are in memory at once while a file of them is sent.
CHUNK = 5000
#: People whose reports are in memory at once while they are counted: so few that Python's search
#: for cycles, which begins at 700 new tuples, hardly ever runs. It took half of the time.
COUNTED_AT_ONCE = 500

#: Tables of two questions in a workbook: all of those of ten questions.
MOST_TABLES = 45

#: Responses from which on a result is computed while its page shows the progress.
LARGE = 50_000

#: Under which results are kept; pages read no other form, so earlier ones are computed anew.
_FORM = "result-4"
_CROSSED, _BOOK = "crossed-1", "workbook-1"


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """All reports of one participant to one survey, under a pseudonym of that survey only."""

    pseudonym: str
    level: str
    reports: tuple[int, ...]


class StoredReports:
    """The reports of all surveys."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def of_survey(self, token: str) -> list[StoredResponse]:
        """Return all responses to a survey, in an order that says nothing about arrival."""
        query = (
            select(PARTICIPATION.c.pseudonym, PARTICIPATION.c.level, PARTICIPATION.c.reports)
            .where(PARTICIPATION.c.survey == token, PARTICIPATION.c.state == SUBMITTED)
            # By the random id.
            .order_by(PARTICIPATION.c.id)
        )
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return [StoredResponse(row.pseudonym, row.level, tuple(row.reports)) for row in rows]

    def rows(
        self, token: str, *, after: str = "", limit: int | None = None
    ) -> list[tuple[str, str, str]]:
        """Return pseudonym, level and reports (JSON text) of `limit` people `after` a pseudonym."""
        pseudonym = PARTICIPATION.c.pseudonym
        query = (
            # The JSON as it lies: nothing is parsed to be written again.
            select(pseudonym, PARTICIPATION.c.level, as_type(PARTICIPATION.c.reports, Text))
            .where(PARTICIPATION.c.survey == token, PARTICIPATION.c.state == SUBMITTED)
            .order_by(pseudonym)
            .limit(limit)
        )
        if after:
            query = query.where(pseudonym > after)
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return cast("list[tuple[str, str, str]]", rows)

    def counted(
        self, codebook: Codebook, report: Callable[[int], None] | None = None
    ) -> SurveyReports:
        """Return the reports of a survey, counted while they are read: memory stays small.

        `report` is told how many are counted.
        """
        return self._counts(codebook, report).reports()

    @reads
    def _counts(
        self, connection: Connection, codebook: Codebook, report: Callable[[int], None] | None
    ) -> ReportCounts:
        from masquerade.results import ReportCounts

        query = select(
            PARTICIPATION.c.pseudonym,
            PARTICIPATION.c.level,
            as_type(PARTICIPATION.c.reports, Text),
        ).where(PARTICIPATION.c.survey == codebook.token, PARTICIPATION.c.state == SUBMITTED)

        # Counts of its own at each attempt, as a reading may be repeated.
        counts, done = ReportCounts(codebook), 0
        for rows in plain_rows(connection, query, COUNTED_AT_ONCE):
            counts.add(rows)
            done += len(rows)
            if report is not None:
                report(done)
        return counts

    def counts_by_level(self, token: str) -> dict[str, int]:
        """Return how many responses each level of a survey has, where there are any."""
        level = PARTICIPATION.c.level
        query = (
            select(level, func.count())
            .where(PARTICIPATION.c.survey == token, PARTICIPATION.c.state == SUBMITTED)
            .group_by(level)
        )
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return {row[0]: row[1] for row in rows}


class ResultCache:
    """Results, reports and files of closed surveys.

    The mathematics is the library's (`masquerade.results`), so that the files give the same
    results elsewhere. It is loaded when first needed.
    """

    def __init__(
        self,
        reports: StoredReports,
        flights: SingleFlight,
        work: LongWork,
        aggregation: LeaderAggregation,
    ) -> None:
        self._reports = reports
        self._flights = flights
        self._work = work
        self._aggregation = aggregation

    def result_text(self, record: SurveyRecord) -> str:
        """Return the result of a survey as JSON text; `WrongState` unless it is closed.

        It is computed when it is first asked for and then kept, so that it never changes, also
        where a later version of the program would compute it otherwise. In another language it is
        the kept one with other texts.
        """
        if record.language is not None:
            from masquerade.results import result_bytes

            return result_bytes(self.result(record)).decode()
        require_finished(record)
        key = f"{_FORM}:{record.token}"
        return self._flights.get_or_create(key, lambda: self._compute(record, unreported))

    def require(self, record: SurveyRecord) -> None:
        """Begin to compute a large result that is not there, and raise `UnderWay`.

        Whoever answers requests asks for this first: nobody waits longer than for the figures of a
        small survey.
        """
        if is_large(record):
            require_finished(record)
            key = f"{_FORM}:{record.token}"
            self._work.require(key, lambda report: self._compute(record, report), team=record.team)

    def derived(
        self, record: SurveyRecord, key: str, compute: Callable[[Report], str], *, long: bool
    ) -> str:
        """Return the kept text of something else that is computed from a survey's reports.

        Where it takes `long`, its computation begins in the background, and `UnderWay` is raised.
        """
        if long:
            return self._work.require(key, compute, team=record.team)
        return self._flights.get_or_create(key, lambda: compute(unreported))

    def result(self, record: SurveyRecord) -> SurveyResult:
        """Return the result of a survey in the record's language; see `result_text`."""
        from masquerade.results import SurveyResult, result_in_language

        kept = self.result_text(record.in_language(None))
        found = SurveyResult.from_json(json.loads(kept))
        if record.language is None:
            return found
        return result_in_language(found, record.survey, record.language)

    def table(self, record: SurveyRecord) -> str:
        """Return the numbers of a survey's result as CSV."""
        from masquerade.results import result_table

        return result_table(self.result(record))

    def workbook(self, record: SurveyRecord, *, crossed: bool) -> bytes:
        """Return a survey's result as a workbook (.xlsx).

        `crossed`: also the tables of two questions, which are not for everybody. Where there are
        many people, their workbook is computed in the background: see `derived`.
        """
        if not crossed or not is_large(record):
            return self._workbook(record, crossed, unreported)

        def compute(report: Report) -> str:
            # a kept text, as everything that takes long
            return b64encode(self._workbook(record, crossed, report)).decode()

        return b64decode(self.derived(record, f"{_BOOK}:{record.token}", compute, long=True))

    def _workbook(self, record: SurveyRecord, crossed: bool, report: Report) -> bytes:
        from masquerade.results import cross_table, result_workbook

        tables = []
        if crossed and record.survey.two_parties is None and record.responses:
            reports, pairs = self.reports(record, report), _crossable(record.survey)
            for done, (first, second) in enumerate(pairs):
                report("crossing", done, len(pairs))
                # masks that hang together have no table of two questions
                with contextlib.suppress(ParameterError):
                    tables.append(cross_table(reports, first, second))
        return result_workbook(self.result(record), record.shown, tables=tables)

    def statistics_file(self, record: SurveyRecord) -> bytes:
        """Return the numbers of a survey's result for SPSS (.sav)."""
        from masquerade.results import result_sav

        return result_sav(self.result(record))

    def reports_file(self, record: SurveyRecord) -> bytes:
        """Return a survey's masked reports for SPSS (.sav), a row a person."""
        from masquerade.results import reports_sav

        return reports_sav(self.codebook(record), self._chunks(record.token))

    def paper(self, record: SurveyRecord) -> bytes:
        """Return a survey's result on paper (PDF)."""
        from masquerade.results import report_pdf

        return report_pdf(self.result(record), description=record.shown.description)

    def chart(self, record: SurveyRecord, question: str, kind: str) -> bytes:
        """Return the chart of a question as a picture, `kind` svg or png; `NotFound` without."""
        from masquerade.results import chart_png, chart_svg, question_charts

        found = question_charts(self.result(record)).get(question)
        if found is None:
            raise NotFound(f"the result has no chart of a question {question!r}.")
        return chart_png(found) if kind == "png" else chart_svg(found).encode()

    def codebook(self, record: SurveyRecord) -> Codebook:
        """Return the codebook of a survey's reports: questions, masks and counts by level."""
        require_finished(record)
        _require_reports(record)
        counts = self._reports.counts_by_level(record.token)
        found = {level.name: counts.get(level.name, 0) for level in record.survey.levels}
        return replace(_uncounted_codebook(record), n_by_level=found)

    def codebook_json(self, record: SurveyRecord) -> Mapping[str, object]:
        """Return the codebook as a JSON object: of reports, or of sums between two parties."""
        from masquerade.results import split_codebook

        if record.survey.two_parties is None:
            return self.codebook(record).to_json()
        _, count, _ = self._aggregation.sums(record.token)
        return split_codebook(record.survey, token=record.token, count=count)

    def file(self, record: SurveyRecord, kind: str) -> Iterator[bytes]:
        """Yield a file of a survey's masked reports, piece by piece.

        Pieces are read one after the other, so that who downloads slowly holds no transaction: the
        reports of a closed survey do not change.
        """
        from masquerade.results import write_reports

        return write_reports(self.codebook(record), self._chunks(record.token), kind=kind)

    def notebook(self, record: SurveyRecord) -> Mapping[str, object]:
        """Return a notebook that begins with a survey's reports."""
        from masquerade.results import notebook

        return notebook(self.codebook(record), reports=f"reports-{record.token}.parquet")

    def cross_table(self, record: SurveyRecord, first: str, second: str) -> str:
        """Return as JSON text how the answers to two questions of a survey go together."""
        from masquerade.results import cross_table

        require_finished(record)
        _require_reports(record)
        ids = [one.id for one in record.survey.questions]
        for name in (first, second):  # before anything is counted
            if name not in ids:
                raise ParameterError(
                    f"{name!r} is no question of this survey.{suggestion(name, ids)}"
                )

        def compute(report: Report) -> str:
            found = cross_table(self.reports(record, report), first, second)
            return json.dumps(found.to_json(), ensure_ascii=False)

        if not is_large(record):
            return compute(unreported)
        key = f"{_CROSSED}:{record.token}:{ids.index(first)}-{ids.index(second)}"
        return self.derived(record, key, compute, long=True)

    def reports(self, record: SurveyRecord, report: Report | None = None) -> SurveyReports:
        """Return all reports of a survey, with its codebook; `report` is told the progress."""
        require_finished(record)
        _require_reports(record)
        tell = report or unreported

        def counted(done: int) -> None:
            tell("counting", done, record.responses)

        return self._reports.counted(_uncounted_codebook(record), counted)

    def _compute(self, record: SurveyRecord, report: Report) -> str:
        from masquerade.results import result_bytes, split_result, survey_result

        if record.survey.two_parties is not None:
            sums, count, refused = self._aggregation.sums(record.token)
            found = split_result(
                record.survey,
                sums,
                token=record.token,
                count=count,
                refused=refused,
                known=record.simulated_truth,
            )
            return result_bytes(found).decode()
        reports = self.reports(record, report)
        report("estimating", 0, 0)
        return result_bytes(survey_result(reports)).decode()

    def _chunks(self, token: str) -> Iterator[list[tuple[str, str, str]]]:
        # By pseudonym, a keyed hash: the order tells nothing, and the last one is where to go on.
        last = ""
        while rows := self._reports.rows(token, after=last, limit=CHUNK):
            yield rows
            last = rows[-1][0]


def is_large(record: SurveyRecord) -> bool:
    """Return whether all reports of a survey are too many to be counted within a request."""
    return record.survey.two_parties is None and record.responses >= LARGE


def unreported(_what: str, _done: int, _of: int) -> None:
    """Tell nobody of the progress."""


def _uncounted_codebook(record: SurveyRecord) -> Codebook:
    from masquerade.results import Codebook

    return Codebook(record.token, record.survey, record.hash, known_shares=record.simulated_truth)


def _crossable(survey: Survey) -> list[tuple[str, str]]:
    """Return pairs of questions of one answer each, the first `MOST_TABLES`."""
    asked = [one.id for one in survey.questions if one.parts_of_whole and one.labels]
    pairs = itertools.combinations(asked, 2)
    same = (pair for pair in pairs if survey.asked_together(*pair))
    return list(itertools.islice(same, MOST_TABLES))


def _require_reports(record: SurveyRecord) -> None:
    if record.survey.two_parties is not None:
        raise WrongState(
            "this survey's answers were added up by two parties: there are no reports of single "
            "people, and cross tables are those that were declared before it opened. The result "
            "has all there is."
        )


def require_finished(record: SurveyRecord) -> None:
    """Refuse a survey that is not closed, by `WrongState`."""
    if record.state not in FINISHED:
        raise WrongState(
            f"this survey is {record.state}; results and files are there once it is closed."
        )
