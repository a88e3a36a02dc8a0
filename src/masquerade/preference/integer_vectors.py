"""Vectors of whole numbers whose norms are bounded exactly, so that sensitivities are too.

A float can exceed a bound by its last bits; a sum of integers cannot. All noise in this room is
added to vectors made here.
"""

from __future__ import annotations

import numpy as np

from masquerade.exact.arrays import Floats, Integers

UNIT = 1 << 12
"""Length of a direction: its squares add to at most ``UNIT**2``."""

_FIXED_POINT = 1 << 20


def integer_root(squares: Integers) -> Integers:
    """Return the largest integers whose squares are at most `squares` (0 to below 2**62)."""
    root: Integers = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    root -= root * root > squares  # the float is off by one at most
    root += (root + 1) ** 2 <= squares
    return root


def whole_directions(differences: Floats) -> Integers:
    """Return each row's direction, as whole multiples of ``1 / UNIT``; zeros for a row of zeros.

    Each row depends on that row alone, to the last bit, and the opposite row has the opposite
    direction.

    Parameters
    ----------
    differences : float array, shape (n_records, n_features)

    Returns
    -------
    int64 array, shape (n_records, n_features)
        The squares of a row add to at most ``UNIT**2``.
    """
    largest = np.abs(differences).max(axis=1, initial=0, keepdims=True)
    relative = differences / np.where(largest > 0, largest, 1)
    return whole_directions_of_integers(np.rint(relative * _FIXED_POINT).astype(np.int64))


def whole_directions_of_integers(differences: Integers) -> Integers:
    """Return each row's direction as in `whole_directions`, from whole numbers.

    The device's half (``web/static/preference.js``) returns the same.

    Parameters
    ----------
    differences : int64 array, shape (n_records, n_features)
        Squares of a row add to less than 2**62.
    """
    squares = (differences**2).sum(axis=1, keepdims=True)
    length = integer_root(squares)
    length += length**2 < squares  # rounded up: a direction is never longer than UNIT
    size: Integers = np.abs(differences) * UNIT // np.maximum(length, 1)
    return np.sign(differences) * size


def sums_by_voter(rows: Integers, offsets: Integers) -> Integers:
    """Return the sum of each voter's rows, shape (n_voters, rows.shape[1]); 0 for no rows."""
    running = np.concatenate([np.zeros((1, rows.shape[1]), dtype=np.int64), rows.cumsum(axis=0)])
    sums: Integers = running[offsets[1:]] - running[offsets[:-1]]
    return sums
