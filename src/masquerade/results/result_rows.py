"""The numbers of a survey's result as a table, one estimate a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.plots import shares
from masquerade.results.reports import SurveyReports
from masquerade.results.result import survey_result

COLUMNS = (
    "survey",
    "question",
    "option",
    "estimator",
    "level",
    "value",
    "se",
    "low",
    "high",
    "n",
    "sampling_error",
    "mechanism_error",
    "level_error",
    "shown",
)
MEAN = "(mean)"
EVERYBODY = "all"

# The last four are full-width signs, which spreadsheets read as the plain ones.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False)
class SurveyResult(Result):
    """The result of a survey: its JSON object, as a table, a figure and a file.

    Attributes
    ----------
    content : mapping
        As `survey_result` or `split_result` gives it, or as a server exports it.

    Examples
    --------
    >>> from masquerade.results import Codebook, SurveyReports
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.survey import Survey
    >>> asked = (Choice("ill", "Have you worked while ill?", ("Yes", "No")),)
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("medium",))
    >>> book = Codebook("0123456789abcdef", survey, survey.content_hash())
    >>> people = [f"p{n}" for n in range(40)]
    >>> sent = [[n % 2] for n in range(40)]
    >>> reports = SurveyReports.from_rows(book, people, ["medium"] * 40, sent)
    >>> SurveyResult.of(reports).to_arrow().column_names[:3]
    ['survey', 'question', 'option']
    """

    content: Mapping[str, Any]

    @classmethod
    def of(cls, reports: SurveyReports | SurveyResult | Mapping[str, Any]) -> SurveyResult:
        """Return the result of a survey's reports, or of the JSON object of a result.

        Raises `ParameterError` where it is neither.
        """
        if isinstance(reports, SurveyResult):
            return reports
        if isinstance(reports, SurveyReports):
            return cls(survey_result(reports))
        if not isinstance(reports, Mapping) or not {"survey", "questions"} <= set(reports):
            raise ParameterError(
                f"this is a {type(reports).__name__}, expected the reports of a survey "
                "(`read_reports`), or its result as `survey_result` or a server gives it."
            )
        return cls(reports)

    def to_arrow(self) -> pa.Table:
        """Return the rows of `result_table`."""
        rows = [[self.content["survey"], *row] for row in _rows(self.content, str)]
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(COLUMNS)
        names = ("survey", "question", "option", "estimator", "level")
        types = [pa.string() if name in names else pa.float64() for name in COLUMNS]
        arrays = [pa.array(c, kind) for c, kind in zip(columns, types, strict=True)]
        return pa.table(dict(zip(COLUMNS, arrays, strict=True)))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return dict(self.content)

    def plot(
        self, *, axes: Axes | None = None, theme: str = "light", question: str | None = None
    ) -> Axes:
        """Draw the shares of a question, of the first if none is named."""
        question = question or self.content["questions"][0]["id"]
        title = next(one["text"] for one in self.content["questions"] if one["id"] == question)
        return shares(self.question(question), axes=axes, theme=theme, title=title)

    def question(self, name: str) -> pa.Table:
        """Return the shares of one question by the survey's own estimator."""
        table = self.to_arrow()
        own = pc.equal(table["estimator"], self.content["estimator"])
        return table.filter(pc.and_(own, pc.equal(table["question"], name)))


def result_table(result: Mapping[str, Any]) -> str:
    """Return the numbers of a result as CSV (RFC 4180), one a row, safe to open in a spreadsheet.

    ``estimator`` is ``respondent``, ``ivw``, ``eb``, ``likeliest``, ``reported`` (masks and all),
    ``level`` (people at one level), ``label`` (an inferred label with its probability) or
    ``strength`` (of an item of pairwise questions). Sums of two parties have neither ``likeliest``
    nor ``reported``. A row of option ``(mean)`` holds a mean.
    ``value`` is the unbiased estimate, to compute with; ``shown`` is the one that people read, and
    is empty where there is no other.

    Examples
    --------
    >>> from masquerade.results import Codebook, SurveyReports, survey_result
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.survey import Survey
    >>> asked = (Choice("ill", "Have you worked while ill?", ("Yes", "No")),)
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("medium",))
    >>> book = Codebook("0123456789abcdef", survey, survey.content_hash())
    >>> people = [f"p{n}" for n in range(40)]
    >>> sent = [[n % 2] for n in range(40)]
    >>> reports = SurveyReports.from_rows(book, people, ["medium"] * 40, sent)
    >>> result_table(survey_result(reports)).split(",")[:4]
    ['survey', 'question', 'option', 'estimator']
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in _rows(result, safe):
        writer.writerow([result["survey"], *row])
    return out.getvalue()


def safe(text: str) -> str:
    """Keep a spreadsheet from reading a text as a formula: put an apostrophe before it."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _rows(result: Mapping[str, Any], text: Callable[[str], str]) -> Iterator[list[Any]]:
    # Sums of two parties hold no masked report, and so neither of these.
    more = (
        (("likeliest", "likeliest_share"), ("reported", "reported_share"))
        if result.get("trust") != TWO_PARTIES
        else ()
    )
    for question in result["questions"]:
        name, n = text(question["id"]), question["n"]
        for option in question["options"]:
            label = text(option["label"])
            for estimator, found in option["estimators"].items():
                yield [name, label, estimator, EVERYBODY, *_numbers(found, "value", n)]
            for estimator, key in more:
                yield [name, label, estimator, EVERYBODY, *_alone(option[key], n)]
        if question["mean"] is not None:
            for estimator, found in question["mean"]["estimators"].items():
                yield [name, MEAN, estimator, EVERYBODY, *_numbers(found, "value", n)]
        for part in question["by_level"]:
            for option in part["options"]:
                numbers = _numbers(option, "value", part["n"])
                yield [name, text(option["label"]), "level", part["level"], *numbers]
            if part["mean"] is not None:
                numbers = _numbers(part["mean"], "value", part["n"])
                yield [name, MEAN, "level", part["level"], *numbers]
    for row in result["labels"]:
        numbers = _alone(row["probability"], result["responses"])
        yield [text(row["id"]), text(row["label"] or ""), "label", EVERYBODY, *numbers]
    for row in result["ranking"]:
        numbers = _numbers(row, "strength", result["responses"])
        yield ["", text(row["item"]), "strength", EVERYBODY, *numbers]


def _numbers(found: Mapping[str, Any], value: str, n: int) -> list[Any]:
    parts = ("sampling_error", "mechanism_error", "level_error")
    ends = (found["standard_error"], found["low"], found["high"])
    return [found[value], *ends, n, *(found.get(part) for part in parts), found.get("shown")]


def _alone(value: Any, n: int) -> list[Any]:
    return [value, None, None, None, n, None, None, None, None]
