"""Weights of features in masked choices between two."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from tests.results.made_up_reports import define, made_up, masked, reports_of

from masquerade.errors import EmptyTable, ParameterError
from masquerade.results.feature_weighting import feature_weights
from masquerade.surveys import Choice, Comparison

FEATURES = {
    "Bus": {"price": 2.0, "comfort": 1.0},
    "Train": {"price": 5.0, "comfort": 3.0},
    "Car": {"price": 8.0, "comfort": 2.0},
}
PAIRS = (("Bus", "Train"), ("Train", "Car"), ("Car", "Bus"))
QUESTIONS = tuple(Comparison(f"p{i}", "Which?", a, b) for i, (a, b) in enumerate(PAIRS))


def test_the_weights_are_found_through_the_masks() -> None:
    """Known weights are within 6 standard errors, and the errors are small: 3,000 people."""
    definition = define(*QUESTIONS, levels=("medium", "low"))
    rng = np.random.default_rng(4)
    truth = {"comfort": 0.8, "price": -1.2}
    width = {"comfort": 2.0, "price": 6.0}
    chances = [
        ndtr(sum(truth[f] * (FEATURES[a][f] - FEATURES[b][f]) / width[f] for f in truth))
        for a, b in PAIRS
    ]
    people = (rng.random((1500, 3)) > chances).astype(int).tolist()
    rows = [row for name in ("medium", "low") for row in masked(definition, name, people)]
    found = feature_weights(reports_of(definition, rows), FEATURES)
    assert [row.feature for row in found] == ["comfort", "price"]
    for row in found:
        assert abs(row.weight - truth[row.feature]) < 6 * row.standard_error
        assert row.standard_error < 0.15
        assert row.low < row.weight < row.high
        assert row.width == width[row.feature]


def test_what_cannot_be_learnt_is_refused() -> None:
    """No pair, a third answer, items without features, features alike, and nobody."""
    none = define(Choice("c", "?", ("A", "B")))
    tie = define(Comparison("p", "?", "Bus", "Train", "Same"))
    pairs = define(*QUESTIONS)
    some = made_up(pairs, 5)
    alike = {item: {**values, "wheels": 4.0} for item, values in FEATURES.items()}
    for definition, rows, features, message in (
        (none, [], FEATURES, "no pairwise question"),
        (tie, [], FEATURES, "third answer"),
        (pairs, some, {**FEATURES, "Car": {"price": 1.0}}, "expected"),
        (pairs, some, {}, "describe every item"),
        (pairs, some, alike, "the same for all"),
    ):
        with pytest.raises(ParameterError, match=message):
            feature_weights(reports_of(definition, rows), features)
    with pytest.raises(EmptyTable):
        feature_weights(reports_of(pairs, []), FEATURES)
