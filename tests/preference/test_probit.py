"""The pieces of the Thurstone-Mosteller likelihood, for every number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr

from masquerade.preference.thurstone import curvature, slope


@pytest.mark.parametrize(
    ("margin", "expected"),
    [
        (0, 0.797884560803),
        (-1, 1.52513527616),
        (5, 1.4867199409e-06),
        (-40, 40.0249688472),
        (10, 7.69459862671e-23),
    ],
)
def test_the_slope_has_its_known_values(margin: float, expected: float) -> None:
    """The ratio phi / Phi is right in the middle and far out on both sides."""
    assert slope(margin) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("margin", "expected"),
    [(0, 0.636619772368), (-1, 0.80090233443), (-5, 0.967303565383), (1, 0.370313714223)],
)
def test_the_curvature_has_its_known_values(margin: float, expected: float) -> None:
    """Minus the second derivative is right."""
    assert curvature(margin, slope(margin)) == pytest.approx(expected, rel=1e-10)


@given(st.floats(-1e8, 1e8))
def test_prop_nothing_breaks_far_out(margin: float) -> None:
    """Slope and curvature are finite, the curvature is in [0, 1], for every margin."""
    r = slope(margin)
    assert np.isfinite(r)
    assert r >= 0
    assert 0 <= curvature(margin, r) <= 1


def test_they_are_the_derivatives() -> None:
    """Slope and curvature match finite differences of ln Phi to 1e-6."""
    z, h = np.linspace(-8, 8, 65), 1e-4
    r = slope(z)
    np.testing.assert_allclose(
        (log_ndtr(z + h) - log_ndtr(z - h)) / (2 * h), r, rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(-(slope(z + h) - slope(z - h)) / (2 * h), curvature(z, r), atol=1e-6)


def test_the_curvature_has_no_jump_where_its_formula_changes() -> None:
    """Around -300 the two formulas agree to 1e-8."""
    z = np.array([-299.999, -300.001])
    assert np.ptp(curvature(z, slope(z))) < 1e-8
