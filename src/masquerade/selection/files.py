"""Pools and histories from tables and files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.answers import Frame, to_arrow
from masquerade.answers.frames import read_table
from masquerade.errors import ParameterError, SchemaError
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import LEVELS, level_named
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.selection.pool import Pool


def read_pool(
    source: str | Path | Frame, *, options: int | None = None, within: float = 0.0625
) -> Pool:
    """Return the pool of a table, or of a CSV or Parquet file; other columns are not looked at.

    Columns ``person``, ``cost`` and ``level`` (high, medium, low, or none for answers in clear) or
    ``noise_variance``; optionally ``privacy_share`` and ``bias_variance``. `options`: the survey
    asks for one of so many; default: for a number or rating. `within`: see `Pool`.

    Examples
    --------
    >>> people = {"person": ["ann", "bob"], "cost": [1.0, 2.0], "noise_variance": [0.0, 0.5]}
    >>> pool = read_pool(people)
    >>> pool.people
    ('ann', 'bob')
    """
    table, path = _table(source)
    people = _texts(table, "person", path)
    level = _texts(table, "level", path) if "level" in table.column_names else None
    if "noise_variance" in table.column_names:
        noise = _numbers(table, "noise_variance", path)
    elif level is None:
        raise SchemaError(f"{path} has neither a column level nor noise_variance; give one.")
    else:
        by_level: dict[str, float] = {}
        for row, name in enumerate(level, start=1):
            if name not in by_level:
                by_level[name] = _noise_of_level(name, options, row)
        noise = np.array([by_level[name] for name in level], dtype=np.float64)
    more: dict[str, Any] = {
        name: _numbers(table, name, path)
        for name in ("privacy_share", "bias_variance")
        if name in table.column_names
    }
    cost = _numbers(table, "cost", path)
    return Pool(people, cost, noise, level=level, within=within, **more)


def _table(source: str | Path | Frame) -> tuple[pa.Table, str]:
    """Return a table, and its name in errors."""
    if isinstance(source, str | Path):
        return read_table(source), str(source)
    return to_arrow(source), "the table"


def _noise_of_level(name: str, options: int | None, row: int) -> float:
    """Return the variance of a level's mask, in squared widths: of a number, or of all shares."""
    if name == CLEAR:
        return 0.0
    if name not in {level.name for level in LEVELS}:
        known = ", ".join(level.name for level in LEVELS)
        raise ParameterError(f"row {row}: level is {name!r}, expected one of {known}, {CLEAR}.")
    level = level_named(name)
    if options is None:
        # A level's noise has sigma = width / mu.
        return float(1 / level.mu**2)
    return level.randomized_response(options).variance()


def _texts(table: pa.Table, name: str, path: str) -> list[str]:
    values = _column(table, name, path)
    for row, value in enumerate(values, start=1):
        if value is None:
            raise ParameterError(f"row {row}: {name} is missing in {path}.")
    return [str(value) for value in values]


def _numbers(table: pa.Table, name: str, path: str) -> Floats:
    numbers = np.empty(table.num_rows)
    for row, value in enumerate(_column(table, name, path)):
        try:
            numbers[row] = math.nan if value is None else float(value)
        except (TypeError, ValueError):
            numbers[row] = math.nan
        if math.isnan(numbers[row]):
            raise ParameterError(f"row {row + 1}: {name} is {value!r}, expected a number ({path}).")
    return numbers


def _column(table: pa.Table, name: str, path: str) -> list[Any]:
    if name not in table.column_names:
        raise SchemaError(
            f"{path} has no column {name!r}; it has {', '.join(table.column_names) or 'none'}."
        )
    column: list[Any] = table.column(name).to_pylist()
    return column
