"""Half a person on every coefficient: the log-F(1, 1) penalty (Greenland and Mansournia 2015).

Where masks say little, the likelihood of answers is flat and its optimum lies at infinity. Half a
yes and half a no in the direction of each coefficient make it finite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from masquerade.exact.arrays import Floats


@dataclass(frozen=True)
class Penalty:
    """Half a person on coefficients, and one shared by all cells.

    Attributes
    ----------
    amount : float
        1/2 for half a person, 0 for plain maximum likelihood.
    scale : float array, shape (parameters,)
        Of each coefficient; 0 where there is no penalty.
    cells : slice
        The constants of cells, but the first.
    """

    amount: float
    scale: Floats
    cells: slice

    def _shares(self, theta: Floats) -> Floats:
        logs = np.concatenate([[0.0], theta[self.cells]])
        logs = np.exp(logs - logs.max())
        shares: Floats = logs / logs.sum()
        return shares

    def value(self, theta: Floats) -> float:
        """Return h (u - 2 log(1 + e^u)) over coefficients, and h/K log pi over cells."""
        if not self.amount:
            return 0.0
        u = self.scale * theta
        # log p + log (1 - p), in the form that does not overflow; 0 at u = 0 is of no matter
        total = float(-np.logaddexp(0, u).sum() - np.logaddexp(0, -u).sum())
        return self.amount * (total + float(np.log(self._shares(theta)).mean()))

    def gradient(self, theta: Floats) -> Floats:
        """Return h s (1 - 2 p); of cells h (1/K - pi_c)."""
        p = expit(self.scale * theta)
        out: Floats = self.amount * self.scale * (1 - 2 * p)
        pi = self._shares(theta)
        out[self.cells] += self.amount * (1 / len(pi) - pi[1:])
        return out

    def information(self, theta: Floats) -> Floats:
        """Return less the second derivatives: 2 h s^2 p (1 - p); of cells h (diag pi - pi pi')."""
        p = expit(self.scale * theta)
        out = np.diag(2 * self.amount * self.scale**2 * p * (1 - p))
        pi = self._shares(theta)[1:]
        out[self.cells, self.cells] += self.amount * (np.diag(pi) - np.outer(pi, pi))
        return out
