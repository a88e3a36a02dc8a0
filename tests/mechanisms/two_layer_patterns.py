"""The two-layer mechanism in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from masquerade.mechanisms import (
    TwoLayer,
)

UNIFORM = TwoLayer(2, low=0, high=1)


@cache
def pattern(n: int, m: int, symbols: int, low: Fraction, high: Fraction) -> Fraction:
    """Return Q_n(m) for p ~ U(low, high): the polynomial p**m (1-p)**(n-m), integrated exactly."""
    terms = (
        Fraction(math.comb(n - m, k) * (-1 if k % 2 else 1), m + k + 1)
        * (high ** (m + k + 1) - low ** (m + k + 1))
        for k in range(n - m + 1)
    )
    return sum(terms, Fraction(0)) / (high - low) / Fraction(symbols - 1) ** m
