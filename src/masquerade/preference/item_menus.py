"""Choices of named items from menus: their records, and strengths by Luce's model of wins.

A record has 1 for the item that was chosen, -1 for each other item of its menu and 0 elsewhere. A
pair is a menu of two.

Luce's axiom (1959): item i is taken from a menu S with probability ``e**t_i / sum_S e**t_j``. A
ranking is a series of such choices from what is left (Plackett 1975).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

from masquerade.answers import Comparisons
from masquerade.errors import InvalidRecord, ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.preference.composition import Estimate

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


#: Information an item that stands for none.
NEVER_MET = 1e-9


def largest_menu(difference: Floats) -> int:
    """Return the size of the largest menu in records of named items."""
    return int(np.count_nonzero(difference, axis=1).max(initial=0))


def require_pairs_of_items(comparisons: Comparisons, name: str) -> None:
    """Refuse choices from menus of three or more named items.

    Raises `ParameterError`: the mechanism learns from pairs, and is not proven for menus.
    """
    size = 0 if comparisons.items is None else largest_menu(comparisons.difference)
    if size > 2:
        raise ParameterError(
            f"a record is a choice from a menu of {size} items, and {name} learns from pairs. Take "
            "item-wins and the unit 'choice', where an aggregator may see the choices, or "
            "MenuResponse (masquerade menus --mechanism menu-response), which masks each choice on "
            "its voter's device; menus are public for both, which public_menus=True "
            "(--public-menus) says."
        )


def require_menu_records(difference: Floats) -> None:
    """Refuse records that are no choice of one item from a menu, or nothing at all.

    Raises `InvalidRecord` (such a record could move counts further than the noise hides).
    """
    chosen = np.count_nonzero(difference == 1, axis=1)
    others = np.count_nonzero(difference == -1, axis=1)
    size = np.count_nonzero(difference, axis=1)
    bad = (size != 0) & ((chosen != 1) | (others != size - 1) | (size < 2))
    if bad.any():
        raise InvalidRecord(
            f"record {int(np.argmax(bad)) + 1} is not 1 for the item chosen, -1 for those rejected "
            "and 0 elsewhere; give pairs (chosen, rejected) or menus (item, chosen) of names."
        )


def estimate_of_strengths(
    strengths: Floats, information: Floats, ridge: float, noise: Floats, model: str
) -> Estimate:
    """Return strengths with their errors: of noise in the wins, of sampling and of the ridge.

    `noise` (n_items, n_items): covariance of the noise in the wins. With H the information, P the
    projection on sum 0 and R = P (H + ridge)^-1 P, the covariance is
    ``R (H + noise + ridge**2 P) R``.
    """
    k = len(strengths)
    centre = np.eye(k) - 1 / k
    lift = centre @ np.linalg.inv(information + ridge * np.eye(k)) @ centre
    return Estimate(
        strengths,
        lift @ noise @ lift,
        lift @ information @ lift,
        ridge**2 * lift @ lift,
        details={"model": model, "ridge": ridge},
    )


def menu_strengths(
    wins: Floats, shown: NDArray[np.bool_], emphasis: Floats, variance: float
) -> Estimate:
    """Return Luce's strengths from noisy wins and public menus, with their errors.

    Parameters
    ----------
    wins : float array, shape (n_items,)
        How often each item was chosen, with noise; they add up to the number of choices.
    shown : bool array, shape (n_choices, n_items)
        The menu of each choice, without what was chosen; a row of False says nothing.
    emphasis : float array, shape (n_choices,)
        How often each choice counts.
    variance : float
        Of the noise in a count.

    Notes
    -----
    With public menus the wins are sufficient for first choices of Luce's model (1959), so that the
    fit reads the answers by way of the noisy wins alone: ``wins.t - sum ln sum_S e**t - ridge / 2
    |t|**2`` is maximised, concave whatever the noise is. The ridge is that of pairs,
    ``1 + V / h`` with h the mean information an item at indifference: ``(k - 1) / k`` a menu of k,
    over all items.
    """
    k = len(wins)
    # Equal menus stand once, in an order of their own: that of records changes nothing.
    packed, place = np.unique(np.packbits(shown, axis=1), axis=0, return_inverse=True)
    menus = np.unpackbits(packed, axis=1, count=k).astype(np.bool_)
    many = np.zeros(len(menus))
    np.add.at(many, place.ravel(), emphasis)
    menus, many = menus[menus.any(axis=1)], many[menus.any(axis=1)]
    sizes = menus.sum(axis=1)
    ridge = 1 + variance / max(float(many @ ((sizes - 1) / sizes)) / k, NEVER_MET)
    rows = Menus.of(k, [np.flatnonzero(menu) for menu in menus], many)
    strengths, information = fit_luce(wins, rows, ridge)
    noise = variance * (np.eye(k) - 1 / k)
    return estimate_of_strengths(strengths, information, ridge, noise, "plackett-luce")
