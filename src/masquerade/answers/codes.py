"""Names as integer codes: one code a name, in order of first appearance or of a declared list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers.frames import first_missing
from masquerade.errors import InvalidRecord, MixedTypes, ParameterError
from masquerade.exact.arrays import Codes, Integers

#: Rows at the head of a column by which it is told whether equal names stand together.
_HEAD = 4096
_NAMES_IN_RUNS = _HEAD // 4
#: Whole numbers that lie closer than this, on the mean, are looked up by their distance.
_SPAN = 4
#: Rows in which the name that comes last is looked for, a name, before all rows are looked at.
_ROWS_A_NAME = 16


def encode(names: pa.Array) -> tuple[Codes, pa.Array]:
    """Return names, none missing, as codes, and each name once, in order of first appearance.

    What `pyarrow.Array.dictionary_encode` returns, faster for the columns of most tables: names
    that stand together are looked up once a run, and whole numbers without large gaps by their
    distance from the least, where a hash table would be read out of order.

    Examples
    --------
    >>> codes, once = encode(pa.array([7, 5, 7]))
    >>> codes.tolist(), once.to_pylist()
    ([0, 1, 0], [7, 5])
    """
    whole = pa.types.is_integer(names.type)
    text = pa.types.is_string(names.type) or pa.types.is_large_string(names.type)
    if (whole or text) and len(names) > _HEAD:
        head = pc.run_end_encode(names[:_HEAD])
        if len(head.values) < _NAMES_IN_RUNS:
            runs = pc.run_end_encode(names)
            codes, once = _encode_each(runs.values)
            return np.repeat(codes, np.diff(runs.run_ends.to_numpy(), prepend=0)), once
    return _encode_each(names)


def _encode_each(names: pa.Array) -> tuple[Codes, pa.Array]:
    if pa.types.is_integer(names.type) and len(names):
        least, most = pc.min_max(names).as_py().values()
        span = most - least + 1
        if span <= _SPAN * len(names):
            distance = names.to_numpy()
            if distance.dtype.itemsize < 4:  # a small type may not hold its own span
                distance = distance.astype(np.int64)
            return _encode_distances(distance - least if least else distance, span, names)
    encoded = names.dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int32, copy=False), encoded.dictionary


def _encode_distances(distance: Integers, span: int, names: pa.Array) -> tuple[Codes, pa.Array]:
    # Where few names are many rows, all of them stand among the first rows.
    for rows in (min(span * _ROWS_A_NAME, len(names)), len(names)):
        first = np.full(span, rows, dtype=np.int32)
        # Of assignments to one place the last one stays: backwards, the first row.
        first[distance[rows - 1 :: -1]] = np.arange(rows - 1, -1, -1, dtype=np.int32)
        there = np.flatnonzero(first < rows)
        there = there[np.argsort(first[there])]
        code = np.full(span, -1, dtype=np.int32)
        code[there] = np.arange(len(there), dtype=np.int32)
        codes = code[distance]
        if rows == len(names) or codes.min() >= 0:
            break
    return codes, names.take(pa.array(first[there]))


def encode_declared(
    ids: pa.Array,
    declared: Sequence[Any],
    name: str,
    *,
    twice: type[Exception] = ParameterError,
    column: str | None = None,
) -> tuple[Integers, pa.Array]:
    """Return the ids, none missing, as codes into the declared ones, and these in their order.

    `name`: of the column, in the singular. `twice`: raised where one is declared twice.
    `column`: the column in messages, where it is called otherwise.
    """
    if isinstance(declared, str):
        raise ParameterError(f"{name}s is {declared!r}, expected a sequence of ids.")
    try:
        known = pa.array(declared)
        ids = ids.cast(known.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ParameterError(
            f"the declared {name}s are not ids of the table's type {ids.type}: {error}"
        ) from error
    missing = first_missing(known)
    if missing is not None:
        raise ParameterError(
            f"the id of declared {name} {missing} is missing; give everything that was declared an "
            "id."
        )
    _, first = np.unique(known.dictionary_encode().indices.to_numpy(), return_index=True)
    if len(first) < len(known):
        again = int(np.setdiff1d(np.arange(len(known)), first)[0])
        raise twice(f"{name} {known[again].as_py()!r} is declared twice; declare each once.")
    codes = pc.index_in(ids, value_set=known)
    stranger = first_missing(codes)
    if stranger is not None:
        raise InvalidRecord(
            f"column {column or name!r}, row {stranger}: {ids[stranger - 1].as_py()!r} is not "
            f"among the {len(known)} declared {name}s; declare it, or remove the row."
        )
    return codes.to_numpy().astype(np.int64), known


def declared_names(options: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return declared options as an array of a type of labels, all different, none missing."""
    if isinstance(options, str) or not isinstance(options, Iterable):
        raise ParameterError(f"options is {options!r}, expected a sequence of labels.")
    try:
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        names = pa.array([None if o is None else str(o) for o in options] if is_text else options)
        if not pa.types.is_null(kind):
            names = names.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise MixedTypes(
            f"the declared options {list(options)[:10]} are not all of the labels' type {kind}."
        ) from error
    if len(names) < 1 or len(pc.unique(names)) != len(names) or first_missing(names) is not None:
        raise ParameterError(
            f"the declared options {list(options)[:10]} must be some, all different, none missing."
        )
    return names
