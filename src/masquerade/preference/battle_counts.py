"""Battles as counts: the outcomes of each pair, which are the only input of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array

from masquerade.answers import Comparisons
from masquerade.answers.battles import SECOND, Battles
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Flags, Floats, Integers

_VOTES_A_BUCKET = 4_000_000
_PLACES_A_BATTLE = 4  # a table with so many places a battle still costs less than sorting


@dataclass(frozen=True, slots=True, eq=False)
class BattleCounts:
    """Counts of outcomes in cells: a pair of items, and the covariates of its battles.

    Attributes
    ----------
    items : int
        Number of items.
    first, second : int array, shape (n_cells,)
        The pair, with first < second.
    counts : float array, shape (3, n_cells)
        Weighted numbers of wins of the first item, ties, and wins of the second.
    squares : float array, shape (3, n_cells)
        Sums of the squared weights.
    covariates : float array, shape (n_cells, n_covariates)
        Seen from the first item.
    """

    items: int
    first: Integers
    second: Integers
    counts: Floats
    squares: Floats
    covariates: Floats

    @property
    def total(self) -> float:
        """Sum of the battles' weights."""
        return float(self.counts.sum())

    @property
    def ties(self) -> float:
        """Weighted number of ties."""
        return float(self.counts[1].sum())

    def records(self) -> Floats:
        """Return wins, ties and losses of each item, weighted, shape (n_items, 3)."""
        wins, ties, losses = self.counts
        table = np.zeros((self.items, 3))
        for place, (ahead, behind) in enumerate(((wins, losses), (ties, ties), (losses, wins))):
            table[:, place] = np.bincount(self.first, ahead, self.items)
            table[:, place] += np.bincount(self.second, behind, self.items)
        return table

    def groups(self) -> Groups:
        """Return which items can be placed on one scale; see `Groups`."""
        from scipy.sparse.csgraph import connected_components  # dear to load

        wins, ties, losses = self.counts > 0
        first, second = self.first, self.second
        ahead, behind = wins | ties, losses | ties  # a tie goes both ways
        rows = np.concatenate([first[ahead], second[behind]])
        columns = np.concatenate([second[ahead], first[behind]])
        graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(self.items, self.items))
        _, strong = connected_components(graph, directed=True, connection="strong")
        _, weak = connected_components(graph, directed=False)
        within = strong[first] == strong[second]
        battles = np.bincount(
            strong[first[within]], self.counts[:, within].sum(axis=0), strong.max() + 1
        )
        # Most battles, then most items; then the first by name, so that no row order matters.
        largest = np.lexsort(
            (np.arange(self.items), -np.bincount(strong)[strong], -battles[strong])
        )
        main = strong == strong[largest[0]]
        return Groups(main, weak == weak[largest[0]])

    def tie_parameter_exists(self) -> bool:
        """Return whether a likelihood with a tie parameter has a maximum, for linked items.

        It has none where every vote is a tie, or none is; nor where ever larger strengths together
        with ever more ties fit better and better: some u has ``u_a - u_b >= 1`` for each win of a
        over b, and at most 1 either way for each tie.
        """
        from scipy.sparse.csgraph import connected_components

        wins, ties, losses = self.counts > 0
        if not 0 < self.ties < self.total:
            return False
        better = np.concatenate([self.first[wins], self.second[losses]])
        worse = np.concatenate([self.second[wins], self.first[losses]])
        graph = coo_array((np.ones(len(better)), (better, worse)), shape=(self.items, self.items))
        if connected_components(graph, directed=True, connection="strong")[0] < self.items:
            return True  # along a cycle of wins no u falls
        # Differences that u may have, as lengths of edges; no u where a cycle is shorter than 0
        # (Bellman and Ford).
        start = np.concatenate([better, self.first[ties], self.second[ties]])
        end = np.concatenate([worse, self.second[ties], self.first[ties]])
        length = np.concatenate([-np.ones(len(better)), np.ones(len(start) - len(better))])
        at = np.zeros(self.items)
        for _ in range(self.items + 1):
            nearer = at.copy()
            np.minimum.at(nearer, end, at[start] + length)
            if np.array_equal(nearer, at):
                return False
            at = nearer
        return True

    def among(self, kept: Flags) -> BattleCounts:
        """Return the counts of battles between some items alone, renumbered."""
        place = np.cumsum(kept) - 1
        cells = kept[self.first] & kept[self.second]
        return replace(
            self,
            items=int(kept.sum()),
            first=place[self.first[cells]],
            second=place[self.second[cells]],
            counts=self.counts[:, cells],
            squares=self.squares[:, cells],
            covariates=self.covariates[cells],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Items that results link to one another, and those that they do not.

    Attributes
    ----------
    main : bool array, shape (n_items,)
        The strong component with most battles: each item of it can be reached from each other one
        along wins and ties, so strengths exist (Ford 1957).
    reachable : bool array, shape (n_items,)
        Items that met the main group, directly or by way of others.
    """

    main: Flags
    reachable: Flags


@dataclass(frozen=True, slots=True, eq=False)
class CountedBattles:
    """Counts, and the cell, outcome and voter of each battle.

    Attributes
    ----------
    counts : BattleCounts
    cell : int32 array, shape (n_battles,)
    outcome : int8 array, shape (n_battles,)
        As the cell sees it: 0 where its first item won.
    voter : int array, shape (n_battles,), optional
        A code or a hash a voter.
    weight : float array, shape (n_battles,), optional
    """

    counts: BattleCounts
    cell: Codes
    outcome: np.ndarray[tuple[int, ...], np.dtype[np.int8]]
    voter: Codes | Integers | None
    weight: Floats | None

    @classmethod
    def of(cls, battles: Battles) -> CountedBattles:
        """Count battles; one pass, linear in battles and covariates."""
        m = len(battles.items)
        swapped = battles.first > battles.second
        low = np.where(swapped, battles.second, battles.first).astype(np.int64)
        key = low * m + np.where(swapped, battles.first, battles.second)
        outcome = np.where(swapped, SECOND - battles.outcome, battles.outcome).astype(np.int8)
        places, profiles = m * m, np.zeros((1, 0))
        if battles.names:
            seen = np.where(swapped, -1, 1)[:, None] * battles.covariates
            profiles, profile = np.unique(seen + 0.0, axis=0, return_inverse=True)
            key, places = key * len(profiles) + profile.ravel(), places * len(profiles)
        keys, cell = _numbered(key, places)
        size = 3 * len(keys)
        place = cell.astype(np.int64) * 3 + outcome
        counts = np.bincount(place, battles.weight, size).reshape(-1, 3).T.astype(np.float64)
        squares = counts
        if battles.weight is not None:
            squares = np.bincount(place, battles.weight**2, size).reshape(-1, 3).T.astype(float)
        pair = keys // len(profiles)
        return cls(
            BattleCounts(m, pair // m, pair % m, counts, squares, profiles[keys % len(profiles)]),
            cell,
            outcome,
            battles.voter,
            battles.weight,
        )

    @classmethod
    def of_comparisons(cls, comparisons: Comparisons) -> CountedBattles:
        """Count comparisons of named items; records that name an item outside the list say nothing.

        Raises
        ------
        ParameterError
            The comparisons name no items.
        """
        items, chosen, rejected = comparisons.items, comparisons.chosen, comparisons.rejected
        if items is None or chosen is None or rejected is None:
            raise ParameterError("the comparisons have features, and name no items.")
        known = (chosen >= 0) & (rejected >= 0)
        nothing = np.zeros((int(known.sum()), 0))
        return cls.of(
            Battles(
                tuple(items.to_pylist()),
                chosen[known],
                rejected[known],
                np.zeros(int(known.sum()), dtype=np.int8),
                comparisons.voter[known].astype(np.int32),
                comparisons.n_voters,
                nothing,
            )
        )

    @property
    def signed(self) -> bool:
        """Whether voters are known."""
        return self.voter is not None

    def parts(self) -> Iterator[CountedBattles]:
        """Yield the battles, which are all here."""
        yield self

    def among(self, kept: Flags) -> CountedBattles:
        """Return the battles between some items alone."""
        if kept.all():
            return self
        cells = kept[self.counts.first] & kept[self.counts.second]
        rows = cells[self.cell]
        place = (np.cumsum(cells) - 1).astype(np.int32)
        return CountedBattles(
            self.counts.among(kept),
            place[self.cell[rows]],
            self.outcome[rows],
            None if self.voter is None else self.voter[rows],
            None if self.weight is None else self.weight[rows],
        )


def voter_buckets(voter: Codes | Integers) -> Iterator[Integers]:
    """Yield the places of votes, all of a voter in one bucket of a few million."""
    buckets = min(max(len(voter) // _VOTES_A_BUCKET, 1), 256)
    if buckets == 1:
        yield np.arange(len(voter))
        return
    bucket = np.empty(len(voter), dtype=np.uint8)
    for start in range(0, len(voter), _VOTES_A_BUCKET):  # a remainder of all takes much memory
        part = slice(start, start + _VOTES_A_BUCKET)
        bucket[part] = voter[part] % buckets
    for one in range(buckets):
        yield np.flatnonzero(bucket == one)


def _numbered(key: Integers, places: int) -> tuple[Integers, Codes]:
    """Return the different keys in order, and the number of each key among them."""
    if places > _PLACES_A_BATTLE * len(key):
        keys, cell = np.unique(key, return_inverse=True)
        return keys, cell.ravel().astype(np.int32)
    there = np.zeros(places, dtype=np.bool_)
    there[key] = True
    known = np.flatnonzero(there).astype(np.int64)
    number = np.zeros(places, dtype=np.int32)
    number[known] = np.arange(len(known), dtype=np.int32)
    return known, number[key]
