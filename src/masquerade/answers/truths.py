"""Known truths of some tasks, for scoring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers.claims import Claims
from masquerade.answers.frames import (
    Frame,
    first_missing,
    missing_column,
    own_name,
    plain_column,
    read_table,
    to_arrow,
    with_own_names,
)
from masquerade.answers.result import Result
from masquerade.errors import DuplicateClaim, EmptyTable, MissingValue, ParameterError, SchemaError
from masquerade.exact.arrays import Codes, Floats

#: What the inferred truths of a method are called in its own tables, and in its series for pandas.
_INFERRED = ("label", "value", "agg_label", "agg_value")


@dataclass(frozen=True, slots=True, eq=False)
class Truths(Result):
    """Known truths: a table with columns ``task`` and ``truth``.

    Attributes
    ----------
    table : pyarrow.Table
        One row a task.

    Examples
    --------
    >>> truths = Truths.from_frame({"task": ["a", "b"], "truth": ["cat", "dog"]})
    >>> truths.to_arrow().column_names
    ['task', 'truth']
    """

    table: pa.Table

    def to_arrow(self) -> pa.Table:
        """Return ``task`` and ``truth``."""
        return self.table

    @classmethod
    def from_frame(cls, frame: Frame) -> Truths:
        """Check a table with columns ``task`` and ``truth``.

        For ``truth`` stands ``label`` or ``value``, or ``agg_label`` or ``agg_value``, as methods
        call what they infer.

        Raises
        ------
        SchemaError, EmptyTable, MissingValue, DuplicateClaim
            Each names the row and the value. A task may stand twice with the same truth.
        """
        table = to_arrow(frame, columns=("task", "truth", *_INFERRED))
        found, own = table.column_names, {}
        # What the truth methods write can be scored as it is.
        inferred = [name for name in _INFERRED if name in found]
        if "truth" not in found and len(inferred) == 1:
            own["truth"] = inferred[0]
        absent = [name for name in ("task", "truth") if name not in (*found, *own)]
        if absent:
            raise missing_column(absent[0], found, table="the table of truths", others=absent[1:])
        if table.num_rows == 0:
            raise EmptyTable("the table of truths has no rows; expected at least one.")
        table = with_own_names(
            pa.table(
                {name: plain_column(table, own.get(name, name)) for name in ("task", "truth")}
            ),
            own,
        )
        for name in ("task", "truth"):
            called = own_name(table, name)
            if pa.types.is_nested(table[name].type):
                raise SchemaError(
                    f"column {called!r} holds {table[name].type}; give texts or numbers."
                )
            row = first_missing(plain_column(table, name))
            if row is not None:
                raise MissingValue(
                    f"column {called!r}, row {row}: the {name} is missing "
                    f"({table[name][row - 1].as_py()!r}); remove the row of the truths."
                )
        return cls(_once_each(table))

    @classmethod
    def of(cls, data: Truths | Frame) -> Truths:
        """Return truths as they are, or read them.

        Parameters
        ----------
        data : Truths, table with ``task`` and ``truth`` (or ``label``), series, or dict by task
            See `from_frame`. The tasks of a series are its index.
        """
        if isinstance(data, Truths):
            return data
        columns = [{"task", name} for name in ("truth", *_INFERRED)]
        if isinstance(data, Mapping) and not any(both <= set(data) for both in columns):
            return cls.from_frame({"task": list(data), "truth": list(data.values())})
        if hasattr(data, "index") and hasattr(data, "to_numpy") and not hasattr(data, "columns"):
            return cls.from_frame({"task": data.index.to_numpy(), "truth": data.to_numpy()})
        return cls.from_frame(data)

    @classmethod
    def read(cls, path: str | Path) -> Truths:
        """Read truths from CSV (also .gz) or Parquet."""
        return cls.from_frame(read_table(path))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def codes(self, claims: Claims) -> Codes:
        """Return each task's true option as a code, shape (n_tasks,); -1 where unknown.

        A truth that is none of the options gets the code ``-2``: it is known, and no option is
        right.

        Raises
        ------
        ParameterError
            The claims are numbers; see `numbers`.
        """
        if claims.options is None:
            raise ParameterError(
                "the claims are numbers and have no options; read them with kind='categorical' "
                "(--kind categorical on the command line)."
            )
        values = self.of_tasks(claims.tasks)
        known = pc.is_valid(values).to_numpy(zero_copy_only=False)
        codes = _find(values, claims.options)
        out: Codes = codes.fill_null(-2).to_numpy().astype(np.int32)
        # last: tasks without a truth have got -2 above, as truths that are no option have
        out[~known] = -1
        return out

    def numbers(self, claims: Claims) -> Floats:
        """Return each task's true value, shape (n_tasks,); NaN where unknown.

        Raises
        ------
        SchemaError
            A truth is no number.
        """
        values = self.of_tasks(claims.tasks)
        try:
            return np.asarray(
                values.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            called = own_name(self.table, "truth")
            message = f"column {called!r} must hold numbers for numeric claims: {error}"
            raise SchemaError(message) from error

    def of_tasks(self, names: pa.Array) -> pa.Array:
        """Return the truth of each task, null where unknown."""
        where = _find(names, plain_column(self.table, "task"))
        return plain_column(self.table, "truth").take(where)


def _once_each(table: pa.Table) -> pa.Table:
    """Return truths without repeats of equal ones; two different truths of a task are an error."""
    # equal names have one code, so that a task that stands twice is found by its code
    task, truth = (
        plain_column(table, name).dictionary_encode().indices.to_numpy()
        for name in ("task", "truth")
    )
    _, first, place = np.unique(task, return_index=True, return_inverse=True)
    other = np.flatnonzero(truth != truth[first][place])
    if len(other):
        row, before = int(other[0]), int(first[place[other[0]]])
        raise DuplicateClaim(
            f"row {row + 1}: task {table['task'][row].as_py()!r} has the truth "
            f"{table['truth'][row].as_py()!r}, and {table['truth'][before].as_py()!r} in row "
            f"{before + 1}; keep one."
        )
    return table if len(first) == len(task) else table.take(pa.array(np.sort(first)))


def _find(values: pa.Array, names: pa.Array) -> pa.Array:
    """Return where each value stands in `names`, null where nowhere; as texts if types differ."""
    if values.type != names.type:
        try:
            values = values.cast(names.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            try:
                values, names = values.cast(pa.large_string()), names.cast(pa.large_string())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # bytes, or a duration
                return pa.nulls(len(values), pa.int32())
    return pc.index_in(values, value_set=names)
