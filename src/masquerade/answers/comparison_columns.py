"""The features of alternatives, and the columns of a table of comparisons, checked and encoded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers.codes import encode, encode_declared
from masquerade.answers.frames import first_missing, id_column, plain_column
from masquerade.errors import (
    DuplicateVoter,
    InvalidRecord,
    MissingValue,
    ParameterError,
    SchemaError,
)
from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.exact.number import one_of

#: For each feature, the lowest and the highest value that an alternative can have.
Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Feature:
    """A number that describes an alternative.

    Attributes
    ----------
    low, high : float
        The range in which every alternative's value lies. It is public: it comes from the design of
        the questions, never from the answers. Both infinite where no range was declared.

    Examples
    --------
    >>> Feature("price", 0, 5000).width
    5000.0
    """

    name: str
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ParameterError(f"a feature is named {self.name!r}; give it a text of its own.")
        if self.low == -math.inf and self.high == math.inf:
            return
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ParameterError(
                f"feature {self.name!r}: the range {self.low!r} to {self.high!r} must be two "
                "finite numbers, the lower one first."
            )

    @property
    def declared(self) -> bool:
        """Whether a range was declared."""
        return math.isfinite(self.low)

    @property
    def width(self) -> float:
        """The largest possible difference of two alternatives; 1 where no range was declared."""
        return float(self.high - self.low) if self.declared else 1.0


def declare_features(names: Sequence[str], ranges: Ranges | None = None) -> tuple[Feature, ...]:
    """Return features with their public ranges."""
    if not names:
        raise SchemaError("there is no feature; give at least one column of differences.")
    twice = [name for name in names if list(names).count(name) > 1]
    if twice:
        raise SchemaError(f"feature {twice[0]!r} stands twice; rename or drop one.")
    if ranges is None:
        return tuple(Feature(name) for name in names)
    for name in names:
        if name not in ranges:
            raise ParameterError(
                f"feature {name!r} has no range while others have one; give every feature the "
                "lowest and highest value that an alternative can have."
            )
    for name in ranges:
        if name not in names:
            raise ParameterError(
                f"a range is given for {name!r}, which is none of the features {list(names)}."
            )
    return tuple(Feature(name, *_pair(name, ranges[name])) for name in names)


def widths(features: Sequence[Feature]) -> Floats:
    """Return each feature's largest possible difference, shape (n_features,)."""
    return np.array([feature.width for feature in features], dtype=np.float64)


def _pair(name: str, ends: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = ends
        return float(low), float(high)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"feature {name!r}: the range is {ends!r}, expected two numbers (low, high)."
        ) from error


VOTER, CHOICE, LABEL, TIE = "voter", "choice", "comparison", "tie"
ITEM_COLUMNS = ("chosen", "rejected")

#: The ways to treat a record that names an item outside the public list.
Unlisted = Literal["error", "ignore"]


def feature_columns(found: list[str], features: Sequence[str] | None) -> list[str]:
    """Return the columns that are features, by choice or by not being anything else."""
    if features is None:
        if TIE in found:
            raise SchemaError(
                f"the table has a column {TIE!r}, and ties are not learned from: leave out the "
                "rows that are ties and drop the column, or name the columns that are features "
                "with features=[...] (--features on the command line)."
            )
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


def check_item_columns(found: list[str]) -> None:
    """Raise where a table of named items has columns that would not be read."""
    known = {*ITEM_COLUMNS, CHOICE, LABEL, VOTER}
    more = [name for name in found if name not in known]
    if TIE in more:
        raise SchemaError(
            f"the table has a column {TIE!r}, and ties are not learned from: leave out the rows "
            "that are ties and drop the column."
        )
    if more:
        raise SchemaError(
            f"the columns {more} stand beside 'chosen' and 'rejected' and would not be read; drop "
            "them, or learn from features alone with features=[...] (--features on the command "
            "line)."
        )


