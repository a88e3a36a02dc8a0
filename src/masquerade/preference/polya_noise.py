"""Shares of discrete Laplace noise that many people draw, none of whom knows the sum.

Discrete Laplace noise is infinitely divisible: it is the difference of two geometric numbers, and a
geometric number is the sum of h independent Polya (negative binomial) numbers of shape 1 / h.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Integers
from masquerade.exact.coins import Words, WordSource, uniform_below
from masquerade.exact.noise import bernoulli, bernoulli_exp

_FARTHEST = 1 << 14  # jumps are at most this many scales; larger ones have probability e**-16384
_LARGEST_SCALE = 1 << 44


def polya_share(source: WordSource, scale: Fraction, shares: int, size: int) -> Integers:
    """Return numbers of which `shares` independent ones add to discrete Laplace noise.

    `scale`: of the sum, which has P(x) proportional to exp(-abs(x) / scale). From 1/2**20 to 2**44.
    `shares`: at least 1.

    Notes
    -----
    With q = exp(-1 / scale), a Polya number of shape r is the sum of jumps: their number of size x
    is Poisson with mean ``r q**x / x``, independently for every x. Jumps are proposed evenly in
    each octave from 2**b to 2**(b + 1) with mean r in all, and stays with probability
    ``(2**b / x) q**x``: only fractions and exponentials of fractions, so the distribution is
    exact. Octaves end at 16384 scales, beyond which a jump has probability e**-16384.

    **Cost**: about ``40 / shares`` proposals a number.
    """
    if not Fraction(1, 1 << 20) <= scale <= _LARGEST_SCALE:
        raise ParameterError(f"scale is {scale}, expected from 1/2**20 to 2**44.")
    if shares < 1:
        raise ParameterError(f"shares is {shares}, expected at least 1.")
    # Discrete Laplace noise is the difference of two geometric numbers, each a sum of h Polya ones.
    total = _polya(source, scale, shares, 2 * size)
    return total[:size] - total[size:]


def _polya(source: WordSource, scale: Fraction, shares: int, size: int) -> Integers:
    octaves = max(math.ceil(scale * _FARTHEST) - 1, 1).bit_length()
    # Number of jumps proposed: one octave has mean r = 1 / shares, independent of the others.
    jumps = _poisson(source, octaves, shares, size)
    owner = np.repeat(np.arange(size), jumps)
    octave = uniform_below(source, octaves, len(owner))
    low = np.uint64(1) << octave
    position = np.empty_like(low)
    for each in np.unique(octave).tolist():
        rows = np.flatnonzero(octave == each)
        position[rows] = uniform_below(source, 1 << each, len(rows))
    size_of = low + position
    # Evenly proposed sizes have rate r / 2**b each; thinning by (2**b / x) q**x leaves r q**x / x.
    stays = np.zeros(len(owner), dtype=np.bool_)
    for each in np.unique(octave).tolist():
        rows = np.flatnonzero(octave == each)
        stays[rows] = _one_in(source, size_of[rows], 1 << each)
    some = np.flatnonzero(stays)
    stays[some] = _decayed(source, size_of[some], scale)
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, owner[stays], size_of[stays].astype(np.int64))
    return total


def _one_in(source: WordSource, numbers: Words, low: int) -> np.ndarray:
    """Return flags true with probability low / number, for numbers from low to 2 low - 1.

    A uniform integer below 2 low is number until it is below the number, and compared with low.
    """
    flags = np.ones(len(numbers), dtype=np.bool_)
    open_ = np.arange(len(numbers))
    while open_.size:
        number = uniform_below(source, 2 * low, open_.size)
        flags[open_] = number < np.uint64(low)
        open_ = open_[number >= numbers[open_]]
    return flags


def _decayed(source: WordSource, numbers: Words, scale: Fraction) -> np.ndarray:
    """Return flags true with probability exp(-number / scale)."""
    p, q = scale.numerator, scale.denominator
    if numbers.size == 0:
        return np.zeros(0, dtype=np.bool_)
    if int(numbers.max()) * q < 1 << 62 and p < 1 << 62:
        return bernoulli_exp(source, numbers * np.uint64(q), p)
    raise ParameterError(f"scale {scale} has too many digits; round epsilon to millionths.")


def _poisson(source: WordSource, mean: int, parts: int, size: int) -> Integers:
    """Return numbers that are Poisson with mean ``mean / parts``, exactly.

    A sum of ones with mean at most 1/2, each by rejection from a geometric number: k has
    probability ``2**-(k + 1)`` there, and is accepted with probability ``(2 mu)**k / k!``.
    """
    pieces = max(-(-2 * mean // parts), 1)
    out = np.zeros(size * pieces, dtype=np.int64)
    open_ = np.arange(out.size)
    while open_.size:
        proposed = _geometric_of_half(source, open_.size)
        accepted = np.ones(open_.size, dtype=np.bool_)
        for k in range(1, int(proposed.max(initial=0)) + 1):
            rows = np.flatnonzero(accepted & (proposed >= k))
            # (2 mu)**k / k! is the product of 2 mu / j for j up to k
            accepted[rows] = bernoulli(source, 2 * mean, parts * pieces * k, rows.size)
        out[open_[accepted]] = proposed[accepted]
        open_ = open_[~accepted]
    total: Integers = out.reshape(size, pieces).sum(axis=1)
    return total


def _geometric_of_half(source: WordSource, size: int) -> Integers:
    """Return k with probability 2**-(k + 1)."""
    count = np.zeros(size, dtype=np.int64)
    open_ = np.arange(size)
    while open_.size:
        open_ = open_[bernoulli(source, 1, 2, open_.size)]
        count[open_] += 1
    return count
