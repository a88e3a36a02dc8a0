"""Reports that went through different mechanisms: each counts with its information."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from masquerade.answers import Claims, Truths
from masquerade.errors import MissingValue, ParameterError, UnknownLabel
from masquerade.mechanisms import (
    DiscreteLaplace,
    Mechanism,
    QuantisedResponse,
    RandomizedResponse,
    TwoLayer,
)
from masquerade.truth import (
    METHODS,
    Auto,
    BayesianCombination,
    CategoricalEstimator,
    GoldMajorityVote,
    MajorityVote,
    NumericAuto,
    OneCoin,
    ReportMechanisms,
    Subtypes,
    accuracy,
    reliability_intervals,
)
from masquerade.truth.numeric import ChannelEM, Moments

CATEGORICAL = [method for method in METHODS if issubclass(method, CategoricalEstimator)]
# Methods that need no known truths.
GENERAL = [method for method in CATEGORICAL if method is not GoldMajorityVote]
LEVELS = {"high": RandomizedResponse(2, epsilon=1), "low": RandomizedResponse(2, epsilon=4)}


def crowd(
    seed: int, *, tasks: int = 300, levels: dict[str, Any] = LEVELS, each: int = 10
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Return reports of 40 workers, every other one at another level; truths, and accuracies."""
    rng = np.random.default_rng(seed)
    truth, right = rng.integers(0, 2, tasks), rng.beta(8, 3, 40)
    worker = np.argsort(rng.random((tasks, 40)), axis=1)[:, :each].ravel()
    task = np.repeat(np.arange(tasks), each)
    label = np.where(rng.random(len(task)) < right[worker], truth[task], 1 - truth[task])
    answers = Claims.from_frame({"task": task, "worker": worker, "label": label}, options=[0, 1])
    names = np.array(list(levels))[worker % len(levels)]
    report = label.copy()
    for name, mechanism in levels.items():
        rows = names == name
        report[rows] = mechanism.simulate(answers, rng).value[rows]
    return {"task": task, "worker": worker, "label": report, "level": names}, truth, right


def truths(truth: np.ndarray) -> Truths:
    """Return truths as a table."""
    return Truths.from_frame({"task": np.arange(len(truth)), "truth": truth})


@pytest.mark.parametrize("method", GENERAL, ids=lambda method: method.name)
def test_every_method_takes_a_mechanism_a_level(method: type[CategoricalEstimator]) -> None:
    """With a table of levels every method labels tasks, and knows all workers by their names."""
    table, truth, _ = crowd(1)
    fit = method().fit(table, mechanism=LEVELS)
    assert accuracy(fit, truths(truth)) > 0.8
    assert sorted(fit.reliability_["worker"].to_pylist()) == list(range(40))
    assert fit.reliability_["claims"].to_pylist() == np.bincount(fit.claims_.worker).tolist()
    assert len(fit.solution_.weight) == 40


@pytest.mark.parametrize("method", GENERAL, ids=lambda method: method.name)
def test_levels_of_one_mechanism_are_that_mechanism(method: type[CategoricalEstimator]) -> None:
    """Where all levels have the same mechanism, labels and reliability are as with that one."""
    same = RandomizedResponse(2, epsilon=2)
    table, _, _ = crowd(2, tasks=120, levels={"a": same, "b": same})
    one = method().fit(table, mechanism=same)
    other = method().fit(table, mechanism={"a": same, "b": same})
    assert np.allclose(one.solution_.posteriors, other.solution_.posteriors, atol=2e-2)
    assert np.allclose(one.solution_.reliability, other.solution_.reliability, atol=2e-2)


def test_reliability_is_of_answers_at_every_level() -> None:
    """Workers are found as good as their answers are, however much their reports were masked."""
    off: dict[str, list[float]] = {"high": [], "low": []}
    for seed in range(6):
        table, _, right = crowd(seed)
        fit = BayesianCombination().fit(table, mechanism=LEVELS)
        worker = fit.claims_.workers.to_numpy()
        bias = fit.solution_.reliability - right[worker]
        for place, name in enumerate(LEVELS):
            off[name].append(float(bias[worker % 2 == place].mean()))
    # 20 workers a level and six crowds: a standard error of .015 and less
    assert abs(np.mean(off["high"])) < 0.06
    assert abs(np.mean(off["low"])) < 0.06


@pytest.mark.parametrize("method", [Auto, BayesianCombination, Subtypes])
def test_intervals_of_reliability_hold(method: type[CategoricalEstimator]) -> None:
    """Of 90 % intervals 85 to 95 in a hundred hold, over both levels; at least .8 at either."""
    inside: list[np.ndarray] = []
    for seed in range(8):
        table, _, right = crowd(100 + seed)
        fit = method().fit(table, mechanism=LEVELS)
        interval, worker = reliability_intervals(fit), fit.claims_.workers.to_numpy()
        low, high = (interval[end].to_numpy() for end in ("low", "high"))
        inside.append(((low <= right[worker]) & (right[worker] <= high))[np.argsort(worker)])
    held = np.array(inside)
    assert 0.85 <= held.mean() <= 0.95
    assert min(held[:, level::2].mean() for level in (0, 1)) > 0.8


