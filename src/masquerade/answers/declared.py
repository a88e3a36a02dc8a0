"""Ids that a table names, among all that were declared beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers.frames import first_missing
from masquerade.errors import InvalidRecord, ParameterError
from masquerade.exact.arrays import Integers


def encode_declared(
    ids: pa.Array, declared: Sequence[Any], name: str, *, twice: type[Exception] = ParameterError
) -> tuple[Integers, pa.Array]:
    """Return the ids as codes into the declared ones, and the declared ones in their order.

    Parameters
    ----------
    ids : pyarrow.Array
        None of them missing.
    declared : sequence
        Everybody, or everything; each once.
    name : str
        Of the column, in the singular.
    twice : type of exception
        Raised where one is declared twice.

    Raises
    ------
    ParameterError
        The declared ids cannot be used.
    InvalidRecord
        An id of the table is not among them.
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
            f"column {name!r}, row {stranger}: {ids[stranger - 1].as_py()!r} is not among the "
            f"{len(known)} declared {name}s; declare it, or remove the row."
        )
    return codes.to_numpy().astype(np.int64), known
