"""Choices among several alternatives: public menus, and which alternative each voter chose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.answers.comparison_columns import (
    CHOICE,
    VOTER,
    encode_choices,
    encode_voters,
    numbers,
)
from masquerade.answers.features import Feature, Ranges, declare_features, widths
from masquerade.answers.frames import Frame, plain_column, to_arrow
from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, InvalidRecord, SchemaError
from masquerade.exact.arrays import Floats, Integers

CHOSEN = "chosen"
ALTERNATIVE = "alternative"


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
    ) -> MenuChoices:
        """Check a table and return it as choices from menus.

        Parameters
        ----------
        frame : pandas, polars, pyarrow or duckdb table, or dict of arrays
            One row an alternative that was shown: columns ``voter``, ``choice`` (numbers the
            choices of a voter), ``chosen`` (1 for one alternative of each choice, else 0) and one
            column a feature. A column ``alternative`` is a label and is ignored.
        features, ranges, voters
            As in `Comparisons.from_frame`.

        Raises
        ------
        SchemaError, EmptyTable, MissingValue, InvalidRecord
            Each names the row or the voter, and what to do.
        """
        table = to_arrow(frame)
        names = list(features or ()) or [
            name for name in table.column_names if name not in (VOTER, CHOICE, CHOSEN, ALTERNATIVE)
        ]
        for name in (VOTER, CHOICE, CHOSEN):
            if name not in table.column_names:
                raise SchemaError(
                    f"column {name!r} is missing; choices from menus have voter, choice, chosen "
                    "(1 or 0) and one column a feature, one row an alternative."
                )
        if table.num_rows == 0:
            raise EmptyTable("the table has no rows; expected at least one menu.")
        declared = declare_features(names, ranges)
        codes, known = encode_voters(table, voters, one_each=False)
        flags = numbers(plain_column(table, CHOSEN), CHOSEN, codes, known)
        columns = [numbers(plain_column(table, name), name, codes, known) for name in names]
        values = np.stack(columns, axis=1) / widths(declared)
        if declared[0].declared:
            low = np.array([each.low for each in declared]) / widths(declared)
            # Divided by its public width a range has length 1.
            values = np.clip(values, low, low + 1)
        choice = encode_choices(table)
        # One order for every menu: voters as declared, their choices, then features by size.
        order = np.lexsort((*values.T[::-1], choice, codes))
        values, flags, codes, choice = values[order], flags[order], codes[order], choice[order]
        # A menu begins where voter or choice changes.
        starts = np.flatnonzero(np.diff(codes, prepend=-1) | np.diff(choice, prepend=-1))
        offsets = np.append(starts, len(codes))
        sizes = np.diff(offsets)
        # ones[menu]: alternatives that are marked as chosen
        ones = np.add.reduceat(flags == 1, starts)
        bad = (ones != 1) | (np.add.reduceat(flags == 0, starts) != sizes - 1) | (sizes < 2)
        if bad.any():
            place = int(starts[np.argmax(bad)])
            raise InvalidRecord(
                f"a choice of voter {known[int(codes[place])].as_py()!r} has "
                f"{int(sizes[np.argmax(bad)])} alternatives of which {int(ones[np.argmax(bad)])} "
                "are marked 1; expected two or more, one of them 1 and the others 0."
            )
        chosen = np.flatnonzero(flags == 1) - starts
        return cls(values, offsets, chosen, codes[starts], known, declared)

    @property
    def n_voters(self) -> int:
        """Number of voters, those without a choice counted."""
        return len(self.voters)

    @property
    def sizes(self) -> Integers:
        """Number of alternatives of each menu, shape (n_choices,)."""
        return np.diff(self.offsets)

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