def test_knowing_the_levels_weighs_reports_rightly() -> None:
    """A report at a strong mask counts less than one at a weak mask, by the same worker or not."""
    table, _, _ = crowd(3)
    fit = OneCoin().fit(table, mechanism=LEVELS)
    weight, worker = fit.solution_.weight, fit.claims_.workers.to_numpy()
    assert weight[worker % 2 == 1].mean() > 2 * weight[worker % 2 == 0].mean()


def test_a_worker_may_report_at_several_levels() -> None:
    """Levels may differ by report: a worker's figures join those of all levels."""
    table, truth, right = crowd(4)
    rng = np.random.default_rng(5)
    answers = crowd(4, levels={"clear": RandomizedResponse(2, epsilon=12)})[0]["label"]
    clear = Claims.from_frame({**table, "label": answers}, options=[0, 1])
    level = np.where(rng.random(len(answers)) < 0.5, "high", "low")
    report = answers.copy()
    for name, mechanism in LEVELS.items():
        report[level == name] = mechanism.simulate(clear, rng).value[level == name]
    fit = BayesianCombination().fit({**table, "label": report, "level": level}, mechanism=LEVELS)
    assert accuracy(fit, truths(truth)) > 0.85
    worker = fit.claims_.workers.to_numpy()
    assert np.abs(fit.solution_.reliability - right[worker]).mean() < 0.1
    assert fit.solution_.reliability_error is not None
    assert (fit.solution_.reliability_error > 0).all()


def test_a_column_of_mechanisms_is_read() -> None:
    """Text forms in a column `mechanism` are the mechanisms of the rows, unasked."""
    table, _, _ = crowd(6, tasks=80)
    texts = [str(LEVELS[name]) for name in table["level"]]
    one = OneCoin().fit({**table, "mechanism": texts})
    other = OneCoin().fit(table, mechanism=LEVELS)
    assert np.allclose(one.solution_.posteriors, other.solution_.posteriors)
    arrow = pa.table({name: pa.array(column) for name, column in table.items()})
    masks = ReportMechanisms.read(arrow, LEVELS)
    third = OneCoin().fit(Claims.from_frame(table), mechanism=masks)
    assert np.allclose(third.solution_.posteriors, other.solution_.posteriors)


def test_two_layers_may_stand_beside_one() -> None:
    """A level that draws flip probabilities stands beside one that does not, gold labels too."""
    levels = {"two": TwoLayer(2, low=0, high="0.6"), "one": RandomizedResponse(2, epsilon=2)}
    table, truth, _ = crowd(7, levels=levels)
    for method in (BayesianCombination, OneCoin, Auto):
        fit = method().fit(table, mechanism=levels, gold={0: int(truth[0]), 1: int(truth[1])})
        assert accuracy(fit, truths(truth)) > 0.85
        assert fit.labels_[:2].tolist() == truth[:2].tolist()
        assert not fit.orientation_ambiguous_


def test_no_answer_has_a_share_of_its_own_at_each_level() -> None:
    """Each level's share of people without an answer is estimated by itself."""
    levels = {
        name: RandomizedResponse(2, epsilon=epsilon, null=True)
        for name, epsilon in (("high", 1), ("low", 5))
    }
    table, truth, _ = crowd(8)
    clear = Claims.from_frame({**table, "label": truth[table["task"]]}, options=[0, 1])
    silent = (np.random.default_rng(1).random(len(clear)) < 0.3) & (table["level"] == "low")
    answers = clear.with_values(np.where(silent, 2, clear.value).astype(np.int32), null=True)
    report = answers.value.copy()
    for name, mechanism in levels.items():
        rows = table["level"] == name
        drawn = mechanism.simulate(answers, np.random.default_rng(2), presence="assigned")
        report[rows] = drawn.value[rows]
    label = [None if code == 2 else int(code) for code in report]
    fit = OneCoin().fit({**table, "label": label}, mechanism=levels)
    assert accuracy(fit, truths(truth)) > 0.97
    assert fit.solution_.reliability.mean() > 0.85


@pytest.mark.parametrize("method", [ChannelEM, NumericAuto, Moments])
def test_numbers_may_go_through_several_masks(method: type[Any]) -> None:
    """Masked ratings of two levels are decoded together, nearer than by the strong mask alone."""
    rng = np.random.default_rng(9)
    levels = {
        name: QuantisedResponse(1, 5, epsilon=epsilon, levels=5)
        for name, epsilon in (("high", 1), ("low", 5))
    }
    truth = rng.integers(1, 6, 120).astype(float)
    task, worker = np.repeat(np.arange(120), 10), np.tile(np.arange(10), 120)
    value = np.clip(np.rint(truth[task] + rng.normal(0, 0.5, 1200)), 1, 5)
    answers = Claims.from_frame({"task": task, "worker": worker, "value": value})
    level = np.where(worker < 5, "high", "low")
    drawn = {name: mask.simulate(answers, rng).value for name, mask in levels.items()}
    report = np.where(level == "high", drawn["high"], drawn["low"])
    table = {"task": task, "worker": worker, "value": report, "level": level}
    fit = method().fit(table, mechanism=levels)
    # counts that are unmasked task by task borrow nothing from other tasks
    assert np.nanmean(np.abs(fit.values_ - truth)) < (0.5 if method is Moments else 0.2)
    strong = ChannelEM().fit({**table, "value": drawn["high"]}, mechanism=levels["high"])
    assert np.nanmean(np.abs(fit.values_ - truth)) < np.abs(strong.values_ - truth).mean()
    low, high = (fit.intervals_[end].to_numpy() for end in ("low", "high"))
    assert ((low <= truth) & (truth <= high)).mean() > 0.9


