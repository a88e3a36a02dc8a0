"""Amounts of rho are never below the truth, and caps in rho never above it."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import (
    INFINITE_RHO,
    NO_RHO,
    Rho,
    rho_of_cap,
    rho_of_pure,
    rho_of_response,
)
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, MICRO, NO_LOSS, Micro

MILLIONTH = Fraction(1, 10**6)


def densely(symbols: int, epsilon: float) -> float:
    """Return the largest D(a) / a of randomized response on a dense grid of orders.

    By another formula than the product's: a log-sum of the three terms of the channel, around the
    Kullback-Leibler divergence at a = 1.
    """
    excess = np.geomspace(1e-3, 1e4, 200_001)
    order = 1 + excess
    log_keep = epsilon - np.logaddexp(epsilon, math.log(symbols - 1))
    log_other = log_keep - epsilon
    terms = [order * log_keep - excess * log_other, order * log_other - excess * log_keep]
    if symbols > 2:
        terms.append(np.full_like(order, math.log(symbols - 2) + log_other))
    divergence = np.logaddexp.reduce(terms, axis=0) / excess
    kullback_leibler = epsilon * math.exp(log_keep) * -math.expm1(-epsilon)
    return max(float((divergence / order).max()), kullback_leibler)


@pytest.mark.parametrize("symbols", [2, 3, 5, 7, 10, 50, 1000, 1 << 20])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 9.0, 30.0])
def test_rho_of_a_response_is_the_supremum_over_orders(symbols: int, epsilon: float) -> None:
    """The amount is never below 200 000 orders and at most two millionths above the best."""
    found = rho_of_response(symbols, Micro(round(epsilon * MICRO)))
    best = densely(symbols, epsilon)
    assert found.rho >= best * (1 - 1e-9)  # the grid's own rounding
    assert found.rho <= best * (1 + 1e-7) + 2.2e-6


@given(symbols=st.integers(2, 5000), micro=st.integers(1, 20 * MICRO), excess=st.floats(1e-3, 500))
def test_prop_no_order_exceeds_the_rho_of_a_response(
    symbols: int, micro: int, excess: float
) -> None:
    """At any order, for any size, the exact divergence over the order is at most the amount."""
    with mpmath.workdps(50):
        epsilon, order = mpmath.mpf(micro) / MICRO, 1 + mpmath.mpf(excess)
        other = 1 / (symbols - 1 + mpmath.exp(epsilon))
        keep = other * mpmath.exp(epsilon)
        moment = keep**order * other ** (1 - order) + other**order * keep ** (1 - order)
        moment += (symbols - 2) * other
        assert (
            mpmath.log(moment) / (order - 1) / order <= rho_of_response(symbols, Micro(micro)).rho
        )


def test_kullback_leibler_is_not_the_rho_of_many_symbols() -> None:
    """For 50 symbols at epsilon 1 the limit at order 1 is less than half of the supremum."""
    assert rho_of_response(50, Micro(MICRO)).rho == pytest.approx(0.0737, abs=5e-5)
    with mpmath.workdps(30):
        kullback_leibler = float((mpmath.e - 1) / (mpmath.e + 49))
    assert kullback_leibler == pytest.approx(0.0332, abs=5e-5)
    # Not even for 7, where epsilon is small.
    epsilon = 0.1
    limit = epsilon * math.expm1(epsilon) / (math.exp(epsilon) + 6)
    assert rho_of_response(7, Micro(100_000)).rho > limit + 1e-5


@given(symbols=st.integers(2, 1000), micro=st.integers(0, 100 * MICRO))
def test_prop_a_response_costs_at_most_what_its_epsilon_says(symbols: int, micro: int) -> None:
    """The closed bound holds for every number of symbols, and is the amount for two."""
    closed = rho_of_pure(Micro(micro))
    assert rho_of_response(symbols, Micro(micro)) <= closed
    assert rho_of_response(2, Micro(micro)) == closed
    assert closed.micro <= min(micro, micro**2 / (2 * MICRO) + 1)


@given(symbols=st.integers(2, 200), micro=st.integers(0, 10 * MICRO), more=st.integers(1, MICRO))
def test_prop_a_larger_epsilon_never_costs_less(symbols: int, micro: int, more: int) -> None:
    """Rounding an epsilon up is safe: rho does not fall, but for the slack of the search."""
    below, above = (
        rho_of_response(symbols, Micro(micro)),
        rho_of_response(symbols, Micro(micro + more)),
    )
    assert below.micro <= above.micro + 2


@given(micro=st.integers(0, 200 * MICRO))
def test_prop_rho_of_pure_is_rounded_up(micro: int) -> None:
    """The amount is at least epsilon tanh(epsilon / 2), by at most a millionth and a bit."""
    with mpmath.workdps(40):
        epsilon = mpmath.mpf(micro) / MICRO
        exact = epsilon * mpmath.tanh(epsilon / 2) * MICRO
        assert exact <= rho_of_pure(Micro(micro)).micro <= exact + 1.001


@pytest.mark.parametrize(
    ("cap", "rho"), [(3, ".1851"), (6, ".6386"), (10, "1.5393"), (20, "4.7894")]
)
def test_rho_of_a_cap_is_the_known_one(cap: int, rho: str) -> None:
    """At delta 1e-6 the caps in rho are the published reference values."""
    found = rho_of_cap(Micro(cap * MICRO), MILLIONTH)
    assert f"{found.rho:.4f}".lstrip("0") == rho


@pytest.mark.parametrize(
    ("strength", "epsilon"), [((4, 3), "4.014"), ((2, 3), "1.632"), ((1, 3), "0.671")]
)
def test_epsilon_of_each_level_by_rho(strength: tuple[int, int], epsilon: str) -> None:
    """At delta 0.01 the levels' rho converts to the known epsilons, by the tight conversion."""
    found = Rho.of(Fraction(*strength) ** 2 / 2).epsilon(Fraction(1, 100))
    assert f"{found.epsilon:.3f}" == epsilon


