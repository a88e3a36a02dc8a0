"""Known truths of some tasks, for scoring."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masquerade.answers.claims import Claims
from masquerade.answers.frames import Frame, read_table, to_arrow
from masquerade.errors import DuplicateClaim, EmptyTable, MissingValue, SchemaError


@dataclass(frozen=True, slots=True, eq=False)
class Truths:
    """Known truths: a table with columns ``task`` and ``truth``.

    Attributes
    ----------
    table : pyarrow.Table
        One row a task.
    """

    table: pa.Table

    @classmethod
    def from_frame(cls, frame: Frame) -> Truths:
        """Check a table with columns ``task`` and ``truth``.

        Raises
        ------
        SchemaError, EmptyTable, MissingValue, DuplicateClaim
            Each names the row and the value.
        """
        table = to_arrow(frame)
        for name in ("task", "truth"):
            if name not in table.column_names:
                raise SchemaError(
                    f"column {name!r} is missing; the table of truths has {table.column_names}."
                )
        table = table.select(["task", "truth"])
        if table.num_rows == 0:
            raise EmptyTable("the table of truths has no rows.")
        for name in ("task", "truth"):
            row = pc.index(pc.is_null(table[name], nan_is_null=True), True).as_py()
            if row >= 0:
                raise MissingValue(
                    f"column {name!r}, row {row + 1}: missing; remove the row of the truths."
                )
        codes = table["task"].combine_chunks().dictionary_encode().indices.to_numpy()
        _, first = np.unique(codes, return_index=True)
        if len(first) < len(codes):
            row = int(np.setdiff1d(np.arange(len(codes)), first)[0])
            raise DuplicateClaim(
                f"row {row + 1}: task {table['task'][row].as_py()!r} has a truth already; keep one."
            )
        return cls(table)

    @classmethod
    def read(cls, path: str | Path) -> Truths:
        """Read truths from CSV (also .gz) or Parquet."""
        return cls.from_frame(read_table(path))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def codes(self, claims: Claims) -> NDArray[np.int32]:
        """Return each task's true option as a code, shape (n_tasks,); -1 where unknown.

        A truth that is none of the options gets the code ``-2``: it is known, and no option is
        right.
        """
        values = self._aligned(claims)
        known = pc.is_valid(values).to_numpy(zero_copy_only=False)
        assert claims.options is not None
        codes = pc.index_in(_as_type(values, claims.options.type), value_set=claims.options)
        out: NDArray[np.int32] = codes.fill_null(-2).to_numpy().astype(np.int32)
        out[~known] = -1
        return out

    def numbers(self, claims: Claims) -> NDArray[np.float64]:
        """Return each task's true value, shape (n_tasks,); NaN where unknown."""
        values = self._aligned(claims)
        try:
            return np.asarray(
                values.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64
            )
        except pa.ArrowInvalid as error:
            raise SchemaError(f"column 'truth' must hold numbers for numeric claims: {error}") from (
                error
            )

    def _aligned(self, claims: Claims) -> pa.Array:
        mine = _as_type(self.table["task"].combine_chunks(), claims.tasks.type)
        where = pc.index_in(claims.tasks, value_set=mine)
        return self.table["truth"].combine_chunks().take(where)


def _as_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if values.type == kind:
        return values
    try:
        return values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        texts: list[Any] = [None if v is None else str(v) for v in values.to_pylist()]
        return pa.array(texts).cast(kind, safe=False) if kind == pa.string() else values
