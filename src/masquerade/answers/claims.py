"""Claims: a label or value for each task and worker, checked once and integer-coded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masquerade.answers.claim_labels import Kind, encode_ids, encode_labels, guess_kind, to_numbers
from masquerade.answers.claim_layouts import LABEL_COLUMNS, ClaimColumns
from masquerade.answers.frames import (
    Frame,
    missing_column,
    missing_entries,
    own_name,
    plain_column,
    to_arrow,
    write_table,
)
from masquerade.answers.result import Result
from masquerade.errors import DuplicateClaim, EmptyTable, ParameterError, SchemaError
from masquerade.exact.arrays import Codes, Flags, Integers
from masquerade.exact.number import one_of, quantity

Duplicates = Literal["error", "first", "last", "all"]
Missing = Literal["error", "drop"]


@dataclass(frozen=True, slots=True, eq=False)
class Claims(Result):
    """A table of claims, coded as integers over dictionaries of names.

    Build one with `from_frame` or `read`, which check every row.

    Attributes
    ----------
    task, worker : int32 array, shape (n_claims,)
        Codes into `tasks` and `workers`, in order of first appearance.
    value : array, shape (n_claims,)
        Categorical: int32 codes into `options`; the code ``len(options)`` is "no answer", possible
        only where `null` is true. Numeric: float64, finite, or NaN for "no answer" where `null`.
    tasks, workers : pyarrow.Array
        Names, each once.
    options : pyarrow.Array or None
        The labels that can be given: declared ones in their declared order, else those seen,
        sorted. None for numeric claims.
    null : bool
        Whether "no answer" is one of the values.
    read_off : frozenset of str
        Which of the lists ``"tasks"``, ``"workers"`` and ``"options"`` were read off the rows. A
        name that stands in one row alone is in such a list, so masks that are to hide it refuse it.

    Examples
    --------
    >>> claims = Claims.from_frame({"task": ["a", "a", "b"], "worker": ["x", "y", "x"],
    ...                             "label": ["yes", "no", "yes"]})
    >>> claims
    Claims(3 claims of 2 workers on 2 tasks, 2 options)
    """

    task: Codes
    worker: Codes
    value: NDArray[Any]
    tasks: pa.Array
    workers: pa.Array
    options: pa.Array | None
    null: bool = False
    read_off: frozenset[str] = frozenset()

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        kind: Kind | None = None,
        options: Sequence[Any] | None = None,
        null: bool = False,
        duplicates: Duplicates = "error",
        tasks: Sequence[Any] | None = None,
        workers: Sequence[Any] | None = None,
        columns: ClaimColumns | None = None,
        missing: Missing = "error",
    ) -> Claims:
        """Check a table and return it as claims.

        Parameters
        ----------
        frame : pandas, polars, pyarrow or duckdb table, or dict of arrays
            Columns ``task``, ``worker`` and one of ``label``, ``answer``, ``value`` (the first of
            these that is there), or another layout that is known. Other columns are ignored.
        kind : {"categorical", "numeric"}, optional
            Default: ``label`` is categorical and ``value`` numeric; ``answer`` is numeric where
            every entry is a number and some are fractions. More than 20 different whole numbers in
            it may be either, and are refused.
        options : sequence, optional
            All labels that could be given, where known; a label outside is an error. A task whose
            collected labels show two of four options still has four.
        null : bool
            Whether a missing label means "no answer" (for mechanisms that mask it) instead of
            being an error.
        duplicates : {"error", "first", "last", "all"}
            What to do where a worker answered a task more than once.
        tasks, workers : sequence of ids, optional
            All tasks that were asked, and everybody who was asked, also without a row; public. An
            id outside is an error. Masks that hide which tasks were answered need both lists.
        columns : ClaimColumns, optional
            Which columns the claims are in, or whose tool's layout they have. Default: as their
            names say; a warning says what was taken.
        missing : {"error", "drop"}
            What a row without a task, a worker or a label does. ``"drop"`` leaves it out; rows in
            later messages are then counted without it.

        Raises
        ------
        SchemaError, EmptyTable, MissingValue, MixedTypes, UnknownLabel, DuplicateClaim
            Each names the row (from 1, the header not counted), the value, and what to do.
        """
        one_of(duplicates, "duplicates", ("error", "first", "last", "all"))
        one_of(missing, "missing", get_args(Missing))
        frame = (columns or ClaimColumns()).table(frame)
        table = to_arrow(frame, columns=("task", "worker", *LABEL_COLUMNS))
        column = _label_column(table)
        if missing == "drop":
            table = _complete(table, ("task", "worker", column))
        if table.num_rows == 0:
            raise EmptyTable("the table has no rows; expected at least one claim.")
        lists = {"tasks": tasks, "workers": workers, "options": options}
        read_off = frozenset(name for name, given in lists.items() if given is None)
        task, known_tasks = encode_ids(table, "task", tasks)
        worker, known_workers = encode_ids(table, "worker", workers)
        labels, called = plain_column(table, column), own_name(table, column)
        if kind is None:
            kind = "categorical" if options is not None else guess_kind(column, labels, called)
        value: NDArray[Any]
        if kind == "categorical":
            value, names = encode_labels(labels, called, options, null=null)
        elif kind == "numeric":
            if options is not None:
                raise ParameterError(
                    "options are declared for numeric claims; drop them, or read the claims with "
                    "kind='categorical' (--kind categorical on the command line)."
                )
            value, names = to_numbers(labels, called, null=null), None
        else:
            raise ParameterError(f"kind is {kind!r}, expected 'categorical' or 'numeric'.")
        claims = cls(task, worker, value, known_tasks, known_workers, names, null, read_off)
        kept = kept_rows(claims, duplicates)
        return claims if kept is None else claims.among(kept)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        kind: Kind | None = None,
        options: Sequence[Any] | None = None,
        null: bool = False,
        duplicates: Duplicates = "error",
        tasks: Sequence[Any] | None = None,
        workers: Sequence[Any] | None = None,
        columns: ClaimColumns | None = None,
        missing: Missing = "error",
    ) -> Claims:
        """Read claims from a file: CSV (ids and labels as text), Parquet, .xlsx, JSON.

        See `from_frame`.
        """
        return cls.from_frame(
            (columns or ClaimColumns()).read(path),
            kind=kind,
            options=options,
            null=null,
            duplicates=duplicates,
            tasks=tasks,
            workers=workers,
            missing=missing,
        )

    @classmethod
    def of(cls, data: Claims | Frame, *, kind: Kind | None = None, null: bool = False) -> Claims:
        """Return claims as they are, or read a table; see `from_frame`."""
        return data if isinstance(data, Claims) else cls.from_frame(data, kind=kind, null=null)

    @property
    def kind(self) -> Kind:
        """``"categorical"`` or ``"numeric"``."""
        return "numeric" if self.options is None else "categorical"

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.tasks)

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return len(self.workers)

    @property
    def n_options(self) -> int:
        """Number of options, "no answer" not counted."""
        return 0 if self.options is None else len(self.options)

    def most_claims_of_a_worker(self) -> int:
        """Return how many claims the busiest worker made."""
        return int(np.bincount(self.worker).max(initial=0))

    def __len__(self) -> int:
        return len(self.task)

    def __repr__(self) -> str:
        values = "numeric" if self.options is None else quantity(self.n_options, "option")
        return (
            f"Claims({quantity(len(self), 'claim')} of {quantity(self.n_workers, 'worker')} on "
            f"{quantity(self.n_tasks, 'task')}, {values})"
        )

    def with_values(self, value: NDArray[Any], *, null: bool | None = None) -> Claims:
        """Return the same tasks and workers with other values (the claims are not changed)."""
        return replace(self, value=value, null=self.null if null is None else null)

    def unanswered(self) -> Flags:
        """Return which claims are "no answer", shape (n_claims,)."""
        if not self.null:
            return np.zeros(len(self), dtype=np.bool_)
        missing: Flags = (
            np.isnan(self.value) if self.options is None else self.value == self.n_options
        )
        return missing

    def among(self, rows: Flags) -> Claims:
        """Return some of the claims, with all names of tasks and workers."""
        return replace(self, task=self.task[rows], worker=self.worker[rows], value=self.value[rows])

    def answered(self) -> Claims:
        """Return the claims that are not "no answer"."""
        return replace(self.among(~self.unanswered()), null=False) if self.null else self

    def all_cells(self) -> Claims:
        """Return one claim for every worker and task, "no answer" where there was none.

        Cost: workers times tasks, for that is what hiding the answered tasks means.

        Raises
        ------
        DuplicateClaim
            A worker answered a task more than once.
        """
        # 64 bits: workers times tasks leave the range of 32-bit codes
        cells = self.worker.astype(np.int64) * self.n_tasks + self.task
        filled, counts = np.unique(cells, return_counts=True)
        if len(filled) < len(cells):
            worker, task = divmod(int(filled[counts > 1][0]), self.n_tasks)
            raise DuplicateClaim(
                f"worker {self.workers[worker].as_py()!r} answered task "
                f"{self.tasks[task].as_py()!r} more than once; read the claims with "
                "duplicates='first' or 'last' (--duplicates on the command line)."
            )
        size = self.n_workers * self.n_tasks
        missing = math.nan if self.options is None else self.n_options
        value = np.full(size, missing, dtype=self.value.dtype)
        value[cells] = self.value
        worker_of, task_of = np.divmod(np.arange(size), self.n_tasks)
        return replace(
            self,
            task=task_of.astype(np.int32),
            worker=worker_of.astype(np.int32),
            value=value,
            null=True,
        )

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table with columns ``task``, ``worker`` and ``label`` or ``value``."""
        mask = self.unanswered() if self.null else None
        if self.options is None:
            name, values = "value", pa.array(self.value, mask=mask)
        else:
            codes = pa.array(self.value, mask=mask)
            name, values = "label", self.options.take(codes)
        return pa.table(
            {
                "task": self.tasks.take(pa.array(self.task)),
                "worker": self.workers.take(pa.array(self.worker)),
                name: values,
            }
        )

    def write(self, path: str | Path) -> None:
        """Write the claims as CSV (also .gz) or Parquet, by the ending of `path`."""
        write_table(self.to_arrow(), path)


