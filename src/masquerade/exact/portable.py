"""Logarithms, exponentials and normal tails that are the same in every language.

`ln` and `exp` use whole numbers alone: addition, multiplication, division and shifts, in units of
``2**-160``. `normal_delta` uses doubles with the operations that every language rounds alike:
addition, subtraction, multiplication, division and the square root. The device's half is
``portable.js``; both give the same digits by construction.
"""

from __future__ import annotations

import math
from functools import lru_cache

#: Binary digits after the point.
BITS = 160
ONE = 1 << BITS
#: Above every rounding error of `ln`, in its unit: 2**-130.
GUARD = 1 << (BITS - 130)


def ln(n: int, m: int = 1) -> int:
    """Return ln(n / m) in units of 2**-160, for n >= m > 0; off by less than 2**-135.

    Examples
    --------
    >>> round(ln(3) / ONE, 15)
    1.09861228866811
    """
    twos = n.bit_length() - m.bit_length()
    if n < m << twos:
        twos -= 1
    # n / m = x * 2**twos, with x from 1 to 2
    x = (n << BITS) // (m << twos)
    return _twice_artanh(x - ONE, x + ONE) + twos * _ln2()


def exp(n: int, m: int = 1) -> int:
    """Return e**(n / m) in units of 2**-160, for n >= 0 and m > 0.

    The relative error is below 2**-135 for exponents up to 2**20.

    Examples
    --------
    >>> round(exp(1) / ONE, 15)
    2.718281828459045
    """
    whole = (n << BITS) // m
    twos, rest = divmod(whole, _ln2())
    total = term = ONE
    k = 1
    while term:
        term = (term * rest >> BITS) // k
        total += term
        k += 1
    return total << twos


@lru_cache(maxsize=1)
def _ln2() -> int:
    return _twice_artanh(1, 3)


def _twice_artanh(n: int, m: int) -> int:
    """Return 2 artanh(n / m): twice the sum of (n / m)**(2 j + 1) / (2 j + 1)."""
    power = (n << BITS) // m
    square = power * power >> BITS
    total, k = 0, 1
    while power:
        total += power // k
        power = power * square >> BITS
        k += 2
    return 2 * total


_LN2_HIGH = 0.693145751953125  # 20 binary digits, so that a multiple is exact
_LN2_LOW = 1.42860682030941723212e-6
_FACTORIALS = tuple(float(math.factorial(k)) for k in range(15))
_LEAST_EXPONENT = -700.0


def double_exp(x: float) -> float:
    """Return e**x by the four basic operations; below -700, e**-700, which is above it."""
    x = max(x, _LEAST_EXPONENT)
    twos = math.floor(x / (_LN2_HIGH + _LN2_LOW) + 0.5)
    rest = x - twos * _LN2_HIGH - twos * _LN2_LOW
    total = 1.0 / _FACTORIALS[14]
    for k in range(13, -1, -1):
        total = total * rest + 1.0 / _FACTORIALS[k]
    factor = 2.0 if twos > 0 else 0.5
    for _ in range(abs(twos)):
        total *= factor
    return total


def scaled_errors(x: float) -> float:
    """Return ``e**(x**2) erfc(x)`` (Cody, 1969, Rational Chebyshev approximations)."""
    if x < -0.46875:
        return 2.0 * double_exp(x * x) - scaled_errors(-x)
    if x <= 0.46875:
        return double_exp(x * x) * (1.0 - x * _near(x * x))
    if x <= 4.0:
        return _middle(x)
    square = 1.0 / (x * x)
    return (1.0 / math.sqrt(math.pi) - square * _far(square)) / x


def normal_delta(epsilon: float, variance: float) -> float:
    """Return delta at `epsilon` of Gaussian noise with ``mu**2 = variance``.

    With s the square root of the variance, ``a = (epsilon / s - s / 2) / sqrt 2`` and
    ``b = (epsilon / s + s / 2) / sqrt 2``, it is ``e**(-a**2) (erfcx(a) - erfcx(b)) / 2`` (Balle
    and Wang, 2018), for ``e**epsilon e**(-b**2) = e**(-a**2)``.

    Examples
    --------
    >>> round(normal_delta(1.0, 1.0), 6)
    0.126937
    """
    root, s = math.sqrt(2.0), math.sqrt(variance)
    a = (epsilon / s - s / 2.0) / root
    b = (epsilon / s + s / 2.0) / root
    return double_exp(-a * a) * (scaled_errors(a) - scaled_errors(b)) / 2.0


def _polynomial(x: float, coefficients: tuple[float, ...]) -> float:
    total = coefficients[0]
    for one in coefficients[1:]:
        total = total * x + one
    return total


def _near(x: float) -> float:
    return _polynomial(x, _NEAR_TOP) / _polynomial(x, _NEAR_BOTTOM)


def _middle(x: float) -> float:
    return _polynomial(x, _MIDDLE_TOP) / _polynomial(x, _MIDDLE_BOTTOM)


def _far(x: float) -> float:
    return _polynomial(x, _FAR_TOP) / _polynomial(x, _FAR_BOTTOM)


_NEAR_TOP = (
    1.85777706184603153e-1,
    3.1611237438705656,
    113.864154151050156,
    377.485237685302021,
    3209.37758913846947,
)
_NEAR_BOTTOM = (
    1.0,
    23.6012909523441209,
    244.024637934444173,
    1282.61652607737228,
    2844.23683343917062,
)
_MIDDLE_TOP = (
    2.15311535474403846e-8,
    5.64188496988670089e-1,
    8.88314979438837594,
    66.1191906371416295,
    298.635138197400131,
    881.95222124176909,
    1712.04761263407058,
    2051.07837782607147,
    1230.33935479799725,
)
_MIDDLE_BOTTOM = (
    1.0,
    15.7449261107098347,
    117.693950891312499,
    537.181101862009858,
    1621.38957456669019,
    3290.79923573345963,
    4362.61909014324716,
    3439.36767414372164,
    1230.33935480374942,
)
_FAR_TOP = (
    1.63153871373020978e-2,
    3.05326634961232344e-1,
    3.60344899949804439e-1,
    1.25781726111229246e-1,
    1.60837851487422766e-2,
    6.58749161529837803e-4,
)
_FAR_BOTTOM = (
    1.0,
    2.56852019228982242,
    1.87295284992346725,
    5.27905102951428412e-1,
    6.05183413124413191e-2,
    2.33520497626869185e-3,
)
