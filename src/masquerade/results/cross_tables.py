"""Tables of the answers to two questions together, through the masks of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.answers.result import UNPUBLISHED, Result
from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation import Crowd, Estimate, Table, Test, independence, shown_shares
from masquerade.estimation.figures import CONFIDENCE
from masquerade.exact.arrays import Integers
from masquerade.mechanisms import CategoricalMechanism
from masquerade.mechanisms.device_mechanism import DeviceMechanism
from masquerade.results.json_form import JsonValue
from masquerade.results.question_figures import Figure
from masquerade.results.question_reports import BOUNDS
from masquerade.results.reports import SurveyReports

#: Reports in a cell of a cross-table below which the cell is not shown.
FEWEST_IN_CELL = 20


@dataclass(frozen=True, eq=False)
class CrossTable(Result):
    """Shares of people by their answers to two questions.

    Attributes
    ----------
    first, second : str
        Ids of the questions.
    rows, columns : list of str
        What can be answered to each.
    reported : int array, shape (n_rows, n_columns)
        How many people sent each pair of reports, at all levels.
    independence : Test
        Of whether the answers to both questions have nothing to do with each other.
    estimates : tuple of Estimate
        Share of people who hold each pair of answers, row by row.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> table = cross_table(reports, "ill", "night")
    >>> table.rows, table.columns, table.n
    (['Yes', 'No'], ['Yes', 'No'], 900)
    """

    first: str
    second: str
    rows: list[str]
    columns: list[str]
    n: int
    independence: Test
    # Cells of few reports are in nothing that is written.
    reported: Integers = field(metadata=UNPUBLISHED)
    estimates: tuple[Estimate, ...] = field(metadata=UNPUBLISHED)

    def cell(self, row: int, column: int) -> TableCell | None:
        """Return a cell; None where fewer than 20 people report it."""
        reports = int(self.reported[row, column])
        if reports < FEWEST_IN_CELL:
            return None
        figure = Figure.of(self.estimates[row * len(self.columns) + column], self.n)
        ends = (figure.low, figure.high, figure.standard_error)
        return TableCell(figure.value, figure.shown, *ends, reports)

    def to_arrow(self) -> pa.Table:
        """Return a row for each pair of answers: both, its share with its interval, the reports.

        The numbers of cells with fewer than 20 reports are null.
        """
        names = ("value", "low", "high", "reports")
        return pa.Table.from_pylist(
            [
                {"row": name, "column": other}
                | {key: getattr(self.cell(row, column), key, None) for key in names}
                for row, name in enumerate(self.rows)
                for column, other in enumerate(self.columns)
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """Return the table as a JSON object; cells with fewer than 20 reports are null."""
        cells = [
            [self.cell(row, column) for column in range(len(self.columns))]
            for row in range(len(self.rows))
        ]
        return {
            "first": self.first,
            "second": self.second,
            "rows": self.rows,
            "columns": self.columns,
            "n": self.n,
            "confidence": CONFIDENCE,
            "independence": self.independence.to_dict(),
            "fewest_in_cell": FEWEST_IN_CELL,
            "cells": [[cell and cell.to_json() for cell in line] for line in cells],
        }


@dataclass(frozen=True, slots=True)
class TableCell(JsonValue):
    """The share of people behind a pair of answers, and how many report it."""

    value: float | None
    shown: float | None
    low: float | None
    high: float | None
    standard_error: float | None
    reports: int


def cross_table(reports: SurveyReports, first: str, second: str) -> CrossTable:
    """Return the shares of people by their answers to two questions of categories.

    Each person's two reports go through two independent masks, so the table of reports is undone by
    both, at each level by itself; everybody counts once. What masks add is multiplied: a table
    needs far more people than its margins.

    Parameters
    ----------
    reports : SurveyReports
    first, second : str
        Ids of two different questions.

    Raises
    ------
    EmptyTable
        Nobody answered.
    ParameterError
        There is no such question, both are the same, or answers are not masked one by one.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> cross_table(reports, "ill", "night").reported.tolist()
    [[300, 300], [150, 150]]
    """
    codebook = reports.codebook
    place = {question.id: i for i, question in enumerate(codebook.questions)}
    for name in (first, second):
        if name not in place:
            raise ParameterError(f"question {name!r} is none of the survey's: {', '.join(place)}.")
    if first == second:
        raise ParameterError(f"question {first!r} is crossed with itself; name two.")
    reports = reports.asked_of(first, second)
    if not len(reports):
        raise EmptyTable("there are no reports; a table needs at least one.")
    a, b = place[first], place[second]
    crowd = table_crowd(reports, a, b)
    tables = [group for group in crowd.groups if isinstance(group, Table)]
    return CrossTable(
        first,
        second,
        codebook.questions[a].codes,
        codebook.questions[b].codes,
        len(reports),
        independence([table.count for table in tables]),
        np.asarray(sum(table.count for table in tables)).astype(np.int64),
        shown_shares(crowd.shares().estimates(CONFIDENCE)),
    )


def table_crowd(reports: SurveyReports, first: int, second: int) -> Crowd:
    """Return the people by their reports to two questions, a table for each level.

    Raises `ParameterError` where answers are not masked one by one.
    """
    ids = [one.id for one in reports.codebook.questions]
    reports = reports.asked_of(ids[first], ids[second])
    codebook, counts = reports.codebook, reports.counts()
    names = [name for name, n in counts.items() if n]
    groups = []
    for name in names:
        masks = [codebook.levels[name][place] for place in (first, second)]
        x, y = (_one_by_one(mask, name) for mask in masks)
        sent, people = reports.counted(name, first, second)
        pair = sent[:, 0] * y.symbols + sent[:, 1]
        seen = np.bincount(pair, weights=people, minlength=x.symbols * y.symbols)
        groups.append(Table.of(seen.reshape(x.symbols, y.symbols), x, y))
    pool = None if codebook.pool is None else [float(codebook.pool[name]) for name in names]
    return Crowd.of(groups, pool=pool, bound=BOUNDS[codebook.survey.estimator])


def _one_by_one(mechanism: DeviceMechanism, level: str) -> CategoricalMechanism:
    """Return a mask of categories that are masked one by one; refuse any other."""
    if (response := mechanism.separate_response) is not None:
        return response
    raise ParameterError(
        f"{mechanism} at level {level!r} masks no single answer by itself; two questions together "
        "need categories that are masked one by one."
    )
