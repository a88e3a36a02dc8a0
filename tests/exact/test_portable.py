"""Portable logarithms, exponentials and normal tails are right to the digits that are claimed."""

from __future__ import annotations

import math

import mpmath
from hypothesis import given
from hypothesis import strategies as st

from masquerade.exact.portable import (
    ONE,
    double_exp,
    exp,
    ln,
    normal_delta,
    scaled_errors,
)


@given(st.integers(1, 10**60), st.integers(1, 10**60))
def test_prop_logarithms_are_off_by_less_than_said(n: int, m: int) -> None:
    """A logarithm is the true one to 135 binary digits."""
    n, m = max(n, m), min(n, m)
    with mpmath.workdps(80):
        assert (
            abs(mpmath.mpf(ln(n, m)) / ONE - mpmath.log(mpmath.mpf(n) / m)) < mpmath.mpf(2) ** -135
        )


@given(st.integers(0, 10**9), st.integers(1, 10**6))
def test_prop_exponentials_are_off_by_less_than_said(n: int, m: int) -> None:
    """The relative error of an exponential is below 2**-135."""
    n = min(n, 1000 * m)
    with mpmath.workdps(500):
        true = mpmath.exp(mpmath.mpf(n) / m)
        assert abs(mpmath.mpf(exp(n, m)) / ONE / true - 1) < mpmath.mpf(2) ** -135


def test_logarithms_of_equals_and_powers() -> None:
    """The logarithm of 1 is 0, and whole powers of two are multiples of ln 2."""
    assert ln(7, 7) == 0
    assert ln(1 << 40) == 40 * ln(2)
    assert exp(0) == ONE


@given(st.floats(-690, 700))
def test_prop_doubles(x: float) -> None:
    """An exponential of the four operations is right to 13 digits."""
    assert math.isclose(double_exp(x), math.exp(x), rel_tol=1e-13)


def test_scaled_error_function() -> None:
    """Cody's approximations agree with 30 digits over all of their pieces."""
    with mpmath.workdps(30):
        for x in (-5.0, -1.0, -0.47, -0.4, 0.0, 0.3, 0.46875, 0.5, 2.0, 4.0, 4.1, 10.0, 30.0, 50.0):
            true = mpmath.exp(mpmath.mpf(x) ** 2) * mpmath.erfc(x)
            assert abs(scaled_errors(x) / true - 1) < 1e-13


def test_normal_delta() -> None:
    """Delta of Gaussian noise is that of Balle and Wang, to 9 digits where a cap needs it."""
    with mpmath.workdps(40):
        for epsilon in (0.01, 1.0, 6.0, 10.0, 20.0, 100.0, 700.0):
            for mu in (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0):
                first = mpmath.ncdf(mu / 2 - mpmath.mpf(epsilon) / mu)
                second = mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - mpmath.mpf(epsilon) / mu)
                true = first - second
                if 1e-12 < true < 0.9:
                    assert abs(normal_delta(epsilon, mu * mu) / true - 1) < 1e-9