def encode_voters(
    table: pa.Table, declared: Sequence[Any] | None, *, one_each: bool
) -> tuple[Integers, pa.Array]:
    """Return the voter of each row as a code, and the voters."""
    if one_each:
        if declared is not None:
            raise ParameterError("voters are declared although every row is of its own voter.")
        return np.arange(table.num_rows), pa.array(range(1, table.num_rows + 1))
    ids = id_column(table, VOTER, wanted="record a voter")
    if declared is None:
        codes, voters = encode(ids)
        return codes.astype(np.int64), voters
    return encode_declared(ids, declared, VOTER, twice=DuplicateVoter)


def encode_choices(table: pa.Table) -> Integers:
    """Return the choice of each row as a code."""
    ids = plain_column(table, CHOICE)
    row = first_missing(ids)
    if row is not None:
        raise MissingValue(
            f"column {CHOICE!r}, row {row}: the number is missing; say which choice of the voter "
            "the record is from, or remove the column."
        )
    return encode(ids)[0].astype(np.int64)


def encode_items(
    table: pa.Table, declared: Sequence[Any] | None, unlisted: Unlisted
) -> tuple[pa.Array, Codes, Codes]:
    """Return the items (as declared, else as named, sorted), and chosen and rejected as codes."""
    one_of(unlisted, "unlisted", get_args(Unlisted))
    ignored = declared is not None and unlisted == "ignore"
    columns = []
    for name in ITEM_COLUMNS:
        values = plain_column(table, name)
        row = first_missing(values)
        if row is not None and not ignored:
            raise InvalidRecord(f"column {name!r}, row {row}: the item is missing; name it.")
        if pa.types.is_nested(values.type):
            raise SchemaError(f"column {name!r} holds {values.type}; give names of items.")
        columns.append(values.cast(pa.large_string()))
    same = pc.fill_null(pc.equal(*columns), False).to_numpy(zero_copy_only=False)
    if same.any():
        row = int(np.argmax(same))
        raise InvalidRecord(
            f"row {row + 1}: {columns[0][row].as_py()!r} is compared with itself; "
            "remove the row or correct it."
        )
    if declared is None:
        items = pc.unique(pa.concat_arrays(columns))
        items = items.take(pc.sort_indices(items))
    else:
        items = listed_items(declared)
    codes = [pc.index_in(values, value_set=items) for values in columns]
    for name, values, found in zip(ITEM_COLUMNS, columns, codes, strict=True):
        row = first_missing(found)
        if row is not None and not ignored:
            raise InvalidRecord(
                f"column {name!r}, row {row}: {values[row - 1].as_py()!r} is not among the "
                f"{len(items)} listed items; correct the row, list the item, or let such records "
                "say nothing with unlisted='ignore' (--unlisted ignore on the command line)."
            )
    chosen, rejected = (pc.fill_null(each, -1).to_numpy().astype(np.int32) for each in codes)
    return items, chosen, rejected


def listed_items(declared: Sequence[Any]) -> pa.Array:
    """Return a public list of items, each once, in its order."""
    if isinstance(declared, str):
        raise ParameterError(f"items is {declared!r}, expected a sequence of names.")
    names = [None if name is None else str(name) for name in declared]
    nameless = [place for place, name in enumerate(names, start=1) if not (name or "").strip()]
    if nameless:
        raise ParameterError(f"item {nameless[0]} of the list has no name; name it.")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ParameterError(f"the item {twice[0]!r} is listed twice; list it once.")
    if len(names) < 2:
        raise ParameterError(f"items are {names}, expected at least two to compare.")
    return pa.array(names, pa.large_string())


def numbers(column: pa.Array, name: str, codes: Integers, known: pa.Array) -> Floats:
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


def check_finite(values: Floats, name: str, codes: Integers, known: pa.Array) -> None:
    """Raise where a number is not finite, naming row and voter."""
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise InvalidRecord(
            f"column {name!r}, row {bad[0] + 1} (voter {_voter(bad[0], codes, known)}): "
            f"{values[bad[0]]} is not finite; remove the row or correct it."
        )


def _voter(record: int, codes: Integers, known: pa.Array) -> str:
    return repr(known[int(codes[record])].as_py())


def _first_text(column: pa.Array) -> tuple[int, Any]:
    for row, value in enumerate(column, start=1):
        try:
            value.cast(pa.float64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return row, value.as_py()
    return 1, column[0].as_py()
