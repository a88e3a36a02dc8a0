"""The integer vector that stands for a voter's whole preference: a bounded fit on a grid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masquerade.answers import Comparisons
from masquerade.errors import ParameterError
from masquerade.mechanisms.number import Number, finite, text_of
from masquerade.preference.l1_ball import STEPS, on_grid
from masquerade.preference.thurstone import fit_voters
from masquerade.preference.vector_noise import Sensitivity

Integers = NDArray[np.int64]

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

    Each is fitted by itself. Fitted together, voters share the number of iterations, and the last
    digits of one fit depend on the records of the others: then more than one row would change with
    one voter, and the sensitivity would be larger than claimed.

    Returns
    -------
    int64 array
        Absolute values of a row add to at most `STEPS`, exactly.
    """
    fits = np.zeros((records.n_voters, records.n_features))
    nobody = pa.array([0])
    for voter, (first, last) in enumerate(
        zip(records.offsets[:-1].tolist(), records.offsets[1:].tolist(), strict=True)
    ):
        if last > first:
            alone = Comparisons(
                records.difference[first:last],
                np.array([0, last - first]),
                nobody,
                records.features,
            )
            fits[voter] = fit_voters(alone, bound=float(bound)).weights[0]
    return on_grid(np.nan_to_num(fits), bound)
