"""Vectors with a known sum: shares as points, and noise of sum 0 for counts with a public total.

Where every claim counts the same number of parts, the soft counts of two values differ by a vector
of sum 0. Noise z with P(z) proportional to exp(-rho |z|_1) on the whole vectors of sum 0 then costs
``rho`` times that difference, and less than noise that is spread over totals which nobody hides.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.noise import bernoulli_exp, discrete_laplace

_SPLITTING_ROUNDS = 120


def sum_free_basis(count: int) -> Floats:
    """Return orthonormal columns that are orthogonal to the ones, shape (count, count - 1)."""
    columns = np.eye(count)[:, 1:] - 1 / count
    return np.asarray(np.linalg.qr(columns)[0])


def on_simplex(points: Floats) -> Floats:
    """Return the nearest shares to each row, none negative, adding to 1.

    Examples
    --------
    >>> on_simplex(np.array([[0.5, 0.7, -0.2]])).round(3).tolist()
    [[0.4, 0.6, 0.0]]
    """
    count = points.shape[1]
    descending = -np.sort(-points, axis=1)
    excess = np.cumsum(descending, axis=1) - 1
    rank = np.arange(1, count + 1)
    used = (descending * rank > excess).sum(axis=1)
    threshold = excess[np.arange(len(points)), used - 1] / used
    return np.asarray(np.maximum(points - threshold[:, None], 0.0))


def nearest_shares(estimate: Floats, covariance: Floats, basis: Floats) -> Floats:
    """Return the shares nearest to each estimate in the metric of its covariance.

    Alternating directions: a quadratic step in the coordinates, a projection on the simplex.
    Shapes: `estimate` (n, d); `covariance` (n, d, d), or (1, d, d) for all.
    """
    start = 1 / basis.shape[0] + estimate @ basis.T
    shares = on_simplex(start)
    outside = np.flatnonzero((start < 0).any(axis=1))
    if outside.size:
        metric = covariance[outside] if len(covariance) > 1 else covariance
        shares[outside] = _split(estimate[outside], metric, basis)
    inside = (start >= 0).all(axis=1)
    return np.where(inside[:, None], start, shares)


def _split(estimate: Floats, covariance: Floats, basis: Floats) -> Floats:
    count = basis.shape[0]
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, np.maximum(values[:, -1:], 1e-300) * 1e-9)
    # in units of a typical variance, so that the penalty is 1
    metric = np.exp(np.log(values).mean(axis=1, keepdims=True)) / values
    solve = (vectors / (metric + 1)[:, None, :]) @ vectors.transpose(0, 2, 1)
    weigh = (vectors * metric[:, None, :]) @ vectors.transpose(0, 2, 1)
    pull = (weigh @ estimate[:, :, None])[:, :, 0]
    shares = on_simplex(1 / count + estimate @ basis.T)
    dual = np.zeros_like(shares)
    for _ in range(_SPLITTING_ROUNDS):
        moved = pull + (shares - dual - 1 / count) @ basis
        point = 1 / count + (solve @ moved[:, :, None])[:, :, 0] @ basis.T
        shares = on_simplex(point + dual)
        dual += point - shares
    return shares


#: Draws of a noise law from which its quantiles are taken, with a public seed.
DRAWS = 200_000
_SEED = 20_261_126
#: Scale above which the variance is that of a large scale.
_LARGE = Fraction(300)
#: Most numbers proposed at a time.
_BATCH = 1 << 22


def noise_of_sum_zero(source: WordSource, scale: Fraction, rows: int, count: int) -> Integers:
    """Return noise z, shape (rows, count), each row of sum 0, P(z) ~ exp(-|z|_1 / scale).

    All but the last number of a row are two-sided geometric, and the row is accepted with
    ``exp(-|their sum| / scale)``; the last is what makes the sum 0. Exact, in whole numbers.

    `scale`: drawn with as it is; see `masquerade.exact.noise.scale_rounded_up`. `count`: at least
    2.
    """
    out = np.empty((rows, count), dtype=np.int64)
    left = np.arange(rows)
    while left.size:
        # about .56 / sqrt(count - 1) of the proposals are accepted
        tries = max(1, min(_BATCH // (left.size * count), int(2 * count**0.5)))
        size = left.size * tries
        free = discrete_laplace(source, scale, size * (count - 1)).reshape(size, count - 1)
        total = free.sum(axis=1)
        exponent = np.abs(total).astype(np.uint64) * np.uint64(scale.denominator)
        accepted = bernoulli_exp(source, exponent, scale.numerator).reshape(left.size, tries)
        first = accepted.argmax(axis=1) + np.arange(left.size) * tries
        found = accepted.any(axis=1)
        rows_found = left[found]
        out[rows_found, :-1] = free[first[found]]
        out[rows_found, -1] = -total[first[found]]
        left = left[~found]
    return out


@lru_cache(maxsize=128)
def law_of_sum(scale: Fraction, numbers: int, reach: int) -> Floats:
    """Return P(sum of `numbers` two-sided geometric numbers = k) for |k| <= reach, by FFT."""
    one = np.exp(-np.abs(np.arange(-reach, reach + 1)) / float(scale))
    one /= one.sum()
    size = numbers * 2 * reach + 1
    power = np.fft.irfft(np.fft.rfft(one, size) ** numbers, size)
    middle = numbers * reach
    return np.maximum(power[middle - reach : middle + reach + 1], 0.0)


@lru_cache(maxsize=128)
def variance_of_sum_zero(scale: Fraction, count: int) -> float:
    """Return the variance of one number of `noise_of_sum_zero`.

    ``P(z_1 = k) ~ exp(-|k| / scale) P(sum of count - 1 others = -k)``.
    """
    if scale > _LARGE:
        # from here on the law is the continuous one but for one part in 100,000
        return 2 * float(scale) ** 2 * _large_scale_factor(count)
    reach = int(60 * float(scale)) + 60
    k = np.arange(-reach, reach + 1)
    law = np.exp(-np.abs(k) / float(scale)) * law_of_sum(scale, count - 1, reach)
    return float((law * k**2).sum() / law.sum())


def _large_scale_factor(count: int) -> float:
    """Return the variance over that of independent noise, where the scale is large."""
    return variance_of_sum_zero(_LARGE, count) / (2 * float(_LARGE) ** 2)


@lru_cache(maxsize=32)
def draws_of_sum_zero(scale: Fraction, count: int) -> Floats:
    """Return `DRAWS` draws of the noise from a public seed, for quantiles; shape (DRAWS, count)."""
    rng = np.random.default_rng([_SEED, count])
    fall = -np.expm1(-1 / float(scale))
    found: list[Floats] = []
    size = 0
    while size < DRAWS:
        many = min(DRAWS, _BATCH // count)
        free = rng.geometric(fall, (many, count - 1)) - rng.geometric(fall, (many, count - 1))
        total = free.sum(axis=1)
        kept = rng.random(many) < np.exp(-np.abs(total) / float(scale))
        found.append(np.column_stack((free[kept], -total[kept])).astype(np.float64))
        size += int(kept.sum())
    return np.concatenate(found)[:DRAWS]


@lru_cache(maxsize=32)
def independent_draws(scale: Fraction, count: int) -> Floats:
    """Return `DRAWS` draws of independent noise from a public seed; shape (DRAWS, count)."""
    rng = np.random.default_rng([_SEED, count, 1])
    fall = -np.expm1(-1 / float(scale))
    shape = (DRAWS, count)
    return (rng.geometric(fall, shape) - rng.geometric(fall, shape)).astype(np.float64)
