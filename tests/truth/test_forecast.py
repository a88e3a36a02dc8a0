"""Forecasts: the real mechanism and the real method, beside what needs neither."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from masquerade.answers import Claims, Truths
from masquerade.errors import ParameterError
from masquerade.mechanisms import RandomizedResponse, TwoLayer
from masquerade.simulate import crowd
from masquerade.truth import (
    MajorityVote,
    OneCoin,
    TruthDiscovery,
    accuracy,
    forecast,
    masked_accuracy,
    weighted_vote_bound,
)

SMALL = partial(crowd, tasks=60, workers=20, answers_per_task=9)


def numbers(rng: np.random.Generator) -> tuple[Claims, Truths]:
    """Make up 40 truths around 10 and five measurements of each."""
    truth = rng.normal(10, 3, size=40)
    value = truth[:, None] + rng.normal(0, 1, size=(40, 5))
    task = np.repeat(np.arange(40), 5)
    table = {"task": task, "worker": np.tile(np.arange(5), 40), "value": value.ravel()}
    known = {"task": np.arange(40), "truth": truth}
    return Claims.from_frame(table), Truths.from_frame(known)


def test_without_a_mechanism_masks_cost_nothing() -> None:
    """The forecast of unmasked claims is the mean score of the method itself, run by run."""
    expected = forecast(SMALL, method="majority-vote", runs=5)
    scores = []
    for run in range(5):
        claims, truths = SMALL(np.random.default_rng([0, run]))
        scores.append(accuracy(MajorityVote().fit(claims), truths))
    assert expected.found.mean == pytest.approx(np.mean(scores))
    assert expected.found == expected.unmasked == expected.majority
    assert expected.mechanism is None
    assert expected.gain.mean == 0
    assert not expected.worth_it


def test_a_forecast_knows_what_theory_knows() -> None:
    """Nine equal voters behind a mask are right as often as the binomial says, 4000 tasks."""
    mechanism = RandomizedResponse(2, epsilon=1)
    make = partial(crowd, tasks=400, workers=9, answers_per_task=9, accuracy=np.full(9, 0.8))
    expected = forecast(make, mechanism=mechanism, runs=10)
    q = float(masked_accuracy(0.8, float(mechanism.flip_probability)))
    right = sum(math.comb(9, k) * q**k * (1 - q) ** (9 - k) for k in range(5, 10))
    assert abs(expected.found.mean - right) < 5 * math.sqrt(right * (1 - right) / 4000)
    assert 1 - expected.found.mean < float(weighted_vote_bound([q] * 9))
    assert expected.majority is not None
    assert expected.majority.mean > expected.constant.mean
    assert expected.gain.mean == 0


def test_more_noise_is_less_truth_and_none_is_no_better_than_a_constant() -> None:
    """Accuracy falls with epsilon; at 0 nothing is found and the forecast says so."""
    found = [
        forecast(SMALL, mechanism=RandomizedResponse(2, epsilon=e), runs=12) for e in (3, 1, 0)
    ]
    means = [one.found.mean for one in found]
    assert means[0] > means[1] > means[2]
    assert abs(means[2] - 0.5) < 0.08
    assert not found[2].worth_it
    assert found[2].gain.mean < 0  # the most frequent truth, known in hindsight, is better


def test_methods_are_compared_on_the_same_reports() -> None:
    """The baseline of two forecasts is the same, whatever the method beside it."""
    mechanism = TwoLayer(2, low=0, high=0.6)
    one, other = (
        forecast(SMALL, mechanism=mechanism, method=m, runs=4)
        for m in (OneCoin(), TruthDiscovery())
    )
    assert one.majority == other.majority
    assert one.constant == other.constant
    assert one.method == "one-coin"
    assert one.mechanism == "two-layer:options=2,low=0,high=0.6"


def test_an_estimator_is_not_changed() -> None:
    """The estimator given stays unfitted and keeps its seed."""
    estimator = MajorityVote(seed=3)
    forecast(SMALL, method=estimator, runs=2)
    assert estimator.seed == 3
    with pytest.raises(AttributeError, match="has learnt nothing yet"):
        _ = estimator.claims_


def test_numbers_stand_beside_the_best_constant() -> None:
    """For numbers the score is an error: the mean's is sqrt(2 / (5 pi)), the constant's 3 of it."""
    expected = forecast(numbers, method="mean", runs=30)
    assert expected.metric == "mae"
    assert expected.majority is None
    assert expected.found.mean == pytest.approx(math.sqrt(2 / math.pi / 5), abs=0.04)
    assert expected.constant.mean == pytest.approx(3 * math.sqrt(2 / math.pi), abs=0.2)
    assert expected.worth_it
    names = expected.to_arrow()["predictor"].to_pylist()
    assert names == ["constant", "mean", "mean, unmasked"]


def test_the_table_and_the_progress_tell_all() -> None:
    """The table has the baselines first; progress is told after each run."""
    told: list[tuple[int, int]] = []
    expected = forecast(SMALL, runs=3, progress=lambda done, runs: told.append((done, runs)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    table = expected.to_arrow()
    assert table["predictor"].to_pylist() == [
        "constant",
        "majority-vote",
        "majority-vote",
        "majority-vote, unmasked",
    ]
    assert table.column_names == ["predictor", "mean", "standard_error", "low", "high"]
    assert (np.array(table["low"]) <= np.array(table["mean"])).all()


def test_one_run_has_no_standard_error() -> None:
    """From one run nothing is known of the spread; no run is an error."""
    expected = forecast(SMALL, runs=1)
    assert math.isnan(expected.found.standard_error)
    assert not expected.worth_it
    with pytest.raises(ParameterError, match="runs is 0"):
        forecast(SMALL, runs=0)


def test_masked_silence_needs_a_presence() -> None:
    """A mechanism that masks "no answer" is simulated as the caller says."""
    make = partial(crowd, tasks=100, workers=30, answers_per_task=10, null_share=0.2)
    mechanism = RandomizedResponse(2, flip_probability=0.2, null=True)
    with pytest.raises(ParameterError, match="presence"):
        forecast(make, mechanism=mechanism, runs=2)
    hidden, assigned = (
        forecast(make, mechanism=mechanism, presence=p, runs=6) for p in ("hidden", "assigned")
    )
    assert hidden.found.mean < assigned.found.mean


def test_runs_are_a_whole_number() -> None:
    """Half a run is refused."""
    with pytest.raises(ParameterError, match=r"runs is 1.5, expected a whole number"):
        forecast(SMALL, runs=1.5)  # type: ignore[arg-type]
