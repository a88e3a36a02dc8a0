"""Gaussian noise is priced exactly and rounded towards more."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import Mu, Rho, gaussian_delta, gaussian_epsilon, gaussian_sigma
from masquerade.errors import ParameterError
from masquerade.exact import Micro
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


@pytest.mark.parametrize(("level", "count"), [("low", 116), ("medium", 470), ("high", 1904)])
def test_a_lifetime_of_published_accounting(level: str, count: int) -> None:
    """As many answers as published accounting allows for epsilon 400 cost 136 to 139 at 0.01."""
    together = Mu.of(MU[level]) * count
    assert 136 <= round(together.epsilon(Fraction(1, 100)).epsilon) <= 139
    assert 170 <= round(together.epsilon(Fraction(1, 10**6)).epsilon) <= 174


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


@given(
    squares=st.lists(
        st.fractions(min_value=0, max_value=9, max_denominator=1000), min_size=1, max_size=9
    )
)
def test_prop_strengths_add_in_squares_exactly(squares: list[Fraction]) -> None:
    """Strengths compose without rounding, in any order, and rho is half of the sum."""
    together = sum(map(Mu, squares), Mu(Fraction(0)))
    assert together.squared == sum(squares)
    assert together == sum(map(Mu, reversed(squares)), Mu(Fraction(0)))
    assert together.rho == Rho.of(Fraction(sum(squares)) / 2)
    assert Mu(squares[0]) * 7 == 7 * Mu(squares[0]) == Mu(7 * squares[0])


@given(mu=st.fractions(min_value=Fraction(1, 50), max_value=5), power=st.integers(1, 12))
def test_prop_the_exact_epsilon_is_below_the_one_of_rho(mu: Fraction, power: int) -> None:
    """The exact epsilon of Gaussian noise never exceeds what its rho implies."""
    delta = Fraction(1, 10**power)
    assert Mu.of(mu).epsilon(delta) <= Mu.of(mu).rho.epsilon(delta)


def test_gaussian_at_the_ends() -> None:
    """No noise needed, none given, and impossible parameters."""
    assert gaussian_epsilon(1e-6, mu=0) == gaussian_delta(0, mu=0) == 0
    assert gaussian_epsilon(1, mu=9) == 0
    assert gaussian_epsilon(0.5, mu=0.1) == 0
    assert gaussian_epsilon(0, mu=1) == float("inf")
    assert Mu.of(Fraction(1, 3)).epsilon(Fraction(0)) == Micro(float("inf"))
    assert gaussian_delta(0, mu=100) == 1
    assert gaussian_delta(1e4, mu=1) < 1e-300
    wrong: list[Callable[[], object]] = [
        lambda: gaussian_delta(-1, mu=1),
        lambda: gaussian_delta(1, mu=-1),
        lambda: gaussian_epsilon(2, mu=1),
        lambda: gaussian_sigma(-1, 0.1),
        lambda: gaussian_sigma(1, 0),
        lambda: gaussian_sigma(1, 0.1, sensitivity=0),
        lambda: Mu(Fraction(-1)),
        lambda: Mu(1.5),  # type: ignore[arg-type]
    ]
    for call in wrong:
        with pytest.raises(ParameterError, match="expected"):
            call()
