"""Gold labels, remarks on unusual claims, and the mask that inference sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from masquerade.answers import Claims, Truths
from masquerade.errors import MixedTypes, UnknownLabel
from masquerade.mechanisms import RandomizedResponse, TwoLayer
from masquerade.simulate import crowd
from masquerade.truth import (
    METHODS,
    CategoricalEstimator,
    DawidSkene,
    GoldMajorityVote,
    MajorityVote,
    Subtypes,
    accuracy,
)
from masquerade.truth.channel_view import OptionChannel
from masquerade.truth.confusions import LabelWeights
from masquerade.truth.dawid_skene import DawidSkeneModel
from masquerade.truth.diagnostics import components
from masquerade.truth.expectation_maximization import Crowd, SufficientStatistics, VoteBlock
from masquerade.truth.votes import Votes

CATEGORICAL = [method for method in METHODS if issubclass(method, CategoricalEstimator)]
# Methods that need no known truths.
GENERAL = [method for method in CATEGORICAL if method is not GoldMajorityVote]
every_method = pytest.mark.parametrize("method", GENERAL, ids=lambda m: m.name)


def _rows(*cells: tuple[Any, Any, Any]) -> dict[str, list[Any]]:
    return dict(zip(("task", "worker", "label"), map(list, zip(*cells, strict=True)), strict=True))


@every_method
def test_gold_labels_are_kept(method: type[CategoricalEstimator]) -> None:
    """A known truth is the label for all votes, also of a task without votes."""
    rows = _rows(("a", "x", "n"), ("a", "y", "n"), ("b", "x", "y"), ("c", "x", None))
    claims = Claims.from_frame(rows, null=True)
    fit = method().fit(claims, gold={"a": "y", "c": "n", "elsewhere": "y"})
    labels = dict(zip(*fit.truths_.to_pydict().values(), strict=True))
    assert (labels["a"], labels["c"]) == ("y", "n")
    posterior = fit.posteriors_.to_pylist()
    assert posterior[0]["y"] == pytest.approx(1)


@pytest.mark.parametrize("kind", ["truths", "table", "dict"])
def test_gold_may_be_of_several_kinds(kind: str) -> None:
    """Truths, a table with task and truth, and a dict are the same."""
    table = pa.table({"task": ["a"], "truth": ["y"]})
    gold = {"truths": Truths.from_frame(table), "table": table, "dict": {"a": "y"}}[kind]
    fit = MajorityVote().fit(_rows(("a", "x", "n"), ("b", "x", "y")), gold=gold)
    assert fit.truths_["label"].to_pylist() == ["y", "y"]


def test_gold_outside_the_options_is_refused() -> None:
    """The task is named."""
    with pytest.raises(UnknownLabel, match="task 'a'"):
        MajorityVote().fit(_rows(("a", "x", "n"), ("b", "x", "y")), gold={"a": "maybe"})


@every_method
def test_gold_is_forgotten(method: type[CategoricalEstimator]) -> None:
    """A second fit without gold does not know of it."""
    rows = _rows(("a", "x", "n"), ("a", "y", "n"), ("b", "x", "y"), ("b", "y", "y"))
    fit = method()
    fit.fit(rows, gold={"a": "y"})
    assert fit.fit(rows).truths_["label"].to_pylist() == ["n", "y"]


UNUSUAL = {
    "ONE_WORKER": _rows(("a", "x", "n"), ("b", "x", "y")),
    "ONE_TASK": _rows(("a", "x", "n"), ("a", "y", "n"), ("a", "z", "y")),
    "ALL_EQUAL": _rows(("a", "x", "n"), ("a", "y", "n"), ("b", "x", "n")),
    "SINGLE_ANSWER": _rows(("a", "x", "n"), ("a", "y", "n"), ("b", "x", "y")),
    "SEEN_ONCE": _rows(("a", "x", "n"), ("a", "y", "n"), ("b", "x", "y"), ("b", "z", "y")),
    "DISCONNECTED": _rows(("a", "x", "n"), ("a", "y", "n"), ("b", "z", "y"), ("b", "w", "y")),
    "CONSTANT_WORKER": _rows(
        *((t, w, "y" if t == "f" and w != "z" else "n") for t in "abcdef" for w in "xyz")
    ),
}


@every_method
@pytest.mark.parametrize("code", UNUSUAL)
def test_unusual_claims_are_remarked_on(method: type[CategoricalEstimator], code: str) -> None:
    """Claims too small or too odd to learn from give the votes' labels, and a remark."""
    rows = UNUSUAL[code]
    fit = method().fit(rows)
    assert code in {remark.code for remark in fit.remarks_}
    majority = MajorityVote().fit(rows).truths_
    # Of six tasks five are surely "n": to `Subtypes` that says more than two votes of three.
    if (method, code) != (Subtypes, "CONSTANT_WORKER"):
        assert fit.truths_.to_pylist() == majority.to_pylist()
    assert np.isfinite(fit.solution_.posteriors).all()
    assert fit.solution_.posteriors.sum(axis=1) == pytest.approx(np.ones(majority.num_rows))


