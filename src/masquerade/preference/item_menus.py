"""Choices of named items from public menus: their records, and strengths from noisy wins.

A record has 1 for the item that was chosen, -1 for each other item of its menu and 0 elsewhere. A
pair is a menu of two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masquerade.answers import Comparisons
from masquerade.errors import InvalidRecord, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.preference.composition import Estimate
from masquerade.preference.luce_fit import Menus, fit_luce

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
