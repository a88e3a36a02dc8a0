"""Weighted results of a closed survey: known shares of the population, and the result by them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from masquerade.errors import NotFound, WrongState
from masquerade.server.db.long_work import Report
from masquerade.server.db.single_flight import SingleFlight
from masquerade.server.results.cache import ResultCache, is_large, require_finished
from masquerade.server.surveys.survey_records import SurveyRecord

if TYPE_CHECKING:
    from masquerade.results import SurveyResult, Weighting

#: Weightings of one survey that are kept, so that nobody fills the database with them.
MOST_KEPT = 100
#: Under which weighted results are kept; see `masquerade.server.results.cache`.
_FORM = "weighted-1"
#: Under which weightings themselves are kept: a result of many people is computed after them.
_WEIGHTING = "weighting-1"


@dataclass(frozen=True, slots=True)
class WeightedView:
    """A weighted result with the words of its weighting."""

    key: str
    words: tuple[str, ...]
    result: SurveyResult


class WeightedResults:
    """Weighted results, computed once and kept under a name that follows from the weighting."""

    def __init__(self, results: ResultCache, flights: SingleFlight) -> None:
        self._results = results
        self._flights = flights

    def create(self, record: SurveyRecord, table: str, population: int | None) -> str:
        """Keep a weighting, given as a table (CSV), and return its key.

        The result of few people is computed at once, so that its refusal is said here.

        Raises
        ------
        ParameterError
            The table is broken, or the survey has no such question or answer.
        WrongState
            The survey is not closed, is between two parties, or too many weightings are kept.
        """
        from masquerade.results import Weighting

        require_finished(record)
        if self._flights.count(f"{_WEIGHTING}:{record.token}:") >= MOST_KEPT:
            raise WrongState(
                f"{MOST_KEPT} weightings of this survey are kept; take the reports, and weigh them "
                "by masquerade results --weights."
            )
        weighting = Weighting.read(table, population=population)
        told = json.dumps(weighting.to_json(), ensure_ascii=False, sort_keys=True)
        key = hashlib.sha256(told.encode()).hexdigest()[:16]
        if is_large(record):
            weighting.check(record.survey.questions, record.responses)
        else:
            self._found(record, key, weighting)
        self._flights.get_or_create(f"{_WEIGHTING}:{record.token}:{key}", lambda: told)
        return key

    def text(self, record: SurveyRecord, key: str) -> str:
        """Return a weighted result and its weighting as JSON.

        Raises
        ------
        NotFound
            No such weighting was given.
        UnderWay
            It is of many people, and is being computed.
        """
        from masquerade.results import Weighting

        require_finished(record)
        key = key[:16]
        kept = self._flights.kept(f"{_FORM}:{record.token}:{key}")
        if kept is not None:
            return kept
        told = self._flights.kept(f"{_WEIGHTING}:{record.token}:{key}")
        if told is None:
            raise NotFound("there is no result with these weights; give the table again.")
        return self._found(record, key, Weighting(**json.loads(told)))

    def _found(self, record: SurveyRecord, key: str, weighting: Weighting) -> str:
        from masquerade.results import weighted_result

        def compute(report: Report) -> str:
            reports = self._results.reports(record, report)
            report("weighting", 0, 0)
            found = weighted_result(reports, weighting)
            content = {"weighting": weighting.to_json(), "result": found.to_json()}
            return json.dumps(content, ensure_ascii=False)

        name = f"{_FORM}:{record.token}:{key}"
        return self._results.derived(record, name, compute, long=is_large(record))

    def view(self, record: SurveyRecord, key: str) -> WeightedView:
        """Return a weighted result as its page shows it."""
        from masquerade.results import SurveyResult
        from masquerade.results.methods import quoted

        content = cast("Mapping[str, Any]", json.loads(self.text(record, key)))
        weighting = content["weighting"]
        asked = {one.id: one for one in record.survey.questions}
        words = [
            f"{quoted(asked[name].short_text)} {_list(one, share=kind == 'margins')}"
            for kind in ("margins", "weights")
            for name, one in weighting[kind].items()
        ]
        if weighting["population"] is not None:
            words.append(f"of {weighting['population']:,} people in all")
        return WeightedView(key, tuple(words), SurveyResult.from_json(content["result"]))


def _list(numbers: Mapping[str, float], *, share: bool) -> str:
    parts = (
        f"{name} {100 * x:.4g} %" if share else f"{name} × {x:g}" for name, x in numbers.items()
    )
    return ", ".join(parts)
