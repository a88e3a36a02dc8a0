"""The numbers of a survey's result as a table, one estimate a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator

import pyarrow as pa

from masquerade.results.columns import COLUMNS, NAMES, Cell, numbers
from masquerade.results.question_figures import Figure
from masquerade.results.typed_result import SurveyResult
from masquerade.surveys.characters import safe

MEAN = "(mean)"
EVERYBODY = "all"
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
    own = result.estimator
    for question in result.questions:
        name, n = text(question.id), question.n
        for option in question.options:
            label = text(option.label)
            yield [name, label, own, EVERYBODY, *numbers(option.share, n)]
            if option.of_answered is not None:
                yield [name, label, ANSWERED, EVERYBODY, *numbers(option.of_answered, n)]
            if not result.split:  # sums of two parties hold no masked report
                yield [name, label, "reported", EVERYBODY, *_alone(option.reported_share, n)]
        if question.mean is not None:
            yield [name, MEAN, own, EVERYBODY, *numbers(question.mean.mean, n)]
        for rank in question.ranks or ():
            yield [name, text(rank.item), "mean-rank", EVERYBODY, *numbers(rank.mean, n)]
            chance = _alone(rank.first_choice, n)
            kind = "model-first" if rank.by_model else "first-choice"
            yield [name, text(rank.item), kind, EVERYBODY, *chance]
            if rank.strength is not None:
                strength = numbers(rank.strength, n)
                yield [name, text(rank.item), "model-strength", EVERYBODY, *strength]
        for part in question.by_level:
            for here in part.options:
                yield [name, text(here.label), "level", part.level, *numbers(here.share, part.n)]
            if part.mean is not None:
                yield [name, MEAN, "level", part.level, *numbers(part.mean, part.n)]
    for row in result.labels:
        chance = _alone(row.probability, result.responses)
        yield [text(row.id), text(row.label), "label", EVERYBODY, *chance]
    for item in result.ranking:
        ends = (item.low, item.high, item.standard_error)
        figure = Figure(item.strength, None, *ends, None, None)
        yield ["", text(item.item), "strength", EVERYBODY, *numbers(figure, result.responses)]
    for board in result.leaderboards or ():
        for line in board.items:
            interval = (line.low, line.high, line.standard_error)
            figure = Figure(line.strength, None, *interval, None, None)
            yield [
                text(board.question),
                text(line.item),
                "strength",
                EVERYBODY,
                *numbers(figure, board.votes),
            ]


def _alone(value: float | None, n: int) -> list[Cell]:
    return numbers(Figure(value, None, None, None, None, None, None), n)
