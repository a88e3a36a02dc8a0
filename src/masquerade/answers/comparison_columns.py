"""The columns of a table of comparisons, each checked and encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masquerade.answers.frames import first_missing, id_column, plain_column
from masquerade.errors import (
    DuplicateVoter,
    InvalidRecord,
    MissingValue,
    ParameterError,
    SchemaError,
)

Floats = NDArray[np.float64]

VOTER, CHOICE, LABEL = "voter", "choice", "comparison"
ITEM_COLUMNS = ("chosen", "rejected")


def feature_columns(found: list[str], features: Sequence[str] | None) -> list[str]:
    """Return the columns that are features, by choice or by not being anything else."""
    if features is None:
        return [name for name in found if name not in (VOTER, CHOICE, LABEL)]
    if isinstance(features, str):
        raise ParameterError(f"features is {features!r}, expected a sequence of columns.")
    for name in features:
        if name not in found:
            raise SchemaError(
                f"column {name!r}, declared as a feature, is missing; the table has {found}."
            )
        if name in (VOTER, CHOICE):
            raise SchemaError(f"column {name!r} has a meaning of its own and is no feature.")
    return list(features)


def encode_voters(
    table: pa.Table, declared: Sequence[Any] | None, *, one_each: bool
) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the voter of each row as a code, and the voters."""
    if one_each:
        if declared is not None:
            raise ParameterError("voters are declared although every row is of its own voter.")
        return np.arange(table.num_rows), pa.array(range(1, table.num_rows + 1))
    ids = id_column(table, VOTER, wanted="record a voter")
    if declared is None:
        encoded = ids.dictionary_encode()
        return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary
    if isinstance(declared, str):
        raise ParameterError(f"voters is {declared!r}, expected a sequence of ids.")
    try:
        known = pa.array(declared)
        ids = ids.cast(known.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ParameterError(
            f"the declared voters are not ids of the table's type {ids.type}: {error}"
        ) from error
    missing = first_missing(known)
    if missing is not None:
        raise ParameterError(
            f"the id of declared voter {missing} is missing; give everybody who was asked an id."
        )
    _, first = np.unique(known.dictionary_encode().indices.to_numpy(), return_index=True)
    if len(first) < len(known):
        again = int(np.setdiff1d(np.arange(len(known)), first)[0])
        raise DuplicateVoter(
            f"voter {known[again].as_py()!r} is declared twice; one voter has one budget."
        )
    codes = pc.index_in(ids, value_set=known)
    stranger = first_missing(codes)
    if stranger is not None:
        raise InvalidRecord(
            f"column {VOTER!r}, row {stranger}: {ids[stranger - 1].as_py()!r} is not among the "
            f"{len(known)} declared voters; declare the voter, or remove the row."
        )
    return codes.to_numpy().astype(np.int64), known


def encode_choices(table: pa.Table) -> NDArray[np.int64]:
    """Return the choice of each row as a code."""
    ids = plain_column(table, CHOICE)
    row = first_missing(ids)
    if row is not None:
        raise MissingValue(
            f"column {CHOICE!r}, row {row}: the number is missing; say which choice of the voter "
            "the record is from, or remove the column."
        )
    codes: NDArray[np.int64] = ids.dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes


def encode_items(table: pa.Table) -> tuple[pa.Array, NDArray[np.int32], NDArray[np.int32]]:
    """Return the items, and the chosen and the rejected one of each row as codes."""
    columns = []
    for name in ITEM_COLUMNS:
        values = plain_column(table, name)
        row = first_missing(values)
        if row is not None:
            raise InvalidRecord(f"column {name!r}, row {row}: the item is missing; name it.")
        if pa.types.is_nested(values.type):
            raise SchemaError(f"column {name!r} holds {values.type}; give names of items.")
        columns.append(values.cast(pa.large_string()))
    items = pc.unique(pa.concat_arrays(columns))
    items = items.take(pc.sort_indices(items))
    chosen, rejected = (
        pc.index_in(values, value_set=items).to_numpy().astype(np.int32) for values in columns
    )
    same = np.flatnonzero(chosen == rejected)
    if same.size:
        raise InvalidRecord(
            f"row {same[0] + 1}: {items[int(chosen[same[0]])].as_py()!r} is compared with itself; "
            "remove the row or correct it."
        )
    return items, chosen, rejected


def numbers(
    column: pa.Array, name: str, codes: NDArray[np.int64], known: pa.Array
) -> NDArray[np.float64]:
    """Return a feature's column as finite numbers."""
    row = first_missing(column)
    if row is not None:
        raise InvalidRecord(
            f"column {name!r}, row {row} (voter {_voter(row - 1, codes, known)}): the number is "
            f"missing ({column[row - 1].as_py()!r}); remove the row or correct it."
        )
    try:
        numbers = column.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        row, value = _first_text(column)
        raise InvalidRecord(
            f"column {name!r}, row {row} (voter {_voter(row - 1, codes, known)}): {value!r} is "
            "not a number; correct it, or name the columns that are features with features=[...] "
            "(--features on the command line)."
        ) from error
    values = np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
    check_finite(values, name, codes, known)
    return values


def check_finite(values: Floats, name: str, codes: NDArray[np.int64], known: pa.Array) -> None:
    """Raise where a number is not finite, naming row and voter."""
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise InvalidRecord(
            f"column {name!r}, row {bad[0] + 1} (voter {_voter(bad[0], codes, known)}): "
            f"{values[bad[0]]} is not finite; remove the row or correct it."
        )


def _voter(record: int, codes: NDArray[np.int64], known: pa.Array) -> str:
    return repr(known[int(codes[record])].as_py())


def _first_text(column: pa.Array) -> tuple[int, Any]:
    for row, value in enumerate(column, start=1):
        try:
            value.cast(pa.float64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return row, value.as_py()
    return 1, column[0].as_py()