def test_moments_of_levels_of_one_mask_are_that_masks() -> None:
    """Levels of one mask give that mask's values and intervals; a level of mere noise adds none."""
    rng = np.random.default_rng(12)
    mask = QuantisedResponse(1, 5, epsilon=3, levels=5)
    task, worker = np.repeat(np.arange(40), 30), np.tile(np.arange(30), 40)
    answers = Claims.from_frame({"task": task, "worker": worker, "value": 1.0 + task % 5})
    report = mask.simulate(answers, rng).value
    table = {"task": task, "worker": worker, "value": report}
    one = Moments().fit(table, mechanism=mask)
    level = np.where(worker < 10, "a", "b")
    other = Moments().fit({**table, "level": level}, mechanism={"a": mask, "b": mask})
    assert np.allclose(one.values_, other.values_, equal_nan=True)
    assert one.intervals_["high"].to_pylist() == pytest.approx(other.intervals_["high"].to_pylist())
    blind = QuantisedResponse(1, 5, epsilon="0.0001", levels=5)
    kept = worker >= 10
    rest = Moments().fit({name: column[kept] for name, column in table.items()}, mechanism=mask)
    beside = Moments().fit({**table, "level": level}, mechanism={"a": blind, "b": mask})
    assert np.allclose(rest.values_, beside.values_, atol=1e-3, equal_nan=True)


@pytest.mark.parametrize(
    ("change", "levels", "error", "message"),
    [
        ({"level": ["high", "mid"]}, LEVELS, UnknownLabel, "row 2: 'mid' is none of the levels"),
        ({"level": ["high", None]}, LEVELS, MissingValue, "row 2: nothing is named"),
        ({}, LEVELS, ParameterError, "no column 'level'"),
        ({"mechanism": ["x", "y"]}, None, ParameterError, "x"),
        (
            {"level": ["high", "low"], "label": [0, None]},
            LEVELS,
            MissingValue,
            "row 2",
        ),
        (
            {"level": ["a", "b"]},
            {"a": LEVELS["low"], "b": RandomizedResponse(3, epsilon=1)},
            ParameterError,
            "mask different questions",
        ),
        (
            {"level": ["a", "a"]},
            {"a": DiscreteLaplace(1, 5, step=1, epsilon=1)},
            ParameterError,
            "discrete-laplace",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    change: dict[str, Any],
    levels: dict[str, Mechanism] | None,
    error: type[Exception],
    message: str,
) -> None:
    """The row and the name are in the message."""
    table = {"task": [1, 2], "worker": [1, 1], "label": [0, 1], **change}
    with pytest.raises(error, match=message):
        MajorityVote().fit(table, mechanism=levels)


@pytest.mark.parametrize(
    ("duplicates", "label", "level"), [("first", 0, "high"), ("last", 1, "low")]
)
def test_dropped_rows_lose_their_mechanisms(duplicates: Any, label: int, level: str) -> None:
    """Where a worker answered twice, the claim that stays has the mechanism of its own row."""
    table = {"task": [1, 1, 2], "worker": [1, 1, 1], "label": [0, 1, 0]}
    named = {**table, "level": ["high", "low", "low"]}
    claims, masks = ReportMechanisms.with_claims(named, LEVELS, duplicates=duplicates)
    assert claims.value.tolist() == [label, 0]
    assert [str(masks.mechanisms[place]) for place in masks.place(claims)] == [
        str(LEVELS[level]),
        str(LEVELS["low"]),
    ]


def test_rows_and_mechanisms_have_to_be_as_many() -> None:
    """Mechanisms of another table are refused, and so are none, and levels for claims alone."""
    claims = Claims.from_frame({"task": [1, 2], "worker": [1, 1], "label": [0, 1]})
    masks = ReportMechanisms((LEVELS["low"],), np.zeros(3, dtype=np.int32))
    with pytest.raises(ParameterError, match="of 3 reports, there are 2"):
        MajorityVote().fit(claims, mechanism=masks)
    with pytest.raises(ParameterError, match="there is no mechanism"):
        ReportMechanisms((), np.zeros(2, dtype=np.int32))
    with pytest.raises(ParameterError, match="needs a table with a column 'level'"):
        MajorityVote().fit(claims, mechanism=LEVELS)
