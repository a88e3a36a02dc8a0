"""Base of the methods for texts: the table, fit, predict, fitted attributes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from masquerade.answers import Frame, like_frame
from masquerade.answers.claims import Claims, kept_rows
from masquerade.answers.frames import id_column, is_pandas, plain_column, to_arrow
from masquerade.errors import EmptyTable, MissingValue, NotFitted, ParameterError, SchemaError
from masquerade.exact.arrays import Codes, Floats
from masquerade.truth.estimator import NOT_FITTED, Parametrized


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """A table of texts, coded: who wrote what of which task."""

    task: Codes  # int32 array, shape (n_texts,). Codes into `tasks`.
    worker: Codes
    text: list[str]
    tasks: pa.Array
    workers: pa.Array
    known: dict[int, str]  # texts that are known to be right, by code of the task

    @property
    def of_task(self) -> list[Any]:
        """The rows of each task."""
        order = np.argsort(self.task, kind="stable")
        ends = np.searchsorted(self.task[order], np.arange(len(self.tasks) + 1))
        return [order[ends[i] : ends[i + 1]] for i in range(len(self.tasks))]

    @property
    def of_worker(self) -> Floats:
        """Number of texts of each worker."""
        return np.bincount(self.worker, minlength=len(self.workers)).astype(np.float64)

    @classmethod
    def from_frame(cls, frame: Frame, gold: Mapping[Any, str] | Any | None) -> Texts:
        """Check a table with columns ``task``, ``worker`` and ``text``.

        Raises
        ------
        SchemaError, EmptyTable, MissingValue, DuplicateClaim
            Each names the row.
        """
        table = to_arrow(frame, columns=("task", "worker", "text"))
        if "text" not in table.column_names:
            raise SchemaError(f"column 'text' is missing; the table has {table.column_names}.")
        if table.num_rows == 0:
            raise EmptyTable("the table has no rows; expected at least one text.")
        task, worker = (
            id_column(table, name, wanted="text a task and a worker").dictionary_encode()
            for name in ("task", "worker")
        )
        texts = plain_column(table, "text")
        if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
            raise SchemaError(f"column 'text' holds {texts.type}, expected texts.")
        if texts.null_count:
            row = int(np.argmax(texts.is_null().to_numpy(zero_copy_only=False))) + 1
            raise MissingValue(f"column 'text', row {row}: the text is missing; remove the row.")
        of_task, of_worker = (
            one.indices.to_numpy().astype(np.int32, copy=False) for one in (task, worker)
        )
        names = task.dictionary, worker.dictionary
        kept_rows(Claims(of_task, of_worker, of_task, *names, None), "error")
        place = {name: code for code, name in enumerate(task.dictionary.to_pylist())}
        known = {} if gold is None else {place[k]: v for k, v in gold.items() if k in place}
        odd = [value for value in known.values() if not isinstance(value, str)]
        if odd:
            raise ParameterError(f"gold holds {odd[0]!r}, expected texts.")
        return cls(of_task, of_worker, texts.to_pylist(), *names, known)


@dataclass(eq=False, kw_only=True)
class TextEstimator(Parametrized, ABC):
    """Base of the methods for texts.

    They take clear texts alone: no mechanism masks a text, and a text can name its writer.
    """

    #: Name of the method.
    name: ClassVar[str]

    _texts: Texts | None = field(default=None, init=False, repr=False)
    _found: list[str] = field(default_factory=list, init=False, repr=False)
    _weight: Floats = field(default_factory=lambda: np.zeros(0), init=False, repr=False)
    _converged: bool = field(default=True, init=False, repr=False)
    _iterations: int = field(default=1, init=False, repr=False)

    def fit(self, data: Frame, *, gold: Mapping[Any, str] | Any | None = None) -> Self:
        """Learn from texts, and return the method.

        Parameters
        ----------
        data : pandas, polars, pyarrow or duckdb table, or dict of arrays
            Columns ``task``, ``worker`` and ``text``.
        gold : dict or pandas series, optional
            Texts that are known to be right, by task. They stay as they are.

        Raises
        ------
        InputError
            A row cannot be used; the message names it.
        """
        texts = Texts.from_frame(data, gold)
        self._texts = None
        self._learn(texts)
        for code, text in texts.known.items():
            self._found[code] = text
        self._texts = texts
        return self

    def fit_predict(self, data: Frame, *, gold: Mapping[Any, str] | Any | None = None) -> Frame:
        """Learn, and return each task's text in the kind of `data`; see `fit`.

        From pandas comes a series named ``agg_text`` over the sorted tasks, as crowd-kit returns.
        """
        table = self.fit(data, gold=gold).truths_
        if not is_pandas(data):
            return like_frame(table, data)
        pandas = import_module("pandas")
        index = pandas.Index(table["task"].to_pylist(), name="task").astype(data["task"].dtype)
        series = pandas.Series(table["text"].to_pylist(), index, name="agg_text")
        kind = data["text"].dtype
        # A known text need not be one of the categories.
        kept = series if isinstance(kind, pandas.CategoricalDtype) else series.astype(kind)
        return kept.sort_index()

    @abstractmethod
    def _learn(self, texts: Texts) -> None:
        """Set the texts found, the weights of workers, and whether iteration ended by itself."""

    @property
    def truths_(self) -> pa.Table:
        """The texts found: ``task`` and ``text``, tasks in order of first appearance."""
        return pa.table({"task": self._fitted.tasks, "text": self._found})

    @property
    def reliability_(self) -> pa.Table:
        """``worker``, ``claims`` (number of texts) and ``weight``; what it is, the method says."""
        texts = self._fitted
        claims = texts.of_worker.astype(np.int64)
        return pa.table({"worker": texts.workers, "claims": claims, "weight": self._weight})

    @property
    def converged_(self) -> bool:
        """Whether the result stopped changing before the last iteration allowed."""
        return self._fitted is not None and self._converged

    @property
    def iterations_(self) -> int:
        """Number of iterations done."""
        return self._iterations if self._fitted else 0

    @property
    def _fitted(self) -> Texts:
        if self._texts is None:
            raise NotFitted(f"{type(self).__name__} {NOT_FITTED}")
        return self._texts
