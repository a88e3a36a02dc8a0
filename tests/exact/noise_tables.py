"""The distributions of discrete noise, as tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from masquerade.exact import SimulatedCoins

SCALES = [Fraction(s) for s in ("1/4", "1/2", "1", "4", "22/7", "40000/6793", "1000", "1000000")]

VARIANCES = [
    *(Fraction(v) for v in ("1/4", "1", "16/9", "9", "144", "1000000")),
    Fraction("12.3456") ** 2,
    Fraction(10**12),
    Fraction("1234567.8") ** 2,
]


def seeded(seed: int) -> SimulatedCoins:
    """Return reproducible words."""
    return SimulatedCoins(np.random.default_rng(seed))
