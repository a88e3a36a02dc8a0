"""The integer vector that stands for a voter's whole preference: a bounded fit on a grid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from masquerade.answers import Comparisons
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Integers
from masquerade.exact.number import Number, finite, text_of
from masquerade.preference.l1_ball import STEPS, on_grid
from masquerade.preference.thurstone import fit_voters
from masquerade.preference.vector_noise import Sensitivity

DEFAULT_BOUND = Fraction(2)
SENSITIVITY = Sensitivity(absolute=2 * STEPS, euclidean=2 * STEPS)
"""Of a fit on the grid, when all records of its voter change: two points of the ball at most two
radii apart, in both norms. It is attained by opposite corners."""

ALONE = "each voter's fit is computed from that voter's records alone"


def read_bound(bound: Number) -> Fraction:
    """Return the bound as a fraction above 0."""
    number = finite(bound, "bound")
    if not 0 < number <= 10**6:
        raise ParameterError(f"bound is {text_of(number)}, expected above 0 and at most 1e6.")
    return number


def fits_on_grid(records: Comparisons, bound: Fraction) -> Integers:
    """Return each voter's fit in steps of ``bound / STEPS``, shape (n_voters, n_features).

    The fit of a voter does not depend on the other voters in a single bit; see `fit_voters`. Else
    one voter could change more than one row, and the sensitivity would be larger than claimed.

    Returns
    -------
    int64 array
        Absolute values of a row add to at most `STEPS`, exactly.
    """
    fits = fit_voters(records, bound=float(bound)).weights
    return on_grid(np.nan_to_num(fits), bound)
