"""The sentences of an invitation on numbers, without their scale."""

from __future__ import annotations

import re

import numpy as np
import pytest

from masquerade.mechanisms import DiscreteGaussian
from masquerade.surveys import Number, Rating
from masquerade.surveys.survey import Survey


def asking(*questions: Number | Rating) -> Survey:
    """Return a survey."""
    return Survey.at_levels(title="T", questions=questions)


def reach(odds: str) -> int:
    """Return how far from the answer a number on the scale of the example is sent."""
    found = re.search(r"between 0 and 10 is sent within ±(\d+) of the answer", odds)
    assert found is not None, odds
    return int(found[1])


def test_numbers_are_told_on_one_scale() -> None:
    """For every scale of a question, the sentences are the same: they do not give it away."""
    small, large = (asking(Number("n", "?", *span, "h")) for span in ((0, 10), (-5000, 95_000)))
    for one, other in zip(small.levels, large.levels, strict=True):
        here, there = one.to_json(), other.to_json()
        # The noise is rounded up to the steps of a question, which can move the last digit.
        assert abs(reach(here["odds"]) - reach(there["odds"])) <= 1
        assert "100000" not in there["odds"] + there["blur"]


@pytest.mark.parametrize("level", ["high", "medium", "low"])
def test_exact_four_of_five_numbers_are_within_what_is_said(level: str) -> None:
    """The stated reach holds four of five reports, and no more than rounding it up adds."""
    offered = asking(Number("n", "?", 0, 10, "h", 0.5)).level(level)
    [mechanism] = offered.mechanisms
    assert isinstance(mechanism, DiscreteGaussian)
    far, sigma = reach(offered.to_json()["odds"]), float(mechanism.sigma)
    noise = 0.5 * np.arange(-4000, 4001)  # all that the mechanism may add, to far beyond its tails
    weight = np.exp(-(noise**2) / (2 * sigma**2))
    share = weight[np.abs(noise) <= far].sum() / weight.sum()
    assert 0.8 <= share <= 0.8 + (1 + 0.5) * 0.8 / sigma


def test_the_example_of_a_number_is_one() -> None:
    """It names an answer and the range of its reports, around that answer."""
    offered = asking(Number("n", "?", 0, 40, "h")).level("medium")
    told = offered.to_json()
    found = re.search(
        r"answers 5 .* between (-?\d+) and (\d+), at least 4 times in 5", told["blur"]
    )
    assert found is not None
    low, high = map(int, found.groups())
    assert (high - 5, 5 - low) == (reach(told["odds"]),) * 2
