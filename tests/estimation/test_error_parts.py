"""Errors by who answered and by masks: in clear all of the variance is people's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade.estimation import (
    Counts,
    Crowd,
    Figures,
    Numbers,
    Ranks,
    RankSums,
    Subsets,
    Sums,
    Table,
    difference,
)
from masquerade.estimation.sums import SummedPeople
from masquerade.mechanisms import DiscreteGaussian, MaskedOrder, RandomizedResponse
from masquerade.selection import precision_of

MASK = RandomizedResponse(2, epsilon=1)
ORDERS = MaskedOrder(3, size=3, epsilon=math.inf)


def clear_figures() -> dict[str, Figures]:
    """Return figures of which no report is masked, unanimous ones among them."""
    unanimous, most = (Crowd.of([Counts.of(one)]) for one in ([20, 0], [95, 5]))
    held = np.array([[0.0, 1.0], [1.0, 0.0]])
    return {
        "unanimous": unanimous.shares(),
        "most": most.shares(),
        "difference": difference(unanimous.shares(), most.shares()),
        "of a population": Crowd.of([Counts(np.array([20.0, 3.0]), unasked=0.5)]).shares(),
        "everybody": Crowd.of([Counts(np.array([20.0, 3.0]), unasked=0.0)]).shares(),
        "pairs": Crowd.of([Table.of([[3, 4], [5, 0]])]).shares(),
        "numbers": Crowd.of([Numbers.of([0, 0, 40], 0, 40)]).mean(),
        "ranks": Crowd.of([Ranks.of([0, 3], [20, 5], ORDERS)]).shares(),
        "rank sums": Crowd.of([RankSums(9, np.array([1.0, -1, 0]), 0, (9, 0))]).shares(),
        "sums": Crowd.of([Sums.of([20, 0], variance=0, people=20)]).shares(),
        "sets of one": Crowd.of([Subsets(np.array([9.0, 1]), held, 0, 1, 1)]).shares(),
        "two levels in clear": Crowd.of([Counts.of([20, 0]), Counts.of([3, 4])]).shares(),
        "nobody masked": Crowd.of([Counts.of([9, 0]), Counts.of([0, 0], MASK)]).shares(),
    }


@pytest.mark.parametrize("name", list(clear_figures()))
def test_masks_have_no_part_in_an_error_in_clear(name: str) -> None:
    """The error by masks is exactly 0, and that by who answered is all of it."""
    for one in clear_figures()[name].estimates():
        assert one.mechanism_error == 0
        assert one.sampling_error == one.standard_error


def masked_figures() -> dict[str, Figures]:
    """Return figures with any noise at all."""
    gaussian = DiscreteGaussian(0, 40, sigma=20)
    some = MaskedOrder(4, size=3, epsilon=math.inf)
    return {
        "unanimous": Crowd.of([Counts.of([20, 0], MASK)]).shares(),
        "weak": Crowd.of([Counts.of([20, 0], RandomizedResponse(2, epsilon=9))]).shares(),
        "a level in clear": Crowd.of([Counts.of([20, 0]), Counts.of([1, 0], MASK)]).shares(),
        "one of two masked": Crowd.of([Table.of([[3, 4], [5, 0]], MASK)]).shares(),
        "numbers": Crowd.of([Numbers.of([0, 0, 40], 0, 40, gaussian)]).mean(),
        "sums": Crowd.of([SummedPeople(20).sums([20, 0], 1e-4)]).shares(),
        # three of four items are drawn: which ones is chance, and none of people's
        "drawn items": Crowd.of([Ranks.of([0, 7], [20, 5], some)]).figures([[1, 0, 0, 0, 0]]),
    }


@pytest.mark.parametrize("name", list(masked_figures()))
def test_masks_have_a_part_in_an_error_with_any_noise(name: str) -> None:
    """The error by masks is above 0, and the squares of the parts add to that of the whole."""
    for one in masked_figures()[name].estimates():
        assert one.mechanism_error > 0
        whole = math.hypot(one.sampling_error, one.mechanism_error)
        assert whole == pytest.approx(one.standard_error, rel=1e-12)


def test_reports_without_shares_are_refused_by_shares() -> None:
    """A crowd of numbers with noise says to ask for figures, in a level among others too."""

    class Mean:
        """Reports of one figure alone."""

        n, symbols = 3.0, 2

        def worths(self, scores: np.ndarray) -> None:
            """Return nothing: it is not asked."""

        def tiled(self, times: int) -> Mean:
            """Return the reports themselves."""
            return self

    numbers = Crowd.of([Numbers.of([0, 0, 40], 0, 40)])
    mixed = Crowd.of([Counts.of([1, 2]), Mean()])  # type: ignore[list-item]
    for crowd in (numbers, mixed):
        with pytest.raises(ParameterError, match="give no shares of answers; ask for `figures`"):
            crowd.shares()


def test_a_plan_in_clear_for_a_whole_population_errs_by_nothing() -> None:
    """All of a population in clear are known; of half of it, people are all of the margin."""
    plan = precision_of(RandomizedResponse(2, flip_probability=0))
    assert plan.margins(100, population=100) == (0.0, 0.0, 0.0)
    half, noise, people = plan.margins(100, population=200)
    assert noise == 0
    assert 0 < people <= half
