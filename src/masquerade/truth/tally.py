"""Tallies: the votes of a crowd as they were cast, for methods of one round or two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from masquerade.answers import Claims
from masquerade.exact.arrays import Flags, Floats
from masquerade.truth.rows import blocks, row_sum

_AT_ONCE = 1 << 16
"""Claims in a block: what is worked out on the way stays in the cache."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Who voted for which option of which task, without the sorting that `Votes` begins with.

    Parameters
    ----------
    claims : Claims
        Categorical, without "no answer".
    """

    claims: Claims

    @cached_property
    def count(self) -> Floats:
        """Return the number of votes, ``count[task, option]``."""
        total = self._zeros()
        for _, cell in self._cells():
            np.add.at(total.ravel(), cell, 1.0)
        return total

    @cached_property
    def of_task(self) -> Floats:
        """Return the number of votes on each task."""
        return row_sum(self.count)

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
        for rows in blocks(len(claims), _AT_ONCE):
            cell: Any = claims.task[rows].astype(np.int32 if few else np.int64)
            cell *= s
            cell += claims.value[rows]
            yield rows, cell
