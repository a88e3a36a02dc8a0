"""The Thurstone-Mosteller likelihood, safe for every number."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx

from masquerade.exact.arrays import Floats

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
_FAR = -300.0  # further out, r + z has lost its digits


def slope(margin: ArrayLike) -> Floats:
    """Return r(z) = phi(z) / Phi(z), the derivative of ln Phi.

    Notes
    -----
    ``exp(-z**2 / 2 - ln Phi(z))`` would cancel for very negative z; the scaled complementary error
    function does not.
    """
    z = np.asarray(margin, dtype=np.float64)
    r: Floats = _ROOT_TWO_OVER_PI / erfcx(z * -_ROOT_HALF)
    return r


def curvature(margin: ArrayLike, slope: ArrayLike) -> Floats:
    """Return w(z) = r (r + z) = -(ln Phi)''(z), between 0 and 1.

    Parameters
    ----------
    margin : float array
        z.
    slope : float array
        r(z), as the function `slope` returns it.
    """
    z, r = np.asarray(margin, dtype=np.float64), np.asarray(slope, dtype=np.float64)
    w: Floats = r * (r + z)
    far = z < _FAR
    if far.any():
        w = np.where(far, 1 - 1 / np.where(far, z, 1) ** 2, w)
    return np.clip(w, 0, 1)
