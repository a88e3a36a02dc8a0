"""Noise of sum 0: its law, its variance and its draws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from masquerade.exact import SimulatedCoins
from masquerade.release.simplex import (
    draws_of_sum_zero,
    noise_of_sum_zero,
    variance_of_sum_zero,
)

TWO = Fraction(2)


def test_variances_have_their_golden_values() -> None:
    """Reference values at scale 2 and at scale 8."""
    found = [variance_of_sum_zero(TWO, count) for count in (2, 3, 5, 10, 41)]
    expected = [1.841347, 3.162992, 4.628868, 6.047950, 7.359581]
    assert found == pytest.approx(expected, abs=1e-6)
    assert variance_of_sum_zero(Fraction(8), 10) == pytest.approx(99.319342, abs=1e-6)


def test_a_large_scale_has_the_variance_of_its_limit() -> None:
    """Variance grows with the square of the scale, also where the table would not fit."""
    ratio = variance_of_sum_zero(Fraction(10**6), 5) / variance_of_sum_zero(Fraction(1000), 5)
    assert ratio == pytest.approx(1e6, rel=1e-4)


def law(scale: Fraction, reach: int) -> dict[tuple[int, int, int], float]:
    """Return the law of three numbers of sum 0, to `reach`."""
    table = {
        (a, b, -a - b): math.exp(-(abs(a) + abs(b) + abs(a + b)) / float(scale))
        for a, b in itertools.product(range(-reach, reach + 1), repeat=2)
    }
    total = sum(table.values())
    return {z: p / total for z, p in table.items()}


def test_audit_the_draws_have_the_stated_law() -> None:
    """200,000 draws of three numbers, chi-square over the likeliest; false alarm 1e-6."""
    draws = noise_of_sum_zero(SimulatedCoins(np.random.default_rng(1)), TWO, 200_000, 3)
    assert not draws.sum(axis=1).any()
    table = law(TWO, 60)
    assert table[0, 0, 0] == pytest.approx(0.153279, abs=1e-6)
    assert table[1, -1, 0] == pytest.approx(0.056388, abs=1e-6)
    assert table[1, 1, -2] == pytest.approx(0.020744, abs=1e-6)
    likely = [z for z, p in table.items() if p * 200_000 > 50]
    places, counts = np.unique(draws, axis=0, return_counts=True)
    seen = {tuple(z): int(n) for z, n in zip(places.tolist(), counts.tolist(), strict=True)}
    expected = np.array([table[z] for z in likely]) * 200_000
    found = np.array([seen.get(z, 0) for z in likely], dtype=float)
    rest = 200_000 - expected.sum()
    statistic = ((found - expected) ** 2 / expected).sum()
    statistic += (200_000 - found.sum() - rest) ** 2 / rest
    assert statistic < chi2.isf(1e-6, len(likely))


@pytest.mark.parametrize("count", [2, 10, 41])
def test_audit_draws_for_quantiles_have_the_variance_of_the_law(count: int) -> None:
    """200,000 public draws: within six standard errors."""
    draws = draws_of_sum_zero(Fraction(50, 3), count)
    expected = variance_of_sum_zero(Fraction(50, 3), count)
    error = (draws[:, 0] ** 2).std() / len(draws) ** 0.5
    assert abs((draws[:, 0] ** 2).mean() - expected) < 6 * error


def test_exact_a_change_of_sum_zero_costs_its_size_over_the_scale() -> None:
    """All pairs of the enumerated table: no log ratio above |d|_1 / scale, and it is reached."""
    table = law(TWO, 12)
    worst = 0.0
    for d in ((1, -1, 0), (2, -2, 0), (2, -1, -1), (0, 3, -3)):
        size = sum(map(abs, d)) / 2
        for z, p in table.items():
            other = table.get((z[0] + d[0], z[1] + d[1], z[2] + d[2]))
            if other is not None:
                ratio = abs(math.log(p / other))
                assert ratio <= size + 1e-9
                worst = max(worst, ratio / size)
    assert worst == pytest.approx(1)
