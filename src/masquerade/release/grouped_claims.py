"""Numeric claims sorted by object, as all of the release room reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers import Claims, Frame
from masquerade.errors import DuplicateClaim, EmptyTable, InputError, MissingValue, ParameterError
from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.number import one_of

Missing = Literal["error", "drop"]
Duplicates = Literal["error", "first", "last", "mean"]

#: Above this, squares of values leave the range of floating-point numbers.
LARGEST_VALUE = 1e150


@dataclass(frozen=True, slots=True, eq=False)
class GroupedClaims:
    """Numeric claims, grouped by object.

    Objects and users are in the order of their names, whatever the order of the input.

    Attributes
    ----------
    objects, users : pyarrow.Array
        Names, each once, sorted.
    value : float array, shape (n_claims,)
        Ascending object, then ascending user.
    user : int32 array, shape (n_claims,)
        Codes into `users`.
    offset : int array, shape (n_objects + 1,)
        The claims about object i are those from ``offset[i]`` to ``offset[i + 1]``.
    dropped : int
        Missing values that were left out.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "value": [1.0, 2.0, 3.0]}
    >>> claims = GroupedClaims.of(table)
    >>> claims.n_objects, claims.n_users
    (2, 2)
    """

    objects: pa.Array
    users: pa.Array
    value: Floats
    user: Codes
    offset: Integers
    dropped: int = 0

    @classmethod
    def of(
        cls,
        data: GroupedClaims | Claims | Frame,
        *,
        missing: Missing = "error",
        duplicates: Duplicates = "error",
    ) -> GroupedClaims:
        """Return claims, or a table of them, grouped by object.

        Parameters
        ----------
        data : Claims, or pandas, polars, pyarrow or duckdb table, or dict of arrays
            Numeric; see `Claims.from_frame`. An object is a task, a user a worker. Claims that are
            grouped already are returned as they are.
        missing : {"error", "drop"}
            What to do with claims that hold no number.
        duplicates : {"error", "first", "last", "mean"}
            What to do where a user claims several values of one object.

        Raises
        ------
        InputError
            A row cannot be used: missing, not finite, beyond 1e150 in size, or a second claim.
        ParameterError
            The claims are categorical, or an option is unknown.
        """
        one_of(missing, "missing", get_args(Missing))
        one_of(duplicates, "duplicates", get_args(Duplicates))
        if isinstance(data, GroupedClaims):
            return data
        claims = (
            data
            if isinstance(data, Claims)
            else Claims.from_frame(data, kind="numeric", null=True, duplicates="all")
        )
        if claims.kind != "numeric":
            raise ParameterError(
                "densities are for numbers, and these claims are categorical; read them with "
                "kind='numeric' (a column 'value' is read so)."
            )
        _check_values(claims, missing)
        rows = np.flatnonzero(~claims.unanswered())
        if not rows.size:
            raise EmptyTable("no claim holds a number; expected at least one.")
        return _grouped(claims.answered(), duplicates, rows=rows, dropped=len(claims) - len(rows))

    @classmethod
    def none(cls, names: Iterable[Any]) -> GroupedClaims:
        """Return no claim at all, about these objects."""
        objects = pc.unique(pa.array(list(names)))
        empty = np.empty(0)
        return cls(
            objects.take(pc.sort_indices(objects)),
            pa.array([], pa.string()),
            empty,
            empty.astype(np.int32),
            np.zeros(len(objects) + 1, dtype=np.int64),
        )

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return len(self.objects)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.users)

    @property
    def count(self) -> Integers:
        """Number of claims about each object, shape (n_objects,)."""
        return np.diff(self.offset)

    @property
    def object(self) -> Integers:
        """The object of each claim, shape (n_claims,)."""
        return np.repeat(np.arange(self.n_objects), self.count)

    def __len__(self) -> int:
        return len(self.value)

    def rows_of(self, index: int) -> slice:
        """Return where the claims about one object stand."""
        return slice(int(self.offset[index]), int(self.offset[index + 1]))

    def objects_per_user(self) -> Integers:
        """Return about how many objects each user makes a claim, shape (n_users,)."""
        return np.bincount(self.user, minlength=self.n_users)

    def capped(self, cap: int, source: WordSource) -> GroupedClaims:
        """Return at most `cap` claims of each user, chosen at random without looking at values.

        All objects stay, some perhaps without any claim.
        """
        # who claimed something is public, so whether words are drawn may depend on it
        if not (self.objects_per_user() > cap).any():
            return self
        order = np.lexsort((source.words(len(self)), self.user))
        first = np.searchsorted(self.user[order], np.arange(self.n_users))
        # random words decide which claims of a user come first
        rank = np.arange(len(self)) - first[self.user[order]]
        # sorted, for the claims of an object have to stay side by side
        return self.subset(np.sort(order[rank < cap]))

    def about(self, names: Iterable[Any]) -> GroupedClaims:
        """Return the claims about these objects alone; all of them are there, also without claims.

        Raises
        ------
        ParameterError
            A name is no name of the same kind as those of the claims' objects.
        """
        try:
            listed = pc.unique(pa.array(list(names), self.objects.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ParameterError(
                f"the listed objects are not named by {self.objects.type}, as those of the claims "
                "are; a name as a text is not the same name as a number."
            ) from error
        listed = listed.take(pc.sort_indices(listed))
        # place[object], null where it is not listed; both are sorted, so the order stays
        place = pc.index_in(self.objects, value_set=listed).take(pa.array(self.object))
        rows = np.flatnonzero(place.is_valid().to_numpy(zero_copy_only=False))
        new = place.drop_null().to_numpy().astype(np.int64)
        count = np.bincount(new, minlength=len(listed))
        return GroupedClaims(
            listed,
            self.users,
            self.value[rows],
            self.user[rows],
            np.concatenate(([0], np.cumsum(count))),
            self.dropped,
        )

    def subset(self, rows: Integers) -> GroupedClaims:
        """Return the claims at these rows, in order; all objects and users stay."""
        count = np.bincount(self.object[rows], minlength=self.n_objects)
        return GroupedClaims(
            self.objects,
            self.users,
            self.value[rows],
            self.user[rows],
            np.concatenate(([0], np.cumsum(count))),
            self.dropped,
        )

    def sorted_values(self) -> Floats:
        """Return the values, ascending within each object."""
        return self.value[np.lexsort((self.value, self.object))]


def _check_values(claims: Claims, missing: Missing) -> None:
    empty = np.flatnonzero(np.isnan(claims.value))
    if empty.size and missing == "error":
        raise MissingValue(
            f"row {empty[0] + 1}: the value is missing ({empty.size} of {len(claims)} rows have "
            "none); remove the row, or leave such rows out "
            "with missing='drop' (--missing drop on the command line)."
        )
    # NaN is above nothing: missing values that may be dropped pass here
    large = np.flatnonzero(np.abs(claims.value) > LARGEST_VALUE)
    if large.size:
        raise InputError(
            f"row {large[0] + 1}: the value is beyond {LARGEST_VALUE:g} in size, so that its "
            "square cannot be represented; correct it or use a larger unit."
        )


def _grouped(
    claims: Claims, duplicates: Duplicates, *, rows: Integers, dropped: int
) -> GroupedClaims:
    """Return claims by object; `rows` are their places in the table as it was given."""
    objects, task = _sorted_names(claims.tasks, claims.task)
    users, worker = _sorted_names(claims.workers, claims.worker)
    order = np.lexsort((worker, task))
    task, worker, value = task[order], worker[order], claims.value[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (task[1:] != task[:-1]) | (worker[1:] != worker[:-1])
    if not new.all():
        if duplicates == "error":
            row = int(rows[order[~new].min()]) + 1
            raise DuplicateClaim(
                f"row {row}: this user already made a claim about this object "
                f"({int((~new).sum())} such rows in all); choose one with duplicates='first' or "
                "'last', or take their mean with 'mean' (--duplicates on the command line)."
            )
        if duplicates == "mean":
            pair = np.cumsum(new) - 1  # of object and user
            value = np.bincount(pair, value) / np.bincount(pair)
            task, worker = task[new], worker[new]
        else:
            # the sort is stable, so rows of a pair are in the order of the table
            chosen = new if duplicates == "first" else np.append(new[1:], True)
            task, worker, value = task[chosen], worker[chosen], value[chosen]
    count = np.bincount(task, minlength=len(objects))
    # an object all of whose claims were missing is none
    present = np.flatnonzero(count)
    return GroupedClaims(
        objects.take(pa.array(present)),
        users,
        np.ascontiguousarray(value, dtype=np.float64),
        worker.astype(np.int32),
        np.concatenate(([0], np.cumsum(count[present]))),
        dropped,
    )


def _sorted_names(names: pa.Array, code: Codes) -> tuple[pa.Array, Integers]:
    order = pc.sort_indices(names)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(names))
    return names.take(order), rank[code]
