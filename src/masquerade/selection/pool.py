"""The pool of eligible people, from tables and files: prices, and the noise of each report."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.answers import Frame, to_arrow
from masquerade.answers.frames import read_table
from masquerade.answers.result import Result
from masquerade.errors import ParameterError, SchemaError
from masquerade.exact.arrays import Flags, Floats
from masquerade.exact.number import in_range
from masquerade.mechanisms import LEVELS, level_named
from masquerade.mechanisms.privacy_level import CLEAR

LEAST_SCORE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Pool(Result):
    """Eligible and willing people.

    Parameters
    ----------
    people : sequence of str
        Names, each once.
    cost : float array, shape (n,)
        What each is paid, at least 0.
    noise_variance : float array, shape (n,)
        What each one's mask adds, in squared widths of the question's range.
    level : sequence of str, optional
        Privacy level of each; for quotas and strata.
    privacy_share : float array, shape (n,), optional
        Largest share, over a person's ledger accounts, that the survey takes of what is left.
        Above 1: the person cannot be asked.
    bias_variance : float array, shape (n,), optional
        What is not known of each one's bias (`History.biases`); default 0.
    within : float
        Variance of answers around the crowd's, in squared widths.

    Examples
    --------
    >>> pool = Pool(["ann", "bob", "cem"], cost=[1.0, 2.0, 1.0], noise_variance=[0.0, 0.5, 2.0])
    >>> pool.precision.round(2).tolist()
    [16.0, 1.78, 0.48]
    """

    people: tuple[str, ...]
    cost: Floats
    noise_variance: Floats
    level: tuple[str, ...]
    privacy_share: Floats
    bias_variance: Floats
    within: float

    def __init__(
        self,
        people: Sequence[str],
        cost: Sequence[float] | Floats,
        noise_variance: Sequence[float] | Floats,
        *,
        level: Sequence[str] | None = None,
        privacy_share: Sequence[float] | Floats | None = None,
        bias_variance: Sequence[float] | Floats | None = None,
        within: float = 0.0625,
    ) -> None:
        size = len(people)
        for row, person in enumerate(people, start=1):
            if not isinstance(person, str):
                raise ParameterError(f"row {row}: {person!r} is no text; name people by texts.")
        columns = {
            "cost": cost,
            "noise_variance": noise_variance,
            "privacy_share": np.zeros(size) if privacy_share is None else privacy_share,
            "bias_variance": np.zeros(size) if bias_variance is None else bias_variance,
        }
        object.__setattr__(self, "people", tuple(people))
        object.__setattr__(self, "level", ("",) * size if level is None else tuple(level))
        for name, values in columns.items():
            object.__setattr__(self, name, _column(name, values, size, self.people))
        if len(set(self.people)) < size:
            seen = Counter(self.people)
            twice = next(person for person in self.people if seen[person] > 1)
            raise ParameterError(f"{twice!r} stands {seen[twice]} times; give each person once.")
        if len(self.level) != size:
            raise ParameterError(f"{size} people have {len(self.level)} levels; give one each.")
        in_range(within, "within", above=0, below=math.inf)
        object.__setattr__(self, "within", float(within))

    def __len__(self) -> int:
        return len(self.people)

    @property
    def admissible(self) -> Flags:
        """Flags of the people with room in their ledgers for the survey."""
        flags: Flags = self.privacy_share <= 1
        return flags

    @property
    def precision(self) -> Floats:
        """Worth of each person's report: 1 / (within + bias variance + noise variance)."""
        return np.asarray(1 / (self.within + self.bias_variance + self.noise_variance))

    def score(self, *, budget: float, alpha: float) -> Floats:
        """Return the score of each person: cost in money and in privacy, at least 1e-9.

        ``(1 - alpha) cost / budget + alpha privacy share``; Kandappu et al. (2014), eq. (7), with
        the budget that was given at the start, and the larger of a person's ledger shares.
        """
        in_range(alpha, "alpha", low=0, high=1)
        score = (1 - alpha) * self.cost / budget
        if alpha:  # a share may be infinite
            score = score + alpha * self.privacy_share
        return np.asarray(np.maximum(score, LEAST_SCORE))

    def digest(self) -> str:
        """Return the SHA-256 of everything a selection looks at."""
        text = "\n".join((*self.people, "", *self.level))
        parts = (self.cost, self.noise_variance, self.privacy_share, self.bias_variance)
        found = hashlib.sha256(text.encode())
        for part in parts:
            # The bytes of the floats: a text form might round.
            found.update(np.ascontiguousarray(part).tobytes())
        found.update(np.float64(self.within).tobytes())
        return found.hexdigest()


def _column(
    name: str, values: Sequence[float] | Floats, size: int, people: tuple[str, ...]
) -> Floats:
    column = np.asarray(values, dtype=np.float64)
    if column.shape != (size,):
        raise ParameterError(f"{name} has shape {column.shape}, expected one for {size} people.")
    bad = np.flatnonzero(~np.isfinite(column) | (column < 0))
    if name == "privacy_share":  # infinite: nothing is left
        bad = np.flatnonzero(np.isnan(column) | (column < 0))
    if bad.size:
        row = int(bad[0])
        raise ParameterError(
            f"row {row + 1} ({people[row]}): {name} is {column[row]}, expected a number of at "
            "least 0."
        )
    return column


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
    values = _read_column(table, name, path)
    for row, value in enumerate(values, start=1):
        if value is None:
            raise ParameterError(f"row {row}: {name} is missing in {path}.")
    return [str(value) for value in values]


def _numbers(table: pa.Table, name: str, path: str) -> Floats:
    numbers = np.empty(table.num_rows)
    for row, value in enumerate(_read_column(table, name, path)):
        try:
            numbers[row] = math.nan if value is None else float(value)
        except (TypeError, ValueError):
            numbers[row] = math.nan
        if math.isnan(numbers[row]):
            raise ParameterError(f"row {row + 1}: {name} is {value!r}, expected a number ({path}).")
    return numbers


def _read_column(table: pa.Table, name: str, path: str) -> list[Any]:
    if name not in table.column_names:
        raise SchemaError(
            f"{path} has no column {name!r}; it has {', '.join(table.column_names) or 'none'}."
        )
    column: list[Any] = table.column(name).to_pylist()
    return column
