"""Huge label sets: a task has places for the labels that it was given, and one for all others.

Most methods treat all labels alike that nobody gave a task: they have the same score, and the same
posterior. So a table of tasks by labels is a table of tasks by few places, and the place of the
others counts as often as it stands for a label. Cost is in claims, not in tasks times labels.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Flags, Floats
from masquerade.truth.ties import Ties, pick, pick_among
from masquerade.truth.votes import blocks

_BLOCK = 1 << 16  # claims that are looked up at a time
_CELLS = 1 << 22  # of tasks by all labels that are spread out at a time
_TABLES = 6  # of tasks by labels that a method has at a time, at most
_MEMORY = 24e9  # bytes, where the system does not say


@dataclass(frozen=True, slots=True, eq=False)
class LabelSlots:
    """The places of each task: given labels in the order of the options, then that of the others.

    A row of a table by place is that of one label of the place. Places after that of the others
    are there for rows to be equally long: they stand for no label.
    """

    label: Codes  # int32 array, shape (n_tasks, n_places). The label of a place; -1 of no given one
    sizes: Floats  # float array, shape (n_tasks, n_places). Number of labels of a place.

    @classmethod
    def of(cls, claims: Claims, known: Codes) -> LabelSlots:
        """Return the places of labels that were given, and of known truths (-1 where unknown)."""
        answered, s, n = claims.answered(), claims.n_options, claims.n_tasks
        gold = np.flatnonzero(known >= 0)
        cells = np.concatenate([answered.task, gold]).astype(np.int64) * s
        cells = np.unique(cells + np.concatenate([answered.value, known[gold]]))
        task, value = np.divmod(cells, s)
        used = np.bincount(task, minlength=n)
        place = np.arange(len(cells)) - np.repeat(np.cumsum(used) - used, used)
        label = np.full((n, int(used.max(initial=0)) + 1), -1, dtype=np.int32)
        label[task, place] = value
        sizes = (label >= 0).astype(np.float64)
        sizes[np.arange(n), used] = s - used
        return cls(label, sizes)

    @property
    def n_options(self) -> int:
        """Number of labels, given or not."""
        return round(float(self.sizes[0].sum()))

    @property
    def n_places(self) -> int:
        """Number of places of a task."""
        return int(self.label.shape[1])

    def place(self, task: Codes, label: Codes) -> Codes:
        """Return the place of a label of a task; that of the others where it was not given."""
        found = np.empty(len(task), dtype=np.int32)
        for rows in blocks(len(task), _BLOCK):
            own = self.label[task[rows]]
            match = own == label[rows, None]
            found[rows] = np.where(match.any(axis=1), match.argmax(axis=1), (own >= 0).sum(axis=1))
        return found

    def of_known(self, known: Codes) -> Codes:
        """Return known truths as places; -1 where unknown."""
        place = self.place(np.arange(len(known), dtype=np.int32), known)
        return np.where(known >= 0, place, -1).astype(np.int32)

    def of_claims(self, claims: Claims) -> Claims:
        """Return claims with places for labels; "no answer" stays."""
        silent = claims.unanswered()
        value = np.full(len(claims), self.n_places, dtype=np.int32)
        value[~silent] = self.place(claims.task[~silent], claims.value[~silent])
        return replace(claims, value=value, options=pa.array(range(self.n_places)))

    def pick(self, candidates: Flags, claims: Claims, *, ties: Ties, seed: int) -> Codes:
        """Return one of the best labels of every task; see `ties.pick`."""
        given = self.label >= 0
        assert claims.options is not None
        place = pick_among(
            candidates & given, claims.tasks, claims.options, self.label, ties=ties, seed=seed
        )
        picked = np.where(place < 0, -1, self.label[np.arange(len(place)), place])
        # Where labels that nobody gave are among the best, the task's labels are spread out.
        rest = np.flatnonzero((candidates & ~given & (self.sizes > 0)).any(axis=1))
        s = claims.n_options
        for rows in blocks(len(rest), max(_CELLS // s, 1)):
            tasks = rest[rows]
            spread = np.ones((len(tasks), s), dtype=np.bool_)
            row, column = np.nonzero(given[tasks])
            spread[row, self.label[tasks[row], column]] = candidates[tasks[row], column]
            part = replace(claims, tasks=claims.tasks.take(pa.array(tasks)))
            picked[tasks] = pick(spread, part, ties=ties, seed=seed)
        return np.asarray(picked, dtype=np.int32)


def require_room(name: str, claims: Claims, confusions: int) -> None:
    """Raise where tables of all labels would be larger than the memory at hand.

    `confusions`: tables of workers by labels squared that are needed besides tasks by labels.
    """
    n, s, workers = claims.n_tasks, claims.n_options, claims.n_workers
    # of labels squared: counts, their logarithms and the tables before
    needs = {
        f"{n:,} tasks times {s:,} options": (8.0 * n * s, _TABLES),
        f"{workers:,} workers times {s:,} options squared": (8.0 * workers * s**2, 3 * confusions),
    }
    for what, (size, tables) in needs.items():
        if size * tables > memory_at_hand():
            raise ParameterError(
                f"{what} make tables of {size / 1e9:,.1f} GB, of which {name} needs up to {tables}."
                " Take auto, one-coin, majority-vote or truth-discovery, which work on given "
                "labels alone; or join options that mean the same, or fit parts of the tasks by "
                "themselves."
            )


def memory_at_hand() -> float:
    """Return how many bytes of memory are free or could be freed."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        return next(1024.0 * float(x.split()[1]) for x in lines if x.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return _MEMORY
