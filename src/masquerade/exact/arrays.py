"""Array types of the whole package, an alias a kind of element, and the nearest shares.

Annotations say what an array holds; its axes are named in comments where it is first used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Positions in a short list, of options, tasks or workers: half the memory of `Integers`.
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]


def on_simplex(values: Floats, total: Floats | float = 1.0) -> Floats:
    """Return the nearest numbers of at least 0 that sum to a total, row by row of the last axis.

    Examples
    --------
    >>> on_simplex(np.array([1.1, 0.1, -0.2])).tolist()
    [1.0, 0.0, 0.0]
    """
    # max(v - t, 0), with t from the largest k of the sorted values with
    # v_k > (v_1 + ... + v_k - total) / k (Held, Wolfe and Crowder 1974).
    descending = -np.sort(-values, axis=-1)
    ranks = np.arange(1, values.shape[-1] + 1)
    excess = (np.cumsum(descending, axis=-1) - np.asarray(total)[..., None]) / ranks
    # the condition holds for the first values and for no later one: their number gives k
    last = (descending > excess).sum(axis=-1, keepdims=True) - 1
    nearest: Floats = np.maximum(values - np.take_along_axis(excess, last, axis=-1), 0.0)
    return nearest
