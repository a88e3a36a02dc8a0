"""Battles in many files: read once, spilled by voter to a disk, and counted a file at a time."""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from masquerade.answers.battles import Battles, BothBad, read_votes, voters_of
from masquerade.errors import EmptyTable, ParameterError
from masquerade.exact.arrays import Codes, Flags, Floats, Integers
from masquerade.preference.battle_counts import BattleCounts, CountedBattles
from masquerade.truth.scale.engines import Engine

#: Votes of a bucket, which are in memory together.
VOTES_A_BUCKET = 4_000_000
_MOST_BUCKETS = 1 << 14
_RAW = "raw-"


class Votes(NamedTuple):
    """Votes of a file or a bucket: the pair (smaller code first), its outcome, a voter's hash."""

    key: Codes  # first * n_items + second
    outcome: np.ndarray[Any, np.dtype[np.int8]]
    voter: Integers  # empty where nobody knows who voted

    def at(self, rows: Any) -> Votes:
        """Return the votes at some places."""
        return Votes(self.key[rows], self.outcome[rows], self.voter[rows])


class Reading(NamedTuple):
    """Columns that are read of a file, and the treatment of votes that both are bad."""

    items: tuple[Any, ...] | None
    voter: str | None
    both_bad: BothBad
    token: str  # of this reading, whose scratch files nothing else uses


class Plan(NamedTuple):
    """All items in order, and how many buckets voters are spread over."""

    items: tuple[str, ...]
    buckets: int


@dataclass(frozen=True, slots=True)
class VoteFile:
    """One file of votes.

    `key`: names its scratch files. `size`: in bytes, by which a cluster divides its work.
    """

    path: Path
    key: str
    size: int

    @classmethod
    def of(cls, path: str | Path) -> VoteFile:
        """Return the file at a path."""
        there = Path(path).absolute()
        size = there.stat().st_size if there.exists() else 0
        name = f"{there}\0{size}".encode()
        return cls(there, hashlib.blake2b(name, digest_size=16).hexdigest(), size)


class Content(NamedTuple):
    """Items of files, their number of votes, and the number of votes with a voter."""

    items: frozenset[str]
    votes: int
    files: int
    signed: int


@dataclass(frozen=True, slots=True, eq=False)
class SpilledBattles:
    """Counts of battles, with single votes that are read a bucket of voters at a time.

    Attributes
    ----------
    counts : BattleCounts
    cell_of : int32 array, shape (n_items of the files squared,)
        The cell of each pair; -1 where it has none.
    bucket : callable
        Returns the votes of a bucket.
    buckets : int
    signed : bool
        Whether voters are known.
    """

    counts: BattleCounts
    cell_of: Codes
    bucket: Callable[[int], Votes]
    buckets: int
    signed: bool

    def among(self, kept: Flags) -> SpilledBattles:
        """Return the battles between some items alone."""
        if kept.all():
            return self
        cells = kept[self.counts.first] & kept[self.counts.second]
        place = np.append(np.where(cells, np.cumsum(cells) - 1, -1), -1).astype(np.int32)
        return replace(self, counts=self.counts.among(kept), cell_of=place[self.cell_of])

    def parts(self) -> Iterator[CountedBattles]:
        """Yield the votes of one bucket after the other, all of a voter in one."""
        for number in range(self.buckets):
            votes = self.bucket(number)
            cell = self.cell_of[votes.key]
            if len(cell) and cell.min() < 0:
                there = cell >= 0
                votes, cell = votes.at(there), cell[there]
            yield CountedBattles(self.counts, cell, votes.outcome, votes.voter, None)

    def voters(self) -> int:
        """Return how many different voters there are."""
        if not self.signed:
            return 0
        return sum(len(np.unique(self.bucket(one).voter)) for one in range(self.buckets))


