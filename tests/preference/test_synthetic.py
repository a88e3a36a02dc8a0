"""Made-up voters choose as their known weights say."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from scipy.special import ndtr

from masquerade.errors import ParameterError
from masquerade.preference import MadeUpVoters, made_up_voters
from masquerade.preference.synthetic import FeatureKind


def test_the_same_seed_gives_the_same_choices() -> None:
    """Everything comes from the generator."""
    one, two = (np.random.default_rng(4) for _ in range(2))
    first, second = (made_up_voters(rng, voters=5, features=3).choose(rng, 4) for rng in (one, two))
    np.testing.assert_array_equal(first.difference, second.difference)
    assert first.records_per_voter().tolist() == [4] * 5


def test_a_choice_has_the_probability_of_the_model() -> None:
    """One voter with one binary feature picks it with probability Phi(weight).

    n = 40,000 records, half of them with a difference: six standard errors, false alarms below
    1e-8.
    """
    rng = np.random.default_rng(5)
    voter = MadeUpVoters(np.array([[0.7]]), np.array([0.7]), "binary")
    difference = voter.choose(rng, 40_000).difference[:, 0]
    told = difference[difference != 0]
    share = np.mean(told > 0)
    assert abs(share - ndtr(0.7)) < 6 * np.sqrt(0.25 / len(told))


@pytest.mark.parametrize("kind", get_args(FeatureKind))
def test_every_kind_of_feature_can_be_made(kind: FeatureKind) -> None:
    """Differences have the shape asked for, and counts are whole."""
    rng = np.random.default_rng(6)
    choices = made_up_voters(rng, voters=3, features=4, kind=kind).choose(rng, 5)
    assert choices.difference.shape == (15, 4)
    if kind in ("binary", "count"):
        np.testing.assert_array_equal(choices.difference, np.round(choices.difference))


def test_sizes_out_of_range_are_refused() -> None:
    """There is at least one voter, feature and record, and the kind is known."""
    rng = np.random.default_rng(7)
    with pytest.raises(ParameterError, match="voters is 0"):
        made_up_voters(rng, voters=0)
    with pytest.raises(ParameterError, match="kind"):
        made_up_voters(rng, kind="round")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="records"):
        made_up_voters(rng).choose(rng, 0)
