"""Intervals are as wide as was forecast."""

from __future__ import annotations

import math

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade.mechanisms import (
    CategoricalMechanism,
    DiscreteGaussian,
    RandomizedResponse,
    level_named,
)
from masquerade.selection import participants_needed
from masquerade.surveys import Choice, Number, Rating
from masquerade.truth.margins import expected_margin, report_variance

CHOICE = Choice("c", "?", ("Yes", "No"))
RATING = Rating("r", "?", 1, 7)
NUMBER = Number("n", "?", 0, 40, "h")
NOISY = DiscreteGaussian(0, 40, 1, sigma=30)


def response(options: int, level: str, *, null: bool = False) -> RandomizedResponse:
    """Return a level's randomized response."""
    return level_named(level).randomized_response(options, null=null)


@pytest.mark.parametrize(
    ("question", "mechanism"), [(CHOICE, response(2, "medium")), (NUMBER, NOISY)]
)
def test_one_level_is_planned_as_before(question: Choice | Number, mechanism: object) -> None:
    """With one level the margin is the one for which `participants_needed` names the people.

    Within a hundredth, which is what it costs that no single report of 1,000 can count much.
    """
    margin = expected_margin(question, {"a": mechanism}, {"a": 1000})  # type: ignore[dict-item]
    needed = participants_needed(mechanism, margin=margin)  # type: ignore[arg-type]
    assert 985 <= needed <= 1001


@pytest.mark.parametrize("null", [False, True])
def test_the_variance_of_a_rating_is_that_of_simulated_reports(null: bool) -> None:
    """A hundred thousand simulated reports vary as was said (within 5 standard errors)."""
    mechanism: CategoricalMechanism = response(7, "low", null=null)
    rng = np.random.default_rng(7)
    found = report_variance(RATING, mechanism)
    table = np.array([[float(x) for x in row] for row in mechanism.channel().table])
    value = np.arange(7) / 6
    held = np.exp(-(((value - 0.5) / 0.25) ** 2) / 2)
    answers = rng.choice(7, size=100_000, p=held / held.sum())
    reports = (table[answers].cumsum(axis=1) < rng.random((100_000, 1))).sum(axis=1)
    score = np.append(value - 0.5, [0.0] * null)
    signal = table[0, 0] - table[0, 1]
    sent = (score - table[0, 1] * score.sum()) / signal
    seen = sent[reports]
    error = seen.var() * math.sqrt(2 / 100_000)
    assert abs(seen.var() - (found.people + found.masks)) < 5 * error + 0.01 * seen.var()
    assert found.width == 6


def test_more_people_and_weaker_masks_narrow_it() -> None:
    """The margin falls with people, and rises with protection, in the question's own unit."""
    masks = {name: response(7, name) for name in ("high", "medium", "low")}
    few, many = (expected_margin(RATING, masks, dict.fromkeys(masks, count)) for count in (50, 500))
    assert many < few
    alone = [expected_margin(RATING, masks, {name: 300}) for name in masks]
    assert alone == sorted(alone, reverse=True)
    assert math.isnan(expected_margin(RATING, masks, {"high": 0}))


def test_what_cannot_be_forecast_is_refused() -> None:
    """A confidence or an estimator that does not exist, and masks that say nothing."""
    masks = {"a": response(2, "high")}
    for wrong in ({"confidence": 1.0}, {"estimator": "mode"}):
        with pytest.raises(ParameterError):
            expected_margin(CHOICE, masks, {"a": 5}, **wrong)


def test_a_level_without_a_mechanism_is_named() -> None:
    """People at a level that the question does not have are an error."""
    mask = RandomizedResponse(2, epsilon=1)
    with pytest.raises(ParameterError, match="level 'low', which has no mechanism; there are high"):
        expected_margin(Choice("q", "?", ("a", "b")), {"high": mask}, {"low": 10})
