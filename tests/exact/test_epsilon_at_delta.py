"""A zero-concentrated loss becomes an epsilon that is proven and nearly the smallest."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade.exact import (
    DEFAULT_DELTA,
    INFINITE_LOSS,
    NO_LOSS,
    Micro,
    epsilon_of_rho,
    rho_of_epsilon,
)

deltas = st.fractions(min_value="1/1000000000000", max_value="99/100", max_denominator=10**13)


def bound(rho: mpmath.mpf, delta: Fraction, order: mpmath.mpf) -> mpmath.mpf:
    """Return the bound of Canonne, Kamath and Steinke, proposition 12, for one order."""
    log_delta = mpmath.log(mpmath.mpf(delta.numerator) / delta.denominator)
    return order * rho + mpmath.log(1 - 1 / order) - (log_delta + mpmath.log(order)) / (order - 1)


@pytest.mark.parametrize(
    ("epsilon", "rho"), [(3, "0.1851"), (6, "0.6386"), (10, "1.5393"), (20, "4.7894")]
)
def test_known_caps_come_back(epsilon: int, rho: str) -> None:
    """At delta 1e-6 the published caps of rho are those of epsilon 3, 6, 10 and 20."""
    micro = int(Fraction(rho) * 10**6)
    assert (
        epsilon_of_rho(Micro(micro - 100)).epsilon
        < epsilon
        < epsilon_of_rho(Micro(micro + 100)).epsilon
    )
    assert Fraction(1, 10**6) == DEFAULT_DELTA


@given(micro=st.integers(1, 10**9), delta=deltas)
def test_prop_the_amount_is_the_smallest_bound_rounded_up(micro: int, delta: Fraction) -> None:
    """No order gives a bound that is smaller by more than rounding, and one gives the amount."""
    ours = epsilon_of_rho(Micro(micro), delta=delta).micro
    with mpmath.workdps(40):
        rho = mpmath.mpf(micro) / 10**6
        middle = mpmath.sqrt(-math.log(delta) / rho)
        best = min(
            bound(rho, delta, 1 + middle * mpmath.mpf(10) ** (mpmath.mpf(k) / 100))
            for k in range(-300, 301)
        )
        assert ours <= max(mpmath.ceil(best * 10**6), 0)
        assert ours >= max(best * 10**6 * (1 - mpmath.mpf("1e-3")) - 1, 0)


@given(micro=st.integers(1, 10**8), more=st.integers(1, 10**6), delta=deltas)
def test_prop_more_loss_never_costs_less(micro: int, more: int, delta: Fraction) -> None:
    """Epsilon grows with rho, but for a millionth of rounding, and falls as delta grows."""
    small = epsilon_of_rho(Micro(micro), delta=delta)
    assert small.micro <= epsilon_of_rho(Micro(micro + more), delta=delta).micro + 1
    looser = min(delta * 2, Fraction(999, 1000))
    assert epsilon_of_rho(Micro(micro), delta=looser).micro <= small.micro + 1


@pytest.mark.parametrize("rho", [Fraction(1, 18), Fraction(2, 9), Fraction(8, 9), Fraction(8)])
@pytest.mark.parametrize("delta", ["1e-2", "1e-6", "1e-9"])
def test_exact_the_amount_covers_the_gaussian(rho: Fraction, delta: str) -> None:
    """The exact epsilon of the continuous Gaussian mechanism of this rho is never above ours."""
    epsilon = epsilon_of_rho(Micro.of_amount(rho), delta=delta)
    with mpmath.workdps(40):
        mu = mpmath.sqrt(2 * mpmath.mpf(rho.numerator) / rho.denominator)
        e = mpmath.mpf(int(epsilon.micro)) / 10**6
        exact = mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
        assert exact <= mpmath.mpf(delta)


def test_audit_an_independent_accountant_agrees() -> None:
    """dp-accounting's Renyi accountant gives the same epsilon within its grid of orders."""
    accounting = pytest.importorskip("dp_accounting")
    rdp = pytest.importorskip("dp_accounting.rdp")
    for sigma in (0.75, 1.5, 3.0):
        accountant = rdp.RdpAccountant(orders=[1 + k / 100 for k in range(1, 3000)])
        accountant.compose(accounting.GaussianDpEvent(sigma))
        theirs = accountant.get_epsilon(1e-6)
        ours = epsilon_of_rho(Micro.of_amount(1 / (2 * Fraction(sigma) ** 2))).epsilon
        assert ours == pytest.approx(theirs, abs=2e-4)


def test_nothing_costs_nothing_and_infinity_stays() -> None:
    """Zero rho is zero epsilon, infinite rho infinite epsilon, and a tiny loss may round to 0."""
    assert epsilon_of_rho(NO_LOSS) == NO_LOSS
    assert epsilon_of_rho(INFINITE_LOSS) == INFINITE_LOSS
    assert epsilon_of_rho(Micro(1), delta="0.5") == NO_LOSS
    assert epsilon_of_rho(Micro(10**18)).epsilon > 10**12
    assert epsilon_of_rho(Micro(1), delta=Fraction(1, 10**900)).epsilon > 0.09


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, math.nan, math.inf, "x"])
def test_a_delta_outside_its_range_is_refused(delta: float) -> None:
    """Delta is above 0 and below 1."""
    with pytest.raises(ParameterError, match="delta is"):
        epsilon_of_rho(Micro(1), delta=delta)


@pytest.mark.parametrize("micro", [10**5, 10**6, 5 * 10**6, 10**9])
def test_rho_of_epsilon_is_the_inverse(micro: int) -> None:
    """It is the largest rho that keeps to an epsilon; the next millionth does not."""
    rho = rho_of_epsilon(Micro(micro))
    assert epsilon_of_rho(rho) <= Micro(micro) < epsilon_of_rho(Micro(rho.micro + 1))
    assert rho_of_epsilon(INFINITE_LOSS) == INFINITE_LOSS


@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 10**6), Fraction(1, 10**12)])
def test_exact_an_epsilon_is_the_least_bound_rounded_up(delta: Fraction) -> None:
    """Of 60 amounts of rho: not below the least over all orders, and not a millionth above it."""
    with mpmath.workdps(50):
        for micro in range(1_003, 6_000_000, 100_003):
            rho = mpmath.mpf(micro) / 10**6
            # golden section on ln (order - 1), where the bound falls and then rises
            low, high = mpmath.mpf(-7), mpmath.mpf(12)
            part = (mpmath.sqrt(5) - 1) / 2
            for _ in range(110):
                left, right = high - part * (high - low), low + part * (high - low)
                if bound(rho, delta, 1 + mpmath.exp(left)) < bound(
                    rho, delta, 1 + mpmath.exp(right)
                ):
                    high = right
                else:
                    low = left
            least = max(bound(rho, delta, 1 + mpmath.exp(low)), mpmath.mpf(0)) * 10**6
            stated = int(epsilon_of_rho(Micro(micro), delta=delta).micro)
            assert least <= stated < least + mpmath.mpf("1.001")
