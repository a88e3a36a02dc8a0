"""The claims of a crowd as votes, counted in three ways.

`UnsortedVotes` counts claims as they come, for methods of one pass: sorting costs more than that.
`Votes` sorts them once into a sparse matrix of (task, option) by worker, for methods that iterate.
`LabelVotes` is the same matrix as task by (worker, label), for methods with confusions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from masquerade.answers import Claims
from masquerade.exact.arrays import Codes, Flags, Floats, Integers

#: Claims in a block of a pass over unsorted votes: the intermediate arrays stay in the cache.
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes by task, option and worker; "no answer" is no vote."""

    # scipy.sparse.csr_array, shape (n_tasks * n_options, n_workers). Number of times a worker gave
    # an option of a task. Workers are in no order within a row, and one who gave the option again
    # is there again.
    matrix: Any
    n_tasks: int
    n_options: int
    n_workers: int
    of_task: Floats  # float array, shape (n_tasks,). Number of votes on each task.
    of_worker: Floats  # float array, shape (n_workers,). Number of votes of each worker.

    @classmethod
    def of(cls, claims: Claims) -> Votes:
        """Return the votes of categorical claims. Cost: linear in claims, one counting sort."""
        claims = claims.answered()
        n_options = claims.n_options
        # 32 bits where they suffice: the sort moves half as many bytes.
        few = claims.n_tasks * n_options <= np.iinfo(np.int32).max
        key: Any = claims.task.astype(np.int32 if few else np.int64)
        key *= n_options
        key += claims.value
        # One byte a claim while sorting; floats, all 1, take their place afterwards.
        pairs = sparse.coo_array(
            (np.ones(len(claims), dtype=np.int8), (key, claims.worker)),
            shape=(claims.n_tasks * n_options, claims.n_workers),
        )
        pairs.has_canonical_format = True  # sums need no order, and repeated claims may stay apart
        order = pairs.tocsr()
        matrix = sparse.csr_array(
            (np.ones(len(claims)), order.indices, order.indptr), shape=pairs.shape
        )
        return cls(
            matrix,
            claims.n_tasks,
            n_options,
            claims.n_workers,
            np.diff(matrix.indptr[::n_options]).astype(np.float64),
            np.bincount(claims.worker, minlength=claims.n_workers).astype(np.float64),
        )

    def score(self, weight: Floats) -> Floats:
        """Return the sum of the voters' weights, ``score[task, option]``."""
        total: Floats = self.matrix @ weight
        return total.reshape(self.n_tasks, self.n_options)

    def count(self) -> Floats:
        """Return the number of votes, ``count[task, option]``."""
        return self.score(np.ones(self.n_workers))

    def agreement(self, share: Floats, *, tasks: Integers | None = None) -> Floats:
        """Return each worker's sum of ``share[task, option]`` over the worker's votes.

        Only over votes on `tasks` where these are given; `share` has a row for each of them.
        """
        turned = self._transpose
        if tasks is not None:
            cells = tasks[:, None] * self.n_options + np.arange(self.n_options)
            turned = self.matrix[cells.ravel()].T
        total: Floats = turned @ share.ravel()
        return total

    @cached_property
    def _transpose(self) -> Any:
        """The transpose, which shares all memory: once, for scipy checks it at some length."""
        return self.matrix.T

    def undecided(self) -> Flags:
        """Return which tasks have no vote, shape (n_tasks,)."""
        none: Flags = self.of_task == 0
        return none

    def cells(self) -> tuple[Integers, Integers]:
        """Return the task and the option of each vote, in the order of the matrix."""
        row = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        task, option = np.divmod(row, self.n_options)
        return task, option

    def among(self, kept: Flags) -> Votes:
        """Return some of the votes; `kept` says which, in the order of the matrix."""
        matrix, n_workers = self.matrix, self.n_workers
        pointers = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
        indices = matrix.indices[kept]
        rest = sparse.csr_array((matrix.data[kept], indices, pointers), shape=matrix.shape)
        of_task = np.diff(pointers[:: self.n_options]).astype(np.float64)
        of_worker = np.bincount(indices, minlength=n_workers).astype(np.float64)
        return Votes(rest, self.n_tasks, self.n_options, n_workers, of_task, of_worker)


