"""MACE: workers who either know the truth or answer out of habit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import digamma

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.truth.ballots import WorkerSums
from masquerade.truth.dawid_skene import DawidSkene

_ROUNDS = 10
_HABIT_PRIOR = 10.0


@dataclass(eq=False, kw_only=True)
class MACE(DawidSkene):
    """Tell spammers apart: with every answer a worker either gives the truth, or a habitual label.

    A worker knows the truth with the worker's own probability, and otherwise draws a label from
    the worker's own habits, whatever the task. ``knowing_`` and ``habits_`` are those
    probabilities: a worker of low `knowing_` spams.

    Parameters
    ----------
    n_iter : int
        Most iterations, at least 1.
    tol : float
        Iteration ends when the log-likelihood of a claim changes by less, at least 0.
    alpha, beta : float
        Prior of knowing and of not knowing, as pseudo-answers, above 0.
    smoothing : float
        Not used.
    ties : {"random", "first", "abstain"}
        See `CategoricalEstimator`.
    seed : int
        See `CategoricalEstimator`.

    Notes
    -----
    Hovy et al., "Learning whom to trust with MACE", NAACL 2013, its variational version. Where we
    differ: the only start is the votes instead of random ones, so results are the same every time.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "no", "no", "yes", "no"]}
    >>> MACE().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'no'}]
    """

    name: ClassVar[str] = "mace"

    n_iter: int = 50
    alpha: float = 0.5
    beta: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < np.inf:
                raise ParameterError(f"{name} is {value}, expected above 0.")

    def _priors(self, sums: WorkerSums) -> Floats:
        return np.full(len(sums.totals), 1 / len(sums.totals))

    def _confusion(self, credit: Floats) -> Floats:
        knowing, habit = self._habits(credit)
        s = credit.shape[2]
        table = np.broadcast_to(((1 - knowing)[:, None] * habit)[:, None, :], credit.shape).copy()
        table[:, np.arange(s), np.arange(s)] += knowing[:, None]
        return np.asarray(table / table.sum(axis=2, keepdims=True))

    def _extra(self, credit: Floats) -> dict[str, Floats]:
        knowing, habit = self._habits(credit)
        return {"knowing": knowing, "habits": habit}

    def _habits(self, credit: Floats) -> tuple[Floats, Floats]:
        """Return P(knows), shape (n_workers,), and P(label | does not), (n_workers, n_options)."""
        right, given = np.einsum("waa->wa", credit), credit.sum(axis=1)
        total = given.sum(axis=1)
        known = right / 2
        for _ in range(_ROUNDS):
            knowing, habit = self._expected(known, given, total)
            odds = knowing[:, None] / (knowing[:, None] + (1 - knowing)[:, None] * habit)
            known = right * odds
        return self._expected(known, given, total)

    def _expected(self, known: Floats, given: Floats, total: Floats) -> tuple[Floats, Floats]:
        """Return geometric means of the two kinds of parameters, each made to sum to 1."""
        yes = np.exp(digamma(known.sum(axis=1) + self.alpha))
        no = np.exp(digamma(total - known.sum(axis=1) + self.beta))
        habit = np.exp(digamma(given - known + _HABIT_PRIOR))
        return yes / (yes + no), habit / habit.sum(axis=1, keepdims=True)
