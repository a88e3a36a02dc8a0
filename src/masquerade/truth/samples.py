"""Samples by names: tasks on which models are compared, and claims that are held out for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masquerade.exact.arrays import Flags, Floats
from masquerade.truth.ties import digest, scattered

_CLAIMS = 200_000  # aimed at, at least
_A_WORKER = 1000  # claims that the mean worker is to keep, at least
_A_CELL = 40  # claims for each pair of a truth and a label that the mean worker is to keep
_SALT = np.uint64(0x5EED0F7A5C5)  # not that of the splits of claims


@dataclass(frozen=True, slots=True)
class TaskSample:
    """A sample of tasks by the hash of their names, with all claims on them.

    So it is the same sample wherever the claims are and in whatever order. Tasks are taken whole,
    for it is agreement on a task that tells models apart. Workers keep but a share of their claims,
    and models with many numbers a worker seem worse than they are where that is little: of
    simulated crowds, 400 to 800 claims a worker chose as 4000 did, and behind masks it took as many
    more as a report says less. So with few claims a worker all tasks are taken.
    """

    share: float  # of the tasks, above 0 and at most 1
    claims: int  # aimed at

    @classmethod
    def of(cls, answers: Floats, n_options: int, signal: float = 1.0) -> TaskSample:
        """Return the sample of a crowd's claims: all tasks if it would not be less than half.

        `answers` counts those of each worker; `signal` is the root mean square of what masks leave
        of a difference between answers.
        """
        # A report tells signal squared as much as an answer: variances grow by that.
        a_worker = max(_A_WORKER, _A_CELL * n_options**2) / max(signal**2, 1e-9)
        claims = max(_CLAIMS, int(np.count_nonzero(answers) * a_worker))
        whole = cls.whole(answers)
        return cls(claims / whole.claims, claims) if 2 * claims < whole.claims else whole

    @classmethod
    def whole(cls, answers: Floats) -> TaskSample:
        """Return all tasks as a sample."""
        return cls(1.0, int(answers.sum()))

    @property
    def is_whole(self) -> bool:
        """Whether all tasks are taken."""
        return self.share == 1

    def tasks(self, names: pa.Array) -> Flags:
        """Return which tasks are in the sample."""
        if self.is_whole:
            return np.ones(len(names), dtype=np.bool_)
        limit = np.uint64(int(self.share * 2**64))
        return np.asarray(scattered(digest(names) ^ _SALT) < limit)

    def fits(self, claims: int) -> bool:
        """Return whether the tasks have about as many claims as were aimed at.

        They have not where most claims are on a few tasks.
        """
        return self.claims / 2 <= claims <= 2 * self.claims


@dataclass(frozen=True, slots=True)
class Split:
    """A split of claims into those that are kept and a fold that is held out."""

    number: int  # of the fold, from 0
    folds: int
    least: int  # claims of a task that any of is held out of

    def held_out(self, uniform: Floats, on_task: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which claims are held out.

        `uniform` follows from the names in a claim, so neither the order of rows nor other claims
        nor partitions move it to another fold; `on_task` counts the claims on the claim's task.
        """
        place = (uniform * self.folds).astype(np.int64)
        return np.asarray((on_task >= self.least) & (place == self.number))


@dataclass(frozen=True, slots=True, eq=False)
class UnseenClaims:
    """Claims that were held out, as codes of the block's tasks, workers and options."""

    task: NDArray[Any]
    worker: NDArray[Any]
    value: NDArray[Any]

    def __len__(self) -> int:
        return len(self.task)
