"""Battles in many files: counted one file at a time, with thirteen bytes a vote in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from masquerade.answers.battles import Battles, BothBad, read_votes, voters_of
from masquerade.errors import EmptyTable, ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.preference.battle_counts import BattleCounts, CountedBattles, voter_buckets

_CHUNK = 1 << 22


def count_files(
    paths: Iterable[str | Path],
    *,
    items: Sequence[Any] | None = None,
    voter: str | None = None,
    both_bad: BothBad = "tie",
) -> tuple[CountedBattles, Battles]:
    """Return the counted votes of many files, and a table without rows that names their items.

    Parameters
    ----------
    paths : iterable of paths
        Files as `Battles.read` reads them, without weights; a voter may have votes in several.
    items, voter, both_bad
        As for `Battles.from_frame`.

    Raises
    ------
    EmptyTable
        There is no file.
    ParameterError
        Votes have weights, or some files say who voted and others do not.

    Notes
    -----
    Two passes: the first finds the items and counts the votes. Voters are told apart by a hash
    of 64 bits. **Cost**: linear in votes; in memory 13 bytes a vote, one file, a table of pairs.
    """
    files = [Path(path) for path in paths]
    if not files:
        raise EmptyTable("there is no file of votes; name at least one.")
    rows = 0
    named: set[str] = set()
    for file in files:
        one = Battles.from_frame(read_votes(file, voter=voter), items=items, voter=voter)
        rows += len(one)
        named.update(one.items)
    items = sorted(named) if items is None else items
    m = len(items)
    counts = np.zeros(3 * m * m)
    # Filled file by file: parts that are joined later would be in memory twice.
    cell, outcomes = np.empty(rows, dtype=np.int32), np.empty(rows, dtype=np.int8)
    voters = np.empty(rows, dtype=np.int64)
    end, said = 0, 0
    for file in files:
        frame = read_votes(file, voter=voter)
        battles = Battles.from_frame(frame, items=items, voter=voter, both_bad="tie")
        hashed = _hashes(frame, voter)
        if both_bad == "drop":
            battles, hashed = _without_both_bad(frame, items, voter, hashed)
        if battles.weight is not None:
            raise ParameterError(f"{file} has weights, which are read from one file alone.")
        key, outcome = _oriented(battles, m)
        counts += np.bincount(key.astype(np.int64) * 3 + outcome, minlength=3 * m * m)
        part = slice(end, end + len(key))
        cell[part], outcomes[part] = key, outcome
        if hashed is not None:
            voters[part], said = hashed, said + 1
        end = part.stop
    if 0 < said < len(files):
        raise ParameterError("some files say who voted, and others do not; give all or none.")
    table = counts.reshape(-1, 3)
    pairs = np.flatnonzero(table.any(axis=1))
    cells = table[pairs].T
    number = np.zeros(m * m, dtype=np.int32)
    number[pairs] = np.arange(len(pairs), dtype=np.int32)
    for start in range(0, end, _CHUNK):  # in place, for the same reason
        part = slice(start, min(start + _CHUNK, end))
        cell[part] = number[cell[part]]
    counted = CountedBattles(
        BattleCounts(m, pairs // m, pairs % m, cells, cells, np.zeros((len(pairs), 0))),
        cell[:end],
        outcomes[:end],
        voters[:end] if said else None,
        None,
    )
    return counted, _header(tuple(map(str, items)), _different(voters[:end]) if said else 0)


def _oriented(battles: Battles, m: int) -> tuple[Any, Any]:
    """Return the pair of each vote, the smaller code first, and its outcome seen from that."""
    counted = CountedBattles.of(replace(battles, voter=None))
    pair = counted.counts.first * m + counted.counts.second
    return pair.astype(np.int32)[counted.cell], counted.outcome


def _hashes(frame: Any, voter: str | None) -> Integers | None:
    found = voters_of(frame, voter)
    if found is None:
        return None
    codes, names = found
    each = np.fromiter((hash(name) for name in names.to_pylist()), np.int64, len(names))
    hashed: Integers = each[codes]
    return hashed


def _without_both_bad(
    frame: Any, items: Sequence[Any], voter: str | None, hashed: Integers | None
) -> tuple[Battles, Integers | None]:
    """Return the votes that are not both bad, and their voters' hashes."""
    battles = Battles.from_frame(frame, items=items, voter=voter, both_bad="drop")
    if hashed is None or battles.voter is None:
        return battles, hashed
    # Codes of voters are of the whole table: the hash of each is that of any of its rows.
    every = Battles.from_frame(frame, items=items, voter=voter)
    assert every.voter is not None
    of_code = np.zeros(every.voters, dtype=np.int64)
    of_code[every.voter] = hashed
    return battles, of_code[battles.voter]


def _different(hashes: Integers) -> int:
    """Return how many hashes are different, without sorting all at once."""
    return sum(len(np.unique(hashes[rows])) for rows in voter_buckets(hashes))


def _header(items: tuple[str, ...], voters: int) -> Battles:
    nobody = np.zeros(0, dtype=np.int32)
    numbers: Floats = np.zeros((0, 0))
    return Battles(items, nobody, nobody, np.zeros(0, np.int8), None, voters, numbers)
