"""Relations between questions of a closed survey: regressions, computed once and kept."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from masquerade.errors import ParameterError, WrongState
from masquerade.lazy import suggestion
from masquerade.server.db.long_work import Report
from masquerade.server.db.single_flight import SingleFlight
from masquerade.server.parties.leader_aggregation import LeaderAggregation
from masquerade.server.results.cache import ResultCache, is_large, require_finished
from masquerade.server.results.figures import Axis, Row
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Question
from masquerade.surveys.characters import safe
from masquerade.surveys.offered_levels import FEWEST_AT_LEVEL
from masquerade.surveys.survey import Survey

if TYPE_CHECKING:
    from masquerade.analysis import Correlation, Regression, Term
    from masquerade.results import SurveyReports

#: What one relation may take: predictors, answers to the outcome, combinations of masked answers
#: to predictors, and these times the rows of reports that differ. The largest takes some seconds.
MOST_PREDICTORS, MOST_ANSWERS, MOST_CELLS, MOST_WORK = 5, 11, 64, 50_000
#: Relations of one survey that are kept, so that nobody fills the database with them.
MOST_KEPT = 1000
#: How long one relation waits for another that is being computed.
WAIT_SECONDS = 20.0

#: Under which relations are kept; see `masquerade.server.results.cache`.
_FORM = "relation-2"
_LEVEL = "level["
#: Log-odds beyond which an axis of coefficients does not reach: e^5 is about 150 times.
_FAR = 5.0


@dataclass(frozen=True, slots=True)
class RelationView:
    """A relation as its page shows it.

    `found`: the stored relation. `axis`, `rows`: its coefficients without constants, as a chart.
    `table`: all of them, each with the coefficient that takes reports for answers, as a table.
    """

    found: Mapping[str, Any]
    axis: Axis
    rows: list[Row]
    table: list[Row]


class Relations:
    """Regressions of one question of a closed survey on others.

    They are made of what the server has: masked reports, or noisy sums of two parties. One is
    computed at a time in each process.
    """

    def __init__(
        self, results: ResultCache, flights: SingleFlight, aggregation: LeaderAggregation
    ) -> None:
        self._results = results
        self._flights = flights
        self._aggregation = aggregation
        self._turn = threading.Lock()

    def text(self, record: SurveyRecord, outcome: str, predictors: Sequence[str]) -> str:
        """Return a relation as JSON text, always the same.

        Raises
        ------
        ParameterError
            A question is unknown or not one that this takes, or there are too many.
        WrongState
            The survey is not closed, another relation is being computed, or too many are kept.
        UnderWay
            It is of many people, and is being computed.
        InputError
            The answers do not allow it; the message says why.
        """
        require_finished(record)
        chosen = _checked(record.survey, outcome, predictors)
        name = hashlib.sha256(json.dumps([outcome, *chosen]).encode()).hexdigest()[:32]
        key = f"{_FORM}:{record.token}:{name}"
        return self._results.derived(
            *(record, key, lambda report: self._compute(record, outcome, chosen, report)),
            long=is_large(record),
        )

    def found(
        self, record: SurveyRecord, outcome: str, predictors: Sequence[str]
    ) -> Mapping[str, Any]:
        """Return a relation as a JSON object; see `text`."""
        return cast("Mapping[str, Any]", json.loads(self.text(record, outcome, predictors)))

    def _compute(
        self, record: SurveyRecord, outcome: str, predictors: Sequence[str], report: Report
    ) -> str:
        kept = self._flights.count(f"{_FORM}:{record.token}:")
        if kept >= MOST_KEPT:
            raise WrongState(
                f"{kept} relations of this survey were looked at, and no more are kept. Take the "
                "reports, and run masquerade regress on a computer of yours."
            )
        if not self._turn.acquire(timeout=WAIT_SECONDS):
            raise WrongState("another relation is being computed here; try again in a minute.")
        try:
            if record.survey.two_parties is None:
                found = self._of_masks(record, outcome, predictors, report)
            else:
                found = self._of_sums(record, outcome, predictors)
        finally:
            self._turn.release()
        return json.dumps(_stored(*found), ensure_ascii=False)

    def _of_masks(
        self, record: SurveyRecord, outcome: str, predictors: Sequence[str], report: Report
    ) -> tuple[Regression, Correlation | None]:
        from masquerade.analysis import survey_correlation, survey_relation

        reports = self._results.reports(record, report)
        report("fitting", 0, 0)
        _require_little(reports, outcome, predictors)
        fitted = survey_relation(reports, outcome, predictors)
        together = None
        if len(predictors) == 1:
            with suppress(ParameterError):  # answers without numbers have no correlation
                together = survey_correlation(reports, outcome, predictors[0])
        return _named(_of_shown_levels(fitted, reports), record.survey), together

    def _of_sums(
        self, record: SurveyRecord, outcome: str, predictors: Sequence[str]
    ) -> tuple[Regression, Correlation | None]:
        """Return odds where one table holds all and they fit, else least squares."""
        from masquerade.analysis import answer_scores, declared_odds, declared_pairs

        survey, names = record.survey, [outcome, *predictors]
        encoding, scores = survey.encoding, answer_scores(survey.encoding)
        scored = all(one in scores for one in names)
        sums, count, _ = self._aggregation.sums(record.token)
        together = any(set(names) <= set(table) for table in encoding.cross)
        if not scored or (together and encoding.of(outcome).answers == 2):
            _require_few_answers(outcome, encoding.of(outcome).answers)
            odds = declared_odds(
                encoding, sums, noise=survey.split_noise, outcome=outcome, predictors=predictors
            )
            return _named(odds, survey), None
        pairs = declared_pairs(encoding, sums, noise=survey.split_noise, people=count)
        correlation = pairs.correlation(*names) if len(names) == 2 else None
        fitted = pairs.least_squares(outcome, predictors)
        return _named(fitted, survey, _second_labels(survey)), correlation


def relatable(survey: Survey) -> list[Question]:
    """Return the questions that a relation takes: of one answer each, and not on pairs of a list.

    Between two parties they are those that a declared table names.
    """
    if survey.two_parties is None:
        masks = survey.levels[0].mechanisms
        return [
            one
            for one, mask in zip(survey.questions, masks, strict=True)
            if (mask.separate_response is not None or mask.as_numbers is not None)
            and _has_company(survey, one.id)
        ]
    named = {name for table in survey.encoding.cross for name in table}
    return [one for one in survey.questions if one.id in named]


def _has_company(survey: Survey, name: str) -> bool:
    """Return whether another question is asked of the same people."""
    others = (one.id for one in survey.questions if one.id != name)
    return any(survey.asked_together(name, other) for other in others)


def relation_table(found: Mapping[str, Any]) -> str:
    """Return the terms of a relation as CSV."""
    names = ("name", "answer", "estimate", "error", "low", "high", "p", "masked")
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*names, "naive"])
    naive = {(one["name"], one["answer"]): one["estimate"] for one in found["naive"]}
    for term in found["terms"]:
        own = naive.get((term["name"], term["answer"]))
        writer.writerow([*(_cell(term[name]) for name in names), _cell(own)])
    return file.getvalue()


def relation_view(found: Mapping[str, Any]) -> RelationView:
    """Return the content of a page about a relation."""
    naive = {(one["name"], one["answer"]): one["estimate"] for one in found["naive"]}
    table = [_row(term, naive.get((term["name"], term["answer"]))) for term in found["terms"]]
    rows = [row for row, term in zip(table, found["terms"], strict=True) if term["slope"]]
    ends = [end for row in rows for end in (row.low, row.high, row.reported) if end is not None]
    axis = Axis.around(end for end in ends if math.isfinite(end))
    if found["model"] != "linear":
        axis = Axis(max(axis.low, -_FAR), min(axis.high, _FAR))
    return RelationView(found, axis, rows, table)


def _checked(survey: Survey, outcome: str, predictors: Sequence[str]) -> list[str]:
    """Return predictors in the survey's order, each once."""
    known = [one.id for one in relatable(survey)]
    chosen = [name for name in known if name in predictors]
    for name in (outcome, *predictors):
        if name not in known:
            raise ParameterError(
                f"{name!r} is no question that can be related; expected one of {known}."
                f"{suggestion(name, known)}",
                field="outcome" if name == outcome else "predictor",
            )
    if outcome in chosen:
        raise ParameterError(
            f"{outcome!r} is outcome and predictor; choose other predictors.", field="predictor"
        )
    if not 1 <= len(chosen) <= MOST_PREDICTORS:
        raise ParameterError(
            f"{len(chosen)} predictors were chosen, expected 1 to {MOST_PREDICTORS}; with more, "
            "run masquerade regress on a computer of yours.",
            field="predictor",
        )
    return chosen


