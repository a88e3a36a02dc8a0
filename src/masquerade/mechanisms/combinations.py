"""Sets of places as whole numbers: the combinatorial number system, in both directions."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from masquerade.exact.arrays import Flags, Integers


@lru_cache(maxsize=256)
def _counts(places: int, size: int) -> Integers:
    """Return C(place, i + 1) for each place and i, shape (places + 1, size)."""
    rows = [[math.comb(place, i + 1) for i in range(size)] for place in range(places + 1)]
    return np.array(rows, dtype=np.int64)


def place_of(members: Integers) -> Integers:
    """Return the number of each set, given by its members ascending; shape (n, size).

    The set of c1 < c2 < ... has the number C(c1, 1) + C(c2, 2) + ....

    Examples
    --------
    >>> place_of(np.array([[0, 1], [0, 2], [1, 2], [0, 3]])).tolist()
    [0, 1, 2, 3]
    """
    size = members.shape[1]
    counts = _counts(int(members.max(initial=0)), size)
    number: Integers = counts[members, np.arange(size)].sum(axis=1)
    return number


def members_of(numbers: Integers, places: int, size: int) -> Flags:
    """Return which of the places are in each set; the inverse of `place_of`.

    Shape (n, places).

    Examples
    --------
    >>> members_of(np.array([2]), 4, 2).tolist()
    [[False, True, True, False]]
    """
    counts, rest = _counts(places, size), np.asarray(numbers, dtype=np.int64).copy()
    held = np.zeros((len(rest), places), dtype=np.bool_)
    for i in reversed(range(size)):
        place = np.searchsorted(counts[:, i], rest, side="right") - 1
        held[np.arange(len(rest)), place] = True
        rest -= counts[place, i]
    return held


@lru_cache(maxsize=64)
def sets_of_places(places: int, size: int) -> Integers:
    """Return the members of every set in the order of their numbers, shape (sets, size)."""
    sets = np.array(list(itertools.combinations(range(places), size)), dtype=np.int64)
    return sets[np.argsort(place_of(sets))]
