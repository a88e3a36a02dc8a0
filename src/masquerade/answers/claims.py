"""Claims: a label or value for each task and worker, checked once and integer-coded."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masquerade.answers.claim_layouts import LABEL_COLUMNS, ClaimColumns
from masquerade.answers.codes import declared_names, encode, encode_declared
from masquerade.answers.frames import (
    Frame,
    first_missing,
    id_column,
    missing_column,
    missing_entries,
    plain_column,
    to_arrow,
    write_table,
)
from masquerade.answers.result import Result
from masquerade.errors import (
    DuplicateClaim,
    EmptyTable,
    InputError,
    MissingValue,
    ParameterError,
    SchemaError,
    UnknownLabel,
)
from masquerade.exact.arrays import Codes, Flags, Floats, Integers
from masquerade.exact.number import one_of

Kind = Literal["categorical", "numeric"]
Duplicates = Literal["error", "first", "last", "all"]
Missing = Literal["error", "drop"]

MOST_OPTIONS_WHEN_GUESSING = 20


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
        task, known_tasks = _encode_ids(table, "task", tasks)
        worker, known_workers = _encode_ids(table, "worker", workers)
        labels = plain_column(table, column)
        if kind is None:
            kind = "categorical" if options is not None else _guess_kind(column, labels)
        value: NDArray[Any]
        if kind == "categorical":
            value, names = _encode_labels(labels, column, options, null=null)
        elif kind == "numeric":
            if options is not None:
                raise ParameterError(
                    "options are declared for numeric claims; drop them, or read the claims with "
                    "kind='categorical' (--kind categorical on the command line)."
                )
            value, names = _to_numbers(labels, column, null=null), None
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
        values = "numeric" if self.options is None else f"{self.n_options} options"
        return (
            f"Claims({len(self)} claims of {self.n_workers} workers "
            f"on {self.n_tasks} tasks, {values})"
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
    if absent:
        if not set(LABEL_COLUMNS) & set(found):
            absent.append("label")
        wrong = missing_column(absent[0], found, others=absent[1:])
        if len(found) > 2 and "worker" in absent and "label" in absent:
            wrong = SchemaError(
                f"{wrong} Where they have other names, say which they are with "
                "ClaimColumns(task=..., worker=..., label=...) (--task-column, --worker-column, "
                "--label-column on the command line). Where each further column is an annotator, "
                "read it with ClaimColumns(layout='wide') (--wide on the command line)."
            )
        raise wrong
    for name in LABEL_COLUMNS:
        if name in found:
            return name
    raise SchemaError(
        f"none of the columns {list(LABEL_COLUMNS)} is there; the table has {found}. "
        "Name the column of answers 'label' (categories) or 'value' (numbers)."
    )


def _encode_ids(
    table: pa.Table, name: str, declared: Sequence[Any] | None
) -> tuple[Codes, pa.Array]:
    ids = id_column(table, name, wanted="claim a task and a worker")
    if declared is not None:
        codes, known = encode_declared(ids, declared, name)
        return codes.astype(np.int32), known
    return encode(ids)


def _guess_kind(column: str, labels: pa.Array) -> Kind:
    if column != "answer":
        return "numeric" if column == "value" else "categorical"
    try:
        numbers = _with_points(labels, column).cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return "categorical"
    distinct = pc.unique(numbers.drop_null())
    if not pc.all(pc.equal(distinct, pc.floor(distinct))).as_py():
        return "numeric"
    if len(distinct) > MOST_OPTIONS_WHEN_GUESSING:
        raise SchemaError(
            f"column 'answer' holds {len(distinct)} different whole numbers, which may be labels "
            "or amounts; say kind='categorical' or kind='numeric' (--kind on the command line), or "
            "call the column 'label' or 'value'."
        )
    return "categorical"


def _refuse_missing(labels: pa.Array, column: str, name: str, *, null: bool) -> None:
    row = first_missing(labels)
    if row is not None and not null:
        absent = pc.is_null(labels, nan_is_null=True)
        if pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type):
            absent = pc.or_(absent, pc.fill_null(pc.equal(labels, ""), True))
        rows = int(pc.sum(absent).as_py() or 0)
        others = f", and in {rows - 1} more of {len(labels)} rows" if rows > 1 else ""
        raise MissingValue(
            f"column {column!r}, row {row}: the {name} is missing "
            f"({labels[row - 1].as_py()!r}){others}; "
            "remove the row (missing='drop' in Python), or read it as 'no answer' with null=True "
            "(on the command line, a mechanism with null=true)."
        )


def _encode_labels(
    labels: pa.Array, column: str, options: Sequence[Any] | None, *, null: bool
) -> tuple[Codes, pa.Array]:
    _refuse_missing(labels, column, "label", null=null)
    if pa.types.is_nested(labels.type):
        raise SchemaError(f"column {column!r} holds {labels.type}; give texts or whole numbers.")
    text = pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type)
    if text or pa.types.is_integer(labels.type):
        quick = _encode_complete(labels, options)
        if quick is not None:
            return quick
    if text:
        # an empty text is a missing label, as it is in a CSV file
        labels = pc.if_else(pc.equal(labels, ""), None, labels)
    if pa.types.is_floating(labels.type):
        labels = _whole_numbers(labels.cast(pa.float64()), column)
    if options is not None:
        names = declared_names(options, labels.type)
        labels = labels.cast(names.type)
    else:
        names = pc.unique(labels.drop_null())
        names = names.take(pc.sort_indices(names))
        if len(names) == 0:
            raise MissingValue(
                f"column {column!r}: every label is missing; declare the options, or check the "
                "file."
            )
    codes = pc.index_in(labels, value_set=names)
    unknown = pc.index(pc.and_(pc.is_null(codes), pc.is_valid(labels)), True).as_py()
    if unknown >= 0:
        raise UnknownLabel(
            f"column {column!r}, row {unknown + 1}: {labels[unknown].as_py()!r} is not one of the "
            f"{len(names)} declared options {names.to_pylist()[:10]}; correct it or declare it."
        )
    # the code after the last option is "no answer"
    return codes.fill_null(len(names)).to_numpy().astype(np.int32, copy=False), names


def _encode_complete(
    labels: pa.Array, options: Sequence[Any] | None
) -> tuple[Codes, pa.Array] | None:
    """Return the codes of labels none of which is missing or undeclared; None where one is.

    Every row is looked up once; all else is done with the distinct labels.
    """
    if labels.null_count or not len(labels):
        return None
    codes, found = encode(labels)
    if first_missing(found) is not None:
        return None
    if options is None:
        names = found.take(pc.sort_indices(found))
    else:
        names = declared_names(options, labels.type)
        if names.type != found.type:
            return None
    code = pc.index_in(found, value_set=names)
    if code.null_count:
        return None
    place: Codes = code.to_numpy().astype(np.int32, copy=False)
    return place[codes], names


def _whole_numbers(labels: pa.Array, column: str) -> pa.Array:
    """Read floats that are whole as integers: pandas turns integers with gaps into floats."""
    cleaned = pc.if_else(pc.is_nan(labels), None, labels)
    inexact = pc.greater_equal(pc.abs(cleaned), 2.0**53)  # infinity too
    bad = pc.or_(pc.not_equal(cleaned, pc.floor(cleaned)), inexact)
    odd = pc.index(pc.fill_null(bad, False), True).as_py()
    if odd >= 0:
        raise SchemaError(
            f"column {column!r}, row {odd + 1}: {labels[odd].as_py()!r} is not a category; "
            "give categories as text or integers, or read the claims with kind='numeric' "
            "(--kind numeric on the command line)."
        )
    return cleaned.cast(pa.int64())


def _with_points(labels: pa.Array, column: str) -> pa.Array:
    """Return numbers with decimal commas with points; other labels as they are."""
    if not (pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type)):
        return labels
    with_comma = pc.match_substring_regex(labels, r"^\s*[-+]?\d+,\d+\s*$")
    if not pc.any(with_comma).as_py():
        return labels
    whole = pc.match_substring_regex(labels, r"^\s*[-+]?\d+\s*$")
    if not pc.all(pc.or_(with_comma, whole)).as_py():
        return labels
    thousands = pc.match_substring_regex(labels.filter(with_comma), r"^\s*[-+]?\d{1,3},\d{3}\s*$")
    if pc.all(thousands).as_py():
        row = pc.index(with_comma, True).as_py()
        raise SchemaError(
            f"column {column!r}, row {row + 1}: {labels[row].as_py()!r} may have a decimal comma "
            "or one between thousands; write numbers with a point, and thousands without a mark."
        )
    warnings.warn(f"column {column!r} is read as numbers with decimal commas.", stacklevel=2)
    return pc.replace_substring(labels, ",", ".")


def _to_numbers(labels: pa.Array, column: str, *, null: bool) -> Floats:
    _refuse_missing(labels, column, "value", null=null)
    labels = _with_points(labels, column)
    try:
        numbers = labels.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _not_a_number(labels, column) from error
    infinite = np.flatnonzero(np.isinf(numbers) if null else ~np.isfinite(numbers))
    if infinite.size:
        raise SchemaError(
            f"column {column!r}, row {infinite[0] + 1}: {numbers[infinite[0]]} is not finite; "
            "remove the row or correct it."
        )
    return np.asarray(numbers, dtype=np.float64)


def _not_a_number(labels: pa.Array, column: str) -> InputError:
    for row, label in enumerate(labels, start=1):
        try:
            label.cast(pa.float64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return SchemaError(
                f"column {column!r}, row {row}: {label.as_py()!r} is not a number that a float "
                "holds; correct it, or read the claims with kind='categorical' (--kind categorical "
                "on the command line)."
            )
    return SchemaError(f"column {column!r} does not hold numbers.")


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
