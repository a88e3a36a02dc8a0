"""Votes: the claims of a crowd as one sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from masquerade.answers import Claims
from masquerade.exact.arrays import Flags, Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """Who voted for which option of which task; "no answer" is no vote.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array, shape (n_tasks * n_options, n_workers)
        Number of times a worker gave an option of a task. Workers are in no order within a row,
        and one who gave the option again is there again.
    n_tasks, n_options, n_workers : int
    of_task : float array, shape (n_tasks,)
        Number of votes on each task.
    of_worker : float array, shape (n_workers,)
        Number of votes of each worker.
    """

    matrix: Any
    n_tasks: int
    n_options: int
    n_workers: int
    of_task: Floats
    of_worker: Floats

    @classmethod
    def of(cls, claims: Claims) -> Votes:
        """Return the votes of categorical claims. Cost: linear in claims, one counting sort."""
        claims = claims.answered()
        n_options = claims.n_options
        few = claims.n_tasks * n_options <= np.iinfo(np.int32).max
        key: Any = claims.task.astype(np.int32 if few else np.int64)
        key *= n_options
        key += claims.value
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
        matrix = self.matrix
        if tasks is not None:
            cells = tasks[:, None] * self.n_options + np.arange(self.n_options)
            matrix = matrix[cells.ravel()]
        total: Floats = matrix.T @ share.ravel()
        return total

    def undecided(self) -> Flags:
        """Return which tasks have no vote, shape (n_tasks,)."""
        none: Flags = self.of_task == 0
        return none
