"""Votes with learnt weights: gold, zero-based skills, messages, pairs of workers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.mechanisms import RandomizedResponse
from masquerade.simulate import crowd
from masquerade.truth import (
    KOS,
    MMSR,
    CategoricalEstimator,
    GoldMajorityVote,
    MajorityVote,
    ZeroBasedSkill,
    accuracy,
)
from masquerade.truth.matrix_completion import agreements, magnitudes, signs
from masquerade.truth.votes import Votes

ORACLE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "crowd-kit.json").read_text("utf-8")
)


def _weights(fit: CategoricalEstimator) -> dict[str, float]:
    table = fit.reliability_
    return dict(zip(table["worker"].to_pylist(), table["weight"].to_pylist(), strict=True))


def _labels(fit: CategoricalEstimator) -> dict[str, str]:
    return dict(zip(*fit.truths_.to_pydict().values(), strict=True))


def test_weights_of_gold_are_crowd_kits() -> None:
    """Accuracies on known truths are crowd-kit 1.4's, and so are the labels of other tasks."""
    fit = GoldMajorityVote(ties="first").fit(ORACLE["three"], gold=ORACLE["gold"])
    assert _weights(fit) == pytest.approx(ORACLE["gold_skills"], abs=1e-12)
    labels = _labels(fit)
    others = ORACLE["gold_labels"].keys() - ORACLE["gold"].keys()
    assert {task: labels[task] for task in others} == {
        task: ORACLE["gold_labels"][task] for task in others
    }
    assert {task: labels[task] for task in ORACLE["gold"]} == ORACLE["gold"]


def test_zero_based_skills_are_crowd_kits() -> None:
    """Skills are crowd-kit 1.4's after its hundred iterations, to 1e-4: ours end sooner."""
    fit = ZeroBasedSkill(ties="first").fit(ORACLE["three"])
    assert _weights(fit) == pytest.approx(ORACLE["zero_based_skills"], abs=1e-4)
    assert fit.converged_
    assert fit.iterations_ < 100


def test_mmsr_is_crowd_kits() -> None:
    """Log odds of workers are crowd-kit 1.4's to 1e-6 where all pairs have common tasks."""
    fit = MMSR().fit(ORACLE["three"])
    assert _weights(fit) == pytest.approx(ORACLE["mmsr_skills"], abs=1e-6)
    assert fit.solution_.losses[-1] < 1e-10


def test_kos_labels_are_crowd_kits() -> None:
    """Messages that start elsewhere end at crowd-kit 1.4's labels."""
    assert _labels(KOS().fit(ORACLE["two"])) == ORACLE["kos_labels"]


def test_gold_is_needed() -> None:
    """Without a known truth, or a worker's share in one, the error says what to do."""
    rows = {"task": ["a", "a", "b"], "worker": ["x", "y", "z"], "label": ["n", "y", "n"]}
    with pytest.raises(ParameterError, match=r"no truth .* gold="):
        GoldMajorityVote().fit(rows)
    with pytest.raises(ParameterError, match=r"1 workers, such as 'z'.* default_weight"):
        GoldMajorityVote().fit(rows, gold={"a": "y"})
    fit = GoldMajorityVote(default_weight=0.25).fit(rows, gold={"a": "y"})
    assert _weights(fit) == {"x": 0, "y": 1, "z": 0.25}


def test_kos_refuses_more_than_two_options() -> None:
    """Options that are given count, declared ones do not; the error names other methods."""
    rows = {"task": ["a", "a", "a"], "worker": ["x", "y", "z"], "label": ["p", "q", "q"]}
    declared = Claims.from_frame(rows, options=["o", "p", "q"])
    assert KOS().fit(declared).truths_["label"].to_pylist() == ["q"]
    with pytest.raises(ParameterError, match="hold 3; take MMSR"):
        KOS().fit(rows | {"label": ["o", "p", "q"]})


@pytest.mark.parametrize("method", [KOS(), MMSR(), ZeroBasedSkill()], ids=lambda m: m.name)
def test_liars_are_turned_around_or_left_out(method: CategoricalEstimator) -> None:
    """With three liars among eleven, labels are better than the majority's, masked or not."""
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 400)
    right = np.array([0.8] * 8 + [0.05] * 3)
    worker = np.tile(np.arange(11), 400)
    task = np.repeat(np.arange(400), 11)
    label = np.where(rng.random(len(task)) < right[worker], truth[task], 1 - truth[task])
    claims = Claims.from_frame({"task": task, "worker": worker, "label": label})
    plain = (MajorityVote().fit(claims).labels_ == truth).mean()
    assert (method.fit(claims).labels_ == truth).mean() > plain + 0.02
    mask = RandomizedResponse(2, epsilon=2)
    reports = mask.simulate(claims, np.random.default_rng(5))
    plain = (MajorityVote().fit(reports).labels_ == truth).mean()
    masked = method.fit(reports, mechanism=mask)
    assert (masked.labels_ == truth).mean() > plain + 0.02


