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
    Two passes: the first finds the items, where they are not given. Voters are told apart by a hash
    of 64 bits. **Cost**: linear in votes; in memory 13 bytes a vote, one file, a table of pairs.
    """
    files = [Path(path) for path in paths]
    if not files:
        raise EmptyTable("there is no file of votes; name at least one.")
    if items is None:
        found = (Battles.from_frame(read_votes(file, voter=voter), voter=voter) for file in files)
        items = sorted({item for one in found for item in one.items})
    m = len(items)
    counts = np.zeros(3 * m * m)
    keys, outcomes, hashes = [], [], []
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
        keys.append(key)
        outcomes.append(outcome)
        hashes.append(hashed)
    known = [one for one in hashes if one is not None]
    if known and len(known) < len(files):
        raise ParameterError("some files say who voted, and others do not; give all or none.")
    table = counts.reshape(-1, 3)
    pairs = np.flatnonzero(table.any(axis=1))
    cells = table[pairs].T
    number = np.zeros(m * m, dtype=np.int32)
    number[pairs] = np.arange(len(pairs), dtype=np.int32)
    cell = _joined(keys)
    for start in range(0, len(cell), _CHUNK):  # in place: one table of cells in memory
        cell[start : start + _CHUNK] = number[cell[start : start + _CHUNK]]
    hashes.clear()
    voters = _joined(known) if known else None
    counted = CountedBattles(
        BattleCounts(m, pairs // m, pairs % m, cells, cells, np.zeros((len(pairs), 0))),
        cell,
        _joined(outcomes),
        voters,
        None,
    )
    return counted, _header(tuple(map(str, items)), 0 if voters is None else _different(voters))


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


def _joined(parts: list[Any]) -> Any:
    """Return arrays one behind the other; each is dropped as soon as it is copied."""
    joined = np.empty(sum(map(len, parts)), dtype=parts[0].dtype)
    end = len(joined)
    while parts:
        part = parts.pop()
        joined[end - len(part) : end] = part
        end -= len(part)
    return joined


def _different(hashes: Integers) -> int:
    """Return how many hashes are different, without sorting all at once."""
    return sum(len(np.unique(hashes[rows])) for rows in voter_buckets(hashes))


def _header(items: tuple[str, ...], voters: int) -> Battles:
    nobody = np.zeros(0, dtype=np.int32)
    numbers: Floats = np.zeros((0, 0))
    return Battles(items, nobody, nobody, np.zeros(0, np.int8), None, voters, numbers)