@given(micro=st.integers(0, 100 * MICRO), power=st.integers(1, 12))
def test_prop_rho_of_a_cap_is_rounded_down(micro: int, power: int) -> None:
    """What the cap allows fits it, and a millionth more does not."""
    delta = Fraction(1, 10**power)
    found = rho_of_cap(Micro(micro), delta)
    assert found.epsilon(delta) <= Micro(micro)
    assert (found + Rho(1)).epsilon(delta) > Micro(micro)


def test_amounts_of_rho() -> None:
    """Amounts add and multiply exactly, round up, and write all their digits."""
    assert Rho(400_000) + 3 * Rho(200_000) == Rho(MICRO)
    assert Rho.of(Fraction(8, 9)) == Rho(888_889)
    assert str(Rho(888_889)) == "0.888889"
    assert 0 * INFINITE_RHO == NO_RHO
    assert (NO_RHO + INFINITE_RHO).to_json() == "inf"
    assert Rho(MICRO).to_json() == 1.0
    for wrong in (-1, 0.5, True):
        with pytest.raises(ParameterError, match="micro"):
            Rho(wrong)


def test_rho_at_the_ends() -> None:
    """Nothing costs nothing, an answer in clear everything, and no delta converts nothing."""
    assert rho_of_pure(NO_LOSS) == rho_of_response(9, NO_LOSS) == NO_RHO
    assert rho_of_pure(INFINITE_LOSS) == rho_of_response(9, INFINITE_LOSS) == INFINITE_RHO
    assert Rho(1).epsilon(Fraction(0)) == INFINITE_LOSS
    assert NO_RHO.epsilon(Fraction(0)) == NO_RHO.epsilon(MILLIONTH) == NO_LOSS
    assert INFINITE_RHO.epsilon(MILLIONTH) == INFINITE_LOSS
    assert rho_of_cap(Micro(10 * MICRO), Fraction(0)) == NO_RHO
    assert rho_of_cap(INFINITE_LOSS, MILLIONTH) == INFINITE_RHO
    assert rho_of_cap(Micro(10**30), MILLIONTH) < INFINITE_RHO  # or it would admit everything
    with pytest.raises(ParameterError, match="symbols is 1"):
        rho_of_response(1, Micro(1))
