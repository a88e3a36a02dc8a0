"""Comparisons: a chosen and a rejected alternative a row, checked once and sorted by voter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from masquerade.answers.comparison_columns import (
    CHOICE,
    ITEM_COLUMNS,
    VOTER,
    Feature,
    Ranges,
    Unlisted,
    check_finite,
    check_item_columns,
    declare_features,
    encode_choices,
    encode_items,
    encode_voters,
    feature_columns,
    numbers,
    widths,
)
from masquerade.answers.frames import Frame, plain_column, read_table, to_arrow, write_table
from masquerade.answers.result import Result
from masquerade.errors import DuplicateVoter, EmptyTable, InvalidRecord, ParameterError, SchemaError
from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.exact.number import in_range, quantity


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons(Result):
    """A table of pairwise choices; the records of one voter stand together.

    Build one with `from_frame`, `read` or `from_pairs`, which check every row.

    Attributes
    ----------
    difference : float64 array, shape (n_records, n_features)
        Chosen minus rejected alternative, in the features' own units, within the public ranges.
        No features (shape (n_records, 0)) where items are only named.
    offsets : int64 array, shape (n_voters + 1,)
        The records of voter i are ``offsets[i]:offsets[i + 1]``, in the order of the table.
    voters : pyarrow.Array
        Names, each once: the declared ones in their declared order, else by first appearance.
    choice : int64 array, shape (n_records,), optional
        Records of one voter with equal number come from one choice among more than two
        alternatives, and depend on one another.
    items : pyarrow.Array, optional
        Names of the items compared, where records name items: the given list in its order, else
        those that records name, sorted.
    chosen, rejected : int32 array, shape (n_records,), optional
        Codes into `items`; -1 for a name that the list leaves out, where such are ignored.
    items_given : bool
        Whether `items` is a list that was given. Otherwise the names were read off the records, and
        a name that one voter alone wrote is in it: no private mechanism takes it.
    clipped : int
        How many numbers were outside their public range and were clipped to it. It depends on the
        answers: do not publish it.

    Examples
    --------
    >>> comparisons = Comparisons.from_frame(
    ...     {"voter": ["a", "b", "a"], "price": [-3, 1, -2], "comfort": [1, 1, 0]},
    ...     ranges={"price": (0, 10), "comfort": (0, 2)})
    >>> comparisons
    Comparisons(3 records of 2 voters, 2 features)
    >>> comparisons.of_voter(0).tolist()
    [[-3.0, 1.0], [-2.0, 0.0]]
    """

    difference: Floats
    offsets: Integers
    voters: pa.Array
    features: tuple[Feature, ...]
    choice: Integers | None = None
    items: pa.Array | None = None
    chosen: Codes | None = None
    rejected: Codes | None = None
    clipped: int = 0
    items_given: bool = False

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        features: Sequence[str] | None = None,
        ranges: Ranges | None = None,
        voters: Sequence[Any] | None = None,
        one_each: bool = False,
        items: Sequence[Any] | None = None,
        unlisted: Unlisted = "error",
    ) -> Comparisons:
        """Check a table and return it as comparisons.

        Parameters
        ----------
        frame : pandas, polars, pyarrow or duckdb table, or dict of arrays
            One row a record: a column ``voter``, then either one column a feature with chosen
            minus rejected, or the columns ``chosen`` and ``rejected`` with names of items. A column
            ``choice`` numbers the choices of a voter: records that share one depend on one another.
            A column ``comparison`` is a label of the row and is ignored; no other column is.
        features : sequence of str, optional
            The columns that are features. Default: all columns but those named above.
        ranges : mapping of str to (low, high), optional
            Public range of each feature of an alternative, from the design of the questions. A
            difference beyond ``high - low`` is clipped.
        voters : sequence, optional
            Everybody who was asked, also those without a record.
        one_each : bool
            There is no column ``voter``: every row is of a voter of its own.
        items : sequence of names, optional
            With the columns ``chosen`` and ``rejected``: the public list of all items that could be
            compared, from the design of the questions, never from the answers. Every result has
            these items in this order, met or not. Required by private mechanisms.
        unlisted : {"error", "ignore"}
            What to do with a record that names an item outside the list: refuse the table, or let
            the record count and say nothing.

        Raises
        ------
        SchemaError, EmptyTable, MissingValue, MixedTypes, InvalidRecord, DuplicateVoter
            Each names the row (from 1, the header not counted) or the voter, and what to do.
        ParameterError
            A range or the list of items cannot be used.
        """
        wanted = None if features is None else (VOTER, CHOICE, *features)
        table = to_arrow(frame, columns=wanted)
        found = table.column_names
        if not one_each and VOTER not in found:
            raise SchemaError(
                f"column {VOTER!r} is missing; the table has {found}. Rename a column, or say that "
                "every row is of a voter of its own with one_each=True (--one-each on the command "
                "line)."
            )
        by_name = features is None and all(name in found for name in ITEM_COLUMNS)
        if items is not None and not by_name:
            raise ParameterError(
                f"items are given and the table is read by features; it has {found}. Give the "
                "columns 'chosen' and 'rejected' with names of items and no features, or leave "
                "items out."
            )
        if by_name:
            check_item_columns(found)
        names = [] if by_name else feature_columns(found, features)
        if table.num_rows == 0 and voters is None:
            raise EmptyTable("the table has no rows; expected at least one comparison.")
        codes, known = encode_voters(table, voters, one_each=one_each)
        choice = encode_choices(table) if CHOICE in found else None
        if by_name:
            named = encode_items(table, items, unlisted)
            read = cls(_nothing(table), codes, known, (), choice, *named)
            return _sorted(replace(read, items_given=items is not None))
        # difference[record, feature], each cut to the public width: noise is sized by that.
        declared = declare_features(names, ranges)
        columns = [numbers(plain_column(table, name), name, codes, known) for name in names]
        difference = np.stack(columns, axis=1) if columns else _nothing(table)
        difference, clipped = _within(difference, -widths(declared), widths(declared), declared)
        return _sorted(cls(difference, codes, known, declared, choice, clipped=clipped))

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        features: Sequence[str] | None = None,
        ranges: Ranges | None = None,
        voters: Sequence[Any] | None = None,
        one_each: bool = False,
        items: Sequence[Any] | None = None,
        unlisted: Unlisted = "error",
    ) -> Comparisons:
        """Read comparisons from CSV (also .gz) or Parquet; see `from_frame`."""
        return cls.from_frame(
            read_table(path),
            features=features,
            ranges=ranges,
            voters=voters,
            one_each=one_each,
            items=items,
            unlisted=unlisted,
        )

    @classmethod
    def of(cls, data: Comparisons | Frame) -> Comparisons:
        """Return comparisons as they are, or read a table; see `from_frame`."""
        return data if isinstance(data, Comparisons) else cls.from_frame(data)

    @classmethod
    def from_pairs(
        cls,
        chosen: ArrayLike,
        rejected: ArrayLike,
        voter: Sequence[Any] | NDArray[Any] | pa.Array,
        *,
        features: Sequence[str],
        ranges: Ranges | None = None,
        voters: Sequence[Any] | None = None,
    ) -> Comparisons:
        """Return comparisons of alternatives given by their features.

        Parameters
        ----------
        chosen, rejected : float array, shape (n_records, n_features)
            Features of both alternatives; clipped to their public range one by one.
        voter : sequence, shape (n_records,)
            Who chose.
        features, ranges, voters
            As in `from_frame`.

        Raises
        ------
        InvalidRecord
            A shape does not fit the features, or a number is not finite.
        """
        declared = declare_features(features, ranges)
        table = to_arrow({VOTER: voter})
        codes, known = encode_voters(table, voters, one_each=False)
        clipped = 0
        pair = []
        for name, given in zip(ITEM_COLUMNS, (chosen, rejected), strict=True):
            try:
                values = np.asarray(given, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InvalidRecord(f"{name} does not hold numbers alone: {error}") from error
            if values.shape != (len(codes), len(declared)):
                raise InvalidRecord(
                    f"{name} has shape {values.shape}, expected ({len(codes)}, {len(declared)}): a "
                    f"row for each of {len(codes)} records and a column for each of the features "
                    f"{list(features)}."
                )
            for i, feature in enumerate(declared):
                check_finite(values[:, i], feature.name, codes, known)
            low = np.array([feature.low for feature in declared])
            high = np.array([feature.high for feature in declared])
            values, outside = _within(values, low, high, declared)
            clipped += outside
            # each alternative in its public range: differences are then within the widths
            pair.append(values)
        return _sorted(cls(pair[0] - pair[1], codes, known, declared, clipped=clipped))

    @property
    def n_voters(self) -> int:
        """Number of voters, those without a record counted."""
        return len(self.offsets) - 1

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(feature.name for feature in self.features)

    @property
    def widths(self) -> Floats:
        """Public scale of each feature, shape (n_features,); see `Feature.width`."""
        return widths(self.features)

    @property
    def voter(self) -> Integers:
        """The voter of each record: codes into `voters`, ascending, shape (n_records,)."""
        return np.repeat(np.arange(self.n_voters), np.diff(self.offsets))

    def scaled(self) -> Floats:
        """Return the differences divided by the public widths, shape (n_records, n_features).

        Where ranges were declared, every number is in [-1, 1].
        """
        # By public widths, never by the spread of the data, which would have to be paid for.
        scaled: Floats = self.difference / self.widths
        return scaled

    def of_voter(self, voter: int) -> Floats:
        """Return one voter's differences, shape (n, n_features)."""
        return self.difference[self.offsets[voter] : self.offsets[voter + 1]]

    def records_per_voter(self) -> Integers:
        """Return how many records each voter has, shape (n_voters,)."""
        return np.diff(self.offsets)

    def most_records_of_a_voter(self) -> int:
        """Return the largest number of records of one voter."""
        return int(self.records_per_voter().max(initial=0))

    def most_records_of_a_choice(self) -> int:
        """Return the largest number of records that one choice of one voter led to."""
        if self.choice is None or len(self) == 0:
            return min(1, len(self))
        same_choice = np.stack([self.voter, self.choice], axis=1)
        return int(np.unique(same_choice, axis=0, return_counts=True)[1].max())

    def of_voters(self, kept: ArrayLike) -> Comparisons:
        """Return the comparisons of some voters, in the given order.

        Parameters
        ----------
        kept : int array, or bool array of shape (n_voters,)
            Codes of voters, each at most once.

        Raises
        ------
        ParameterError, DuplicateVoter
            A code is nobody's, or stands twice.
        """
        codes = np.asarray(kept)
        codes = np.flatnonzero(codes) if codes.dtype == np.bool_ else codes.astype(np.int64)
        unknown = np.flatnonzero((codes < 0) | (codes >= self.n_voters))
        if unknown.size:
            raise ParameterError(
                f"voter {codes[unknown[0]]} is asked for, expected codes 0 to {self.n_voters - 1}."
            )
        if len(np.unique(codes)) < len(codes):
            raise DuplicateVoter("a voter was asked for twice; one voter has one budget.")
        counts = self.records_per_voter()[codes]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        # the old place of each record: each voter's run is moved as a whole
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[codes] - offsets[:-1], counts)
        return replace(
            self._take(rows), offsets=offsets, voters=self.voters.take(pa.array(codes, pa.int64()))
        )

    def at_most(self, records: int) -> Comparisons:
        """Return the first `records` records of each voter.

        A public cap makes every voter's influence, and the voter's total privacy cost, bounded.
        """
        in_range(records, "records", low=1)
        # place[record] among the records of its voter
        place = np.arange(len(self)) - np.repeat(self.offsets[:-1], self.records_per_voter())
        counts = np.minimum(self.records_per_voter(), records)
        return replace(
            self._take(np.flatnonzero(place < records)),
            offsets=np.concatenate([[0], np.cumsum(counts)]),
        )

    def by_items(self) -> Comparisons:
        """Return named items as features: +1 for the chosen one, -1 for the rejected one.

        Every mechanism for features then learns one weight an item. A record that names an item
        outside the list is all zeros.

        Raises
        ------
        ParameterError
            The records do not name items.
        """
        if self.items is None or self.chosen is None or self.rejected is None:
            raise ParameterError("these comparisons have features already; they name no items.")
        # -1 is an item outside the list
        known = np.flatnonzero((self.chosen >= 0) & (self.rejected >= 0))
        difference = np.zeros((len(self), len(self.items)))
        difference[known, self.chosen[known]] = 1
        difference[known, self.rejected[known]] = -1
        features = tuple(Feature(str(name), 0, 1) for name in self.items.to_pylist())
        return replace(self, difference=difference, features=features)

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table that `from_frame` reads."""
        columns: dict[str, Any] = {VOTER: self.voters.take(pa.array(self.voter, pa.int64()))}
        if self.choice is not None:
            columns[CHOICE] = self.choice
        if self.items is not None and self.chosen is not None and self.rejected is not None:
            for name, codes in zip(ITEM_COLUMNS, (self.chosen, self.rejected), strict=True):
                columns[name] = self.items.take(pa.array(codes, mask=codes < 0))
        else:
            columns |= dict(zip(self.names, self.difference.T, strict=True))
        return pa.table(columns)

    def write(self, path: str | Path) -> None:
        """Write the comparisons as CSV (also .gz) or Parquet, by the ending of `path`."""
        write_table(self.to_arrow(), path)

    def __len__(self) -> int:
        return len(self.difference)

    def __repr__(self) -> str:
        what = quantity(self.n_features, "feature")
        if self.items is not None and not self.features:
            what = quantity(len(self.items), "item")
        voters = quantity(self.n_voters, "voter")
        return f"Comparisons({quantity(len(self), 'record')} of {voters}, {what})"

    def _take(self, rows: Integers) -> Comparisons:
        def taken(codes: NDArray[Any] | None) -> NDArray[Any] | None:
            return None if codes is None else codes[rows]

        return replace(
            self,
            difference=self.difference[rows],
            choice=taken(self.choice),
            chosen=taken(self.chosen),
            rejected=taken(self.rejected),
        )


def _sorted(unsorted: Comparisons) -> Comparisons:
    """Return comparisons sorted by voter; `offsets` holds each record's voter until then."""
    voter = unsorted.offsets
    counts = np.bincount(voter, minlength=len(unsorted.voters))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if (voter[1:] >= voter[:-1]).all():
        return replace(unsorted, offsets=offsets)
    # stable: a voter's records stay in their order, by which `at_most` leaves out later ones
    rows = np.argsort(voter, kind="stable")
    return replace(unsorted._take(rows), offsets=offsets)


def _nothing(table: pa.Table) -> Floats:
    return np.zeros((table.num_rows, 0))


def _within(
    values: Floats, low: Floats, high: Floats, features: Sequence[Feature]
) -> tuple[Floats, int]:
    """Return `values` clipped to the declared ranges, and how many were outside."""
    if not features or not features[0].declared:
        return values, 0
    inside = np.clip(values, low, high)
    return inside, int(np.count_nonzero(inside != values))
