"""Decoders that know the mask: accuracy, the gate, invariances, coverage, and bad reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from masquerade.answers import Claims, Truths
from masquerade.errors import InputError, MissingValue, NotFitted, ParameterError, UnknownLabel
from masquerade.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Mechanism,
    QuantisedResponse,
    RandomizedResponse,
)
from masquerade.truth import NumericAuto, mean_absolute_error
from masquerade.truth.numeric import ChannelEM, HeavyTail, Mean, Moments

Numbers = NDArray[Any]


def rating(epsilon: float) -> QuantisedResponse:
    """Return randomized response on the answers 1 to 5 and "no answer"."""
    return QuantisedResponse(1, 5, epsilon=epsilon, levels=5, null=True)


def web(seed: int, truths: str = "uniform") -> tuple[Claims, Numbers]:
    """Return 34 workers with ratings of 177 tasks from 1 to 5, ten a task, few workers busy."""
    rng = np.random.default_rng(seed)
    activity = 1 + rng.pareto(1.5, 34)
    spread = rng.uniform(0.4, 1.2, 34)
    truth = rng.integers(1, 6, 177) if truths == "uniform" else np.full(177, 3)
    keys = rng.exponential(size=(177, 34)) / activity  # drawn in proportion, without repeats
    worker = np.argsort(keys, axis=1)[:, :10].ravel()
    task = np.repeat(np.arange(177), 10)
    value = np.clip(np.rint(truth[task] + rng.normal(0, spread[worker])), 1, 5)
    return Claims.from_frame({"task": task, "worker": worker, "value": value}), truth * 1.0


def wide(seed: int) -> tuple[Claims, Numbers]:
    """Return 40 workers with answers to 200 tasks from -100 to 100, ten a task."""
    rng = np.random.default_rng(seed)
    truth = np.rint(rng.uniform(-100, 100, 200))
    spread = rng.uniform(10, 45, 40)
    worker = np.argsort(rng.random((200, 40)), axis=1)[:, :10].ravel()
    task = np.repeat(np.arange(200), 10)
    value = np.clip(np.rint(truth[task] + rng.normal(0, spread[worker])), -100, 100)
    return Claims.from_frame({"task": task, "worker": worker, "value": value}), truth


def masked(claims: Claims, mechanism: Mechanism, seed: int, presence: str) -> Claims:
    """Return reports; with assigned presence a tenth of the answers are declined."""
    rng = np.random.default_rng([seed, 1])
    if presence == "assigned" and mechanism.null:
        value = np.where(rng.random(len(claims)) < 0.1, np.nan, claims.value)
        claims = claims.with_values(value, null=True)
    chosen = presence if mechanism.null else None
    return mechanism.simulate(claims, rng, presence=chosen)  # type: ignore[arg-type]


@pytest.mark.parametrize("presence", ["hidden", "assigned"])
@pytest.mark.parametrize(("epsilon", "most"), [(2, 0.60), (4, 0.16)])
def test_ratings_behind_the_mask(presence: str, epsilon: int, most: float) -> None:
    """Over eight crowds, the error is at most .60 at epsilon 2 and .16 at 4; the constant's is 1.2.

    A method that ignores the mask errs at least a third as much again on the same reports.
    """
    mechanism = rating(epsilon)
    found = []
    for seed in range(8):
        claims, truth = web(seed)
        reports = masked(claims, mechanism, seed, presence)
        fits = (method().fit(reports, mechanism=mechanism) for method in (ChannelEM, HeavyTail))
        errors = [float(np.abs(fit.values_ - truth).mean()) for fit in fits]
        found.append([*errors, float(np.abs(3 - truth).mean())])
    ours, naive, constant = np.mean(found, axis=0)
    assert ours <= most
    assert 1.35 * ours <= naive
    assert constant > 1.1


def test_the_gate_closes_where_reports_carry_nothing() -> None:
    """At epsilon 0.1 every task gets one constant, PRIOR_ONLY says so, and intervals are wide."""
    claims, truth = web(1)
    mechanism = rating(0.1)
    fit = ChannelEM().fit(masked(claims, mechanism, 1, "hidden"), mechanism=mechanism)
    assert fit.remarks_[0].code == "PRIOR_ONLY"
    assert str(fit.remarks_[0]).startswith("PRIOR_ONLY: all tasks have one estimate")
    assert set(fit.values_.tolist()) == {fit.constant_}
    assert fit.information_.max() == 0
    truths = Truths.from_frame({"task": claims.tasks, "truth": truth})
    assert mean_absolute_error(fit, truths) == fit.constant_error(truths)
    table = fit.intervals_
    assert (table["high"].to_numpy() - table["low"].to_numpy()).min() >= 3


def test_one_truth_for_all_is_found() -> None:
    """Where all truths are 3, the error is next to none, gate or no gate."""
    for epsilon in (1, 2):
        claims, truth = web(2, truths="three")
        mechanism = rating(epsilon)
        fit = ChannelEM().fit(masked(claims, mechanism, 2, "hidden"), mechanism=mechanism)
        assert np.abs(fit.values_ - truth).mean() < 0.15


def test_a_weak_mask_changes_nothing() -> None:
    """At epsilon 20 the posterior means are those without a mask."""
    claims, _ = web(3)
    mechanism = QuantisedResponse(1, 5, epsilon=20, levels=5)
    reports = masked(claims, mechanism, 3, "assigned")
    assert np.array_equal(reports.value, claims.value)
    with_mask = ChannelEM(estimate="mean").fit(reports, mechanism=mechanism)
    without = ChannelEM(estimate="mean").fit(claims)
    assert np.abs(with_mask.values_ - without.values_).max() < 1e-3


def test_names_and_order_do_not_matter() -> None:
    """Other names of tasks and workers, and shuffled rows, give the same values."""
    claims, _ = web(4)
    mechanism = rating(2)
    table = masked(claims, mechanism, 4, "assigned").to_arrow()
    order = np.random.default_rng(5).permutation(table.num_rows)
    other = {
        "task": [f"t{1000 - t}" for t in table["task"].to_pylist()],
        "worker": [f"w{97 - w}" for w in table["worker"].to_pylist()],
        "value": table["value"].to_pylist(),
    }
    shuffled = {name: [column[i] for i in order] for name, column in other.items()}
    first = ChannelEM().fit(table, mechanism=mechanism)
    second = ChannelEM().fit(shuffled, mechanism=mechanism)
    named = dict(zip(second.claims_.tasks.to_pylist(), second.values_.tolist(), strict=True))
    expected = [named[f"t{1000 - t}"] for t in first.claims_.tasks.to_pylist()]
    assert first.values_.tolist() == expected


def test_answering_rates_are_found() -> None:
    """With hidden presence, the server learns the busy workers and the idle ones."""
    claims, _ = web(5)
    mechanism = rating(4)
    fit = ChannelEM(presence="hidden").fit(
        masked(claims, mechanism, 5, "hidden"), mechanism=mechanism
    )
    rate = np.bincount(claims.worker, minlength=claims.n_workers) / claims.n_tasks
    assert np.corrcoef(fit.reliability_["answering_rate"].to_numpy(), rate)[0, 1] > 0.9


def test_ordinal_options_are_numbers_or_stand_for_some() -> None:
    """Randomized response on categories gives the same as on numbers, in any order of options."""
    claims, truth = web(6)
    mechanism = RandomizedResponse(5, epsilon=3, null=True)
    names = ["E", "A", "C", "B", "D"]  # of 1 to 5
    labels = [names[int(value) - 1] for value in claims.value]
    table = {**claims.to_arrow().drop(["value"]).to_pydict(), "label": labels}
    options = sorted(names)
    ordinal = Claims.from_frame(table, options=options)
    levels = tuple(float(names.index(option) + 1) for option in options)
    reports = mechanism.simulate(ordinal, np.random.default_rng(6), presence="assigned")
    fit = ChannelEM(levels=levels).fit(reports, mechanism=mechanism)
    assert np.abs(fit.values_ - truth).mean() < 0.35
    assert fit.posteriors_.column_names == ["task", "1", "2", "3", "4", "5"]
    assert NumericAuto(levels=levels).fit(reports, mechanism=mechanism).values_.tolist() == (
        fit.values_.tolist()
    )
    with pytest.raises(ParameterError, match="are not numbers; say what each stands for"):
        ChannelEM().fit(reports, mechanism=mechanism)
    with pytest.raises(ParameterError, match="levels has 2 numbers for the 5 options"):
        ChannelEM(levels=(1.0, 2.0)).fit(reports, mechanism=mechanism)


@pytest.mark.parametrize(
    ("mechanism", "gain"),
    [
        (DiscreteLaplace(-100, 100, epsilon=2), 0.8),
        (DiscreteGaussian(-100, 100, sigma=100), 0.95),
        (QuantisedResponse(-100, 100, epsilon=3, null=True), 0.8),
        (DiscreteLaplace(-100, 100, epsilon=4, null=True), 1.0),
    ],
)
def test_wide_ranges_through_every_mechanism(mechanism: Mechanism, gain: float) -> None:
    """On answers from -100 to 100, knowing the noise beats the mean of the reports."""
    claims, truth = wide(1)
    reports = masked(claims, mechanism, 1, "assigned")
    ours, mean = (
        np.abs(method().fit(reports, mechanism=mechanism).values_ - truth).mean()
        for method in (NumericAuto, Mean)
    )
    assert ours <= gain * mean
    assert ours < np.abs(truth).mean()


@pytest.mark.parametrize(
    ("make", "mechanism"),
    [
        (web, rating(2)),
        (wide, QuantisedResponse(-100, 100, epsilon=2, null=True)),
        (wide, DiscreteLaplace(-100, 100, epsilon=3)),
    ],
)
def test_intervals_cover_nine_in_ten(make: object, mechanism: Mechanism) -> None:
    """90 % intervals behind the mask hold 86 to 94 % of truths, over six crowds.

    n is at least 1062 tasks: one standard error is below .01.
    """
    inside = []
    for seed in range(6):
        claims, truth = make(seed)  # type: ignore[operator]
        fit = ChannelEM(confidence=0.9).fit(
            masked(claims, mechanism, seed, "assigned"), mechanism=mechanism
        )
        low, high = (fit.intervals_[name].to_numpy() for name in ("low", "high"))
        inside.append(((low <= truth) & (truth <= high)).mean())
    assert 0.86 <= np.mean(inside) <= 0.94


def test_moments_are_unbiased() -> None:
    """With many reports a task, undoing the counts gives the mean answer."""
    rng = np.random.default_rng(7)
    answers = rng.choice([1.0, 2.0, 5.0], p=[0.2, 0.5, 0.3], size=(4, 3000))
    task, worker = np.divmod(np.arange(answers.size), 3000)
    claims = Claims.from_frame({"task": task, "worker": worker, "value": answers.ravel()})
    mechanism = rating(1)
    reports = mechanism.simulate(claims, rng, presence="assigned")
    fit = Moments().fit(reports, mechanism=mechanism)
    table = fit.intervals_
    off = np.abs(fit.values_ - answers.mean(axis=1)) / table["standard_error"].to_numpy()
    assert off.max() < 5  # standard errors: fails by chance once in 400,000 runs
    naive = Mean().fit(reports, mechanism=mechanism).values_
    assert np.abs(naive - answers.mean(axis=1)).min() > 0.1


def test_moments_say_where_they_have_too_little() -> None:
    """A task without enough behind the noise has no value, and is counted."""
    claims, _ = web(8)
    mechanism = rating(1)
    fit = Moments().fit(masked(claims, mechanism, 8, "hidden"), mechanism=mechanism)
    missing = int(np.isnan(fit.values_).sum())
    assert missing > 0
    assert str(fit.remarks_[0]).startswith(f"INSUFFICIENT: {missing} tasks")


def test_nothing_but_no_answer() -> None:
    """All reports "no answer" give the pooled guess and PRIOR_ONLY, not a crash."""
    rows = {"task": [1, 1, 2, 2], "worker": ["x", "y"] * 2, "value": [None] * 4}
    fit = ChannelEM().fit(rows, mechanism=rating(3))
    codes = {remark.code for remark in fit.remarks_}
    assert {"PRIOR_ONLY", "UNANSWERED"} <= codes
    assert len(set(fit.values_.tolist())) == 1


def test_reports_that_cannot_be_are_refused() -> None:
    """Reports off the levels, off the lattice or missing name the row and the expected value."""
    rows = {"task": [1, 1], "worker": ["x", "y"], "value": [1.0, 2.5]}
    with pytest.raises(UnknownLabel, match=r"row 2: 2\.5 is not a report .* one of its 5 levels"):
        ChannelEM().fit(rows, mechanism=rating(3))
    noise = DiscreteLaplace(1, 5, epsilon=1)
    with pytest.raises(UnknownLabel, match=r"row 2: 2\.5 .* whole number of steps of 1"):
        Mean().fit(rows, mechanism=noise)
    assert Mean().fit({**rows, "value": [-40, 77]}, mechanism=noise).values_ == pytest.approx(18.5)
    claims = Claims.from_frame({**rows, "value": [1.0, None]}, kind="numeric", null=True)
    with pytest.raises(MissingValue, match="row 2: there is no report"):
        Mean().fit(claims, mechanism=noise)
    with pytest.raises(InputError, match="worker 'x' reports on 1 of 2 tasks"):
        ChannelEM(presence="hidden").fit(
            {"task": [1, 2, 2], "worker": ["x", "y", "x"], "value": [1, 1, 1]}
            | {"task": [1, 2], "worker": ["x", "y"], "value": [1, 1]},
            mechanism=rating(3),
        )
    with pytest.raises(ParameterError, match="different values and no mechanism"):
        ChannelEM().fit(wide(1)[0])


def test_nothing_is_known_before_fit_and_options_are_checked() -> None:
    """Results before `fit`, and unknown options, are named errors."""
    with pytest.raises(NotFitted):
        _ = ChannelEM().information_
    for parameters in ({"estimate": "mode"}, {"presence": "secret"}, {"gate": float("nan")}):
        with pytest.raises(ParameterError, match=next(iter(parameters))):
            ChannelEM(**parameters)
    with pytest.raises(ParameterError, match="least"):
        Moments(least=-1)
