"""The linear statistic: sums of directions, and the direction they point to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from masquerade.answers import Comparisons
from masquerade.errors import ParameterError
from masquerade.preference import made_up_voters
from masquerade.preference.mechanisms.linear import (
    directions,
    fit_linear,
    second_moment,
    voter_sums,
)
from masquerade.preference.metrics import expected_agreement

ROWS: dict[str, list[Any]] = {"voter": ["a", "b", "a"], "f": [3.0, 0.0, 0.0], "g": [4.0, 0.0, -2.0]}


def test_directions_have_length_one_and_zero_stays_zero() -> None:
    """Each scaled difference is divided by its length."""
    comparisons = Comparisons.from_frame(ROWS, voters=["c", "a", "b"])
    assert directions(comparisons).tolist() == [[0.6, 0.8], [0.0, -1.0], [0.0, 0.0]]
    sums = voter_sums(comparisons, directions(comparisons))
    np.testing.assert_allclose(sums, np.array([[0, 0], [0.6, -0.2], [0, 0]]))
    ranged = Comparisons.from_frame(ROWS, ranges={"f": (0, 3), "g": (0, 4)})
    np.testing.assert_allclose(directions(ranged)[0], [0.5**0.5, 0.5**0.5])


def test_the_statistic_has_its_formula() -> None:
    """The weights are the inverse moment times the sum, of length 1."""
    rng = np.random.default_rng(1)
    comparisons = made_up_voters(rng, voters=8, features=3, kind="correlated").choose(rng, 9)
    units = directions(comparisons)
    moment = units.T @ units / len(units)
    raw = np.linalg.solve(moment + 0.2 * np.eye(3), units.sum(axis=0))
    fit = fit_linear(comparisons, ridge=0.2)
    np.testing.assert_allclose(fit.weights, raw / np.linalg.norm(raw), atol=1e-12)
    np.testing.assert_allclose(second_moment(comparisons), moment)
    np.testing.assert_allclose(
        fit_linear(comparisons, moment=moment).weights, fit_linear(comparisons).weights
    )


def test_the_moment_corrects_for_correlated_features() -> None:
    """On correlated features the corrected direction agrees with the truth, the plain one less.

    200 voters with 50 records; the seed is fixed.
    """
    rng = np.random.default_rng(2)
    crowd = made_up_voters(rng, voters=200, features=8, kind="correlated")
    comparisons = crowd.choose(rng, 50)
    good, plain = (
        expected_agreement(fit.weights, crowd.mean_weights, reference="r1").accuracy
        for fit in (fit_linear(comparisons), fit_linear(comparisons, moment=np.eye(8)))
    )
    assert good > 0.95
    assert plain < good - 0.03


def test_the_standard_errors_are_those_of_redrawn_voters() -> None:
    """The covariance matches the spread over 300 redrawn crowds within 20 %; the seed is fixed."""
    rng = np.random.default_rng(3)
    first = made_up_voters(rng, voters=40, features=3)
    found, errors = [], []
    for _ in range(300):
        drawn = made_up_voters(rng, voters=40, features=3)
        moved = first.population + drawn.weights - drawn.population
        fit = fit_linear(type(drawn)(moved, first.population).choose(rng, 10), moment=np.eye(3))
        found.append(fit.weights)
        errors.append(np.diag(fit.covariance))
    ratio = np.sqrt(np.mean(errors, axis=0) / np.var(found, axis=0))
    assert np.abs(ratio - 1).max() < 0.2


def test_nothing_known_gives_zero_weights() -> None:
    """Without records, or where directions cancel, there is no direction."""
    nothing: dict[str, list[Any]] = {"voter": [], "f": []}
    for rows in (nothing, {"voter": ["a", "a"], "f": [1.0, -1.0]}):
        fit = fit_linear(Comparisons.from_frame(rows, voters=["a"]))
        assert fit.weights.tolist() == [0.0]
        assert fit.covariance.tolist() == [[0.0]]


def test_parameters_out_of_range_are_refused() -> None:
    """The ridge is at least 0 and the moment a square of the features."""
    comparisons = Comparisons.from_frame(ROWS)
    with pytest.raises(ParameterError, match="ridge"):
        fit_linear(comparisons, ridge=-1)
    with pytest.raises(ParameterError, match="shape"):
        fit_linear(comparisons, moment=np.eye(3))