@every_method
@pytest.mark.parametrize("mask", ["one layer", "two layers", "null"])
def test_every_method_takes_masked_claims(method: type[CategoricalEstimator], mask: str) -> None:
    """Behind every mask, with three options, all methods beat chance by twenty points."""
    null = mask == "null"
    claims, truths = crowd(
        np.random.default_rng(1),
        tasks=150,
        workers=20,
        options=3,
        answers_per_task=15,
        null_share=0.2 if null else 0.0,
    )
    mechanism = (
        TwoLayer(3, low=0, high="0.6")
        if mask == "two layers"
        else RandomizedResponse(3, epsilon=2, null=null)
    )
    presence: Any = "assigned" if null else None
    reports = mechanism.simulate(claims, np.random.default_rng(2), presence=presence)
    fit = method().fit(reports, mechanism=mechanism)
    assert accuracy(fit, truths) > 1 / 3 + 0.2


def test_exact_the_mask_given_that_an_option_was_reported() -> None:
    """The flip given an option is that of the enumerated table of people with and without one."""
    options, away = 3, 0.25
    mechanism = RandomizedResponse(options, epsilon=1, null=True)
    table = mechanism.channel().matrix()
    null_share = away * table[3, 3] + (1 - away) * table[0, 3]
    joint = (1 - away) * table[0, :3] + away * table[3, :3]  # truth 0, all who answer know it
    channel = OptionChannel.of(mechanism, n_options=options, null_share=float(null_share))
    assert channel.flip == pytest.approx([1 - joint[0] / joint.sum()])
    assert channel.channels()[0].sum(axis=1) == pytest.approx(np.ones(3))


def test_unmasked_shares_are_those_of_answers() -> None:
    """Shares of reports that are exactly expected give back the shares of answers."""
    channel = OptionChannel.of(RandomizedResponse(4, epsilon=1), n_options=4, null_share=0)
    shares = np.array([[0.5, 0.3, 0.2, 0.0], [0.25] * 4])
    assert channel.unmasked(shares @ channel.channels()[0]) == pytest.approx(shares)


def test_blocks_of_tasks_add_up() -> None:
    """The sums of two halves of the tasks on workers are those of all, to rounding."""
    claims, _ = crowd(np.random.default_rng(3), tasks=60, workers=12, options=3)
    rng = np.random.default_rng(4)
    log_confusion = np.log(rng.dirichlet(np.ones(3), size=(12, 3)))
    log_prior = np.log(np.array([0.5, 0.3, 0.2]))

    model = DawidSkeneModel(
        DawidSkene(), Crowd(3, np.ones(12), 0.0, None, lambda: components(claims))
    )

    def statistics(rows: np.ndarray) -> SufficientStatistics:
        part = Claims(
            claims.task[rows],
            claims.worker[rows],
            claims.value[rows],
            claims.tasks,
            claims.workers,
            claims.options,
        )
        block = VoteBlock(Votes.of(part), np.full(claims.n_tasks, -1, dtype=np.int32))
        return model.expectation_step(block, LabelWeights(log_confusion, log_prior))[1]

    half = claims.task < 30
    both = statistics(half) + statistics(~half)
    whole = statistics(np.ones(len(claims), dtype=bool))
    assert both.counts == pytest.approx(whole.counts)
    assert both.log_likelihood == pytest.approx(whole.log_likelihood)


@pytest.mark.parametrize("gold", [{"a": "u", "b": 1}, {"a": "u", 1: "u"}])
def test_gold_of_mixed_types_is_named(gold: dict[Any, Any]) -> None:
    """Gold labels or tasks of several types are an error with the row."""
    rows = {"task": ["a", "b"], "worker": ["x", "x"], "label": ["u", "v"]}
    with pytest.raises(MixedTypes, match="row 2: 1 is int while earlier rows hold str"):
        MajorityVote().fit(rows, gold=gold)
