"""crowd-kit's method for comparisons of pairs, with its names of parameters and attributes.

Code written for crowd-kit changes its import only; all other methods are in
`masquerade.truth.crowd_kit`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

import numpy as np

from masquerade.answers import Battles, Frame

__all__ = ["BradleyTerry"]


class BradleyTerry:
    """Bradley-Terry by Hunter's (2004) iteration; scores sum to 1.

    `masquerade.preference.Leaderboard` has the maximum itself, with errors and ranks, and says
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
        battles = Battles.from_frame(data)
        k = len(battles.items)
        wins = np.zeros((k, k))
        sides = (battles.first, battles.second)
        for share, (winner, loser) in zip(
            ([1, 0.5, 0], [0, 0.5, 1]), (sides, sides[::-1]), strict=True
        ):
            np.add.at(wins, (winner, loser), np.array(share)[battles.outcome])
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
        self.scores_ = pandas.Series(score, list(battles.items), name="agg_score")
        return self

    def fit_predict(self, data: Frame) -> Any:
        """Return the score of each item; see `fit`."""
        return self.fit(data).scores_
