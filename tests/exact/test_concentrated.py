"""Amounts of zero-concentrated loss are never below the truth."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, MICRO, NO_LOSS, Micro
from masquerade.exact.pairs import ResponsePair, rho_of_pure, rho_of_response


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
    found = float(rho_of_response(symbols, Micro(round(epsilon * MICRO))))
    best = densely(symbols, epsilon)
    assert found >= best * (1 - 1e-9)  # the grid's own rounding
    assert found <= best * (1 + 1e-7) + 2.2e-6


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
        assert mpmath.log(moment) / (order - 1) / order <= float(
            rho_of_response(symbols, Micro(micro))
        )


def test_kullback_leibler_is_not_the_rho_of_many_symbols() -> None:
    """For 50 symbols at epsilon 1 the limit at order 1 is less than half of the supremum."""
    assert float(rho_of_response(50, Micro(MICRO))) == pytest.approx(0.0737, abs=5e-5)
    with mpmath.workdps(30):
        kullback_leibler = float((mpmath.e - 1) / (mpmath.e + 49))
    assert kullback_leibler == pytest.approx(0.0332, abs=5e-5)
    # Not even for 7, where epsilon is small.
    epsilon = 0.1
    limit = epsilon * math.expm1(epsilon) / (math.exp(epsilon) + 6)
    assert rho_of_response(7, Micro(100_000)) > limit + 1e-5


@given(symbols=st.integers(2, 1000), micro=st.integers(0, 100 * MICRO))
def test_prop_a_response_costs_at_most_what_its_epsilon_says(symbols: int, micro: int) -> None:
    """The closed bound holds for every number of symbols, and is the amount for two."""
    closed = rho_of_pure(Micro(micro))
    assert rho_of_response(symbols, Micro(micro)) <= closed
    assert rho_of_response(2, Micro(micro)) == closed
    assert closed * MICRO <= min(micro, micro**2 / (2 * MICRO) + 1)


@given(symbols=st.integers(2, 200), micro=st.integers(0, 10 * MICRO), more=st.integers(1, MICRO))
def test_prop_a_larger_epsilon_never_costs_less(symbols: int, micro: int, more: int) -> None:
    """Rounding an epsilon up is safe: rho does not fall, but for the slack of the search."""
    below, above = (
        rho_of_response(symbols, Micro(micro)),
        rho_of_response(symbols, Micro(micro + more)),
    )
    assert (below - above) * MICRO <= 2


@given(micro=st.integers(0, 200 * MICRO))
def test_prop_rho_of_pure_is_rounded_up(micro: int) -> None:
    """The amount is at least epsilon tanh(epsilon / 2), by at most a millionth and a bit."""
    with mpmath.workdps(40):
        epsilon = mpmath.mpf(micro) / MICRO
        exact = epsilon * mpmath.tanh(epsilon / 2) * MICRO
        assert exact <= int(rho_of_pure(Micro(micro)) * MICRO) <= exact + 1.001


def test_the_pair_of_a_response_counts_its_symbols() -> None:
    """A response of 5 options costs the supremum of its orders, far below its epsilon alone."""
    pair = ResponsePair(3, 1, 5)
    assert (
        pair.rho == rho_of_response(5, pair.loss.epsilon) < rho_of_pure(pair.loss.epsilon) * 2 / 3
    )
    assert ResponsePair(3, 1, 2).rho == rho_of_pure(pair.loss.epsilon)


def test_rho_at_the_ends() -> None:
    """Nothing costs nothing, an answer in clear everything, and one symbol is no response."""
    assert rho_of_pure(NO_LOSS) == rho_of_response(9, NO_LOSS) == 0
    assert rho_of_pure(INFINITE_LOSS) == rho_of_response(9, INFINITE_LOSS) == math.inf
    assert ResponsePair(1, 0, 9).rho == math.inf
    assert ResponsePair(1, 1, 9).rho == 0
    with pytest.raises(ParameterError, match="symbols is 1"):
        rho_of_response(1, Micro(1))
