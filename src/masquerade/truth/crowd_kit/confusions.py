"""crowd-kit's methods with a model of how workers err: Dawid-Skene, MACE and GLAD."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, Self

import numpy as np

from masquerade.answers import Claims, Frame, Progress
from masquerade.answers.frames import is_pandas
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.truth import dawid_skene, glad
from masquerade.truth.crowd_kit.names import CrowdKitNames, Renamed
from masquerade.truth.problem import Gold, Problem, Solution
from masquerade.truth.report_mechanisms import AnyMechanism
from masquerade.truth.ties import Ties
from masquerade.truth.votes import LabelVotes, Votes

InitialErrorStrategy = Literal["assign", "addition"] | None


class DawidSkene(CrowdKitNames, dawid_skene.DawidSkene):
    """Dawid-Skene; see `masquerade.truth.DawidSkene`.

    ``n_iter`` and ``tol`` are its ``max_iterations`` and ``tolerance``.

    Parameters
    ----------
    n_iter : int
        Most iterations; 0 gives the shares of the votes and their confusions.
    tol : float
    initial_error_strategy : {"assign", "addition"}, optional
        Whether the `initial_error` that `fit` is given stands for the first confusions, or is added
        to their counts. Without it, `initial_error` is not used.
    smoothing, ties, seed
        See `masquerade.truth.DawidSkene`.
    """

    n_iter, tol = Renamed("max_iterations"), Renamed("tolerance")

    def __init__(
        self,
        n_iter: int = 100,
        tol: float = 1e-5,
        initial_error_strategy: InitialErrorStrategy = None,
        *,
        smoothing: float = 0.01,
        ties: Ties = "random",
        seed: int = 0,
    ) -> None:
        super().__init__(
            max_iterations=n_iter or 1, tolerance=tol, smoothing=smoothing, ties=ties, seed=seed
        )
        self.max_iterations = n_iter
        if initial_error_strategy not in ("assign", "addition", None):
            raise ParameterError(
                f"initial_error_strategy is {initial_error_strategy!r}, expected 'assign', "
                "'addition' or None."
            )
        self.initial_error_strategy = initial_error_strategy
        self._initial_error: Any = None
        self._first: Floats | None = None  # initial_error by worker, truth and label
        self._is_masked = False

    def fit(
        self,
        data: Claims | Frame,
        true_labels: Gold | None = None,
        initial_error: Any = None,
        *,
        mechanism: AnyMechanism = None,
        gold: Gold | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from claims.

        Parameters
        ----------
        data, mechanism, gold, progress
            See `CategoricalEstimator.fit`.
        true_labels
            crowd-kit's name of `gold`.
        initial_error : pandas.DataFrame, optional
            What is known of workers: indexed by ``worker`` and ``label``, a column a truth. Counts,
            or probabilities where they are assigned.

        Raises
        ------
        ParameterError
            The index is another, or a worker or label is missing where all are assigned, or there
            is a mechanism as well: such counts are of answers that nobody saw.
        """
        self._initial_error = None if self.initial_error_strategy is None else initial_error
        self._is_masked = mechanism is not None
        if self._initial_error is not None and self._is_masked:
            raise ParameterError("initial_error is of clear answers; it takes no mechanism.")
        return super().fit(data, true_labels, mechanism=mechanism, gold=gold, progress=progress)

    def fit_predict(
        self,
        data: Claims | Frame,
        true_labels: Gold | None = None,
        initial_error: Any = None,
        **options: Any,
    ) -> Frame:
        """Return each task's label; see `fit`."""
        if initial_error is None and not is_pandas(data):
            return super().fit_predict(data, true_labels, **options)
        return self.fit(data, true_labels, initial_error, **options).labels_

    def fit_predict_proba(
        self,
        data: Claims | Frame,
        true_labels: Gold | None = None,
        initial_error: Any = None,
        **options: Any,
    ) -> Frame:
        """Return posteriors of each task; see `fit`."""
        if initial_error is None and not is_pandas(data):
            return super().fit_predict_proba(data, true_labels, **options)
        return self.fit(data, true_labels, initial_error, **options).probas_

    def solve(self, problem: Problem) -> Solution:
        """Return posteriors and confusions; see `CategoricalEstimator.solve`."""
        self._first = None
        if self._initial_error is not None:
            self._first = self._of_initial_error(self._initial_error, problem.claims)
        return super().solve(problem)

    def first_confusion(self, credit: Floats) -> Floats:
        """Return the first confusions: of the votes, of these with what is known, or of that."""
        if self._first is None:
            return super().first_confusion(credit)
        if self.initial_error_strategy == "addition":
            return self.confusion(credit + self._first)
        total = self._first.sum(axis=2, keepdims=True)
        even = np.full_like(self._first, 1 / credit.shape[2])
        return np.asarray(np.divide(self._first, total, out=even, where=total > 0))

    def _of_initial_error(self, table: Any, claims: Claims) -> Floats:
        """Return a table of what is known of workers as ``known[worker, truth, label]``."""
        assert claims.options is not None
        if list(table.index.names) != ["worker", "label"]:
            raise ParameterError(
                f"initial_error has the index {list(table.index.names)}, expected "
                "['worker', 'label']."
            )
        labels, workers = claims.options.to_pylist(), claims.workers.to_pylist()
        if self.initial_error_strategy == "assign":
            # Each label of each worker needs a row: a missing one would silently be 0.
            cells = np.unique(np.stack([claims.worker, claims.value], axis=1), axis=0)
            missing = {
                workers[worker]
                for worker, label in cells
                if (workers[worker], labels[label]) not in table.index
            }
            if missing:
                raise ParameterError(
                    f"initial_error lacks {len(missing)} workers, such as "
                    f"{min(map(str, missing))!r}, or a label of theirs; give all, or "
                    "initial_error_strategy='addition'."
                )
            if (table <= 1.0).all(axis=None) and not np.allclose(
                table.groupby("worker", sort=False).sum(), 1.0
            ):
                raise ParameterError(
                    "The sum of each worker's error matrix in initial_error should be 1.0 in every "
                    "column, where it holds probabilities; or give counts."
                )
        index = import_module("pandas").MultiIndex.from_product([workers, labels])
        # known[worker, label, truth]; here it is by worker, truth and label
        known = table.reindex(index=index, columns=labels).fillna(0.0).to_numpy(dtype=np.float64)
        return np.asarray(known.reshape(len(workers), len(labels), -1).transpose(0, 2, 1))

    @property
    def priors_(self) -> Any:
        """Share of the tasks that each truth holds for: series by label."""
        if self._is_empty or self._is_masked:
            return super().priors_
        return self._series(self.solution_.posteriors.mean(axis=0), "prior", "label")

    @property
    def errors_(self) -> Any:
        """Confusions: ``errors_.loc[(worker, label), truth]``, the chance of that label.

        Unlike crowd-kit's, it has a row for labels that a worker never gave, too.
        """
        return self._show("errors_", self._errors)

    def _errors(self) -> Any:
        pandas = import_module("pandas")
        claims, confusion = self.claims_, self._value("confusion")
        assert claims.options is not None
        if not self._is_masked:
            # crowd-kit ends with an M-step, of the last posteriors.
            counts = LabelVotes.of(Votes.of(claims)).counts(self.solution_.posteriors)
            last = self.confusion if self.max_iterations else self.first_confusion
            confusion = last(counts)
        labels = claims.options.to_pylist()
        index = pandas.MultiIndex.from_product(
            [claims.workers.to_pylist(), labels], names=["worker", "label"]
        )
        rows = confusion.transpose(0, 2, 1).reshape(-1, len(labels))
        table = pandas.DataFrame(rows, index=index, columns=labels)
        if self._first is not None and self.initial_error_strategy == "assign":
            return table.reindex(index=self._initial_error.index)
        return table.sort_index()


