"""Luce's model of first choices: strengths from wins and menus.

Luce's axiom (1959): item i is taken from a menu S with probability ``e**t_i / sum_S e**t_j``. A
ranking is a series of such choices from what is left (Plackett 1975).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array

from masquerade.exact.arrays import Floats, Integers

_CLOSE = 1e-10  # derivative a choice at which a fit ends
_MOST_STEPS = 200
_MOST_HALVINGS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Menus:
    """Menus of items, one behind the other.

    Attributes
    ----------
    items : int
        Number of all items.
    members : int array, shape (n_alternatives,)
        Menu m holds ``members[starts[m]:starts[m + 1]]``; none is empty.
    starts : int array, shape (n_menus,)
    many : float array, shape (n_menus,)
        How often each menu counts.
    """

    items: int
    members: Integers
    starts: Integers
    many: Floats

    @classmethod
    def of(cls, items: int, menus: Iterable[ArrayLike], many: Floats | None = None) -> Menus:
        """Return menus given one by one."""
        listed = [np.asarray(menu, dtype=np.int64) for menu in menus]
        sizes = np.array([len(menu) for menu in listed], dtype=np.int64)
        members = np.concatenate(listed) if listed else np.zeros(0, np.int64)
        each = np.ones(len(listed)) if many is None else many
        return cls(items, members, np.cumsum(sizes) - sizes, each)

    @property
    def sizes(self) -> Integers:
        """Number of items in each menu, shape (n_menus,)."""
        return np.diff(np.append(self.starts, len(self.members)))

    @property
    def menu(self) -> Integers:
        """The menu of each alternative, shape (n_alternatives,)."""
        return np.repeat(np.arange(len(self.starts)), self.sizes)

    def chances(self, strengths: Floats) -> tuple[Floats, Floats]:
        """Return the probability of each alternative, and the log of each menu's sum."""
        utility = strengths[self.members]
        top = np.maximum.reduceat(utility, self.starts) if len(self.starts) else np.zeros(0)
        size = np.exp(utility - np.repeat(top, self.sizes))
        total = np.add.reduceat(size, self.starts) if len(self.starts) else np.zeros(0)
        return size / np.repeat(total, self.sizes), top + np.log(total)

    def table(self, values: Floats) -> csr_array:
        """Return a number of each alternative as a sparse table, shape (n_menus, n_items)."""
        shape = (len(self.starts), self.items)
        return csr_array(coo_array((values, (self.menu, self.members)), shape=shape))


def fit_luce(wins: Floats, menus: Menus, ridge: float) -> tuple[Floats, Floats]:
    """Return the strengths of greatest ``wins.t - sum n ln sum_S e**t - ridge / 2 |t|**2``.

    Parameters
    ----------
    wins : float array, shape (n_items,)
        How often each item was chosen; it may hold noise, and adds up to the number of choices.
    menus : Menus
    ridge : float
        Precision of a normal prior; at 0 the maximum has to exist.

    Returns
    -------
    strengths : float array, shape (n_items,)
        They sum to 0.
    information : float array, shape (n_items, n_items)

    Notes
    -----
    Newton's method with halved steps. The function is concave whatever `wins` is.
    """
    k = len(wins)
    at = np.zeros(k)

    def value(at: Floats) -> float:
        return float(wins @ at - menus.many @ menus.chances(at)[1] - ridge / 2 * at @ at)

    now = value(at)
    # Only differences of strengths are in the likelihood: this fixes their sum at 0.
    along = np.full((k, k), 1 / k)
    for _ in range(_MOST_STEPS):
        chance, _ = menus.chances(at)
        weighted = chance * np.repeat(menus.many, menus.sizes)
        expected = np.bincount(menus.members, weighted, k)
        gradient = wins - expected - ridge * at
        # Covariance of what is chosen from each menu, summed.
        together = menus.table(chance).T @ menus.table(weighted)
        information = np.diag(expected) - together.toarray()
        if np.abs(gradient).max(initial=0) <= _CLOSE * max(float(menus.many.sum()), 1.0):
            break
        scale = max(float(np.trace(information)) / k, 1e-12)
        step = np.linalg.solve(information + ridge * np.eye(k) + along * scale, gradient)
        step -= step.mean()
        # Far from the maximum a whole Newton step may overshoot.
        for _ in range(_MOST_HALVINGS):
            after = value(at + step)
            if after >= now - 1e-12 * (1 + abs(now)):
                break
            step = step / 2
        at, now = at + step, after
    return at - at.mean(), information


def choice_scores(menus: Menus, taken: Integers, strengths: Floats) -> csr_array:
    """Return the score of each choice, shape (n_menus, n_items): taken less expected."""
    chance, _ = menus.chances(strengths)
    chosen = menus.members == np.repeat(taken, menus.sizes)
    return menus.table(chosen - chance)
