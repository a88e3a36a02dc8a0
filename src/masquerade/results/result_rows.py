"""The numbers of a survey's result as a table, one estimate a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator

import pyarrow as pa

from masquerade.results.question_figures import Figure
from masquerade.results.typed_result import SurveyResult

Cell = str | float | None

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


def arrow_table(result: SurveyResult) -> pa.Table:
    """Return the rows of `result_table` as an Arrow table."""
    rows = [[result.survey, *row] for row in _rows(result, str)]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(COLUMNS)
    names = ("survey", "question", "option", "estimator", "level")
    types = [pa.string() if name in names else pa.float64() for name in COLUMNS]
    arrays = [pa.array(c, kind) for c, kind in zip(columns, types, strict=True)]
    return pa.table(dict(zip(COLUMNS, arrays, strict=True)))


def result_table(result: SurveyResult) -> str:
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
        writer.writerow([result.survey, *row])
    return out.getvalue()


def safe(text: str) -> str:
    """Keep a spreadsheet from reading a text as a formula: put an apostrophe before it."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _rows(result: SurveyResult, text: Callable[[str], str]) -> Iterator[list[Cell]]:
    for question in result.questions:
        name, n = text(question.id), question.n
        for option in question.options:
            label = text(option.label)
            for estimator, figure in option.estimators.items():
                yield [name, label, estimator, EVERYBODY, *_numbers(figure, n)]
            if not result.split:  # sums of two parties hold no masked report
                for estimator, share in (
                    ("likeliest", option.likeliest_share),
                    ("reported", option.reported_share),
                ):
                    yield [name, label, estimator, EVERYBODY, *_alone(share, n)]
        if question.mean is not None:
            for estimator, figure in question.mean.estimators.items():
                yield [name, MEAN, estimator, EVERYBODY, *_numbers(figure, n)]
        for part in question.by_level:
            for here in part.options:
                yield [name, text(here.label), "level", part.level, *_numbers(here.share, part.n)]
            if part.mean is not None:
                yield [name, MEAN, "level", part.level, *_numbers(part.mean, part.n)]
    for row in result.labels:
        numbers = _alone(row.probability, result.responses)
        yield [text(row.id), text(row.label or ""), "label", EVERYBODY, *numbers]
    for item in result.ranking:
        ends = (item.strength, item.standard_error, item.low, item.high)
        rest = (None, None, None, None)
        numbers = [*ends, result.responses, *rest]
        yield ["", text(item.item), "strength", EVERYBODY, *numbers]


def _numbers(figure: Figure, n: int) -> list[Cell]:
    ends = (figure.value, figure.standard_error, figure.low, figure.high)
    parts = (figure.sampling_error, figure.mechanism_error, figure.level_error)
    return [*ends, n, *parts, figure.shown]


def _alone(value: float | None, n: int) -> list[Cell]:
    return [value, None, None, None, n, None, None, None, None]
