"""Exact discrete noise: Laplace and Gaussian on the integers, from uniform integers alone.

Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
algorithms 1 to 3, vectorised. No floating-point number is involved, so a report cannot betray an
answer by its last bits, and the probabilities are the formulas' own. The device's half
(``web/static/noise.js``) draws the same number from the same words.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masquerade.errors import ParameterError
from masquerade.mechanisms.coins import Words, WordSource, uniform_below

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_SAFE = 1 << 62
_WORD = 1 << 64
_LARGEST_SCALE = 1 << 48
_MOST_TURNS = 1 << 14


def bernoulli(source: WordSource, numerator: int, denominator: int, size: int) -> Flags:
    """Return `size` flags, each true with probability numerator / denominator, exactly."""
    if not 0 <= numerator <= denominator or denominator < 1:
        raise ParameterError(f"{numerator}/{denominator} is not a probability.")
    if denominator <= _WORD:
        flags: Flags = uniform_below(source, denominator, size) < np.uint64(
            min(numerator, _WORD - 1)
        )
        return flags | (numerator == denominator)
    return np.array([_compare(source, numerator, denominator) for _ in range(size)], dtype=np.bool_)


def bernoulli_exp(source: WordSource, numerator: Words, denominator: int) -> Flags:
    """Return a flag for each numerator, true with probability exp(-numerator / denominator).

    Parameters
    ----------
    source : WordSource
    numerator : uint64 array, shape (n,)
    denominator : int
        1 to 2**64 - 1.
    """
    divisor = np.uint64(denominator)
    whole, rest = numerator // divisor, numerator % divisor
    flags = _exp_below_one(source, rest, denominator)
    alive = np.flatnonzero(flags & (whole > 0))
    done = 0
    while alive.size:
        done += 1
        goes_on = _exp_minus_one(source, alive.size)
        flags[alive[~goes_on]] = False
        alive = alive[goes_on]
        alive = alive[whole[alive] > done]
    return flags


def discrete_laplace(source: WordSource, scale: Fraction, size: int) -> Integers:
    """Return `size` integers with P(x) proportional to exp(-abs(x) / scale).

    Parameters
    ----------
    source : WordSource
    scale : Fraction
        Above 0; numerator at most 2**48.
    size : int

    Notes
    -----
    About nine words a number. Expected time is independent of `scale`.
    """
    top, bottom = scale.numerator, scale.denominator
    if not 0 < top <= _LARGEST_SCALE or bottom >= _WORD:
        raise ParameterError(f"scale is {scale}, expected above 0, its terms at most 2**48.")
    out = np.zeros(size, dtype=np.int64)
    left = np.arange(size)
    while left.size:
        remainder = uniform_below(source, top, left.size)
        kept = np.flatnonzero(_exp_below_one(source, remainder, top))
        turns = _geometric(source, kept.size)
        if turns.size and turns.max() >= _MOST_TURNS:  # has probability e**-16384
            raise OverflowError("a draw of discrete Laplace noise left the range of 64 bits")
        magnitude = (remainder[kept] + np.uint64(top) * turns) // np.uint64(bottom)
        negative = bernoulli(source, 1, 2, kept.size)
        valid = ~(negative & (magnitude == 0))
        kept, signed = kept[valid], magnitude[valid].astype(np.int64)
        out[left[kept]] = np.where(negative[valid], -signed, signed)
        left = np.delete(left, kept)
    return out


def discrete_gaussian(source: WordSource, variance: Fraction, size: int) -> Integers:
    """Return `size` integers with P(x) proportional to exp(-x**2 / (2 variance)).

    Parameters
    ----------
    source : WordSource
    variance : Fraction
        Above 0. It is the parameter of the formula; the true variance is never above it.
    size : int

    Notes
    -----
    About fifteen words a number.
    """
    if variance <= 0:
        raise ParameterError(f"variance is {variance}, expected above 0.")
    p, q = variance.numerator, variance.denominator
    scale = math.isqrt(p // q) + 1
    denominator = 2 * p * q * scale**2
    out = np.zeros(size, dtype=np.int64)
    left = np.arange(size)
    # |y| up to this much keeps every product below 2**62; larger ones go through whole numbers
    # without a limit, one by one.
    largest = (math.isqrt(_SAFE) - p) // (q * scale) if denominator < _SAFE else -1
    while left.size:
        proposal = discrete_laplace(source, Fraction(scale), left.size)
        size_of = np.abs(proposal)
        accepted = np.zeros(left.size, dtype=np.bool_)
        small = np.flatnonzero(size_of <= largest)
        if small.size:
            distance = np.abs(size_of[small] * (q * scale) - p).astype(np.uint64)
            accepted[small] = bernoulli_exp(source, distance**2, denominator)
        for i in np.flatnonzero(size_of > largest).tolist():
            distance_of_one = int(size_of[i]) * q * scale - p
            accepted[i] = _exp_of_any(source, distance_of_one**2, denominator)
        out[left[accepted]] = proposal[accepted]
        left = left[~accepted]
    return out


def _exp_below_one(source: WordSource, numerator: Words, denominator: int) -> Flags:
    """Return flags true with probability exp(-numerator / denominator), numerator <= denominator.

    The first k at which a draw with probability x / k fails is odd with probability exp(-x).
    """
    flags = np.ones(len(numerator), dtype=np.bool_)
    alive = np.arange(len(numerator))
    k = 1
    while alive.size:
        goes_on = uniform_below(source, denominator, alive.size) < numerator[alive]
        if k > 1:
            some = np.flatnonzero(goes_on)
            goes_on[some] = uniform_below(source, k, some.size) == 0
        flags[alive[~goes_on]] = k % 2 == 1
        alive = alive[goes_on]
        k += 1
    return flags


def _exp_minus_one(source: WordSource, size: int) -> Flags:
    """Return flags true with probability exp(-1)."""
    flags = np.ones(size, dtype=np.bool_)
    alive = np.arange(size)
    k = 2  # the draw with probability 1 / 1 never fails
    while alive.size:
        goes_on = uniform_below(source, k, alive.size) == 0
        flags[alive[~goes_on]] = k % 2 == 1
        alive = alive[goes_on]
        k += 1
    return flags


def _geometric(source: WordSource, size: int) -> Words:
    """Return how often a draw with probability exp(-1) succeeds before it fails."""
    count = np.zeros(size, dtype=np.uint64)
    alive = np.arange(size)
    while alive.size:
        alive = alive[_exp_minus_one(source, alive.size)]
        count[alive] += np.uint64(1)
    return count


def _exp_of_any(source: WordSource, numerator: int, denominator: int) -> bool:
    """Return true with probability exp(-numerator / denominator); integers of any size."""
    whole, rest = divmod(numerator, denominator)
    k = 1
    while _compare(source, rest, denominator * k):
        k += 1
    if k % 2 == 0:
        return False
    return all(bool(_exp_minus_one(source, 1)[0]) for _ in range(whole))


def _compare(source: WordSource, numerator: int, denominator: int) -> bool:
    """Return true with probability numerator / denominator, comparing digit by digit."""
    while True:
        digit, numerator = divmod(numerator * _WORD, denominator)
        word = int(source.words(1)[0])
        if word != digit:
            return word < digit
        if numerator == 0:
            return False
