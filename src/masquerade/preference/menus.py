"""Choices among several alternatives: public menus, and which alternative each voter chose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers import Comparisons
from masquerade.answers.comparison_columns import (
    CHOICE,
    VOTER,
    Feature,
    Ranges,
    declare_features,
    encode_choices,
    encode_voters,
    listed_items,
    numbers,
    widths,
)
from masquerade.answers.frames import Frame, first_missing, plain_column, to_arrow
from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, InvalidRecord, ParameterError, SchemaError
from masquerade.exact.arrays import Floats, Integers

CHOSEN = "chosen"
ALTERNATIVE = "alternative"
ITEM = "item"


@dataclass(frozen=True, slots=True, eq=False)
class MenuChoices(Result):
    """Choices from menus of two or more alternatives; build one with `from_frame`.

    Each menu stands in an order of its own, by the features of its alternatives, so that neither
    the order of rows nor what was chosen shows in it.

    Attributes
    ----------
    values : float array, shape (n_alternatives, n_features)
        Features of every alternative of every menu, scaled by the public widths.
    offsets : int array, shape (n_choices + 1,)
        The alternatives of choice i are ``offsets[i]:offsets[i + 1]``.
    chosen : int array, shape (n_choices,)
        Place of the chosen alternative in its menu. Private.
    voter : int array, shape (n_choices,)
        Codes into `voters`, ascending.
    voters : pyarrow.Array
    features : tuple of Feature
    groups : int array, shape (n_alternatives,), or None
        Of masked choices: alternatives of a menu with the same number were reported as one, and
        `chosen` is the number that was reported. Public.
    named_items : bool
        Whether alternatives are only named: each item is a feature, 1 for itself.
    items_given : bool
        Whether the list of items was given, and not read off the menus.

    Examples
    --------
    >>> menus = MenuChoices.from_frame(
    ...     {"voter": ["ann"] * 3, "choice": [1, 1, 1], "chosen": [0, 1, 0], "price": [9, 4, 6]},
    ...     ranges={"price": (0, 10)})
    >>> menus.values.ravel().tolist(), menus.chosen.tolist()
    ([0.4, 0.6, 0.9], [0])
    """

    values: Floats
    offsets: Integers
    chosen: Integers
    voter: Integers
    voters: pa.Array
    features: tuple[Feature, ...]
    groups: Integers | None = None
    named_items: bool = False
    items_given: bool = True

    @classmethod
    def of(cls, data: MenuChoices | Frame) -> MenuChoices:
        """Return choices as they are, or read a table; see `from_frame`."""
        return data if isinstance(data, MenuChoices) else cls.from_frame(data)

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        features: Sequence[str] | None = None,
        ranges: Ranges | None = None,
        voters: Sequence[Any] | None = None,
        items: Sequence[Any] | None = None,
    ) -> MenuChoices:
        """Check a table and return it as choices from menus.

        Parameters
        ----------
        frame : pandas, polars, pyarrow or duckdb table, or dict of arrays
            One row an alternative that was shown: columns ``voter``, ``choice`` (numbers the
            choices of a voter), ``chosen`` (1 for one alternative of each choice, else 0) and one
            column a feature. A column ``alternative`` is a label and is ignored. Where alternatives
            are only named, a column ``item`` in place of features.
        features, ranges, voters
            As in `Comparisons.from_frame`.
        items : sequence of names, optional
            The public list of all items that could be shown, from the design of the questions;
            private results need it. Menus then stand in its order.

        Raises
        ------
        SchemaError, EmptyTable, MissingValue, InvalidRecord
            Each names the row or the voter, and what to do.
        """
        table = to_arrow(frame)
        known_columns = (VOTER, CHOICE, CHOSEN, ALTERNATIVE)
        names = list(features or ()) or [
            name for name in table.column_names if name not in known_columns
        ]
        for name in (VOTER, CHOICE, CHOSEN):
            if name not in table.column_names:
                raise SchemaError(
                    f"column {name!r} is missing; choices from menus have voter, choice, chosen "
                    "(1 or 0) and one column a feature, one row an alternative."
                )
        if table.num_rows == 0:
            raise EmptyTable("the table has no rows; expected at least one menu.")
        codes, known = encode_voters(table, voters, one_each=False)
        flags = numbers(plain_column(table, CHOSEN), CHOSEN, codes, known)
        choice = encode_choices(table)
        by_name = names == [ITEM]
        if items is not None and not by_name:
            raise ParameterError(
                f"items are given, and the table describes alternatives by {names}; give a column "
                "item with their names in place of features, or leave items out."
            )
        if by_name:
            declared, item = _named(table, items)
            order = np.lexsort((item, choice, codes))
            values = (item[order, None] == np.arange(len(declared))).astype(np.float64)
        else:
            declared = declare_features(names, ranges)
            columns = [numbers(plain_column(table, name), name, codes, known) for name in names]
            values = np.stack(columns, axis=1) / widths(declared)
            if declared[0].declared:
                low = np.array([each.low for each in declared]) / widths(declared)
                # Divided by its public width a range has length 1.
                values = np.clip(values, low, low + 1)
            # One order for every menu: voters as declared, their choices, then features by size.
            order = np.lexsort((*values.T[::-1], choice, codes))
            values = values[order]
        flags, codes, choice = flags[order], codes[order], choice[order]
        starts = _menus(flags, codes, choice, known)
        if by_name:
            _require_each_once(item[order], starts, known, codes)
        chosen = np.flatnonzero(flags == 1) - starts
        given = items is not None or not by_name
        return cls(
            *(values, np.append(starts, len(codes)), chosen, codes[starts], known, declared),
            named_items=by_name,
            items_given=given,
        )

    @property
    def n_voters(self) -> int:
        """Number of voters, those without a choice counted."""
        return len(self.voters)

    @property
    def sizes(self) -> Integers:
        """Number of alternatives of each menu, shape (n_choices,)."""
        return np.diff(self.offsets)

    def comparisons(self) -> Comparisons:
        """Return choices of named items as records: 1 for the chosen item, -1 for the others.

        `ItemWins` learns from them, where menus are public and an aggregator sees the choices.

        Raises
        ------
        ParameterError
            Alternatives have features, or choices were masked in groups; `MenuResponse` takes them.
        """
        if not self.named_items or self.groups is not None:
            raise ParameterError(
                "these menus have features, or their choices were masked in groups, and only true "
                "choices of named items become records; mask and learn with MenuResponse "
                "(masquerade menus --mechanism menu-response)."
            )
        # -1 for each item of a menu, then 1 for the chosen one: items are rows of 1 in `values`
        difference = -np.add.reduceat(self.values, self.offsets[:-1], axis=0)
        difference += 2 * self.values[self.offsets[:-1] + self.chosen]
        return Comparisons(
            difference,
            np.concatenate([[0], np.cumsum(self.choices_per_voter())]),
            self.voters,
            self.features,
            items=pa.array([feature.name for feature in self.features], pa.large_string()),
            items_given=self.items_given,
        )

    def choices_per_voter(self) -> Integers:
        """Return how many choices each voter made, shape (n_voters,)."""
        return np.bincount(self.voter, minlength=self.n_voters)

    def __len__(self) -> int:
        return len(self.chosen)

    def __repr__(self) -> str:
        return (
            f"MenuChoices({len(self)} choices of {self.n_voters} voters, {len(self.features)} "
            "features)"
        )


def _menus(flags: Floats, voters: Integers, choice: Integers, known: pa.Array) -> Integers:
    """Return the row at which each menu begins, of which exactly one alternative is chosen."""
    # A menu begins where voter or choice changes.
    starts = np.flatnonzero(np.diff(voters, prepend=-1) | np.diff(choice, prepend=-1))
    sizes = np.diff(starts, append=len(voters))
    # ones[menu]: alternatives that are marked as chosen
    ones = np.add.reduceat(flags == 1, starts)
    bad = (ones != 1) | (np.add.reduceat(flags == 0, starts) != sizes - 1) | (sizes < 2)
    if bad.any():
        place = int(np.argmax(bad))
        raise InvalidRecord(
            f"a choice of voter {known[int(voters[starts[place]])].as_py()!r} has "
            f"{int(sizes[place])} alternatives of which {int(ones[place])} "
            "are marked 1; expected two or more, one of them 1 and the others 0."
        )
    return starts


def _named(table: pa.Table, items: Sequence[Any] | None) -> tuple[tuple[Feature, ...], Integers]:
    """Return the items as features, as listed or else as named, and the item of each row."""
    column = plain_column(table, ITEM)
    row = first_missing(column)
    if row is not None:
        raise InvalidRecord(f"column {ITEM!r}, row {row}: the item is missing; name it.")
    if pa.types.is_nested(column.type):
        raise SchemaError(f"column {ITEM!r} holds {column.type}; give names of items.")
    names = column.cast(pa.large_string())
    listed = listed_items(sorted(set(names.to_pylist())) if items is None else items)
    codes = pc.index_in(names, value_set=listed)
    row = first_missing(codes)
    if row is not None:
        raise InvalidRecord(
            f"column {ITEM!r}, row {row}: {names[row - 1].as_py()!r} is not among the "
            f"{len(listed)} listed items; correct the row, or list the item."
        )
    features = tuple(Feature(name, 0, 1) for name in listed.to_pylist())
    return features, codes.to_numpy(zero_copy_only=False).astype(np.int64)


def _require_each_once(item: Integers, starts: Integers, known: pa.Array, codes: Integers) -> None:
    """Refuse a menu that shows an item twice; rows of a menu are sorted by item."""
    same = np.flatnonzero(item[1:] == item[:-1]) + 1
    twice = same[~np.isin(same, starts)]
    if twice.size:
        raise InvalidRecord(
            f"a choice of voter {known[int(codes[twice[0]])].as_py()!r} shows an item twice; show "
            "each item of a menu once."
        )
