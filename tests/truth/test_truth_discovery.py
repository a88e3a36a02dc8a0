"""Truth discovery: weights, floors, components, convergence."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.simulate import crowd
from masquerade.truth import MajorityVote, TruthDiscovery, accuracy
from masquerade.truth.truth_discovery import Weights

KINDS = get_args(Weights)


def test_weights_are_the_documented_functions_of_accuracy() -> None:
    """One round on a small table gives the weights of the formulas, worked by hand."""
    rows = {
        "task": ["a", "a", "a", "b", "b", "b"],
        "worker": ["x", "y", "z", "x", "y", "z"],
        "label": ["0", "0", "1", "2", "2", "1"],
    }
    claims = Claims.from_frame(rows)  # x and y agree with both majorities, z with none
    good, bad = 3 / 4, 1 / 4
    total = 2 * (1 - good) + (1 - bad)
    for weights, expected in (
        ("logit", [math.log(2 * good / (1 - good)), math.log(2 * bad / (1 - bad))]),
        ("linear", [good, bad]),
        ("share", [-math.log((1 - good) / total), -math.log((1 - bad) / total)]),
    ):
        table = TruthDiscovery(weights=weights, floor=None).fit(claims).reliability_  # type: ignore[arg-type]
        assert table["reliability"].to_pylist() == pytest.approx([good, good, bad])
        assert table["weight"].to_pylist() == pytest.approx([expected[0], *expected])
    assert TruthDiscovery().fit(claims).reliability_["weight"][2].as_py() == 0.01


@pytest.mark.parametrize("weights", KINDS)
@pytest.mark.parametrize("options", [2, 5])
def test_weighting_beats_counting_where_workers_differ(weights: Weights, options: int) -> None:
    """Experts among guessers are found, for every weight and number of options."""
    ability = np.where(np.arange(40) < 12, 0.95, 1 / options)
    claims, truths = crowd(
        np.random.default_rng(5), tasks=500, workers=40, options=options, accuracy=ability
    )
    votes = accuracy(MajorityVote().fit(claims), truths)
    assert accuracy(TruthDiscovery(weights=weights).fit(claims), truths) > votes + 0.02


def test_many_options_do_not_turn_the_vote_against_the_truth() -> None:
    """Workers below one half, yet far above chance, keep positive weights."""
    claims, truths = crowd(
        np.random.default_rng(6), tasks=300, workers=30, options=6, accuracy=np.full(30, 0.45)
    )
    for floor in (0.01, None):
        fit = TruthDiscovery(floor=floor).fit(claims)
        assert min(fit.reliability_["weight"].to_pylist()) > 0
        assert accuracy(fit, truths) > 0.8


def test_without_a_floor_a_liar_is_evidence() -> None:
    """A worker that is always wrong gets a negative weight and helps with two options."""
    ability = np.array([0.75, 0.75, 0.75, 0.75, 0.02, 0.02])
    claims, truths = crowd(
        np.random.default_rng(7), tasks=600, workers=6, answers_per_task=6, accuracy=ability
    )
    free, floored = (TruthDiscovery(floor=floor).fit(claims) for floor in (None, 0.0))
    weight = dict(
        zip(*(free.reliability_[c].to_pylist() for c in ("worker", "weight")), strict=True)
    )
    assert max(weight["w4"], weight["w5"]) < -1
    assert accuracy(free, truths) > accuracy(floored, truths) + 0.05


@pytest.mark.parametrize("weights", KINDS)
def test_halves_that_share_nothing_are_solved_alone(weights: Weights) -> None:
    """Joining two crowds that share neither task nor worker changes neither's result."""
    tables = []
    for half in (0, 1):
        claims, _ = crowd(np.random.default_rng(half), tasks=40, workers=8, answers_per_task=5)
        table = claims.to_arrow().to_pydict()
        tables.append(
            {
                "task": [f"{half}{task}" for task in table["task"]],
                "worker": [f"{half}{worker}" for worker in table["worker"]],
                "label": table["label"],
            }
        )
    joined = {name: tables[0][name] + tables[1][name] for name in tables[0]}
    both = TruthDiscovery(weights=weights).fit(joined)
    alone = [TruthDiscovery(weights=weights).fit(table) for table in tables]
    assert both.components_ == 2
    assert np.allclose(both.scores_, np.concatenate([fit.scores_ for fit in alone]))
    assert both.labels_.tolist() == np.concatenate([fit.labels_ for fit in alone]).tolist()


def test_a_run_cut_short_says_so() -> None:
    """Where winners still change at the last iteration allowed, converged_ is false."""
    claims, _ = crowd(np.random.default_rng(8), tasks=500, workers=60, answers_per_task=4)
    whole = TruthDiscovery().fit(claims)
    assert whole.converged_
    assert whole.iterations_ > 1
    cut = TruthDiscovery(max_iterations=1).fit(claims)
    assert not cut.converged_
    assert cut.iterations_ == 1


@pytest.mark.parametrize("known", [0, 40])
def test_agreements_kept_up_are_those_counted_anew(known: int) -> None:
    """After every round accuracies follow from the leaders before it, ties and gold included."""
    claims, truths = crowd(
        np.random.default_rng(12), tasks=400, workers=50, options=4, answers_per_task=4
    )
    gold = dict(zip(*truths.table.slice(0, known).to_pydict().values(), strict=True)) or None
    leaders = MajorityVote().fit(claims, gold=gold).chances_
    assert leaders.max(axis=1).min() < 1  # some tasks are tied
    rounds = TruthDiscovery().fit(claims, gold=gold).iterations_
    assert rounds >= 3
    for done in range(1, rounds + 1):
        method = TruthDiscovery(max_iterations=done).fit(claims, gold=gold)
        agreed, answers = np.zeros(claims.n_workers), np.zeros(claims.n_workers)
        np.add.at(agreed, claims.worker, leaders[claims.task, claims.value])
        np.add.at(answers, claims.worker, 1)
        expected = method.accuracy(agreed, answers)
        np.testing.assert_allclose(method.solution_.reliability, expected, rtol=0, atol=1e-12)
        leaders = method.chances_


def test_smoothing_zero_is_clipped() -> None:
    """Without smoothing, full agreement gives the clipped accuracy and finite weights."""
    rows = {"task": ["a", "a"], "worker": ["x", "y"], "label": ["no", "no"]}
    fit = TruthDiscovery(smoothing=0).fit(rows)
    assert fit.reliability_["reliability"].to_pylist() == [0.99, 0.99]
    assert np.isfinite(fit.scores_).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weights": "log"}, "weights is 'log', expected one of 'logit', 'linear', 'share'"),
        ({"smoothing": -1}, "smoothing is -1, expected at least 0"),
        ({"smoothing": math.nan}, "smoothing is nan"),
        ({"clip": 0}, "clip is 0, expected above 0"),
        ({"clip": 0.5}, "clip is 0.5"),
        ({"floor": math.inf}, "floor is inf"),
        ({"max_iterations": 0}, "max_iterations is 0, expected at least 1"),
        ({"ties": "none"}, "ties is 'none'"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, object], message: str) -> None:
    """A parameter out of range is refused when the estimator is made."""
    with pytest.raises(ParameterError, match=message):
        TruthDiscovery(**parameters)  # type: ignore[arg-type]
