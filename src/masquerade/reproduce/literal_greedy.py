"""The greedy selection of Kandappu et al. (2014) to the letter, also where history has gaps.

`masquerade.selection` subtracts what masks add question by question. Equation (5) as printed
subtracts one number for everybody: the noise of the mean of all people, as if all had answered
every question. With a history full of gaps the two choose differently, so both are measured.
"""

from __future__ import annotations

import numpy as np

from masquerade.exact.arrays import Floats, Integers
from masquerade.selection import History, Pool


def signed_root(squared: Floats) -> Floats:
    """Return the root of a predicted squared error, with the sign of what is negative."""
    return np.sign(squared) * np.sqrt(np.abs(squared))


class LiteralErrors:
    """Past errors as a table of people and questions, and equation (5) on groups of them.

    Parameters
    ----------
    history : History
        With plain means, as published.
    noise_variance : float array, shape (n_people,)
    """

    def __init__(self, history: History, noise_variance: Floats) -> None:
        shape = (history.people, history.questions)
        self._error, self._there = np.zeros(shape), np.zeros(shape)
        self._error[history.person, history.question] = history.error[:, 0]
        self._there[history.person, history.question] = 1.0
        self._everyone = float(noise_variance.sum()) / history.people**2

    def squared(self, members: Integers) -> float:
        """Return the predicted squared error of a group's mean; it may be negative."""
        count = self._there[members].sum(axis=0)
        seen = count > 0
        if not seen.any():
            return float("nan")
        mean = self._error[members].sum(axis=0)[seen] / count[seen]
        return float((mean**2).mean()) - self._everyone

    def greedy(self, pool: Pool, *, budget: float, alpha: float, start: float) -> Integers:
        """Return whom algorithm 1 chooses.

        Parameters
        ----------
        pool : Pool
        budget : float
        alpha : float
        start : float
            Error of nobody, in widths; the paper does not say.
        """
        score = pool.score(budget=budget, alpha=alpha)
        open_ = np.flatnonzero(pool.admissible)
        error, there = self._error[open_], self._there[open_]
        total, count = np.zeros(error.shape[1]), np.zeros(error.shape[1])
        root, left = start, budget
        chosen: list[int] = []
        free = np.ones(open_.size, dtype=np.bool_)
        while True:
            free &= pool.cost[open_] <= left + 1e-12 * budget
            if not free.any():
                return np.array(chosen, dtype=np.int64)
            many = count + there
            square = ((total + error) / np.maximum(many, 1)) ** 2
            seen = (many > 0).sum(axis=1)
            found = np.where(seen > 0, square.sum(axis=1) / np.maximum(seen, 1), start**2)
            # Equation (5) can be negative; a root with its sign keeps the order, where 0 would make
            # everybody equal and let the order of the names decide.
            roots = signed_root(found - self._everyone)
            best = int(np.argmax(np.where(free, (root - roots) / score[open_], -np.inf)))
            total, count = total + error[best], count + there[best]
            root, left = float(roots[best]), left - float(pool.cost[open_[best]])
            free[best] = False
            chosen.append(int(open_[best]))
