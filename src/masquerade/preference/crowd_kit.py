"""crowd-kit's methods for comparisons of pairs, with its names of parameters and attributes.

Code written for crowd-kit changes its import only; all other methods are in
`masquerade.truth.crowd_kit`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

import numpy as np
from scipy.special import expit

from masquerade.answers import Frame
from masquerade.preference.inattentive_workers import SidedComparisons, fit_noisy_bradley_terry

__all__ = ["BradleyTerry", "NoisyBradleyTerry"]


class BradleyTerry:
    """Bradley-Terry by Hunter's (2004) iteration; scores sum to 1.

    `masquerade.preference.fit_bradley_terry` has the maximum itself, with standard errors, and says
    where there is none; this stops where crowd-kit stops.

    Parameters
    ----------
    n_iter : int
        Most iterations.
    tol : float
        Iteration ends when scores move by less.
    """

    def __init__(self, n_iter: int, tol: float = 1e-5) -> None:
        self.n_iter, self.tol = n_iter, tol
        self.scores_: Any = None

    def fit(self, data: Frame) -> Self:
        """Learn from a table ``worker``, ``left``, ``right``, ``label``, the chosen item."""
        pandas = import_module("pandas")
        if not len(data):
            self.scores_ = pandas.Series(dtype="float64", name="agg_score")
            return self
        records = SidedComparisons.from_frame(data)
        k = len(records.items)
        wins = np.zeros((k, k))
        winner = np.where(records.chose_left, records.left, records.right)
        np.add.at(wins, (winner, records.left + records.right - winner), 1)
        met, won = wins + wins.T, wins.sum(axis=1)
        score = np.full(k, 1 / k)
        for _ in range(self.n_iter):
            # Hunter (2004), eq. 3: wins over sum of met / (own score + the other's)
            pairs = score[:, None] + score
            new = won / np.divide(met, pairs, out=np.zeros_like(met), where=met > 0).sum(axis=1)
            new /= new.sum()
            moved = np.abs(new - score).sum()
            score = new
            if moved < self.tol:
                break
        self.scores_ = pandas.Series(score, records.items.to_pylist(), name="agg_score")
        return self

    def fit_predict(self, data: Frame) -> Any:
        """Return the score of each item; see `fit`."""
        return self.fit(data).scores_


class NoisyBradleyTerry:
    """Bradley-Terry with workers' skills and biases.

    See `masquerade.preference.fit_noisy_bradley_terry`, whose strengths, reliabilities and habits
    these are: they are no more crowd-kit's numbers than those are a maximum.

    Parameters
    ----------
    n_iter : int
        Most iterations.
    tol : float
        See ``tolerance`` there.
    """

    def __init__(self, n_iter: int = 500, tol: float = 1e-6) -> None:
        self.n_iter, self.tol = n_iter, tol
        self.scores_: Any = None
        self.skills_: Any = None
        self.biases_: Any = None

    def fit(self, data: Frame) -> Self:
        """Learn from a table ``worker``, ``left``, ``right``, ``label``, the chosen item."""
        pandas = import_module("pandas")
        # crowd-kit takes 0 for both.
        fit = fit_noisy_bradley_terry(
            data, max_iterations=max(self.n_iter, 1), tolerance=self.tol or 1e-12
        )
        index = pandas.Index(fit.items.to_pylist(), name="label")
        workers = fit.workers.to_pylist()
        self.scores_ = pandas.Series(expit(fit.strengths), index, name="agg_score")
        self.skills_ = pandas.Series(fit.reliability, workers, name="skill")
        self.biases_ = pandas.Series(fit.left_habit, workers, name="bias")
        return self

    def fit_predict(self, data: Frame) -> Any:
        """Return the score of each item, 0 to 1; see `fit`."""
        return self.fit(data).scores_
