"""Methods that weight workers: known cases, invariances, coverage, and odd claims."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from masquerade.answers import Claims, Truths
from masquerade.errors import MissingValue, ParameterError, SchemaError
from masquerade.truth import NumericAuto, NumericEstimator, mean_absolute_error, method_named
from masquerade.truth.numeric import CATD, GaussianTruth, HeavyTail, Mean, Median, Reliability

WEIGHTED = [CATD, GaussianTruth, Reliability, HeavyTail, NumericAuto]
ALL = [Mean, Median, *WEIGHTED]
Numbers = NDArray[np.float64]


def crowd(
    seed: int, *, tasks: int = 150, workers: int = 30, each: int = 8, gross: float = 0.0
) -> tuple[Claims, Numbers]:
    """Return claims of workers with spread-out precision, and the truths in the claims' order."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(50, 20, tasks)
    spread = np.exp(rng.normal(1, 0.7, workers))
    worker = np.argsort(rng.random((tasks, workers)), axis=1)[:, :each].ravel()
    task = np.repeat(np.arange(tasks), each)
    error = rng.normal(0, spread[worker])
    mistaken = rng.random(len(task)) < gross
    error[mistaken] = rng.normal(0, 200, int(mistaken.sum()))
    rows = {"task": task, "worker": worker, "value": truth[task] + error}
    return Claims.from_frame(rows), truth


@pytest.mark.parametrize("method", WEIGHTED)
def test_weights_beat_the_mean_where_workers_differ(method: type[NumericEstimator]) -> None:
    """With precision spread over workers, every weighted method errs less than the mean."""
    claims, truth = crowd(1)
    ours, theirs = (np.abs(one().fit(claims).values_ - truth).mean() for one in (method, Mean))
    assert ours < 0.95 * theirs


def test_heavy_tails_forgive_gross_mistakes() -> None:
    """With 5 % of claims far off, heavy tails beat mean and median, and auto is as good."""
    claims, truth = crowd(2, gross=0.05)
    error = {one: np.abs(one().fit(claims).values_ - truth).mean() for one in ALL}
    assert error[HeavyTail] < 0.2 * error[Mean]
    assert error[HeavyTail] < 0.9 * error[Median]
    fit = NumericAuto().fit(claims)
    chosen = fit.selection_.filter(fit.selection_["chosen"])["candidate"].to_pylist()
    assert "heavy-tail" in chosen
    assert error[NumericAuto] < 1.1 * error[HeavyTail]


def test_auto_trusts_normal_crowds() -> None:
    """Without gross mistakes the normal model is among the three, and the mean never decides."""
    fit = NumericAuto().fit(crowd(1)[0])
    table = fit.selection_.to_pydict()
    chosen = {
        name for name, taken in zip(table["candidate"], table["chosen"], strict=True) if taken
    }
    assert "reliability" in chosen
    assert len(chosen) == 3
    assert not {"mean", "quality-weighted"} & set(table["candidate"])
    assert fit.chosen_.name == table["candidate"][int(np.argmin(table["score"]))]


def test_auto_gives_the_median_of_three() -> None:
    """Values are the median of the chosen methods' own, within the interval given."""
    claims, _ = crowd(5, gross=0.05)
    fit = NumericAuto(confidence=0.5).fit(claims)
    names = fit.selection_.filter(fit.selection_["chosen"])["candidate"].to_pylist()
    methods = [method_named(name, kind="numeric")(confidence=0.5) for name in names]  # type: ignore[call-arg]
    values = np.median([method.fit(claims).values_ for method in methods], axis=0)  # type: ignore[attr-defined]
    assert np.allclose(fit.values_, values)
    low, high = (fit.intervals_[end].to_numpy() for end in ("low", "high"))
    assert ((low <= fit.values_) & (fit.values_ <= high)).all()
    assert [one.code for one in fit.remarks_][:1] == ["CHOSEN"]


def test_auto_has_nothing_to_compare_where_tasks_have_one_claim() -> None:
    """With a claim a task, that claim is the value, and no score is given."""
    claims = Claims.from_frame({"task": [1, 2, 3], "worker": [1, 2, 1], "value": [1.5, 2.0, 9.0]})
    fit = NumericAuto().fit(claims)
    assert fit.values_.tolist() == [1.5, 2.0, 9.0]
    assert fit.selection_["score"].null_count == 6


