"""Discrete noise in large numbers: it has the distribution of its formula, and no seams."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.exact.noise_tables import SCALES, VARIANCES, seeded

from masquerade.exact import noise
from masquerade.exact.noise import (
    discrete_gaussian,
    discrete_laplace,
)

N = 1_000_000


def laplace_table(scale: Fraction, reach: int) -> NDArray[np.float64]:
    """Return P(-reach), ..., P(reach)."""
    x = np.abs(np.arange(-reach, reach + 1))
    return np.asarray(math.tanh(0.5 / float(scale)) * np.exp(-x / float(scale)))


def gaussian_table(variance: Fraction, reach: int) -> NDArray[np.float64]:
    """Return P(-reach), ..., P(reach), for a reach that holds almost everything."""
    weight = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * float(variance)))
    return np.asarray(weight / weight.sum())


def chi_square_fits(drawn: NDArray[np.int64], table: NDArray[np.float64]) -> bool:
    """Return whether draws fit P(-reach..reach); cells below 20 expected go to the tails."""
    reach = len(table) // 2
    expected = len(drawn) * table
    common = np.flatnonzero(expected >= 20)
    first, last = common[0] - reach, common[-1] - reach
    inside = drawn[(drawn >= first) & (drawn <= last)]
    counts = np.bincount(inside - first, minlength=last - first + 1).astype(float)
    wanted = expected[common[0] : common[-1] + 1]
    counts = np.append(counts, len(drawn) - inside.size)
    wanted = np.append(wanted, max(len(drawn) - wanted.sum(), 1e-9))
    if wanted[-1] < 20:
        counts[0] += counts[-1]
        wanted[0] += wanted[-1]
        counts, wanted = counts[:-1], wanted[:-1]
    statistic = ((counts - wanted) ** 2 / wanted).sum()
    return bool(statistic < stats.chi2.isf(1e-6, len(wanted) - 1))


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_audit_laplace_noise_fits_its_formula(scale: Fraction) -> None:
    """A million seeded draws fit the table; mean and variance too (false alarm 1e-6 each)."""
    drawn = discrete_laplace(seeded(scale.numerator), scale, N)
    q = math.exp(-1 / float(scale))
    variance = 2 * q / (1 - q) ** 2
    assert abs(drawn.mean()) < 5 * math.sqrt(variance / N)
    fourth = 2 * q * (1 + 10 * q + q**2) / (1 - q) ** 4
    assert abs((drawn.astype(float) ** 2).mean() - variance) < 5 * math.sqrt(fourth / N)
    if scale <= 1000:
        assert chi_square_fits(drawn, laplace_table(scale, 60 * math.ceil(scale)))
    else:
        assert_spread_out(drawn, lambda x: stats.laplace.cdf(x, scale=float(scale)))


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_audit_gaussian_noise_fits_its_formula(variance: Fraction) -> None:
    """A million seeded draws fit the table; mean and variance too (false alarm 1e-6 each)."""
    drawn = discrete_gaussian(seeded(variance.numerator % 2**32), variance, N)
    sigma = math.sqrt(variance)
    assert abs(drawn.mean()) < 5 * sigma / math.sqrt(N)
    square = (drawn.astype(float) ** 2).mean()
    assert square < float(variance) * (1 + 5 * math.sqrt(2 / N))
    if sigma >= 1:
        assert square > float(variance) * (1 - 5 * math.sqrt(2 / N))
    if sigma <= 1000:
        assert chi_square_fits(drawn, gaussian_table(variance, 12 * math.ceil(sigma)))
    else:
        assert_spread_out(drawn, lambda x: stats.norm.cdf(x, scale=sigma))


def assert_spread_out(
    drawn: NDArray[np.int64], cdf: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> None:
    """Check draws on a fine lattice by 200 bins, and their remainders by 2, 3 and 1000.

    Bins end halfway between points, where sum and integral agree to 1e-12. False alarm 1e-6 each.
    """
    edges = np.quantile(drawn, np.linspace(0, 1, 201)[1:-1], method="nearest") + 0.5
    edges = np.unique(np.round(edges / 1000) * 1000 + 0.5)  # not chosen by the last digits
    share = np.diff(np.concatenate([[0.0], cdf(edges), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, drawn), minlength=len(share))
    statistic = ((counts - len(drawn) * share) ** 2 / (len(drawn) * share)).sum()
    assert statistic < stats.chi2.isf(1e-6, len(share) - 1)
    for modulus in (2, 3, 1000):
        rest = np.bincount(drawn % modulus, minlength=modulus)
        wanted = len(drawn) / modulus
        assert ((rest - wanted) ** 2 / wanted).sum() < stats.chi2.isf(1e-6, modulus - 1)


@pytest.mark.parametrize("variance", ["0.01", "0.05", "0.25", "0.5", "1", "2.25", "4", "9"])
def test_the_true_variance_is_never_above_the_parameter(variance: str) -> None:
    """To 150 digits, the variance of the discrete Gaussian is below its parameter."""
    with mpmath.workdps(150):
        v = mpmath.mpf(variance)
        reach = range(-math.ceil(40 * math.sqrt(float(variance))) - 20, 0)
        weight = {x: mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * v)) for x in reach}
        total = 1 + 2 * mpmath.fsum(weight.values())
        assert 2 * mpmath.fsum(w * x * x for x, w in weight.items()) / total <= v


def test_audit_neighbouring_draws_are_independent() -> None:
    """The signs and parities of n = 1,000,000 neighbouring draws are independent (1e-6)."""
    drawn = discrete_gaussian(seeded(3), Fraction(9), N)
    kind = 2 * (drawn > 0) + (drawn & 1)
    table = np.bincount(4 * kind[:-1:2] + kind[1::2], minlength=16).reshape(4, 4)
    statistic, _, _, _ = stats.chi2_contingency(table)
    assert statistic < stats.chi2.isf(1e-6, 9)


def test_a_block_is_no_seam() -> None:
    """Around the places where blocks meet, and for blocks of one, draws are as anywhere else."""
    sizes = [noise._BLOCK - 1, noise._BLOCK, noise._BLOCK + 1, 2 * noise._BLOCK + 1]
    for size in sizes:
        assert discrete_laplace(seeded(size), Fraction(4), size).shape == (size,)
        assert discrete_gaussian(seeded(size), Fraction(9), size).shape == (size,)
    ends = np.array(
        [discrete_gaussian(seeded(seed), Fraction(9), noise._BLOCK + 1)[-1] for seed in range(40)]
    )
    assert ends.std() > 1