@pytest.mark.parametrize("method", [KOS(), MMSR(), ZeroBasedSkill()], ids=lambda m: m.name)
def test_a_mask_of_another_size_is_refused(method: CategoricalEstimator) -> None:
    """Methods that do not use a mask still check it."""
    with pytest.raises(ParameterError, match="for 3 options, the claims have 2"):
        method.fit(ORACLE["two"], mechanism=RandomizedResponse(3, epsilon=1))


@pytest.mark.parametrize("method", [KOS, MMSR], ids=lambda m: m.name)
def test_where_nothing_is_known_of_anybody_votes_count_alike(method: Any) -> None:
    """One task, or nobody with a second one, gives the majority."""
    rows = {"task": ["a"] * 3, "worker": ["x", "y", "z"], "label": ["n", "n", "y"]}
    assert method().fit(rows).truths_["label"].to_pylist() == ["n"]


def test_the_order_of_rows_does_not_matter_to_messages() -> None:
    """First messages belong to names: shuffled rows give the same labels and weights."""
    claims, _ = crowd(np.random.default_rng(6), tasks=60, workers=12, answers_per_task=5)
    order = np.random.default_rng(7).permutation(len(claims))
    table = claims.to_arrow()
    one, other = KOS().fit(table), KOS().fit(table.take(order))
    assert _labels(one) == _labels(other)
    assert _weights(one) == pytest.approx(_weights(other), abs=1e-6)


def test_known_truths_choose_the_sign_of_messages() -> None:
    """In a crowd that is mostly wrong, a few truths turn all labels around."""
    claims, truths = crowd(
        np.random.default_rng(8), tasks=200, workers=20, answers_per_task=10, accuracy=(3.0, 9.0)
    )
    gold = dict(zip(*truths.table.slice(0, 30).to_pydict().values(), strict=True))
    assert accuracy(KOS().fit(claims), truths) < 0.3
    assert accuracy(KOS().fit(claims, gold=gold), truths) > 0.8


def test_exact_skills_give_exact_agreement() -> None:
    """From a matrix that is a product of skills, the completion finds the skills."""
    skill = np.array([0.9, 0.7, 0.5, 0.3, -0.4, 0.8])
    target = np.outer(skill, skill)
    seen = ~np.eye(6, dtype=bool)
    start = np.full(6, 0.5)
    found, losses, converged = magnitudes(
        np.abs(target), seen, start, 10_000, max_iterations=1000, tolerance=1e-12
    )
    assert converged
    assert losses[-1] < 1e-12
    assert found * signs(np.where(seen, target, 0)) == pytest.approx(skill, abs=1e-9)


def test_agreement_beyond_chance() -> None:
    """Two of three common tasks alike, of two options: 2 * 2/3 - 1; 0 without a common task."""
    rows = {
        "task": ["a", "b", "c", "a", "b", "c", "d"],
        "worker": ["x"] * 3 + ["y"] * 3 + ["z"],
        "label": ["n", "n", "n", "n", "n", "y", "n"],
    }
    agreement, seen = agreements(Votes.of(Claims.from_frame(rows)))
    assert agreement[0, 1] == pytest.approx(1 / 3)
    assert agreement[2].tolist() == [0, 0, 0]
    assert seen.tolist() == [[False, True, False], [True, False, False], [False] * 3]


@pytest.mark.parametrize(
    ("method", "bad", "message"),
    [
        (ZeroBasedSkill, {"rate": 0}, "rate is 0, expected above 0"),
        (ZeroBasedSkill, {"rate_factor": 1}, "rate_factor is 1, expected above 0 and below 1"),
        (ZeroBasedSkill, {"max_iterations": 0}, "max_iterations is 0, expected at least 1"),
        (GoldMajorityVote, {"default_weight": np.inf}, "default_weight is inf, expected finite"),
        (KOS, {"tolerance": 0}, "tolerance is 0, expected above 0"),
        (MMSR, {"max_iterations": 0}, "max_iterations is 0, expected at least 1"),
    ],
)
def test_parameters_out_of_range(method: Any, bad: dict[str, Any], message: str) -> None:
    """Each is refused by name, with its range."""
    with pytest.raises(ParameterError, match=message):
        method(**bad)
