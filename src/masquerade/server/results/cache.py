"""The result cache: computed once when a survey is closed, and the same ever after."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from masquerade.errors import WrongState
from masquerade.server.db.server_values import ServerValues
from masquerade.server.db.tables import FINISHED
from masquerade.server.results.stored_reports import StoredReports
from masquerade.server.surveys.frozen_surveys import SurveyRecord

if TYPE_CHECKING:
    from masquerade.results import Codebook, CrossTable, SurveyReports

#: People whose reports are in memory at once while a file of them is sent.
CHUNK = 5000

#: Under which results are kept; pages read no other form, so earlier ones are computed anew.
_FORM = "result-2"


class ResultCache:
    """Results, reports and files of closed surveys.

    The mathematics is the library's (`masquerade.results`), so that the files give the same
    results elsewhere. It is loaded when first needed.

    Parameters
    ----------
    reports : StoredReports
    values : ServerValues
        Where results are cached.
    """

    def __init__(self, reports: StoredReports, values: ServerValues) -> None:
        self._reports = reports
        self._values = values

    def result_text(self, survey: SurveyRecord) -> str:
        """Return the result of a survey as JSON text.

        It is computed when it is first asked for and then kept, so that it never changes, also
        where a later version of the program would compute it otherwise.

        Raises
        ------
        WrongState
            The survey still takes answers, or was cancelled.
        """
        _require_finished(survey)
        # Computed outside a transaction and stored once: of two who compute, the first one's text
        # stays.
        return self._values.get_or_create(f"{_FORM}:{survey.token}", lambda: self._computed(survey))

    def result(self, survey: SurveyRecord) -> dict[str, Any]:
        """Return the result of a survey; see `result_text`."""
        found: dict[str, Any] = json.loads(self.result_text(survey))
        return found

    def table(self, survey: SurveyRecord) -> str:
        """Return the numbers of a survey's result as CSV."""
        from masquerade.results import result_table

        return result_table(self.result(survey))

    def codebook(self, survey: SurveyRecord) -> Codebook:
        """Return what one has to know to make sense of a survey's reports."""
        from masquerade.results import Codebook

        _require_finished(survey)
        counts = self._reports.counts_by_level(survey.token)
        definition = survey.definition
        return Codebook(
            survey.token,
            definition,
            survey.hash,
            known_shares=survey.simulated_truth,
            n_by_level={level.name: counts.get(level.name, 0) for level in definition.levels},
        )

    def file(self, survey: SurveyRecord, kind: str) -> Iterator[bytes]:
        """Yield a file of a survey's masked reports, piece by piece.

        Pieces are read one after the other, so that who downloads slowly holds no transaction: the
        reports of a closed survey do not change.

        Raises
        ------
        WrongState
            The survey still takes answers, or was cancelled.
        """
        from masquerade.results import write_reports

        return write_reports(self.codebook(survey), self._chunks(survey.token), kind=kind)

    def notebook(self, survey: SurveyRecord) -> dict[str, Any]:
        """Return a notebook that begins with a survey's reports."""
        from masquerade.results import notebook

        return notebook(self.codebook(survey), reports=f"reports-{survey.token}.parquet")

    def cross_table(self, survey: SurveyRecord, first: str, second: str) -> CrossTable:
        """Return how the answers to two questions of a survey go together."""
        from masquerade.results import cross_table

        return cross_table(self.reports(survey), first, second)

    def reports(self, survey: SurveyRecord) -> SurveyReports:
        """Return all reports of a survey."""
        from masquerade.results import SurveyReports

        _require_finished(survey)
        rows = self._reports.rows(survey.token)
        # Without rows `zip` gives no columns at all.
        columns: Sequence[Sequence[str]] = list(zip(*rows, strict=True)) or [(), (), ()]
        return SurveyReports.from_rows(self.codebook(survey), *columns)

    def _computed(self, survey: SurveyRecord) -> str:
        from masquerade.results import result_bytes, survey_result

        return result_bytes(survey_result(self.reports(survey))).decode()

    def _chunks(self, token: str) -> Iterator[list[tuple[str, str, str]]]:
        # By pseudonym, a keyed hash: the order tells nothing, and the last one is where to go on.
        last = ""
        while rows := self._reports.rows(token, after=last, limit=CHUNK):
            yield rows
            last = rows[-1][0]


def _require_finished(survey: SurveyRecord) -> None:
    if survey.state not in FINISHED:
        raise WrongState(
            f"this survey is {survey.state}; results and files are there once it is closed."
        )