def _complete(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the rows in which none of these columns is missing."""
    for name in columns:
        table = table.filter(pc.invert(missing_entries(plain_column(table, name))))
    return table


def _label_column(table: pa.Table) -> str:
    found = table.column_names
    absent = [needed for needed in ("task", "worker") if needed not in found]
    labels = [name for name in LABEL_COLUMNS if name in found]
    if labels and not absent:
        return labels[0]
    theirs = [own_name(table, name) for name in found]
    if absent:
        absent += [] if labels else ["label"]
        wrong = str(missing_column(absent[0], theirs, others=absent[1:]))
    else:
        absent = ["label"]
        wrong = (
            f"none of the columns {list(LABEL_COLUMNS)} is there; the table has {theirs}. "
            "Name the column of answers 'label' (categories) or 'value' (numbers)."
        )
    named = ", ".join(f"{name}=..." for name in absent)
    flags = ", ".join(f"--{name}-column" for name in absent)
    known = "it has another name, say which it is" if len(absent) == 1 else ""
    known = known or "they have other names, say which they are"
    wrong += f" Where {known} with ClaimColumns({named}) ({flags} of masquerade truth)."
    if len(found) > 2 and {"worker", "label"} <= set(absent):
        wrong += (
            " Where each further column is an annotator, read it with "
            "ClaimColumns(layout='wide') (--wide of masquerade truth)."
        )
    raise SchemaError(wrong)


def kept_rows(claims: Claims, duplicates: Duplicates) -> Flags | None:
    """Return which claims stay where workers answered tasks more than once; None for all.

    Raises `DuplicateClaim` (there is such a claim, and `duplicates` is ``"error"``; the message
    names both rows).
    """
    if duplicates == "all":
        return None
    # 32 bits, where they hold all keys, are sorted in half the time
    narrow = claims.n_tasks * claims.n_workers <= np.iinfo(np.int32).max
    key: Integers = claims.task.astype(np.int32 if narrow else np.int64)
    # a stable sort is quick where much is in order already, as in tables that go task by task
    in_order = bool((key[1:] >= key[:-1]).all())
    key *= claims.n_workers
    key += claims.worker
    ordered = np.sort(key, kind="stable" if in_order else "quicksort")
    if not (ordered[1:] == ordered[:-1]).any():
        return None
    order = np.argsort(key, kind="stable")
    same = key[order[1:]] == key[order[:-1]]
    if duplicates == "error":
        later = order[1:][same]
        row = int(later.min())
        first = int(np.flatnonzero(key == key[row])[0])
        raise DuplicateClaim(
            f"row {row + 1}: worker {claims.workers[claims.worker[row]].as_py()!r} already "
            f"answered task {claims.tasks[claims.task[row]].as_py()!r} in row {first + 1} "
            f"({int(same.sum())} such rows in all); keep one with duplicates='first' or 'last', or "
            "every one with 'all' (--duplicates on the command line)."
        )
    kept = np.ones(len(order), dtype=np.bool_)
    kept[order[1:][same] if duplicates == "first" else order[:-1][same]] = False
    return kept
