"""One person's answers to a whole survey are masked as the promise for them assumes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from masquerade.errors import InsecureRandomness, ParameterError
from masquerade.exact import SimulatedCoins
from masquerade.mechanisms import CategoricalMechanism, RandomizedResponse, TwoLayer, mask_response

KEEP = RandomizedResponse(2, flip_probability=0)
FLIP = RandomizedResponse(2, flip_probability=1)


def test_reports_stand_in_the_order_of_the_answers() -> None:
    """Mechanisms that alternate are each applied to their own answers."""
    assert mask_response([0, 0, 1, 1], [KEEP, FLIP, KEEP, FLIP]) == [0, 1, 1, 0]
    assert mask_response([], []) == []


def test_two_layer_answers_share_one_flip_probability() -> None:
    """With p from U(0, 1) for all of 60 answers, the shares of changed answers spread widely.

    Fresh draws of p would leave 2,000 shares within 0.5 +- 0.065 * 5.5; one draw for all spreads
    them evenly over 0 to 1. False alarm below 1e-40.
    """
    mechanism: CategoricalMechanism = TwoLayer(2, low=0, high=1)
    shares = [np.mean(mask_response([0] * 60, [mechanism] * 60)) for _ in range(2000)]
    assert np.mean(np.abs(np.array(shares) - 0.5) > 0.36) > 0.1


@pytest.mark.parametrize(
    ("answers", "message"),
    [([0], "1 answers for 2 mechanisms"), ([0, 2], "answer 2 is 2"), ([-1, 0], "answer 1 is -1")],
)
def test_answers_that_do_not_fit_are_refused(answers: list[int], message: str) -> None:
    """A wrong number of answers and a code outside its question are errors."""
    with pytest.raises(ParameterError, match=message):
        mask_response(answers, [KEEP, FLIP])


def test_seeded_coins_are_refused() -> None:
    """A response of a person is masked with operating-system entropy only."""
    with pytest.raises(InsecureRandomness):
        mask_response([0], [KEEP], coins=SimulatedCoins(np.random.default_rng(1)))  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [0.7, 1.0, math.nan, True, "yes", None])
def test_an_answer_is_a_whole_number(answer: Any) -> None:
    """A fraction is not cut to the code below it."""
    with pytest.raises(ParameterError, match=r"answer 2 is .*, expected a whole number"):
        mask_response([0, answer], [KEEP, KEEP])


def test_codes_may_be_numpy_s() -> None:
    """Whole numbers of any kind are codes."""
    codes: Any = [np.int64(1), np.uint8(0)]
    assert mask_response(codes, [KEEP, KEEP]) == [1, 0]
