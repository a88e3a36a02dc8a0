"""Means of numbers and ratings are the library's, with intervals for the unknown part."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.results.made_up_reports import (
    compute,
    define,
    made_up,
    rows_of,
)

from masquerade.estimation import BoundedReport
from masquerade.mechanisms import DiscreteGaussian
from masquerade.surveys import Number, Rating
from masquerade.surveys.survey import Survey


def test_numbers_have_a_mean() -> None:
    """A number's mean is the library's, from the reports on its scale."""
    definition = define(Number("n", "How long?", 0, 40, "hours", 0.5), levels=("high", "low"))
    rows = made_up(definition, 200)
    result = compute(definition, rows)
    [found] = result["questions"]
    groups = {}
    for level in definition.levels:
        [mechanism] = level.mechanisms
        assert isinstance(mechanism, DiscreteGaussian)
        mine = sorted((p, r[0]) for p, name, r in rows if name == level.name)
        groups[level.name] = (np.array([report for _, report in mine]), mechanism)
    assert found["options"] == []
    assert found["unit"] == "hours"
    bounded = {
        name: BoundedReport.of(mask, len(reports)) for name, (reports, mask) in groups.items()
    }
    worth = [bounded[name].values(reports / 2).sum() for name, (reports, _) in groups.items()]
    everything = sum(worth) / 200
    noise = [bounded[name].variance * len(groups[name][0]) for name in groups]
    assert found["mean"]["low"] <= found["mean"]["value"] <= found["mean"]["high"]
    alone = compute(replace_estimator(definition), rows)["questions"][0]["mean"]
    assert alone["value"] == pytest.approx(everything)
    forecast = (sum(noise) + 200 * 10**2) / 200**2
    # Levels' figures may not differ by more than the bound, and reports are cut in cells.
    assert found["forecast_standard_error"] == pytest.approx(math.sqrt(forecast), rel=0.02)


def replace_estimator(definition: Survey) -> Survey:
    """Return the survey with each level's own figure."""
    return replace(definition, estimator="respondent")


@pytest.mark.parametrize("skip", [False, True])
def test_planning_for_a_rating_is_for_its_mean(skip: bool) -> None:
    """In points of the scale: within a quarter of the error of 2000 people alike (seed 1)."""
    definition = define(Rating("r", "?", low=1, high=7, allow_skip=skip), levels=("medium",))
    [found] = compute(definition, made_up(definition, 2000))["questions"]
    error = found["mean"]["standard_error"]
    assert found["forecast_standard_error"] == pytest.approx(error, rel=0.25)


def test_one_number_says_little() -> None:
    """From one report the interval is most of the range, and no error is nothing or infinite."""
    definition = define(Number("n", "?", 0, 10, "h"), levels=("low",))
    [found] = compute(definition, rows_of([(25,)], level="low"))["questions"]
    mechanism = definition.levels[0].mechanisms[0]
    assert isinstance(mechanism, DiscreteGaussian)
    assert found["mean"]["value"] == min(BoundedReport.of(mechanism, 1).values(25), 10)
    assert found["mean"]["shown"] is None
    assert found["mean"]["low"] < 2.5
    assert found["mean"]["high"] == 10
    assert found["mean"]["standard_error"] > 0


def test_ratings_with_noise_and_in_clear() -> None:
    """A rating with Gaussian noise has a mean and no shares; answers in clear add no noise."""
    definition = define(Rating("r", "?"), levels=("none", "low"), rating_mask="gaussian")
    rows = rows_of([(0,), (4,)] * 20, level="none")
    rows += rows_of([(-7,), (11,)] * 20, level="low")
    result = compute(definition, rows)
    [found] = result["questions"]
    assert (found["options"], found["mean"]["value"]) == ([], pytest.approx(3))
    assert found["by_level"][0]["mean"]["mechanism_error"] == pytest.approx(0, abs=0.05)
    assert result["ledger"]["clear_disclosures"] == 40
    assert result["ledger"]["rho_total"]["none"] == 0
    each = definition.level("low").cost("0123456789abcdef").rho.micro
    assert result["ledger"]["rho_total"]["low"] == each * 40 / 1e6


def test_unanimity_has_a_width() -> None:
    """21 people with answer 5, and a number that hardly anybody answers high, are not sure."""
    definition = define(Rating("r", "?"), Number("n", "?", 0, 40, "h"), levels=("none",))
    rating, number = compute(definition, rows_of([(4, 0)] * 21, level="none"))["questions"]
    assert (rating["mean"]["value"], rating["mean"]["high"]) == (5, 5)
    assert rating["mean"]["low"] < 4.5
    assert (number["mean"]["low"], number["mean"]["high"] > 1) == (0, True)
