"""Base of the methods with crowd-kit's names: what they learn, as pandas objects."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import Any, ClassVar, Self

from masquerade.answers import Claims, Frame, Progress
from masquerade.answers.frames import is_pandas
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.estimator import as_series, probabilities
from masquerade.truth.problem import Gold
from masquerade.truth.report_mechanisms import AnyMechanism
from masquerade.truth.voting import WeightedVote


class Renamed:
    """A parameter under crowd-kit's name, whose value is another attribute's."""

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else getattr(owner, self._attribute)

    def __set__(self, owner: Any, value: Any) -> None:
        setattr(owner, self._attribute, value)


class ByConstructor:
    """Parameters by the names of the constructor, where these are not those of the fields."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor by name, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}


class CrowdKitNames(ByConstructor, CategoricalEstimator):
    """Fitted attributes as pandas objects, with crowd-kit's names, indexes and columns.

    An attribute that a method does not learn raises `AttributeError`. From a pandas table without
    rows every attribute is empty.
    """

    #: Type of the labels that a table without rows gives.
    empty_labels: ClassVar[str] = "float64"

    _frame: Frame | None = None
    _shown: dict[str, Any] | None = None  # what was asked for since the fit: one object each

    def __dir__(self) -> list[str]:
        missing = [name for name in ("loss_history_", "priors_") if not hasattr(self, name)]
        return sorted(set(super().__dir__()) - set(missing))

    def fit(
        self,
        data: Claims | Frame,
        true_labels: Gold | None = None,
        *,
        mechanism: AnyMechanism = None,
        gold: Gold | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from claims; `true_labels` is crowd-kit's name of `gold`.

        See `CategoricalEstimator.fit`.
        """
        gold = true_labels if gold is None else gold
        self._shown = {}
        self._frame = data if is_pandas(data) else None
        if self._is_empty:
            self._results = None
            return self
        return super().fit(data, mechanism=mechanism, gold=gold, progress=progress)

    def fit_predict(
        self,
        data: Claims | Frame,
        true_labels: Gold | None = None,
        *,
        mechanism: AnyMechanism = None,
        gold: Gold | None = None,
        progress: Progress | None = None,
    ) -> Frame:
        """Return each task's label; see `CategoricalEstimator.fit_predict`."""
        gold = true_labels if gold is None else gold
        if is_pandas(data):
            return self.fit(data, mechanism=mechanism, gold=gold, progress=progress).labels_
        return super().fit_predict(data, mechanism=mechanism, gold=gold, progress=progress)

    def fit_predict_proba(
        self,
        data: Claims | Frame,
        true_labels: Gold | None = None,
        *,
        mechanism: AnyMechanism = None,
        gold: Gold | None = None,
        progress: Progress | None = None,
    ) -> Frame:
        """Return posteriors of each task; see `CategoricalEstimator.fit_predict_proba`."""
        gold = true_labels if gold is None else gold
        if is_pandas(data):
            return self.fit(data, mechanism=mechanism, gold=gold, progress=progress).probas_
        return super().fit_predict_proba(data, mechanism=mechanism, gold=gold, progress=progress)

    @property
    def labels_(self) -> Any:
        """Each task's label: a series by task after a pandas table, else codes."""
        if self._is_empty:
            return self._empty_series("agg_label", self.empty_labels)
        if self._frame is None:
            return super().labels_
        frame = self._frame
        return self._show("labels_", lambda: as_series(self.truths_, frame))

    @property
    def probas_(self) -> Any:
        """Posteriors: data frame, a row a task (sorted), a column a label."""
        return self._show("probas_", lambda: self._by_task(self.posteriors_))

    @property
    def skills_(self) -> Any:
        """Reliability of workers: series by worker (sorted)."""
        if self._is_empty:
            return self._empty_series("skill")
        return self._show(
            "skills_", lambda: self._series(self.solution_.reliability, "skill", "worker")
        )

    @property
    def priors_(self) -> Any:
        """Share of the tasks that each truth holds for: series by label."""
        if self._is_empty:
            return self._empty_series("prior")
        return self._series(self._value("priors"), "prior", "label")

    @property
    def loss_history_(self) -> list[float]:
        """Objective of each iteration, for each claim; larger is better."""
        if not self.solution_.losses:
            raise AttributeError(f"{type(self).__name__} optimizes nothing; it has no losses.")
        return list(self.solution_.losses)

    @property
    def _is_empty(self) -> bool:
        """Whether the table that was given has no rows; its columns have to be there."""
        frame = self._frame
        return frame is not None and not len(frame) and {"task", "worker", "label"} <= set(frame)

    def _empty_series(self, name: str, dtype: str = "float64") -> Any:
        pandas = import_module("pandas")
        return self._show(name, lambda: pandas.Series(dtype=dtype, name=name))

    def _by_task(self, table: Any) -> Any:
        return probabilities(table, self.claims_.options)

    def _show(self, name: str, make: Callable[[], Any]) -> Any:
        """Return an attribute, the same object every time."""
        if self._shown is None:
            self._shown = {}
        if name not in self._shown:
            empty = self._is_empty and name in ("probas_", "errors_", "scores_")
            self._shown[name] = import_module("pandas").DataFrame() if empty else make()
        return self._shown[name]

    def _value(self, name: str) -> Any:
        value = getattr(self.solution_, name, (self.solution_.extra or {}).get(name))
        if value is None:
            raise AttributeError(f"{type(self).__name__} does not learn {name}.")
        return value

    def _series(self, values: Any, name: str, axis: str) -> Any:
        pandas = import_module("pandas")
        claims = self.claims_
        names = {"worker": claims.workers, "task": claims.tasks, "label": claims.options}[axis]
        index = pandas.Index(names.to_pylist(), name=axis)
        return pandas.Series(values, index=index, name=name).sort_index()


class SkillNames(CrowdKitNames):
    """Methods that learn a weight a worker, and label other claims of the same workers by it."""

    def predict(self, data: Frame) -> Any:
        """Return the labels of claims by the workers' skills, which stay as they are."""
        return self._predicted(data).labels_

    def predict_proba(self, data: Frame) -> Any:
        """Return the shares of the weighted votes of claims; see `predict`."""
        return self._predicted(data).probas_

    def _predicted(self, data: Frame) -> Self:
        skills = self.skills_
        vote = WeightedVote(weights=skills, ties=self.ties, seed=self.seed)
        self._frame = data if is_pandas(data) else None
        self._shown = {"skills_": skills}
        if not self._is_empty:
            self._results = vote.fit(data)._fitted
        return self
