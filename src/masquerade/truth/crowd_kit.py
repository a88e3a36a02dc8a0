"""The names that crowd-kit gives to what its methods learn, for code that was written for it."""

from __future__ import annotations

from abc import abstractmethod
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.answers.frames import is_pandas
from masquerade.truth.problem import Solution


class CrowdKitNames:
    """Fitted attributes as pandas objects, with crowd-kit's names, indexes and columns.

    An attribute that a method does not learn raises `AttributeError`.
    """

    @property
    @abstractmethod
    def _fitted(self) -> Any:
        """What was fitted."""

    @property
    def probas_(self) -> Any:
        """Posteriors: data frame, a row a task (sorted), a column a label."""
        return probabilities(self._fitted.posteriors)

    @property
    def skills_(self) -> Any:
        """Reliability of workers: series by worker (sorted)."""
        return self._series(self._solution.reliability, "skill", "worker")

    @property
    def priors_(self) -> Any:
        """How often each truth holds: series by label."""
        return self._series(self._learnt("priors"), "prior", "label")

    @property
    def errors_(self) -> Any:
        """Confusions: ``errors_.loc[(worker, label), truth]``, the chance of that label.

        Unlike crowd-kit's, it has a row for labels that a worker never gave, too.
        """
        pandas = import_module("pandas")
        claims, confusion = self._fitted.claims, self._learnt("confusion")
        labels = claims.options.to_pylist()
        index = pandas.MultiIndex.from_product(
            [claims.workers.to_pylist(), labels], names=["worker", "label"]
        )
        rows = confusion.transpose(0, 2, 1).reshape(-1, len(labels))
        return pandas.DataFrame(rows, index=index, columns=labels).sort_index()

    @property
    def loss_history_(self) -> list[float]:
        """What was optimized, for each claim, after every iteration; larger is better."""
        if not self._solution.losses:
            raise AttributeError(f"{type(self).__name__} optimizes nothing; it has no losses.")
        return list(self._solution.losses)

    @property
    def alphas_(self) -> Any:
        """Abilities of workers (GLAD): series by worker."""
        return self._series(self._own("alphas"), "alpha", "worker")

    @property
    def betas_(self) -> Any:
        """Log inverse difficulties of tasks (GLAD): series by task."""
        return self._series(self._own("betas"), "beta", "task")

    @property
    def knowing_(self) -> pa.Table:
        """``worker``, ``knowing``: how often a worker knows the truth (MACE)."""
        claims = self._fitted.claims
        return pa.table({"worker": claims.workers, "knowing": self._own("knowing")})

    @property
    def habits_(self) -> pa.Table:
        """``worker``, then a column a label: what a worker says without knowing (MACE)."""
        claims = self._fitted.claims
        columns = [claims.workers, *(pa.array(c) for c in self._own("habits").T)]
        return pa.Table.from_arrays(columns, ["worker", *map(str, claims.options.to_pylist())])

    @property
    def _solution(self) -> Solution:
        solution: Solution = self._fitted.solution
        return solution

    def _learnt(self, name: str) -> Any:
        value = getattr(self._solution, name)
        if value is None:
            raise AttributeError(f"{type(self).__name__} does not learn {name}.")
        return value

    def _own(self, name: str) -> np.ndarray:
        extra = self._solution.extra or {}
        if name not in extra:
            raise AttributeError(f"{type(self).__name__} does not learn {name}.")
        return extra[name]

    def _series(self, values: Any, name: str, axis: str) -> Any:
        pandas = import_module("pandas")
        claims = self._fitted.claims
        names = {"worker": claims.workers, "task": claims.tasks, "label": claims.options}[axis]
        index = pandas.Index(names.to_pylist(), name=axis)
        return pandas.Series(values, index=index, name=name).sort_index()


def probabilities(posteriors: pa.Table) -> Any:
    """Return a table of posteriors as crowd-kit's data frame."""
    frame = posteriors.to_pandas().set_index("task").sort_index()
    frame.columns.name = "label"
    return frame


def probabilities_like(posteriors: pa.Table, data: Any) -> Any:
    """Return posteriors in crowd-kit's form for a pandas table, with its types."""
    frame = probabilities(posteriors)
    if is_pandas(data) and "task" in data.columns:
        frame.index = frame.index.astype(data["task"].dtype)
    return frame