def test_auto_does_not_depend_on_the_order_of_rows() -> None:
    """Splits follow from names: shuffled rows give the same values and the same choice."""
    claims, _ = crowd(6, tasks=60)
    order = np.random.default_rng(0).permutation(len(claims))
    shuffled = Claims.from_frame(claims.to_arrow().take(order))
    one, other = NumericAuto().fit(claims), NumericAuto().fit(shuffled)
    assert one.selection_["chosen"] == other.selection_["chosen"]
    found = dict(zip(*(other.truths_[name].to_pylist() for name in ("task", "value")), strict=True))
    assert np.allclose([found[task] for task in claims.tasks.to_pylist()], one.values_)


def test_the_published_weights_have_no_floor() -> None:
    """CATD goes on until it is at rest, and trusts a worker without errors more than ours does."""
    claims, _ = crowd(7)
    ours = CATD(floor=1e-6, max_iterations=10).fit(claims)
    published = CATD().fit(claims)
    assert published.iterations_ > ours.iterations_ or published.converged_
    top = [fit.reliability_["weight"].to_numpy().max() for fit in (ours, published)]
    assert top[1] >= top[0]


def test_biases_are_taken_out() -> None:
    """Workers with a constant error each cost less with biases in the model, and are found."""
    rng = np.random.default_rng(4)
    claims, truth = crowd(4, tasks=300)
    bias = rng.normal(0, 6, claims.n_workers)
    shifted = claims.with_values(claims.value + bias[claims.worker])
    with_bias, without = HeavyTail().fit(shifted), HeavyTail(biased=False).fit(shifted)
    off = [np.abs(one.values_ - truth).mean() for one in (with_bias, without)]
    assert off[0] < 0.8 * off[1]
    found = with_bias.reliability_["bias"].to_numpy()
    assert np.corrcoef(found, bias)[0, 1] > 0.95


@pytest.mark.parametrize("each", [4, 8])
@pytest.mark.parametrize("method", [Reliability, HeavyTail, NumericAuto, GaussianTruth])
def test_intervals_cover_nine_in_ten(method: type[NumericEstimator], each: int) -> None:
    """90 % intervals hold 86 to 94 % of truths, four or eight answers a task, ten crowds of 150.

    n = 1500: at 90 % a share outside has a probability below 1e-6 for independent tasks.
    """
    inside = []
    for seed in range(10):
        claims, truth = crowd(seed, each=each)
        table = method(confidence=0.9).fit(claims).intervals_
        low, high = table["low"].to_numpy(), table["high"].to_numpy()
        inside.append(((low <= truth) & (truth <= high)).mean())
    assert 0.86 <= np.mean(inside) <= 0.94


@settings(max_examples=15)
@given(
    seed=st.integers(0, 1000),
    factor=st.sampled_from([0.001, 0.5, 3.0, 1e6]),
    shift=st.sampled_from([0.0, -7.0, 1e3]),
    method=st.sampled_from(WEIGHTED),
)
def test_prop_moving_and_scaling_claims_moves_and_scales_values(
    seed: int, factor: float, shift: float, method: type[NumericEstimator]
) -> None:
    """Values of c x + b are c times values of x, plus b; so are the ends of intervals."""
    claims, _ = crowd(seed, tasks=12, workers=6, each=4)
    first = method().fit(claims)
    other = method().fit(claims.with_values(factor * claims.value + shift))
    size = factor * np.ptp(claims.value)
    assert np.abs(other.values_ - (factor * first.values_ + shift)).max() < 1e-6 * size
    ends = [fit.intervals_["low"].to_numpy() for fit in (first, other)]
    assert np.allclose(ends[1], factor * ends[0] + shift, atol=1e-5 * size)


@pytest.mark.parametrize("method", WEIGHTED)
def test_the_order_of_rows_does_not_matter(method: type[NumericEstimator]) -> None:
    """Shuffled rows give the same values, bit for bit or nearly."""
    table = crowd(5, tasks=40)[0].to_arrow()
    order = np.random.default_rng(6).permutation(table.num_rows)
    first = method().fit(table).truths_.sort_by("task")
    second = method().fit(table.take(order)).truths_.sort_by("task")
    assert first["task"].equals(second["task"])
    assert np.allclose(first["value"].to_numpy(), second["value"].to_numpy(), rtol=1e-9)


@pytest.mark.parametrize("method", ALL)
def test_huge_and_equal_values_stay_finite(method: type[NumericEstimator]) -> None:
    """Numbers near the largest float, and claims that are all equal, give finite values."""
    rows = {"task": [1, 1, 2, 2], "worker": ["x", "y"] * 2, "value": [1e307, 1.5e307, -1e307, 0.0]}
    assert np.isfinite(method().fit(rows).values_).all()
    rows["value"] = [3.0] * 4
    fit = method().fit(rows)
    assert fit.values_.tolist() == [3.0, 3.0]
    assert "ALL_EQUAL" in {remark.code for remark in fit.remarks_}


