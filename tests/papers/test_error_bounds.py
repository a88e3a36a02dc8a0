"""Error bounds: proven and published ones, importance, and masked accuracy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade.mechanisms import RandomizedResponse
from masquerade_papers.two_layer.error_bounds import (
    importance,
    important_workers,
    masked_accuracy,
    published_error_formula,
    weighted_vote_bound,
)

PROBABILITY = st.floats(0.02, 0.98)


def exact_error(accuracy: list[float], options: int) -> float:
    """Return the probability that the log-ratio vote errs, ties as errors, by enumeration."""
    q = np.array(accuracy)
    weight = np.log(q * (options - 1) / (1 - q))
    total = 0.0
    for reports in itertools.product(range(options), repeat=len(q)):  # the truth is option 0
        hit = np.array(reports) == 0
        chance = float(np.prod(np.where(hit, q, (1 - q) / (options - 1))))
        score = np.bincount(reports, weight, options)
        total += chance * bool(score[1:].max() >= score[0] - 1e-12)
    return total


def binomial_tail(n: int, wrong: float) -> float:
    """Return the probability that more than half of an odd number err."""
    return sum(
        math.comb(n, k) * wrong**k * (1 - wrong) ** (n - k) for k in range(n // 2 + 1, n + 1)
    )


@pytest.mark.parametrize(
    ("accuracy", "voters", "published", "exact", "bound"),
    [(0.3, 11, 0.00147, 0.0782, 0.383), (0.1, 5, 4.6e-5, 0.0086, 0.0778)],
)
def test_the_published_formula_is_violated_and_the_bound_is_not(
    accuracy: float, voters: int, published: float, exact: float, bound: float
) -> None:
    """The two counterexamples: formula below the exact error, which is below the bound."""
    formula, holds = (
        f([accuracy] * voters) for f in (published_error_formula, weighted_vote_bound)
    )
    assert float(formula) == pytest.approx(published, rel=0.01)
    assert float(holds) == pytest.approx(bound, rel=2e-3)
    assert binomial_tail(voters, accuracy) == pytest.approx(exact, rel=6e-3)
    assert float(formula) < binomial_tail(voters, accuracy) < float(holds)
    assert (formula.is_bound, holds.is_bound) == (False, True)
    assert "not a bound" in str(formula)


def test_the_factor_of_the_formula_has_its_golden_values_and_limits() -> None:
    """G(.2), G(.8), the limits at 0, 1/2 and 1, and its distance from 2 q."""
    values = [float(published_error_formula([q])) for q in (0.2, 0.8, 0, 0.5, 1)]
    assert values == pytest.approx([0.325, 0.783, 0, 1, 0], abs=5e-4)
    grid = np.linspace(0.001, 0.5, 500)
    gap = np.abs([float(published_error_formula([q])) - 2 * q for q in grid])
    assert gap.max() == pytest.approx(0.0765, abs=5e-4)
    assert grid[gap.argmax()] == pytest.approx(0.17, abs=0.01)
    near = float(published_error_formula([1e-12]))
    assert 2e-12 / near == pytest.approx(2, rel=1e-3)


@given(st.integers(2, 3), st.lists(PROBABILITY, min_size=1, max_size=6))
def test_prop_the_bound_holds(options: int, accuracy: list[float]) -> None:
    """For any voters and two or three options the exact error is at most the bound."""
    bound = weighted_vote_bound(accuracy, options=options)
    assert exact_error(accuracy, options) <= float(bound) + 1e-12
    assert float(bound) <= 1


def test_the_bound_is_sharp_to_first_order() -> None:
    """The rate of the bound is the error's own as voters are added (Chernoff's information)."""
    rates = [
        math.log(float(weighted_vote_bound([0.8] * n))) / math.log(binomial_tail(n, 0.2))
        for n in (51, 501)
    ]
    assert rates[0] < rates[1] <= 1
    assert rates[1] > 0.95


def test_sure_voters_are_at_the_limits() -> None:
    """One voter that is always right, or always wrong with two options, leaves no error."""
    assert float(weighted_vote_bound([1.0, 0.6])) == 0
    assert float(weighted_vote_bound([0.0, 0.6])) == 0
    assert float(weighted_vote_bound([])) == 1
    assert float(weighted_vote_bound([1 / 3] * 4, options=3)) == 1


def test_masked_accuracy_is_what_the_channel_does() -> None:
    """The formula is the truth's column of the exact channel, for any number of options."""
    for options in (2, 3, 5):
        mechanism = RandomizedResponse(options, epsilon=1)
        answer = np.full(options, 0.3 / (options - 1))
        answer[0] = 0.7
        expected = float(answer @ mechanism.channel().matrix()[:, 0])
        flip = float(mechanism.flip_probability)
        found = float(masked_accuracy(0.7, flip, options=options))
        assert found == pytest.approx(expected, abs=1e-12)
    p, flip = 0.2, 0.3
    assert float(masked_accuracy(p, flip)) == pytest.approx(p + flip * (1 - 2 * p))


def test_importance_is_one_over_the_factor() -> None:
    """A guesser has importance 1, a worker that is always wrong an infinite one, no overflow."""
    assert importance([0.2, 0.5, 0.0]).tolist() == pytest.approx(
        [1 / 0.32528, 1, math.inf], rel=1e-4
    )
    falling = importance(np.linspace(0.01, 0.5, 50))
    assert (np.diff(falling) < 0).all()


def test_important_workers_are_those_near_the_best() -> None:
    """share=1 keeps the best alone, a small share everyone, and infinity only itself."""
    accuracy = [0.1, 0.1, 0.2, 0.45]
    score = importance(accuracy)
    assert important_workers(accuracy, share=1).tolist() == [True, True, False, False]
    assert important_workers(accuracy, share=0.01).all()
    for share in (0.2, 0.42, 0.6):
        expected = score >= share * score.max()
        assert (important_workers(accuracy, share=share) == expected).all()
    assert important_workers([0.0, 0.01, 1.0], share=0.1).tolist() == [True, False, True]
    assert important_workers([], share=0.5).tolist() == []


@pytest.mark.parametrize("share", [0, -0.1, 1.5, math.nan])
def test_a_share_out_of_range_is_refused(share: float) -> None:
    """The share is above 0 and at most 1."""
    with pytest.raises(ParameterError, match="share is"):
        important_workers([0.1], share=share)


def test_values_that_are_no_probabilities_are_refused() -> None:
    """A probability outside 0 to 1, or NaN, and one option alone are errors."""
    for bad in (-0.1, 1.1, math.nan):
        for call in (published_error_formula, weighted_vote_bound, importance):
            with pytest.raises(ParameterError, match="expected probabilities from 0 to 1"):
                call([0.5, bad])
    with pytest.raises(ParameterError, match="options is 1"):
        weighted_vote_bound([0.5], options=1)
