"""Variables of a regression, read from a table by a formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from masquerade.analysis.formula import Encoder, Formula
from masquerade.analysis.variables import (
    ClearColumns,
    Variable,
    is_number,
    missing_rows,
    numbers_of,
    read_clear,
    read_masked,
    require_all,
)
from masquerade.answers.frames import missing_column, plain_column
from masquerade.errors import EmptyTable, InputError
from masquerade.exact.arrays import Codes, Flags, Floats
from masquerade.exact.number import in_range, one_of
from masquerade.mechanisms import Mechanism

MISSING = ("error", "drop", "keep")

#: A mechanism or its text form; or one for each value of the column of levels.
Masks = str | Mechanism | Mapping[Any, str | Mechanism | None]


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How a regression is fitted.

    Attributes
    ----------
    penalty : float
        Persons put on every coefficient: half a person, or 0 for plain maximum likelihood.
    confidence : float
        Of intervals.
    cells : {"columns", "independent"}
        Whether the shares of answers to masked predictors depend on the clear columns. With
        "independent" the coefficients of columns that go along with them are biased.
    missing : {"error", "drop", "keep"}
        What a row without a value does; "keep" counts a missing report as unknown.
    levels : str, optional
        The column that tells which of several masks each person's report went through.
    intervals : bool
        Whether intervals and tests are computed; without them a fit is several times quicker.

    Examples
    --------
    >>> FitOptions(penalty=0).confidence
    0.95
    """

    penalty: float = 0.5
    confidence: float = 0.95
    cells: Literal["columns", "independent"] = "columns"
    missing: Literal["error", "drop", "keep"] = "error"
    levels: str | None = None
    intervals: bool = True

    def __post_init__(self) -> None:
        in_range(self.penalty, "penalty", low=0, high=10)
        in_range(self.confidence, "confidence", above=0, below=1)
        one_of(self.cells, "cells", ("columns", "independent"))
        one_of(self.missing, "missing", MISSING)


@dataclass(frozen=True)
class Design:
    """Variables of a regression, people in rows.

    Attributes
    ----------
    outcome : Variable
    masked : tuple of Variable
    clear : ClearColumns
    weight : float array, shape (people,), or None
    cluster : int array, shape (people,), or None
    formula : str
    encoder : callable, optional
        Encodes clear columns of another table.
    """

    outcome: Variable
    masked: tuple[Variable, ...]
    clear: ClearColumns
    weight: Floats | None = None
    cluster: Codes | None = None
    formula: str = ""
    encoder: Encoder | None = field(default=None, repr=False)

    @property
    def people(self) -> int:
        """Number of rows."""
        return len(self.outcome.seen.code)


def read_design(
    table: pa.Table,
    text: str,
    mechanisms: Mapping[str, Masks],
    options: Mapping[str, Sequence[Any]],
    fitting: FitOptions,
    model: str,
    people: tuple[str | None, str | None],
) -> Design:
    """Return the variables of a formula as a table has them."""
    if not len(table):
        raise EmptyTable("the table has no rows; a regression needs people.")
    for name in mechanisms:
        if name not in table.column_names:
            raise missing_column(name, list(table.column_names))
    formula = Formula.of(text, columns=table.column_names, masked=mechanisms)
    weights, clusters = people
    needed = [*formula.columns_used(table), *filter(None, people)]
    if fitting.levels is not None and any(isinstance(one, Mapping) for one in mechanisms.values()):
        needed.append(fitting.levels)
    hidden = list(formula.masked)
    (hidden if formula.outcome in mechanisms else needed).append(formula.outcome)
    table = without_missing(table, needed, hidden, fitting.missing)

    def masked(name: str) -> Variable:
        return read_masked(
            table, name, mechanisms[name], options=options.get(name), levels=fitting.levels
        )

    if formula.outcome in mechanisms:
        outcome = masked(formula.outcome)
    else:
        outcome = read_clear(
            table, formula.outcome, number=_is_number(table, formula.outcome, model)
        )
    encoder = formula.encoder(table)
    return Design(
        outcome,
        tuple(masked(name) for name in formula.masked),
        encoder(table),
        None if weights is None else _weights(table, weights),
        None if clusters is None else _clusters(table, clusters),
        text.strip(),
        encoder,
    )


def _is_number(table: pa.Table, name: str, model: str) -> bool:
    if name not in table.column_names:
        raise missing_column(name, list(table.column_names))
    if model != "auto":
        return model == "linear"
    column = plain_column(table, name)
    values = set(column.drop_null().unique().to_pylist())
    if is_number(column.type):
        return not values <= {0, 1}
    try:
        numbers = {float(one) for one in values}
    except (TypeError, ValueError):
        return False
    return not numbers <= {0.0, 1.0}


def without_missing(
    table: pa.Table, needed: Sequence[str], hidden: Sequence[str], missing: str
) -> pa.Table:
    """Return the rows that are kept: with a value in all columns `needed`, and perhaps `hidden`."""
    for name in (*needed, *hidden):
        if name not in table.column_names:
            raise missing_column(name, list(table.column_names))
    if missing == "error":
        require_all(table, [*needed, *hidden])
        return table
    gone: Flags = np.zeros(len(table), dtype=bool)
    for name in needed if missing == "keep" else (*needed, *hidden):
        gone |= missing_rows(table, name)
    if gone.all():
        raise EmptyTable("every row lacks a value in a column of the formula.")
    return table.filter(pa.array(~gone))


def _weights(table: pa.Table, name: str) -> Floats:
    values = numbers_of(plain_column(table, name), name)
    odd = np.flatnonzero(~(values > 0))
    if odd.size:
        raise InputError(
            f"column {name!r}, row {odd[0] + 1}: the weight is {values[odd[0]]:g}, expected above "
            "0; leave out people who count nothing."
        )
    return values


def _clusters(table: pa.Table, name: str) -> Codes:
    encoded = plain_column(table, name).dictionary_encode()
    if len(encoded.dictionary) < 2:
        raise InputError(f"column {name!r} has one cluster alone; errors need at least 2.")
    codes: Codes = encoded.indices.to_numpy(False).astype(np.int32)
    return codes
