"""Scores always name their reference."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.answers import Comparisons
from masquerade.errors import EmptyTable, ParameterError
from masquerade.preference import (
    Score,
    SocialPreference,
    agreement,
    held_out_accuracy,
    made_up_voters,
    one_feature_baseline,
    split_voters,
)
from masquerade.preference.metrics import REFERENCES, expected_agreement


def test_there_are_four_references() -> None:
    """r1 to r4, each in words."""
    assert list(REFERENCES) == ["r1", "r2", "r3", "r4"]
    assert str(Score(0.75, "r4")) == "0.750 against r4, real choices that were held out"


def test_agreement_counts_ties_as_half() -> None:
    """Same sign 1, opposite 0, no preference on either side one half."""
    pairs = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-2.0, 0.0]]
    assert agreement([1, 0], [1, -1], pairs, reference="r1").accuracy == (1 + 0.5 + 0.5 + 1) / 4


def test_the_closed_form_is_the_limit_of_sampling() -> None:
    """1 - angle / pi matches 200,000 normal pairs within six standard errors."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=5), rng.normal(size=5)
    root = rng.normal(size=(5, 5))
    pairs = rng.normal(size=(200_000, 5)) @ root.T
    expected = expected_agreement(a, b, reference="r2", covariance=root @ root.T)
    assert abs(agreement(a, b, pairs, reference="r2").accuracy - expected.accuracy) < 6 * 0.0012
    assert expected_agreement([1, 0], [1, 1], reference="r1").accuracy == pytest.approx(0.75)
    assert expected_agreement([0, 0], [1, 1], reference="r1").accuracy == 0.5


def test_the_gain_is_above_chance_and_needs_one_reference() -> None:
    """(accuracy - .5) / (best - .5), for scores against the same reference."""
    assert Score(0.7, "r1").gain(Score(0.9, "r1")) == pytest.approx(0.5)
    with pytest.raises(ParameterError, match="different references"):
        Score(0.7, "r1").gain(Score(0.9, "r2"))
    with pytest.raises(ParameterError, match="chance"):
        Score(0.7, "r1").gain(Score(0.5, "r1"))


def test_held_out_choices_are_scored_whatever_the_order_of_features() -> None:
    """The columns of the held-out table are matched by name."""
    rows = {"voter": ["a", "a", "b"], "f": [1.0, 2.0, -1.0], "g": [0.0, -1.0, 0.5]}
    learned = SocialPreference.learn(Comparisons.from_frame(rows), mechanism="none:bound=4")
    turned = Comparisons.from_frame({"voter": ["c", "c"], "g": [0.0, 0.0], "f": [1.0, 0.0]})
    score = held_out_accuracy(learned, turned)
    assert score.reference == "r4"
    assert score.accuracy == pytest.approx((float(learned.weights[0] > 0) + 0.5) / 2)
    with pytest.raises(ParameterError, match="features"):
        held_out_accuracy(learned, Comparisons.from_frame({"voter": ["c"], "f": [1.0]}))


def test_the_baseline_is_the_best_rule_of_one_feature() -> None:
    """Among "more f" and "less f" of every feature, the one right most often."""
    rows = {"voter": ["a"] * 4, "f": [1.0, 1.0, -1.0, 0.0], "g": [-1.0, -2.0, -1.0, 3.0]}
    score, rule = one_feature_baseline(Comparisons.from_frame(rows))
    assert rule == "less g"
    assert score.accuracy == 0.75


def test_voters_are_split_whole() -> None:
    """Every voter is on one side, in the share asked for."""
    rng = np.random.default_rng(2)
    comparisons = made_up_voters(rng, voters=10, features=2).choose(rng, 3)
    train, test = split_voters(comparisons, rng, train_share=0.7)
    assert (train.n_voters, test.n_voters) == (7, 3)
    both = train.voters.to_pylist() + test.voters.to_pylist()
    assert sorted(both) == list(range(10))
    with pytest.raises(ParameterError, match="train_share"):
        split_voters(comparisons, rng, train_share=1)


def test_nothing_to_score_is_an_error() -> None:
    """A score of no pairs does not exist; an unknown reference neither."""
    empty = Comparisons.from_frame({"voter": [], "f": []}, voters=["a"])
    learned = SocialPreference.learn(
        Comparisons.from_frame({"voter": ["a", "b"], "f": [1.0, -1.0]}), mechanism="none"
    )
    with pytest.raises(EmptyTable):
        held_out_accuracy(learned, empty)
    with pytest.raises(EmptyTable):
        one_feature_baseline(empty)
    with pytest.raises(EmptyTable):
        agreement([1], [1], np.zeros((0, 1)), reference="r1")
    with pytest.raises(ParameterError, match="reference"):
        expected_agreement([1], [1], reference="truth")
