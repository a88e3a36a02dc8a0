"""Labels and numbers of a column of claims, read and checked, as codes or values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers.codes import declared_names, encode, encode_declared
from masquerade.answers.frames import first_missing, id_column, own_name
from masquerade.errors import InputError, MissingValue, SchemaError, UnknownLabel
from masquerade.exact.arrays import Codes, Floats

Kind = Literal["categorical", "numeric"]

MOST_OPTIONS_WHEN_GUESSING = 20


def encode_ids(
    table: pa.Table, name: str, declared: Sequence[Any] | None
) -> tuple[Codes, pa.Array]:
    """Return the codes and names of tasks or workers, in a declared order if there is one."""
    ids = id_column(table, name, wanted="claim a task and a worker")
    if declared is not None:
        codes, known = encode_declared(ids, declared, name, column=own_name(table, name))
        return codes.astype(np.int32), known
    return encode(ids)


def guess_kind(column: str, labels: pa.Array, called: str) -> Kind:
    """Return the kind of claims that a column holds, by its name and its labels.

    `called`: what people call the column, for messages.
    """
    if column != "answer":
        return "numeric" if column == "value" else "categorical"
    try:
        numbers = _with_points(labels, called).cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return "categorical"
    distinct = pc.unique(numbers.drop_null())
    if not pc.all(pc.equal(distinct, pc.floor(distinct))).as_py():
        return "numeric"
    if len(distinct) > MOST_OPTIONS_WHEN_GUESSING:
        raise SchemaError(
            f"column {called!r} holds {len(distinct)} different whole numbers, which may be labels "
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


def encode_labels(
    labels: pa.Array, column: str, options: Sequence[Any] | None, *, null: bool
) -> tuple[Codes, pa.Array]:
    """Return the codes and names of labels; missing ones are -1."""
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


def to_numbers(labels: pa.Array, column: str, *, null: bool) -> Floats:
    """Return the values of a column of numbers."""
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
