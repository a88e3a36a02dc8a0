"""The plan of a release: golden numbers, centred bins, and nothing but public numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade.release.planner import MOST_READ, Plan, plan_object


@pytest.mark.parametrize(
    ("claims", "epsilon", "step", "bins"),
    [
        (5, 0.5, None, 9),
        (10, 1.0, None, 9),
        (10, 4.0, None, 19),
        (20, 4.0, None, 25),
        (50, 8.0, None, 41),
        (20, 1.0, 1.0, 11),
        (10, 8.0, 1.0, 11),
    ],
)
def test_the_rule_gives_the_golden_numbers(
    claims: int, epsilon: float, step: float | None, bins: int
) -> None:
    """Odd numbers of bins, or one an answer where answers are fewer."""
    plan = plan_object(claims, epsilon, 10.0, step=step)
    assert (plan.bins, plan.layout) == (bins, "centred" if step is None else "answers")


@given(st.integers(0, 5000), st.floats(1e-3, 1024), st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_prop_ends_and_middle_of_the_domain_are_middles_of_bins(
    claims: int, epsilon: float, low: float, extent: float
) -> None:
    """Values that people like to give stand on no edge between two bins."""
    ends = np.array([low]), np.array([low + extent])
    centre = Plan.of(np.array([claims]), epsilon, *ends).grid.centre
    assert len(centre) % 2 == 1
    liked = [ends[0][0], (ends[0][0] + ends[1][0]) / 2, ends[1][0]]
    found = [centre[0], centre[len(centre) // 2], centre[-1]]
    assert found == pytest.approx(liked, abs=1e-6 * extent + 1e-9 * abs(low))


@given(st.integers(1, 3000), st.floats(1e-3, 500), st.floats(1, 2))
def test_prop_more_epsilon_never_makes_fewer_bins(claims: int, epsilon: float, more: float) -> None:
    """The bins of a smaller epsilon are never given up; width is left to the bandwidth."""
    fewer, many = (plan_object(claims, e, 10.0).bins for e in (epsilon, epsilon * more))
    assert 9 <= fewer <= many <= 41


def test_a_public_spread_makes_bins_finer_and_the_caller_s_number_wins() -> None:
    """Tight claims in a wide domain get bins of two standard deviations, at most 41."""
    assert plan_object(10, 1.0, 100.0, spread=2.0).bins == 25
    assert plan_object(10, 1.0, 100.0, spread=0.1).bins == 41
    given = plan_object(10, 1.0, 100.0, spread=2.0, bins=12)
    assert (given.bins, given.layout) == (12, "plain")


def test_weights_are_used_where_they_are_worth_their_noise() -> None:
    """From 70 claims times epsilon; very many claims are read by shrinkage."""
    for claims, epsilon, weighted in ((10, 7.0, True), (10, 6.9, False), (70, 1.0, True)):
        plan = plan_object(claims, epsilon, 1.0, weights=True)
        assert (plan.weighted, plan.shrunk) == (weighted, weighted)
    assert not plan_object(10, 7.0, 1.0).weighted
    assert [plan_object(n, 1.0, 1.0).shrunk for n in (MOST_READ, MOST_READ + 1)] == [False, True]


@pytest.mark.parametrize("odd", [0.5, "many", None, -1])
def test_a_plan_takes_numbers_of_claims_and_no_values(odd: Any) -> None:
    """What is no number of claims is refused; an array of values has no plan."""
    with pytest.raises(ParameterError):
        plan_object(odd, 1.0, 1.0)
    with pytest.raises(TypeError):
        plan_object(np.array([1.5, 2.5]), 1.0, 1.0)  # type: ignore[arg-type]
