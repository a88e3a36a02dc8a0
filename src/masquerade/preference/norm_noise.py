"""Exact noise that falls with the Euclidean length: the K-norm mechanism on whole numbers.

Hardt and Talwar, "On the geometry of differential privacy", STOC 2010, give the noise on the real
line, with density proportional to ``exp(-rate * length)``. Here the length is rounded down to a
whole number, which makes every probability ratio exact: vectors that differ by at most a whole
number D of steps have lengths that differ by at most D after rounding down too.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.noise import LARGEST_SCALE, bernoulli_exp, discrete_laplace
from masquerade.preference.directions import integer_root

MOST_DIMENSIONS = 32
_PRECISION = 1 << 12
_BLOCK = 1 << 18  # numbers proposed at a time
_LARGEST_SQUARES = 1 << 61  # sums of squares have to fit 64 bits
_LARGEST_NUMERATOR = 1 << 30
_LARGEST_RATE = 4  # above, proposals are hardly ever accepted
_REACH = 40  # no coordinate is beyond this many scales but once in e**40


def norm_noise(source: WordSource, rate: Fraction, *, vectors: int, dimension: int) -> Integers:
    """Return integer vectors x with P(x) proportional to ``exp(-rate * floor(length of x))``.

    `rate`: loss a step, above 0 and at most 4. `vectors`, `dimension`: shape of the result; at most
    `MOST_DIMENSIONS` dimensions, because the share of proposals that is accepted falls with them: 9
    % for 10, 0.3 % for 23, 0.02 % for 32.

    Notes
    -----
    Proposals have independent discrete Laplace coordinates of scale ``sqrt(d) / rate`` (rounded
    up). As the sum of absolute values is at most ``sqrt(d)`` times the length, their probabilities
    are above the wanted ones, and the ratio is an exponential of a fraction.
    """
    if not 1 <= dimension <= MOST_DIMENSIONS:
        raise ParameterError(
            f"there are {dimension} features; noise by length takes 1 to {MOST_DIMENSIONS}. Use "
            "linear-gaussian or linear-laplace."
        )
    if rate > _LARGEST_RATE:
        raise ParameterError(
            f"a loss of {float(rate):.3g} a step leaves next to no noise; lower epsilon, or use "
            "the mechanism none, which says that it protects nobody."
        )
    p, q = _terms(rate)
    # rate = p / q; r / q is rate / sqrt(d), rounded down, so that proposals are wide enough.
    r = math.isqrt(p * p // dimension)
    scale = Fraction(q, r)
    if (scale * _REACH) ** 2 * dimension >= _LARGEST_SQUARES:
        raise ParameterError(
            f"a loss of {float(rate):.3g} a step for {dimension} features is so small that the "
            "noise would not fit 64 bits; raise epsilon, or use linear-laplace."
        )
    out = np.empty((vectors, dimension), dtype=np.int64)
    share = acceptance(dimension)
    done = 0
    while done < vectors:
        many = min(math.ceil((vectors - done) / share * 1.1) + 8, max(_BLOCK // dimension, 1))
        proposed = discrete_laplace(source, scale, many * dimension).reshape(many, dimension)
        size = np.abs(proposed)
        if int(size.max(initial=0)) ** 2 * dimension >= _LARGEST_SQUARES:
            raise OverflowError("a draw of noise left the range of 64 bits")
        # Accepted with probability exp(-(p (length + 1) - r |x|_1) / q), the target over the
        # proposal: at most 1 because |x|_1 <= sqrt(d) |x| < sqrt(d) (length + 1).
        length = integer_root((size * size).sum(axis=1))
        exponent = (length + 1) * p - size.sum(axis=1) * r
        accepted = proposed[bernoulli_exp(source, exponent.astype(np.uint64), q)][: vectors - done]
        out[done : done + len(accepted)] = accepted
        done += len(accepted)
    return out


def acceptance(dimension: int) -> float:
    """Return about which share of the proposals is accepted."""
    d = dimension
    # Volume of exp(-|x|) over that of exp(-|x|_1 / sqrt(d)), which is (2 sqrt(d))**d.
    log_sphere = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
    return math.exp(log_sphere + math.lgamma(d) - d * math.log(2 * math.sqrt(d)))


def _terms(rate: Fraction) -> tuple[int, int]:
    """Return numerator and denominator, large enough that a square root of them is precise."""
    factor = max(_PRECISION // rate.numerator, 1)
    p, q = rate.numerator * factor, rate.denominator * factor
    if rate <= 0 or q > LARGEST_SCALE or p > _LARGEST_NUMERATOR:
        raise ParameterError(
            f"a loss of {rate} a step is not above 0 or has too many digits; round epsilon to "
            "millionths."
        )
    return p, q