def codes(rows: dict[str, Any], method: type[NumericEstimator]) -> set[str]:
    """Return the codes of the remarks, after checking that values are there."""
    fit = method().fit(rows)
    assert np.isfinite(fit.values_).all()
    return {remark.code for remark in fit.remarks_}


@pytest.mark.parametrize("method", ALL)
def test_thin_claims_are_flagged(method: type[NumericEstimator]) -> None:
    """One task, one worker, single answers, workers seen once: a value, and a remark."""
    assert "ONE_TASK" in codes(
        {"task": [1, 1, 1], "worker": ["x", "y", "z"], "value": [1.0, 2.0, 9.0]}, method
    )
    found = codes({"task": [1, 2, 3], "worker": ["x"] * 3, "value": [1.0, 2.0, 9.0]}, method)
    assert {"ONE_WORKER", "SINGLE_ANSWER"} <= found
    rows = {"task": [1, 1, 2, 2], "worker": ["x", "y", "x", "z"], "value": [1.0, 2.0, 9.0, 3.0]}
    assert "SEEN_ONCE" in codes(rows, method)


@pytest.mark.parametrize("method", ALL)
def test_constant_workers_and_separate_halves_are_flagged(method: type[NumericEstimator]) -> None:
    """A worker that always says the same, and two halves that share nothing, are remarked on."""
    claims, _ = crowd(7, tasks=30, workers=6, each=6)
    value = np.where(claims.worker == 0, 42.0, claims.value)
    fit = method().fit(claims.with_values(value))
    assert [r.code for r in fit.remarks_ if r.code != "CHOSEN"] == ["CONSTANT_WORKER"]
    table = claims.to_arrow()
    both = pa.concat_tables(
        [
            table,
            table.set_column(0, "task", pa.array(table["task"].to_numpy() + 1000)).set_column(
                1, "worker", pa.array(table["worker"].to_numpy() + 1000)
            ),
        ]
    )
    fit = method().fit(both)
    assert fit.components_ == 2
    assert "DISCONNECTED" in {remark.code for remark in fit.remarks_}
    assert np.isfinite(fit.values_).all()


@pytest.mark.parametrize("method", ALL)
def test_no_answer_leaves_a_task_without_value(method: type[NumericEstimator]) -> None:
    """A task of nothing but "no answer" has no value, is listed, and does not change others."""
    claims, truth = crowd(8, tasks=20)
    value = np.where(claims.task == 3, np.nan, claims.value)
    fit = method().fit(claims.with_values(value, null=True))
    assert fit.unanswered_.to_pylist() == [claims.tasks[3].as_py()]
    assert np.flatnonzero(np.isnan(fit.values_)).tolist() == [3]
    assert fit.truths_["value"].null_count == 1
    kept = claims.task != 3
    rest = method().fit(
        replace(
            claims, task=claims.task[kept], worker=claims.worker[kept], value=claims.value[kept]
        )
    )
    assert np.allclose(np.delete(fit.values_, 3), np.delete(rest.values_, 3))
    truths = Truths.from_frame({"task": claims.tasks, "truth": truth})
    assert mean_absolute_error(fit, truths) < fit.constant_error(truths)


def test_bad_numbers_are_errors_that_name_the_row() -> None:
    """NaN and infinity are refused where the table is read."""
    rows = {"task": [1, 1], "worker": ["x", "y"], "value": [1.0, np.nan]}
    with pytest.raises(MissingValue, match="row 2"):
        Reliability().fit(rows)
    rows["value"] = [1.0, np.inf]
    with pytest.raises(SchemaError, match="row 2"):
        Reliability().fit(rows)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        (CATD, {"floor": 0.0}),
        (CATD, {"tolerance": 0.0}),
        (CATD, {"max_iterations": 0}),
        (CATD, {"significance": 1.0}),
        (GaussianTruth, {"shape": -1.0}),
        (Reliability, {"sharpness": 1.5}),
        (HeavyTail, {"tail": 0.0}),
        (Median, {"confidence": 1.0}),
    ],
)
def test_parameters_out_of_range_are_refused(
    method: type[NumericEstimator], parameters: dict[str, float]
) -> None:
    """A parameter outside its range is refused by name."""
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        method(**parameters)
