"""Tables of the answers to two questions together, through the masks of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from masquerade.answers.result import UNPUBLISHED, Result
from masquerade.errors import EmptyTable, ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.mechanisms import BitwiseResponse, CategoricalMechanism, RandomizedResponse
from masquerade.results.reports import SurveyReports
from masquerade.surveys.codebook import labels_of
from masquerade.truth import Estimate, shown_shares
from masquerade.truth.channel_view import SymbolChannel

#: Reports in a cell of a cross-table below which the cell is not shown.
FEWEST_IN_CELL = 20

_CONFIDENCE = 0.95


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
    share, error : float array, shape (n_rows, n_columns)
        Estimated share of people who hold each pair of answers, and its standard error.

    Examples
    --------
    >>> from masquerade.results import Codebook, SurveyReports, cross_table
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.survey import Survey
    >>> ill, told = (Choice(name, f"{name}?", ("Yes", "No")) for name in ("ill", "told"))
    >>> asked = (ill, told)
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("low",))
    >>> book = Codebook("0123456789abcdef", survey, survey.content_hash())
    >>> rows = [[n % 2, n % 3 % 2] for n in range(40)]
    >>> reports = SurveyReports.from_rows(book, [f"p{n}" for n in range(40)], ["low"] * 40, rows)
    >>> table = cross_table(reports, "ill", "told")
    >>> table.rows, table.columns, table.n
    (['Yes', 'No'], ['Yes', 'No'], 40)
    """

    first: str
    second: str
    rows: list[str]
    columns: list[str]
    n: int
    # Cells of few reports are in nothing that is written.
    reported: Integers = field(metadata=UNPUBLISHED)
    share: Floats = field(metadata=UNPUBLISHED)
    error: Floats = field(metadata=UNPUBLISHED)

    def to_arrow(self) -> pa.Table:
        """Return a row for each pair of answers: both, its share with its interval, the reports.

        The numbers of cells with fewer than 20 reports are null.
        """
        nothing: dict[str, Any] = dict.fromkeys(("value", "low", "high", "reports"))
        cells = self.to_json()["cells"]
        return pa.Table.from_pylist(
            [
                {"row": name, "column": other} | {key: (cell or nothing)[key] for key in nothing}
                for name, line in zip(self.rows, cells, strict=True)
                for other, cell in zip(self.columns, line, strict=True)
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """Return the table as a JSON object; cells with fewer than 20 reports are null."""
        reach = float(ndtri(0.5 + _CONFIDENCE / 2))
        # Over all cells, before any is withheld: shown shares sum to 1.
        estimates = shown_shares(
            [
                Estimate.bounded(
                    value,
                    below=reach * error,
                    above=reach * error,
                    # Only the sum of both sources is known, and only it is given out.
                    sampling=0.0,
                    mechanism=error**2,
                    low=0.0,
                    high=1.0,
                )
                for value, error in zip(
                    self.share.ravel().tolist(), self.error.ravel().tolist(), strict=True
                )
            ]
        )
        cells = []
        for row in range(len(self.rows)):
            shown: list[dict[str, Any] | None] = []
            for column in range(len(self.columns)):
                found = estimates[row * len(self.columns) + column]
                if self.reported[row, column] < FEWEST_IN_CELL:
                    shown.append(None)
                    continue
                shown.append(
                    {
                        "value": found.value,
                        "shown": found.shown,
                        "low": found.low,
                        "high": found.high,
                        "standard_error": found.standard_error,
                        "reports": int(self.reported[row, column]),
                    }
                )
            cells.append(shown)
        return {
            "first": self.first,
            "second": self.second,
            "rows": self.rows,
            "columns": self.columns,
            "n": self.n,
            "confidence": _CONFIDENCE,
            "fewest_in_cell": FEWEST_IN_CELL,
            "cells": cells,
        }


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
    >>> from masquerade.results import Codebook, SurveyReports
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.survey import Survey
    >>> ill, told = (Choice(name, f"{name}?", ("Yes", "No")) for name in ("ill", "told"))
    >>> asked = (ill, told)
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("low",))
    >>> book = Codebook("0123456789abcdef", survey, survey.content_hash())
    >>> rows = [[n % 2, n % 3 % 2] for n in range(40)]
    >>> reports = SurveyReports.from_rows(book, [f"p{n}" for n in range(40)], ["low"] * 40, rows)
    >>> cross_table(reports, "ill", "told").reported.tolist()
    [[14, 6], [13, 7]]
    """
    codebook = reports.codebook
    place = {question.id: i for i, question in enumerate(codebook.questions)}
    for name in (first, second):
        if name not in place:
            raise ParameterError(f"question {name!r} is none of the survey's: {', '.join(place)}.")
    if first == second:
        raise ParameterError(f"question {first!r} is crossed with itself; name two.")
    if not len(reports):
        raise EmptyTable("there are no reports; a table needs at least one.")
    a, b = place[first], place[second]
    n = len(reports)
    share: Floats | float = 0.0
    variance: Floats | float = 0.0
    reported: Integers | int = 0
    for name, count in reports.counts().items():
        masks = codebook.levels[name][a], codebook.levels[name][b]
        if not count:
            continue
        x, y = (symbol_channel(mask, name) for mask in masks)
        sent = reports.at_level(name)
        # seen[x, y]: people by their pair of reports
        seen = np.bincount(
            sent[:, a] * y.symbols + sent[:, b], minlength=x.symbols * y.symbols
        ).reshape(x.symbols, y.symbols)
        left, right = (
            (np.eye(channel.symbols) - channel.other) / channel.signal for channel in (x, y)
        )
        # part[x, y]: shares of the pairs of reports at this level
        part = seen / count
        # Both masks are independent, so a pair's contribution is the product of both inverses; its
        # mean is unbiased for the share, its second moment gives the variance.
        mean = left @ part @ right.T
        square = left**2 @ part @ (right**2).T
        # Everybody counts once: levels by their share of the people.
        share = share + mean * (count / n)
        variance = variance + np.maximum(square - mean**2, 0.0) / count * (count / n) ** 2
        reported = reported + seen
    return CrossTable(
        first,
        second,
        labels_of(codebook.questions[a]),
        labels_of(codebook.questions[b]),
        n,
        np.asarray(reported),
        np.asarray(share),
        np.sqrt(variance),
    )


def symbol_channel(mechanism: Any, level: str) -> SymbolChannel:
    """Return the channel of a mask of categories that are masked one by one; refuse any other."""
    if not isinstance(mechanism, RandomizedResponse):
        what = (
            "masks all answers of a person with one flip probability"
            if isinstance(mechanism, CategoricalMechanism)
            else "masks several answers"
            if isinstance(mechanism, BitwiseResponse)
            else "masks numbers"
        )
        raise ParameterError(
            f"{mechanism} at level {level!r} {what}; a cross-table needs categories that are "
            "masked one by one."
        )
    return SymbolChannel.of(mechanism)