def _require_little(reports: SurveyReports, outcome: str, predictors: Sequence[str]) -> None:
    """Refuse a relation that would take long, before it is begun."""
    from masquerade.analysis import survey_variable

    reports = reports.asked_of(outcome, *predictors)
    _require_few_answers(outcome, len(survey_variable(reports, outcome).options))
    masked = [one for one in (survey_variable(reports, p) for p in predictors) if one.masked]
    cells = math.prod(len(one.options) for one in masked)
    ids = [one.id for one in reports.codebook.questions]
    places = [ids.index(name) for name in (outcome, *predictors)]
    columns = (reports.report[:, place].tolist() for place in places)
    rows = len(set(zip(reports.level.tolist(), *columns, strict=True)))
    if cells > MOST_CELLS or cells * rows > MOST_WORK:
        raise ParameterError(
            f"the predictors have {cells:,} combinations of masked answers and {rows:,} rows of "
            f"reports that differ; this page takes at most {MOST_CELLS} combinations, and "
            f"{MOST_WORK:,} together. Leave one out, or run masquerade regress on a computer of "
            "yours.",
            field="predictor",
        )


def _require_few_answers(outcome: str, answers: int) -> None:
    if answers > MOST_ANSWERS:
        raise ParameterError(
            f"{outcome!r} has {answers} answers, and an outcome here has at most {MOST_ANSWERS}; "
            "take it as a predictor, or run masquerade regress on a computer of yours.",
            field="outcome",
        )


