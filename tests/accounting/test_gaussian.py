"""Gaussian noise is priced exactly and rounded towards more."""

from __future__ import annotations

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_sigma
from masquerade.mechanisms import LEVELS

MU = {level.name: level.mu for level in LEVELS}


def exact_delta(epsilon: float, mu: float) -> mpmath.mpf:
    """Return Balle and Wang's formula to many digits."""
    with mpmath.workdps(400):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize(
    ("delta", "expected"),
    [(1e-2, ("3.4208", "1.3486", "0.5335")), (1e-6, ("6.8027", "3.0976", "1.4480"))],
)
def test_epsilon_of_each_level(delta: float, expected: tuple[str, ...]) -> None:
    """Levels low, medium and high have the known exact epsilons."""
    found = [gaussian_epsilon(delta, mu=float(MU[name])) for name in ("low", "medium", "high")]
    assert tuple(f"{epsilon:.4f}" for epsilon in found) == expected


@pytest.mark.parametrize(
    ("epsilon", "level", "delta"),
    [
        (3.42, "low", "0.01002"),
        (0.85, "medium", "0.04712"),
        (0.21, "high", "0.05901"),
        (0.9519, "medium", "0.0356"),
        (0.2380, "high", "0.0520"),  # of the published formula
        (0.2380, "high", "0.05197"),  # of the published formula
    ],
)
def test_delta_at_the_published_epsilons(epsilon: float, level: str, delta: str) -> None:
    """At the published epsilons the true delta is up to six times the published 0.01."""
    found = gaussian_delta(epsilon, mu=float(MU[level]))
    assert f"{found:.{len(delta) - 2}f}" == delta


@pytest.mark.parametrize(("epsilon", "sigma"), [(0.5, "8.0576"), (1, "4.2247"), (4, "1.1935")])
def test_least_noise_for_an_epsilon(epsilon: float, sigma: str) -> None:
    """The calibrated standard deviations at delta 1e-6 are the known ones, for any sensitivity."""
    assert f"{gaussian_sigma(epsilon, 1e-6):.4f}" == sigma
    wide = gaussian_sigma(epsilon, 1e-6, sensitivity=50)
    assert wide == pytest.approx(50 * gaussian_sigma(epsilon, 1e-6), rel=1e-12)


@given(epsilon=st.floats(0, 60), mu=st.floats(1e-3, 20))
def test_prop_delta_is_rounded_up(epsilon: float, mu: float) -> None:
    """Delta is never below the formula to 400 digits, and above it by rounding only."""
    found, exact = gaussian_delta(epsilon, mu=mu), exact_delta(epsilon, mu)
    assert found >= exact * (1 - mpmath.mpf(2) ** -53)  # the last digit of a float
    # Where the two terms nearly cancel, the allowance is relative to the first of them.
    with mpmath.workdps(50):
        first = mpmath.ncdf(mpmath.mpf(mu) / 2 - mpmath.mpf(epsilon) / mu)
    assert found <= exact * (1 + mpmath.mpf(10) ** -9) + first * mpmath.mpf(10) ** -11 + 1e-323


@given(power=st.floats(-30, -0.05), mu=st.floats(1e-3, 20))
def test_prop_epsilon_keeps_its_delta(power: float, mu: float) -> None:
    """At the epsilon given the true delta is at most the one asked for, and not just below it."""
    delta = 10.0**power
    epsilon = gaussian_epsilon(delta, mu=mu)
    assert exact_delta(epsilon, mu) <= delta * (1 + 1e-15)
    if epsilon > 1e-3:
        assert exact_delta(epsilon * (1 - 1e-7) - 1e-9, mu) > delta * (1 - 1e-15)


@given(epsilon=st.floats(0, 20), power=st.floats(-20, -0.1))
def test_prop_sigma_keeps_its_promise(epsilon: float, power: float) -> None:
    """With the noise given the true delta is at most the one asked for."""
    delta = 10.0**power
    sigma = gaussian_sigma(epsilon, delta)
    assert exact_delta(epsilon, 1 / sigma) <= delta * (1 + 1e-12)
