"""crowd-kit's methods, with its names of parameters and fitted attributes.

Code written for crowd-kit changes its import only: ``from masquerade.truth.crowd_kit import
DawidSkene``. The methods are those of `masquerade.truth`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

from masquerade.answers import Claims, Frame
from masquerade.answers.frames import is_pandas
from masquerade.truth import dawid_skene, glad, voting
from masquerade.truth.categorical import CategoricalEstimator, Gold
from masquerade.truth.estimator import as_series, probabilities
from masquerade.truth.expectation_maximization import Progress
from masquerade.truth.report_mechanisms import AnyMechanism
from masquerade.truth.ties import Ties

__all__ = ["GLAD", "MACE", "DawidSkene", "MajorityVote", "OneCoinDawidSkene", "Wawa"]


class CrowdKitNames(CategoricalEstimator):
    """Fitted attributes as pandas objects, with crowd-kit's names, indexes and columns.

    An attribute that a method does not learn raises `AttributeError`.
    """

    _frame: Frame | None = None

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
        super().fit(data, mechanism=mechanism, gold=gold, progress=progress)
        self._frame = data if is_pandas(data) else None
        return self

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
        return super().fit_predict(data, mechanism=mechanism, gold=gold, progress=progress)

    @property
    def labels_(self) -> Any:
        """Each task's label: a series by task after a pandas table, else codes."""
        return super().labels_ if self._frame is None else as_series(self.truths_, self._frame)

    @property
    def probas_(self) -> Any:
        """Posteriors: data frame, a row a task (sorted), a column a label."""
        return probabilities(self.posteriors_, self.claims_.options)

    @property
    def skills_(self) -> Any:
        """Reliability of workers: series by worker (sorted)."""
        return self._series(self.solution_.reliability, "skill", "worker")

    @property
    def priors_(self) -> Any:
        """Share of the tasks that each truth holds for: series by label."""
        return self._series(self._value("priors"), "prior", "label")

    @property
    def errors_(self) -> Any:
        """Confusions: ``errors_.loc[(worker, label), truth]``, the chance of that label.

        Unlike crowd-kit's, it has a row for labels that a worker never gave, too.
        """
        pandas = import_module("pandas")
        claims, confusion = self.claims_, self._value("confusion")
        assert claims.options is not None
        labels = claims.options.to_pylist()
        index = pandas.MultiIndex.from_product(
            [claims.workers.to_pylist(), labels], names=["worker", "label"]
        )
        rows = confusion.transpose(0, 2, 1).reshape(-1, len(labels))
        return pandas.DataFrame(rows, index=index, columns=labels).sort_index()

    @property
    def loss_history_(self) -> list[float]:
        """Objective of each iteration, for each claim; larger is better."""
        if not self.solution_.losses:
            raise AttributeError(f"{type(self).__name__} optimizes nothing; it has no losses.")
        return list(self.solution_.losses)

    @property
    def alphas_(self) -> Any:
        """Abilities of workers (GLAD): series by worker."""
        return self._series(self._value("alphas"), "alpha", "worker")

    @property
    def betas_(self) -> Any:
        """Log inverse difficulties of tasks (GLAD): series by task."""
        return self._series(self._value("betas"), "beta", "task")

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


class MajorityVote(CrowdKitNames, voting.MajorityVote):
    """Majority vote; see `masquerade.truth.MajorityVote`."""


class Wawa(CrowdKitNames, voting.WeightedVote):
    """Votes weighted by agreement with the majority; see `masquerade.truth.WeightedVote`."""


class DawidSkene(CrowdKitNames, dawid_skene.DawidSkene):
    """Dawid-Skene; see `masquerade.truth.DawidSkene`.

    ``n_iter`` and ``tol`` are its ``max_iterations`` and ``tolerance``.
    """

    def __init__(
        self,
        *,
        n_iter: int = 100,
        tol: float = 1e-5,
        smoothing: float = 0.01,
        ties: Ties = "random",
        seed: int = 0,
    ) -> None:
        super().__init__(
            max_iterations=n_iter, tolerance=tol, smoothing=smoothing, ties=ties, seed=seed
        )


class OneCoinDawidSkene(DawidSkene, dawid_skene.OneCoinDawidSkene):
    """One-coin Dawid-Skene; see `DawidSkene` and `masquerade.truth.OneCoinDawidSkene`."""


class MACE(CrowdKitNames, dawid_skene.MACE):
    """MACE; see `masquerade.truth.MACE`.

    ``n_iter`` is its ``max_iterations``.
    """

    def __init__(
        self,
        *,
        n_iter: int = 50,
        tol: float = 1e-5,
        alpha: float = 0.5,
        beta: float = 0.5,
        ties: Ties = "random",
        seed: int = 0,
    ) -> None:
        super().__init__(
            max_iterations=n_iter, tolerance=tol, alpha=alpha, beta=beta, ties=ties, seed=seed
        )


class GLAD(CrowdKitNames, glad.GLAD):
    """GLAD; see `masquerade.truth.GLAD`.

    ``n_iter`` and ``tol`` are its ``max_iterations`` and ``tolerance``; ``m_step_max_iter`` and
    ``m_step_tol`` its ``max_steps`` and ``gradient_tolerance``.
    """

    def __init__(
        self,
        *,
        n_iter: int = 100,
        tol: float = 1e-5,
        m_step_max_iter: int = 25,
        m_step_tol: float = 1e-2,
        ties: Ties = "random",
        seed: int = 0,
    ) -> None:
        super().__init__(
            max_iterations=n_iter,
            tolerance=tol,
            max_steps=m_step_max_iter,
            gradient_tolerance=m_step_tol,
            ties=ties,
            seed=seed,
        )