def _of_shown_levels(fitted: Regression, reports: SurveyReports) -> Regression:
    """Return a relation without terms that are about a level of few people.

    The terms of levels are against the first level, so that they all go where that one is small.
    """
    levels = list(reports.codebook.levels)
    count: Counter[int] = Counter()
    for place, people in zip(reports.level.tolist(), reports.people.tolist(), strict=True):
        count[place] += people
    present = sorted(count)
    small = {f"{_LEVEL}{levels[one]}]" for one in present if count[one] < FEWEST_AT_LEVEL}
    if f"{_LEVEL}{levels[present[0]]}]" in small:
        small = {f"{_LEVEL}{levels[one]}]" for one in present}
    if not small:
        return fitted
    return replace(
        fitted,
        terms=tuple(one for one in fitted.terms if one.name not in small),
        naive=tuple(one for one in fitted.naive if one.name not in small),
        notes=(
            *fitted.notes,
            f"a level that fewer than {FEWEST_AT_LEVEL} people chose is part of the fit, and has "
            "no line of its own",
        ),
    )


def _second_labels(survey: Survey) -> dict[str, str]:
    """Return of each question of two labels the one that counts as 1 between two parties."""
    parts = survey.encoding.parts
    labels = {one: survey.encoding.symbols(one) for one in parts if parts[one].crossable}
    return {
        one: found[1]
        for one, found in labels.items()
        if len(found) == 2 and getattr(parts[one], "scores", None) is None
    }


def _named(
    fitted: Regression, survey: Survey, labels: Mapping[str, str] | None = None
) -> Regression:
    """Return a relation that names questions by their texts, and some by a label of theirs."""
    from masquerade.results.methods import quoted

    # A bracket stands before an option, and nowhere else in the name of a term.
    texts = {
        one.id: quoted(one.short_text.replace("[", "(").replace("]", ")"))
        for one in survey.questions
    }

    known = labels or {}

    def named(name: str) -> str:
        if name in known:
            return f"{texts[name]}[{known[name]}]"
        for id_, text in texts.items():
            if name == id_ or name.startswith(f"{id_}["):
                return text + name[len(id_) :]
        return name

    return replace(
        fitted,
        outcome=" ".join([texts[fitted.outcome], *filter(None, [known.get(fitted.outcome)])]),
        terms=tuple(replace(one, name=named(one.name)) for one in fitted.terms),
        naive=tuple(replace(one, name=named(one.name)) for one in fitted.naive),
    )


def _stored(fitted: Regression, correlation: Correlation | None) -> dict[str, object]:
    found = fitted.to_json()
    found["correlation"] = None if correlation is None else asdict(correlation)
    found["terms"] = [
        {**said, **_further(term)} for said, term in zip(found["terms"], fitted.terms, strict=True)
    ]
    return found


def _further(term: Term) -> dict[str, object]:
    return {
        "value": term.shown,
        "slope": term.slope,
        "sampling_error": term.sampling_error,
        "mechanism_error": term.mechanism_error,
    }


def _label(name: str) -> str:
    """Return a term's name with a colon before an answer to a question's text."""
    text, bracket, answer = name.rpartition("”[")
    return f"{text}”: {answer.removesuffix(']')}" if bracket else name


def _row(term: Mapping[str, Any], naive: float | None) -> Row:
    low, high = term["low"], term["high"]
    name = _label(term["name"])
    name = name if term["answer"] is None else f"{name}, {term['answer']}"
    if low is not None and high is not None:
        between = f"{_number(low)} to {_number(high)}"
    elif low is not None:
        between = f"at least {_number(low)}"
    else:
        between = "" if high is None else f"at most {_number(high)}"
    p = term["p"]
    cells = (
        "–" if p is None else "< .001" if p < 0.001 else f"{p:.3f}",
        _number(naive),
        _number(term["sampling_error"]),
        _number(term["mechanism_error"]),
    )
    if (low is None) != (high is None):  # an open end lies beyond the axis, which cuts it
        low, high = -math.inf if low is None else low, math.inf if high is None else high
    return Row(
        label="Constant" if name.startswith("(constant)") else name,
        value=term["value"],
        text=_number(term["value"]),
        low=low,
        high=high,
        between=between,
        cells=cells,
        reported=naive,
    )


def _number(value: float | None) -> str:
    """Return a coefficient to two digits behind the point, or two that count."""
    if value is None:
        return "–"
    text = f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.2g}"
    return text.replace("-", "−")


def _cell(value: object) -> object:
    if isinstance(value, str):
        return safe(value)  # an option can be written like a formula
    return "" if value is None else value
