"""Releases of claims with attributes, such as the group of the worker who made each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.accounting import Ledger
from masquerade.answers import Frame, Progress, to_arrow
from masquerade.answers.frames import missing_column, plain_column
from masquerade.errors import ParameterError
from masquerade.exact import Coins
from masquerade.exact.arrays import Integers
from masquerade.exact.number import NumberLike
from masquerade.release.domain import Domain, Ends
from masquerade.release.grouped_claims import Duplicates, Missing
from masquerade.release.guarantee import Unit
from masquerade.release.posterior import PosteriorHistogram
from masquerade.release.release import Release
from masquerade.release.synthesis import synthesize

_BETWEEN = " · "
_UNLISTED = "\0"  # begins no name of a cell; with the row, as none of these is a duplicate
_SAID = {"task", "worker", "value", "label", "answer"}


@dataclass(frozen=True, slots=True)
class Cells:
    """Listed objects, each split by the categories of public attributes.

    Parameters
    ----------
    objects : sequence of names
        The public list of objects; see `PosteriorHistogram`.
    attributes : mapping of str to sequence
        Each attribute's categories, public: chosen without looking at the claims.

    Raises
    ------
    ParameterError
        A list is empty or has a name twice, two cells have one name, or an attribute is called as
        a column that every table of claims has.

    Examples
    --------
    >>> Cells(["a"], {"shift": ["day", "night"]}).names
    ('a · day', 'a · night')
    """

    objects: Sequence[Any]
    attributes: Mapping[str, Sequence[Any]]

    def __post_init__(self) -> None:
        for name in _SAID & self.attributes.keys():
            raise ParameterError(f"{name} is a column of every table of claims, and no attribute.")
        for name, listed in self._lists.items():
            if not listed or len(set(listed)) < len(listed):
                raise ParameterError(
                    f"{name} is given the list {list(listed)[:5]}; expected names, each once, and "
                    "one at least."
                )
        names = self.names
        if len(set(names)) < len(names):
            twice = next(name for place, name in enumerate(names) if name in names[:place])
            raise ParameterError(
                f"two cells have the name {twice!r}; rename objects or categories."
            )

    @property
    def _lists(self) -> dict[str, Sequence[Any]]:
        return {"task": self.objects, **self.attributes}

    @property
    def _cells(self) -> list[tuple[Any, ...]]:
        return list(itertools.product(*self._lists.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """The cells' names, object by object."""
        return tuple(_BETWEEN.join(map(str, cell)) for cell in self._cells)

    @property
    def each(self) -> int:
        """Number of cells of an object."""
        return math.prod(len(listed) for listed in self.attributes.values())

    def claims(self, data: Frame) -> dict[str, Any]:
        """Return claims about cells; those in none are about an object that is not listed.

        Raises `SchemaError` (a column is not there) or `ParameterError` (a list is not of the
        column's type).
        """
        table, place = to_arrow(data), np.zeros(1, dtype=np.int64)
        listed_all = np.ones(1, dtype=bool)
        for name, listed in self._lists.items():
            found = _places(table, name, listed)
            listed_all = listed_all & (found >= 0)
            place = place * len(listed) + np.maximum(found, 0)
        names = self.names
        return {
            "task": [
                names[at] if there else f"{_UNLISTED}{row}"
                for row, (at, there) in enumerate(
                    zip(place.tolist(), listed_all.tolist(), strict=True)
                )
            ],
            **{name: plain_column(table, name) for name in _kept(table)},
        }

    def engine(
        self, *, expected: int, epsilon: NumberLike, domain: Domain | Ends, **parameters: Any
    ) -> PosteriorHistogram:
        """Return the engine that releases cells as listed objects.

        Parameters
        ----------
        expected : int
            Public guess of the number of claims about an object, all categories together.
        epsilon, domain, parameters
            See `PosteriorHistogram`; its `cap` counts cells.
        """
        return self.split(
            PosteriorHistogram(
                epsilon=epsilon,
                domain=domain,
                objects=self.objects,
                expected=expected,
                **parameters,
            )
        )

    def split(self, engine: PosteriorHistogram) -> PosteriorHistogram:
        """Return the engine of cells from that of their objects."""
        return replace(
            engine,
            domain=self._domain(Domain.of(engine.domain)),
            objects=self.names,
            expected=max((engine.expected or 1) // self.each, 1),
        )

    def _domain(self, domain: Domain) -> Domain:
        """Return the domain of cells: that of their object."""
        own = domain.of_objects
        if not own:
            return domain
        pairs = zip(self.names, self._cells, strict=True)
        ends = {name: own[cell[0]] for name, cell in pairs if cell[0] in own}
        return Domain(domain.low, domain.high, step=domain.step, of_objects=ends)

    def shared_out(self, release: Release, samples: int) -> Release:
        """Return a release of cells with `samples` points of each object, by noisy counts.

        It says the categories that were given, in its columns and in its guarantee.
        """
        cells, order = self._cells, pc.sort_indices(pa.array(self.names)).to_numpy()
        counts = release.noisy_claims
        assert counts is not None  # of listed objects
        # own[object, cell]: places of an object's cells
        own = np.argsort(order // self.each, kind="stable").reshape(len(self.objects), self.each)
        exact = samples * counts[own] / counts[own].sum(axis=1, keepdims=True)
        shared = np.floor(exact).astype(np.int64)
        left = samples - shared.sum(axis=1, keepdims=True)
        # the largest remainders get what is left, the first of equals first
        rank = np.argsort(np.argsort(shared - exact, axis=1, kind="stable"), axis=1)
        number = np.zeros(len(counts), dtype=np.int64)
        number[own] = shared + (rank < left)
        # Points of a cell are drawn independently, so the first ones are as good as any.
        drawn = np.diff(release.offset)
        place = np.arange(len(release.points)) - np.repeat(release.offset[:-1], drawn)
        given = tuple(
            f"the categories of {name}, {', '.join(map(str, listed))}, which were given"
            for name, listed in self.attributes.items()
        )
        # The engine's own words are of cells.
        given += (
            f"objects are cells here, {self.each} of each object that was given, and the number of "
            "claims expected of it is shared evenly among them",
        )
        promised = release.guarantee
        return replace(
            release,
            points=release.points[place < np.repeat(number, drawn)],
            offset=np.concatenate(([0], np.cumsum(number))),
            columns={
                name: pa.array([cells[cell][column] for cell in order])
                for column, name in enumerate(self._lists)
            },
            guarantee=replace(promised, assumptions=promised.assumptions + given),
        )


def _kept(table: pa.Table) -> list[str]:
    """Return the columns of claims that stay: whose each is, and what it says."""
    names: list[str] = table.column_names
    if "worker" not in names:
        raise missing_column("worker", names)
    said = [name for name in ("value", "label", "answer") if name in names]
    if not said:
        raise missing_column("value", names)
    return ["worker", said[0]]


def _places(table: pa.Table, name: str, listed: Sequence[Any]) -> Integers:
    """Return the place of each claim's entry in a list; -1 where it is not there."""
    if name not in table.column_names:
        raise missing_column(name, table.column_names)
    column = plain_column(table, name)
    try:
        wanted = pa.array(list(listed), column.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ParameterError(
            f"the list of {name} is not of {column.type}, as that column of the claims is; a text "
            "is not the same name as a number."
        ) from error
    return np.asarray(pc.fill_null(pc.index_in(column, value_set=wanted), -1)).astype(np.int64)


def synthesize_with_attributes(
    data: Frame,
    attributes: Mapping[str, Sequence[Any]],
    *,
    objects: Sequence[Any],
    expected: int,
    epsilon: NumberLike,
    domain: Domain | Ends,
    unit: Unit = "claim",
    cap: int | None = None,
    bandwidth: NumberLike | None = None,
    bins: int | None = None,
    spread: NumberLike | None = None,
    samples: int = 30,
    missing: Missing = "error",
    duplicates: Duplicates = "error",
    ledger: Ledger | None = None,
    name: str = "release",
    coins: Coins | None = None,
    progress: Progress | None = None,
) -> Release:
    """Draw synthetic claims that keep how values go with attributes of the claims.

    Each listed object is split into cells, one for every combination of categories, and the cells
    are released as listed objects are. Of an object's `samples` points each cell gets as many as
    its noisy number of claims says.

    Parameters
    ----------
    data : table
        ``task``, ``worker``, ``value``, and a column for each attribute.
    attributes : mapping of str to sequence
        Each attribute's categories, public: chosen without looking at the claims. Claims with
        another category are left out without a trace. See `Cells`.
    objects : sequence of names
        The public list of objects.
    expected : int
        Public guess of the number of claims about an object, all categories together.
    epsilon, domain, unit, cap, bandwidth, bins, spread
        See `PosteriorHistogram`. `cap` counts cells: an object in two categories is two.
    samples : int
        Points of each object, at least 1.
    missing, duplicates, ledger, name, coins, progress
        See `synthesize`.

    Returns
    -------
    Release
        Its objects are the cells, ``"object · category"``; ``to_arrow()`` has a column ``task``,
        one for each attribute, ``worker`` and ``value``.

    Raises
    ------
    ParameterError
        A list is empty or has a name twice; or a parameter is out of range.
    SchemaError
        There is no such column.

    Privacy
    -------
    That of `PosteriorHistogram` with a list of objects, the collector is trusted: pure epsilon
    where one claim is added or removed, its category with it, or one user with all claims in at
    most `cap` cells. Cells are disjoint, so a claim touches one of them, and their number costs
    nothing. A claim that gets another value, or another category, is one removed and one added and
    costs twice epsilon. How many points a cell has is computed from its noisy counts alone.

    Notes
    -----
    With more cells each has fewer claims and no less noise: few categories work best.

    Examples
    --------
    >>> claims = {"task": ["a"] * 40, "worker": [f"u{n}" for n in range(40)],
    ...           "value": [2.0, 8.0] * 20, "shift": ["day", "night"] * 20}
    >>> made = synthesize_with_attributes(claims, {"shift": ["day", "night"]}, objects=["a"],
    ...                                   expected=40, epsilon=4, domain=(0, 10), samples=50)
    >>> made.to_arrow().column_names, len(made.points)
    (['task', 'shift', 'worker', 'value'], 50)
    """
    cells = Cells(objects, attributes)
    optional = {"cap": cap, "bandwidth": bandwidth, "bins": bins, "spread": spread}
    engine = cells.engine(
        expected=expected,
        epsilon=epsilon,
        domain=domain,
        unit=unit,
        **{key: value for key, value in optional.items() if value is not None},
    )
    release = synthesize(
        cells.claims(data),
        engine=engine,
        samples=samples,
        missing=missing,
        duplicates=duplicates,
        ledger=ledger,
        name=name,
        coins=coins,
        progress=progress,
    )
    return cells.shared_out(release, samples)
