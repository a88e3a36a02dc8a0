"""The accuracy of methods for numbers on real crowds; `test_real_data` says where these are."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from masquerade.answers import Claims, Truths
from masquerade.mechanisms import QuantisedResponse
from masquerade.truth import (
    NumericAuto,
    NumericEstimator,
    mean_absolute_error,
    root_mean_squared_error,
)
from masquerade.truth.numeric import ChannelEM, Mean, Median

pytestmark = pytest.mark.real_data


def real(name: str) -> tuple[Claims, Truths]:
    """Return the claims and truths of a set, or skip."""
    place = os.environ.get("MASQUERADE_DATA")
    if place is None:
        pytest.skip("MASQUERADE_DATA is not set")
    folder = Path(place) / name
    claims = Claims.read(folder / "claims.csv.gz", kind="numeric", duplicates="last")
    return claims, Truths.read(folder / "truth.csv")


@pytest.mark.parametrize("name", ["emotion", "population"])
def test_auto_is_nearer_than_the_median(name: str) -> None:
    """The mean absolute error of auto is below the median's, far below where vandals are many."""
    claims, truths = real(name)
    ours, theirs = (mean_absolute_error(one().fit(claims), truths) for one in (NumericAuto, Median))
    assert ours < (0.96 if name == "emotion" else 0.25) * theirs


def test_auto_is_between_mean_and_median_in_squares() -> None:
    """On emotion, with means as truths, squares are between the mean's and the median's."""
    claims, truths = real("emotion")
    ours, mean, median = (
        root_mean_squared_error(one().fit(claims), truths) for one in (NumericAuto, Mean, Median)
    )
    assert mean < ours < 0.97 * median


@pytest.mark.parametrize(
    ("name", "most"), [("emotion", 13), ("population_full", 2_000), ("flights", 20)]
)
def test_auto_fails_on_no_kind_of_numbers(name: str, most: float) -> None:
    """The mean absolute error on scales, heavy tails and copied sources is at most this."""
    claims, truths = real(name)
    assert mean_absolute_error(NumericAuto().fit(claims), truths) <= most


def test_auto_agrees_with_other_scales() -> None:
    """On wordsim, with truths on another scale, values and truths correlate above .94."""
    claims, truths = real("wordsim")
    fit: NumericEstimator = NumericAuto().fit(claims)
    assert np.corrcoef(fit.values_, truths.numbers(claims))[0, 1] > 0.94


@pytest.mark.parametrize(("epsilon", "most"), [(2, 16.9 + 0.3), (4, 14.0)])
def test_emotion_behind_a_mask(epsilon: int, most: float) -> None:
    """Quantised and with hidden presence, the error over three masks is below the constant's."""
    claims, truths = real("emotion")
    mechanism = QuantisedResponse(-100, 100, epsilon=epsilon, null=True)
    errors = []
    for seed in range(3):
        reports = mechanism.simulate(claims, np.random.default_rng(seed), presence="hidden")
        fit = ChannelEM(presence="hidden").fit(reports, mechanism=mechanism)
        errors.append(mean_absolute_error(fit, truths))
        assert errors[-1] < fit.constant_error(truths) + 0.1
    assert np.mean(errors) <= most
