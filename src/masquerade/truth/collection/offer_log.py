"""The log of offers of tasks to workers, batch by batch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags
from masquerade.mechanisms import Mechanism


@dataclass(slots=True, eq=False)
class Offers:
    """Offers of tasks, by their codes, to people.

    An offer of a batch is outstanding until the batch closes; it stands for ever, so that no task
    is offered to a person twice.
    """

    n_tasks: int
    batch: int = 0
    of_worker: dict[Any, dict[int, int]] = field(default_factory=dict)  # worker: {task: batch}

    def add(self, worker: Any, tasks: Iterable[int]) -> None:
        """Offer tasks to a person."""
        self.of_worker.setdefault(worker, {}).update(dict.fromkeys(tasks, self.batch))

    def to(self, worker: Any) -> Flags:
        """Return which tasks a person was ever offered, shape (n_tasks,)."""
        return self._flags(self.of_worker.get(worker, {}))

    def count(self, worker: Any) -> int:
        """Return how many tasks a person was ever offered."""
        return len(self.of_worker.get(worker, {}))

    def outstanding(self, worker: Any) -> int:
        """Return how many offers of this batch a person has."""
        return sum(batch == self.batch for batch in self.of_worker.get(worker, {}).values())

    def in_this_batch(self) -> Flags:
        """Return which tasks were offered to anybody since the last batch closed."""
        return self._flags(
            task
            for tasks in self.of_worker.values()
            for task, batch in tasks.items()
            if batch == self.batch
        )

    def table(self) -> pa.Table:
        """Return ``worker`` (as text of JSON's kinds), ``task`` code and ``batch``."""
        rows = [
            (worker, task, batch)
            for worker, tasks in self.of_worker.items()
            for task, batch in tasks.items()
        ]
        workers, tasks, batches = zip(*rows, strict=True) if rows else ((), (), ())
        return pa.table(
            {
                "worker": pa.array(workers),
                "task": pa.array(tasks, pa.int64()),
                "batch": pa.array(batches, pa.int64()),
            }
        )

    @classmethod
    def of_table(cls, table: pa.Table, n_tasks: int, batch: int) -> Offers:
        """Return the offers of a table that `table` made."""
        offers = cls(n_tasks, batch)
        for row in table.to_pylist():
            offers.of_worker.setdefault(row["worker"], {})[row["task"]] = row["batch"]
        return offers

    def _flags(self, tasks: Iterable[int]) -> Flags:
        flags = np.zeros(self.n_tasks, dtype=np.bool_)
        flags[list(tasks)] = True
        return flags


def require_assignable(masks: Sequence[Mechanism], *, public_answers: bool) -> None:
    """Raise `ParameterError` where assignment would show co-workers more than was promised.

    Privacy
    -------
    What a person is offered depends on others' reports: of clear answers no protection is left.
    """
    if public_answers:
        return
    # Who is asked what follows from reports, so people see a function of their co-workers' reports.
    if not masks or any(math.isinf(one.guarantee().epsilon_event.number) for one in masks):
        raise ParameterError(
            "answers are in clear: people would learn of each other's from the tasks that they "
            "are offered. Mask answers on devices and give the mechanism, or say "
            "public_answers=True (--public-answers) where nothing was promised to anybody."
        )
    for one in masks:
        if not one.separate:
            raise ParameterError(
                f"the promise of {one} is for answers that are masked together, and a person who "
                "is asked in batches is masked anew in each. Use one that masks every answer "
                "by itself, such as randomized-response."
            )
