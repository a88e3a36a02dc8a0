"""Exact discrete noise: Laplace and Gaussian on the integers, from uniform integers alone.

Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
algorithms 1 to 3, vectorised. No floating-point number is involved, so a report cannot betray an
answer by its last bits, and the probabilities are the formulas' own. The device's half
(``web/static/mechanisms/noise.js``) draws the same number from the same words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Integers
from masquerade.exact.coins import Words, WordSource, uniform_below

_SAFE = 1 << 62
_WORD = 1 << 64
LARGEST_SCALE = 1 << 48
_LEAST_VARIANCE = Fraction(1, 1 << 64)
_MOST_TURNS = 1 << 14
_BLOCK = 1 << 15  # numbers drawn at a time, so that the arrays in between stay in the cache
_SPARE = 32
_ROUNDING = 2.0**-44


def bernoulli(source: WordSource, numerator: int, denominator: int, size: int) -> Flags:
    """Return `size` flags, each true with probability numerator / denominator, exactly."""
    if not 0 <= numerator <= denominator or denominator < 1:
        raise ParameterError(f"{numerator}/{denominator} is not a probability.")
    if denominator <= _WORD:
        flags: Flags = uniform_below(source, denominator, size) < np.uint64(
            min(numerator, _WORD - 1)
        )
        # 2**64 fits no word, so a certain event is set by itself
        return flags | (numerator == denominator)
    return np.array([_compare(source, numerator, denominator) for _ in range(size)], dtype=np.bool_)


def bernoulli_exp(source: WordSource, numerator: Words, denominator: int) -> Flags:
    """Return flags true with probability exp(-numerator / denominator), denominator < 2**64."""
    divisor = np.uint64(denominator)
    # Canonne, Kamath and Steinke (2020), Algorithm 1: exp(-x) = exp(-1)**whole * exp(-rest).
    whole = numerator // divisor
    flags = _exp_below_one(source, numerator - whole * divisor, denominator)
    return _exp_of_whole(source, flags, whole)


def discrete_laplace(source: WordSource, scale: Fraction, size: int) -> Integers:
    """Return `size` integers with P(x) proportional to exp(-abs(x) / scale).

    `scale`: above 0; numerator at most 2**48. About nine words a number, whatever the scale.
    """
    top, bottom = scale.numerator, scale.denominator
    if not 0 < top <= LARGEST_SCALE or bottom >= _WORD:
        raise ParameterError(f"scale is {scale}, expected above 0, its terms at most 2**48.")
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BLOCK):
        out[start : start + _BLOCK] = _laplace_block(source, top, bottom, min(size - start, _BLOCK))
    return out


def scale_rounded_up(scale: Fraction) -> Fraction:
    """Return a scale that discrete Laplace noise can be drawn with, terms of at most 48 bits.

    Equal to `scale` where it has such, else a little larger: never less noise.
    """
    if max(scale.numerator, scale.denominator) <= LARGEST_SCALE:
        return scale
    if scale >= LARGEST_SCALE // 2:
        raise ParameterError(
            "epsilon is too small for so wide a range: the noise would not fit 64 bits; "
            "raise epsilon or use larger steps."
        )
    # small enough that scale * bottom, rounded up, stays within 48 bits
    bottom = LARGEST_SCALE // (2 * max(math.ceil(scale), 1))
    return Fraction(math.ceil(scale * bottom), bottom)


def laplace_variance(scale: Fraction) -> float:
    """Return the variance of `discrete_laplace`."""
    # 2 r / (1 - r)**2 with r = exp(-1 / scale)
    log_ratio = -1 / float(scale)
    return 2 * math.exp(log_ratio) / math.expm1(log_ratio) ** 2


def _laplace_block(source: WordSource, top: int, bottom: int, size: int) -> Integers:
    def propose(many: int) -> tuple[Flags, Integers]:
        # CKS (2020), Algorithm 2: X = remainder + top * turns has P(X) ~ exp(-X / top), for the
        # remainder is accepted with exp(-remainder / top) and each turn goes on with exp(-1).
        remainder = uniform_below(source, top, many)
        flags = _exp_below_one(source, remainder, top)
        kept = np.flatnonzero(flags)
        turns = _geometric(source, kept.size)
        if turns.size and turns.max() >= _MOST_TURNS:  # has probability e**-16384
            raise OverflowError("a draw of discrete Laplace noise left the range of 64 bits")
        # X // bottom then has P ~ exp(-magnitude * bottom / top), the scale top / bottom.
        magnitude = (remainder[kept] + np.uint64(top) * turns) // np.uint64(bottom)
        signed = magnitude.astype(np.int64)
        negative = bernoulli(source, 1, 2, kept.size)
        # Minus zero is refused, or zero would be twice as likely as it should.
        flags[kept] = ~negative | (signed > 0)
        numbers = np.zeros(many, dtype=np.int64)
        numbers[kept] = np.where(negative, -signed, signed)
        return flags, numbers

    return _first_accepted(propose, size)


def _first_accepted(propose: Callable[[int], tuple[Flags, Integers]], size: int) -> Integers:
    """Return the first `size` accepted proposals; many are made at a time, for few turns."""
    out = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        left = size - done
        flags, numbers = propose(1 if size == 1 else left + left // 2 + _SPARE)
        found = numbers[flags][:left]
        out[done : done + found.size] = found
        done += found.size
    return out


def discrete_gaussian(source: WordSource, variance: Fraction, size: int) -> Integers:
    """Return `size` integers with P(x) proportional to exp(-x**2 / (2 variance)).

    `variance`: from 2**-64 to below 2**96. It is the parameter of the formula; the true variance is
    never above it. About fifteen words a number.
    """
    if not _LEAST_VARIANCE <= variance < LARGEST_SCALE**2:
        raise ParameterError(f"variance is {variance}, expected from 2**-64 to below 2**96.")
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BLOCK):
        out[start : start + _BLOCK] = _gaussian_block(source, variance, min(size - start, _BLOCK))
    return out


def _gaussian_block(source: WordSource, variance: Fraction, size: int) -> Integers:
    p, q = variance.numerator, variance.denominator
    # CKS (2020), Algorithm 3: propose discrete Laplace noise of scale t = floor(sigma) + 1, accept
    # with probability exp(-(|y| - sigma**2 / t)**2 / (2 sigma**2)), here over one denominator.
    scale = math.isqrt(p // q) + 1
    denominator = 2 * p * q * scale**2
    # |y| up to this much keeps every product below 2**62.
    largest = (math.isqrt(_SAFE) - p) // (q * scale) if denominator < _SAFE else -1

    def propose(many: int) -> tuple[Flags, Integers]:
        proposal = _laplace_block(source, scale, 1, many)
        size_of = np.abs(proposal)
        accepted = np.empty(many, dtype=np.bool_)
        small = size_of <= largest
        if small.any():
            distance = np.abs(size_of[small] * (q * scale) - p).astype(np.uint64)
            accepted[small] = bernoulli_exp(source, distance**2, denominator)
        if not small.all():
            large = ~small
            accepted[large] = _exp_of_squares(source, size_of[large], variance, scale)
        return accepted, proposal

    return _first_accepted(propose, size)


def _exp_of_squares(source: WordSource, size_of: Integers, variance: Fraction, scale: int) -> Flags:
    """Return flags true with probability exp(-(abs(y) - variance / scale)**2 / (2 variance)).

    For exponents whose terms exceed 64 bits. Floats only find the answer where it is beyond doubt:
    wherever their error could matter, the same word is compared again in whole numbers. So the
    result is that of `_exp_of_one` for each number, and the probability is exact.
    """
    p, q = variance.numerator, variance.denominator
    denominator = 2 * p * q * scale**2

    def exact(i: int) -> tuple[int, int]:
        return divmod((int(size_of[i]) * q * scale - p) ** 2, denominator)

    centre, halved = float(variance / scale), 0.5 / float(variance)
    ratio = (size_of - centre) ** 2 * halved
    # Each of the operations errs by at most 2**-53 of (|y| + centre)**2 / (2 variance); there are
    # fewer than 16, and the bound allows for 512.
    error = (size_of + centre) ** 2 * halved * _ROUNDING + _ROUNDING
    whole = np.floor(ratio)
    rest = ratio - whole
    for i in np.flatnonzero((rest < error) | (rest > 1 - error)).tolist():
        exact_whole, exact_rest = exact(i)
        whole[i], rest[i] = exact_whole, exact_rest / denominator
    flags = np.ones(len(ratio), dtype=np.bool_)
    alive = np.arange(len(ratio))
    k = 1
    while alive.size:
        words = source.words(alive.size)
        gap = rest[alive] / k - words * 2.0**-64
        goes_on = gap > 0
        for j in np.flatnonzero(np.abs(gap) <= error[alive]).tolist():
            numerator = exact(int(alive[j]))[1]
            goes_on[j] = _compare(source, numerator, denominator * k, int(words[j]))
        flags[alive[~goes_on]] = k % 2 == 1
        alive = alive[goes_on]
        k += 1
    # No run lives to count 2**62 draws, so a larger exponent is the same as that one.
    return _exp_of_whole(source, flags, np.minimum(whole, _SAFE).astype(np.uint64))


def _exp_of_whole(source: WordSource, flags: Flags, whole: Words) -> Flags:
    """Return the flags, each true one kept with probability exp(-whole)."""
    alive = np.flatnonzero(flags & (whole > 0))
    done = 0
    while alive.size:
        done += 1
        goes_on = _exp_minus_one(source, alive.size)
        flags[alive[~goes_on]] = False
        alive = alive[goes_on]
        alive = alive[whole[alive] > done]
    return flags


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
        if k % 2 == 0:  # those that fail at an odd k are true already
            flags[alive[~goes_on]] = False
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
        if k % 2 == 0:  # those that fail at an odd k are true already
            flags[alive[~goes_on]] = False
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


def _compare(source: WordSource, numerator: int, denominator: int, word: int | None = None) -> bool:
    """Return true with probability numerator / denominator; `word`: the first digit, if drawn."""
    while True:
        digit, numerator = divmod(numerator * _WORD, denominator)
        if word is None:
            word = int(source.words(1)[0])
        if word != digit:
            return word < digit
        if numerator == 0:
            return False
        word = None