def count_files(
    paths: Sequence[str | Path],
    engine: Engine,
    *,
    items: Sequence[Any] | None = None,
    voter: str | None = None,
    both_bad: BothBad = "tie",
) -> tuple[SpilledBattles, Battles]:
    """Return the counted votes of many files, and a table without rows that names their items.

    `engine` visits the files and keeps what is spilled; it has to stay open. `items`, `voter`,
    `both_bad`: as for `Battles.from_frame`.

    Raises
    ------
    EmptyTable
        There is no file.
    ParameterError
        Votes have weights, or some files say who voted and others do not.

    Notes
    -----
    Files are read once; voters are told apart by a hash of 64 bits. **Cost**: linear in votes; in
    memory one file, one bucket of some four million votes and a table of pairs, whatever the number
    of files; on the disk of whoever visits a file 13 bytes a vote.
    """
    if not paths:
        raise EmptyTable("there is no file of votes; name at least one.")
    files: Any = [VoteFile.of(path) for path in paths]
    named = None if items is None else tuple(items)
    reading = Reading(named, voter, both_bad, secrets.token_hex(8))
    content: Content = engine.fold(files, _content, _joined, reading)
    if 0 < content.signed < content.files:
        raise ParameterError("some files say who voted, and others do not; give all or none.")
    every = tuple(sorted(content.items)) if named is None else tuple(map(str, named))
    plan = Plan(every, min(max(1, -(-content.votes // VOTES_A_BUCKET)), _MOST_BUCKETS))
    shared = engine.share(plan)
    counts: Floats = engine.fold(files, _counts, np.add, reading, shared).astype(np.float64)
    m, table = len(every), counts.reshape(-1, 3)
    pairs = np.flatnonzero(table.any(axis=1))
    cell_of = np.full(m * m, -1, dtype=np.int32)
    cell_of[pairs] = np.arange(len(pairs), dtype=np.int32)
    cells = table[pairs].T

    def bucket(number: int) -> Votes:
        found: Votes = engine.fold(files, _bucket, _one_after_another, reading, shared, number)
        return found

    spilled = SpilledBattles(
        BattleCounts(m, pairs // m, pairs % m, cells, cells, np.zeros((len(pairs), 0))),
        cell_of,
        bucket,
        plan.buckets,
        bool(content.signed),
    )
    nobody = np.zeros(0, dtype=np.int32)
    empty: Floats = np.zeros((0, 0))
    header = Battles(every, nobody, nobody, np.zeros(0, np.int8), None, spilled.voters(), empty)
    return spilled, header


def _content(file: VoteFile, scratch: Path, reading: Reading) -> Content:
    """Read a file, keep its votes in the scratch folder, and return its content."""
    items, votes, is_signed = _read(file, reading)
    folder = _folder(file, scratch, reading)
    _write(folder, _RAW, votes)
    _save(folder, "items", np.array(items))
    return Content(frozenset(items), len(votes.key), 1, int(is_signed))


def _joined(one: Content, other: Content) -> Content:
    items = one.items | other.items
    return Content(items, *(a + b for a, b in zip(one[1:], other[1:], strict=True)))


def _counts(file: VoteFile, scratch: Path, reading: Reading, plan: Plan) -> Integers:
    """Return the counts of outcomes by pair of a file, and order its votes by bucket."""
    folder = _ordered(file, scratch, reading, plan)
    place = np.load(folder / "key.npy").astype(np.int64) * 3 + np.load(folder / "outcome.npy")
    found: Integers = np.bincount(place, minlength=3 * len(plan.items) ** 2)
    return found


def _bucket(file: VoteFile, scratch: Path, reading: Reading, plan: Plan, number: int) -> Votes:
    """Return the votes of a file whose voters are in a bucket."""
    folder = _ordered(file, scratch, reading, plan)
    ends = np.load(folder / "ends.npy")
    key, outcome, voter = (np.load(folder / f"{one}.npy", mmap_mode="r") for one in Votes._fields)
    part = Votes(key, outcome, voter).at(slice(ends[number], ends[number + 1]))
    # Copies, so that no file stays open.
    return Votes(part.key.copy(), part.outcome.copy(), part.voter.copy())


def _one_after_another(one: Votes, other: Votes) -> Votes:
    return Votes(
        np.concatenate([one.key, other.key]),
        np.concatenate([one.outcome, other.outcome]),
        np.concatenate([one.voter, other.voter]),
    )


def _ordered(file: VoteFile, scratch: Path, reading: Reading, plan: Plan) -> Path:
    """Return the folder in which a file's votes are, coded as the plan has it, by bucket."""
    folder = _folder(file, scratch, reading)
    if (folder / "ends.npy").exists():  # written last: all is there
        return folder
    if not (folder / "items.npy").exists():  # another worker read the file
        _content(file, scratch, reading)
    votes = Votes(*(np.load(folder / f"{_RAW}{one}.npy") for one in Votes._fields))
    if reading.items is None:
        own = np.load(folder / "items.npy")
        # In order of names here and there, so that the smaller code stays the first.
        place = np.searchsorted(np.array(plan.items), own)
        first, second = place[votes.key // len(own)], place[votes.key % len(own)]
        votes = votes._replace(key=(first * len(plan.items) + second).astype(np.int32))
    ends: Integers = np.linspace(0, len(votes.key), plan.buckets + 1).astype(np.int64)
    if len(votes.voter):
        where = (votes.voter % plan.buckets).astype(np.int16)
        order = np.argsort(where, kind="stable")
        ends = np.searchsorted(where[order], np.arange(plan.buckets + 1))
        votes = votes.at(order)
    _write(folder, "", votes)
    _save(folder, "ends", ends)
    for name in Votes._fields:
        (folder / f"{_RAW}{name}.npy").unlink(missing_ok=True)
    return folder


def _folder(file: VoteFile, scratch: Path, reading: Reading) -> Path:
    folder = scratch / f"votes-{reading.token}-{file.key}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _write(folder: Path, before: str, votes: Votes) -> None:
    for name, values in votes._asdict().items():
        _save(folder, before + name, values)


def _save(folder: Path, name: str, values: Any) -> None:
    """Write an array whole or not at all: another thread may do the same after a failure."""
    new = folder / f"{name}.{os.getpid()}.{threading.get_ident()}.new.npy"
    np.save(new, values)
    new.replace(folder / f"{name}.npy")


def _read(file: VoteFile, reading: Reading) -> tuple[tuple[str, ...], Votes, bool]:
    """Return the items of a file in order, its votes, and whether it names the voters."""
    frame = read_votes(file.path, voter=reading.voter)
    battles = Battles.from_frame(frame, items=reading.items, voter=reading.voter, both_bad="tie")
    if battles.weight is not None:
        raise ParameterError(f"{file.path} has weights, which are read from one file alone.")
    hashed = _hashes(frame, reading.voter)
    if reading.both_bad == "drop":
        battles, hashed = _without_both_bad(frame, battles.items, reading.voter, hashed)
    counted = CountedBattles.of(replace(battles, voter=None))
    pair = counted.counts.first * len(battles.items) + counted.counts.second
    voter = np.zeros(0, dtype=np.int64) if hashed is None else hashed
    votes = Votes(pair.astype(np.int32)[counted.cell], counted.outcome, voter)
    return battles.items, votes, hashed is not None


def _hashes(frame: Any, voter: str | None) -> Integers | None:
    found = voters_of(frame, voter)
    if found is None:
        return None
    codes, names = found
    # The same in every process, unlike Python's own.
    text = (str(name).encode() for name in names.to_pylist())
    each = b"".join(hashlib.blake2b(one, digest_size=8).digest() for one in text)
    hashed: Integers = np.frombuffer(each, dtype=np.int64)[codes]
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