class OneCoinDawidSkene(DawidSkene, dawid_skene.OneCoinDawidSkene):
    """One-coin Dawid-Skene; see `DawidSkene` and `masquerade.truth.OneCoinDawidSkene`."""


class MACE(CrowdKitNames, dawid_skene.MACE):
    """MACE; see `masquerade.truth.MACE`.

    ``n_iter`` and ``random_state`` are its ``max_iterations`` and ``seed``. The only start is the
    votes, so ``n_restarts`` and ``default_noise`` change nothing; ``method`` has to be ``"vb"``,
    the variational one.
    """

    n_iter, random_state = Renamed("max_iterations"), Renamed("seed")

    def __init__(
        self,
        n_restarts: int = 10,
        n_iter: int = 50,
        method: str = "vb",
        *,
        default_noise: float = 0.5,
        tol: float = 1e-5,
        alpha: float = 0.5,
        beta: float = 0.5,
        ties: Ties = "random",
        random_state: int = 0,
    ) -> None:
        if method != "vb":
            raise ParameterError(
                f"method is {method!r}, expected 'vb': MACE is the variational method here."
            )
        super().__init__(
            max_iterations=n_iter or 1,
            tolerance=tol,
            alpha=alpha,
            beta=beta,
            ties=ties,
            seed=random_state,
        )
        self.max_iterations = n_iter
        self.n_restarts, self.method, self.default_noise = n_restarts, method, default_noise

    tol = Renamed("tolerance")


class GLAD(CrowdKitNames, glad.GLAD):
    """GLAD; see `masquerade.truth.GLAD`.

    ``n_iter`` and ``tol`` are its ``max_iterations`` and ``tolerance``; ``m_step_max_iter`` and
    ``m_step_tol`` its ``max_steps`` and ``gradient_tolerance``.
    """

    n_iter, tol = Renamed("max_iterations"), Renamed("tolerance")
    m_step_max_iter, m_step_tol = Renamed("max_steps"), Renamed("gradient_tolerance")

    def __init__(
        self,
        n_iter: int = 100,
        tol: float = 1e-5,
        *,
        m_step_max_iter: int = 25,
        m_step_tol: float = 1e-2,
        ties: Ties = "random",
        seed: int = 0,
    ) -> None:
        super().__init__(
            max_iterations=n_iter or 1,
            tolerance=tol,
            max_steps=m_step_max_iter,
            gradient_tolerance=m_step_tol,
            ties=ties,
            seed=seed,
        )
        self.max_iterations = n_iter

    @property
    def alphas_(self) -> Any:
        """Abilities of workers: series by worker."""
        return self._series(self._value("alphas"), "alpha", "worker")

    @property
    def betas_(self) -> Any:
        """Log inverse difficulties of tasks: series by task."""
        return self._series(self._value("betas"), "beta", "task")
