"""The numbers of a survey's result as a table, one estimate a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from masquerade.results.columns import COLUMNS, NAMES, Cell, Line, numbers
from masquerade.results.question_figures import Figure, QuestionResult
from masquerade.results.typed_result import SurveyResult
from masquerade.surveys.characters import safe

MEAN = "(mean)"
QUARTILES = {0.25: "(first quartile)", 0.5: "(median)", 0.75: "(third quartile)"}
ANSWERED = "answered"  # of those who answered, where some may not have


def arrow_table(result: SurveyResult) -> pa.Table:
    """Return the rows of `result_table` as an Arrow table."""
    rows = [[result.survey, *row] for row in _rows(result, str)]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(COLUMNS)
    arrays = {
        column.name: pa.array(cells, pa.string() if column in NAMES else pa.float64())
        for column, cells in zip(COLUMNS, columns, strict=True)
    }
    return pa.table(arrays)


def result_table(result: SurveyResult) -> str:
    """Return the numbers of a result as CSV (RFC 4180), one a row, safe to open in a spreadsheet.

    The columns are those of `masquerade.results.columns`, which says what each holds.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> result_table(result).split(",")[:4]
    ['survey', 'question', 'option', 'estimator']
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(column.name for column in COLUMNS)
    for row in _rows(result, safe):
        writer.writerow([result.survey, *row])
    return out.getvalue()


def _rows(result: SurveyResult, text: Callable[[str], str]) -> Iterator[list[Cell]]:
    for line in _lines(result):
        names = (line.question, line.option, line.estimator, line.level)
        yield [*(text(name) if name else "" for name in names), *numbers(line)]


def _lines(result: SurveyResult) -> Iterator[Line]:
    """Yield the figures of a result in the order of its questions, then those of the whole."""
    for question in result.questions:
        yield from _shares(result, question)
        yield from _numbers(result, question)
        for part in question.by_level:
            for here in part.options:
                yield Line(question.id, here.label, "level", here.share, part.n, part.level)
            if part.mean is not None:
                yield Line(question.id, MEAN, "level", part.mean, part.n, part.level)
        yield from _tests(question)
    for table in result.cross_tables or ():
        name = " × ".join(table.questions)
        for cell in table.cells:
            yield Line(name, cell.label, "cell", cell.share, result.responses)
    for row in result.labels:
        yield Line(row.id, row.label, "label", _alone(row.probability), result.responses)
    for item in result.ranking:
        figure = _within(item.strength, item.low, item.high, item.standard_error)
        yield Line("", item.item, "strength", figure, result.responses)
    for board in result.leaderboards or ():
        for line in board.items:
            figure = _within(line.strength, line.low, line.high, line.standard_error)
            ranks = _within(None, float(line.rank_low), float(line.rank_high), None)
            named = {"strength": figure, "rating": _alone(line.rating), "rank": ranks}
            for name, each in named.items():
                yield Line(board.question, line.item, name, each, board.votes)


def _shares(result: SurveyResult, question: QuestionResult) -> Iterator[Line]:
    for option in question.options:
        together = option.simultaneous_low, option.simultaneous_high
        whole = Line(question.id, option.label, result.estimator, option.share, question.n)
        yield replace(whole, together=together, known=option.known_share)
        if option.of_answered is not None:
            yield replace(whole, estimator=ANSWERED, figure=option.of_answered)
        if not result.split:  # sums of two parties hold no masked report
            yield replace(whole, estimator="reported", figure=_alone(option.reported_share))


def _numbers(result: SurveyResult, question: QuestionResult) -> Iterator[Line]:
    name, n = question.id, question.n
    if question.mean is not None:
        mean = Line(name, MEAN, result.estimator, question.mean.mean, n)
        yield replace(mean, known=question.mean.known_mean)
    for quartile in question.quartiles or ():
        figure = _within(quartile.value, quartile.low, quartile.high, None)
        yield Line(name, QUARTILES[quartile.share], "quartile", figure, n)
    for rank in question.ranks or ():
        yield Line(name, rank.item, "mean-rank", rank.mean, n)
        kind = "model-first" if rank.by_model else "first-choice"
        yield Line(name, rank.item, kind, _alone(rank.first_choice), n)
        if rank.strength is not None:
            yield Line(name, rank.item, "model-strength", rank.strength, n)


def _tests(question: QuestionResult) -> Iterator[Line]:
    tests = {"(levels alike)": question.heterogeneity, "(honest reports)": question.plausibility}
    for name, test in tests.items():
        if test is not None and test.probability is not None:
            yield Line(question.id, name, "test", _alone(test.probability), question.n)


def _within(
    value: float | None, low: float | None, high: float | None, error: float | None
) -> Figure:
    return Figure(value, None, low, high, error, None, None)


def _alone(value: float | None) -> Figure:
    return _within(value, None, None, None)