@dataclass(frozen=True, eq=False)
class UnsortedVotes:
    """Votes as they were cast, without the sorting that `Votes` begins with."""

    claims: Claims  # categorical, without "no answer"

    def count(self) -> Floats:
        """Return the number of votes, ``count[task, option]``; counted once."""
        return self._count

    @cached_property
    def _count(self) -> Floats:
        total = self._zeros()
        for _, cell in self._cells():
            # `ravel` of a new array is a view: this adds in place.
            np.add.at(total.ravel(), cell, 1.0)
        return total

    @cached_property
    def of_task(self) -> Floats:
        """Return the number of votes on each task."""
        return row_sum(self._count)

    @cached_property
    def of_worker(self) -> Floats:
        """Return the number of votes of each worker."""
        counted = np.bincount(self.claims.worker, minlength=self.claims.n_workers)
        return counted.astype(np.float64)

    def score(self, weight: Floats) -> Floats:
        """Return the sum of the voters' weights, ``score[task, option]``."""
        total = self._zeros()
        for rows, cell in self._cells():
            np.add.at(total.ravel(), cell, weight.take(self.claims.worker[rows]))
        return total

    def agreement(self, share: Floats) -> Floats:
        """Return each worker's sum of ``share[task, option]`` over the worker's votes."""
        total = np.zeros(self.claims.n_workers)
        for rows, cell in self._cells():
            np.add.at(total, self.claims.worker[rows], share.take(cell))
        return total

    def undecided(self) -> Flags:
        """Return which tasks have no vote, shape (n_tasks,)."""
        return np.asarray(self.of_task == 0)

    def _zeros(self) -> Floats:
        return np.zeros((self.claims.n_tasks, self.claims.n_options))

    def _cells(self) -> Iterator[tuple[slice, Any]]:
        """Yield blocks of claims, and each claim's place in a table of tasks and options."""
        claims, s = self.claims, self.claims.n_options
        few = claims.n_tasks * s <= np.iinfo(np.int32).max
        for rows in blocks(len(claims), _BLOCK):
            cell: Any = claims.task[rows].astype(np.int32 if few else np.int64)
            cell *= s
            cell += claims.value[rows]
            yield rows, cell


@dataclass(frozen=True, eq=False)
class LabelVotes:
    """Votes by worker and label, a row a task."""

    # scipy.sparse.csr_array, shape (n_tasks, n_workers * n_options). Number of times a worker gave
    # a label; column ``worker * n_options + label``.
    matrix: Any
    n_tasks: int
    n_options: int
    n_workers: int

    @classmethod
    def of(cls, votes: Votes) -> LabelVotes:
        """Return the votes by label. Shares their memory but for 4 to 8 bytes a claim."""
        s, rows = votes.n_options, votes.matrix.indptr
        wide = votes.n_workers * s > np.iinfo(np.int32).max
        kind = np.int64 if wide else np.int32
        label: Any = np.repeat(np.tile(np.arange(s, dtype=kind), votes.n_tasks), np.diff(rows))
        column = label + votes.matrix.indices * kind(s)
        matrix = sparse.csr_array(
            # The s rows of a task's options lie side by side, so every s-th pointer begins a task.
            (votes.matrix.data, column, rows[::s].astype(kind)),
            shape=(votes.n_tasks, votes.n_workers * s),
        )
        return cls(matrix, votes.n_tasks, s, votes.n_workers)

    def score(self, table: Floats) -> Floats:
        """Return the sum over a task's votes of ``table[worker, truth, label]``, by truth."""
        by_label = np.ascontiguousarray(table.transpose(0, 2, 1))
        total: Floats = self.matrix @ by_label.reshape(self.n_workers * self.n_options, -1)
        return total

    def counts(self, posterior: Floats) -> Floats:
        """Return how often each worker gave each label, ``count[worker, truth, label]``."""
        by_label: Floats = self._transpose @ posterior
        return by_label.reshape(self.n_workers, self.n_options, -1).transpose(0, 2, 1)

    @cached_property
    def _transpose(self) -> Any:
        """The transpose; see `Votes`."""
        return self.matrix.T


def blocks(n_rows: int, size: int = 1 << 14) -> Iterator[slice]:
    """Yield all rows, block by block: arrays of a block stay in the cache."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def row_blocks(table: Floats) -> Iterator[slice]:
    """Yield all rows of a table, so many at a time that they stay in the cache, wide or narrow."""
    return blocks(len(table), min(1 << 14, max((1 << 17) // max(table.shape[1], 1), 1)))


# numpy reduces short rows one by one; a pass a column is several times faster. Of long rows, a pass
# a column would read all of the table from memory each time.
_LONG = 32


def row_max(table: Floats) -> Floats:
    """Return the largest entry of each row, shape (n_rows,)."""
    if table.shape[1] > _LONG:
        return np.asarray(table.max(axis=1))
    top: Floats = table[:, 0].copy()
    for column in range(1, table.shape[1]):
        np.maximum(top, table[:, column], out=top)
    return top


def row_sum(table: Floats) -> Floats:
    """Return the sum of each row, shape (n_rows,)."""
    if table.shape[1] > _LONG:
        return np.asarray(table.sum(axis=1))
    total: Floats = table[:, 0].copy()
    for column in range(1, table.shape[1]):
        total += table[:, column]
    return total


def row_count(table: Flags) -> Codes:
    """Return how many entries of each row are true, shape (n_rows,)."""
    if table.shape[1] > np.iinfo(np.int8).max:
        return np.asarray(table.sum(axis=1), dtype=np.int32)
    small = table.view(np.int8)  # bytes add up faster than booleans
    total = small[:, 0].copy()
    for column in range(1, table.shape[1]):
        total += small[:, column]
    return total.astype(np.int32)
