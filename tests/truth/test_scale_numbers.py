"""Values of numbers over partitions: what memory makes of them, streamed and on a cluster."""

from __future__ import annotations

import os
import signal
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.representative import on_engines

from masquerade.answers import Claims, Truths
from masquerade.errors import (
    InputError,
    ParameterError,
)
from masquerade.mechanisms import (
    DiscreteLaplace,
    Mechanism,
    QuantisedResponse,
    RandomizedResponse,
)
from masquerade.truth import (
    CATD,
    METHODS,
    ChannelEM,
    GaussianTruth,
    HeavyTail,
    Mean,
    Median,
    Moments,
    NumericAuto,
    NumericEstimator,
    QualityWeighted,
    Reliability,
    mean_absolute_error,
    root_mean_squared_error,
    scored,
)
from masquerade.truth.numeric.programs import Program, Section, exact_median
from masquerade.truth.scale import (
    DaskCluster,
    Engine,
    NumericPartitionFit,
    Partitions,
    Stream,
    fit_numbers,
)
from masquerade.truth.scale.number_partition import NumberPartition
from masquerade.truth.scale.replay import Finished, Lost, Replay

pytestmark = pytest.mark.filterwarnings("default:::(distributed|tornado|asyncio|zict)")

NUMBERS = [one for one in METHODS if issubclass(one, NumericEstimator)]
#: Methods that take any numbers without a mask.
CLEAR = [one for one in NUMBERS if one not in (ChannelEM, Moments)]
QUANTISED = QuantisedResponse(1, 5, epsilon=4, levels=5)
SILENT = QuantisedResponse(1, 5, epsilon=4, levels=5, null=True)
NOISE = DiscreteLaplace(1, 5, step=1, epsilon=4)
RATINGS = RandomizedResponse(5, epsilon=3)
LEVELS = {
    "low": QuantisedResponse(1, 5, epsilon=6, levels=5),
    "high": QuantisedResponse(1, 5, epsilon=3, levels=5),
    # the same mask under another name is the same mask
    "mild": QuantisedResponse(1, 5, epsilon=6, levels=5),
}


def numbers(seed: int = 1, *, tasks: int = 60, workers: int = 14, each: int = 6) -> pa.Table:
    """Return numbers of workers of uneven precision, some biased, some grossly mistaken."""
    rng = np.random.default_rng(seed)
    truth, width = rng.normal(50, 20, tasks), rng.gamma(2, 2, workers)
    worker = np.argsort(rng.random((tasks, workers)), axis=1)[:, :each].ravel()
    task = np.repeat(np.arange(tasks), each)
    value = truth[task] + rng.normal(0, width[worker]) + (worker % 3 == 0) * 3
    value = np.where(rng.random(len(task)) < 0.03, value * 10, value)
    names = [f"w{w}" for w in worker]
    return pa.table({"task": task, "worker": names, "value": np.round(value, 2)})


def ratings(
    mechanism: Mechanism | dict[str, Any], seed: int = 2, *, tasks: int = 50, column: str = "value"
) -> pa.Table:
    """Return masked ratings from 1 to 5, some withheld where the mask hides that."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, tasks)
    worker = np.argsort(rng.random((tasks, 12)), axis=1)[:, :8].ravel()
    task = np.repeat(np.arange(tasks), 8)
    answer = np.clip(np.rint(truth[task] + rng.normal(0, 0.3 + worker / 10)), 1, 5)
    levels = mechanism if isinstance(mechanism, dict) else {"all": mechanism}
    level = np.array(list(levels))[rng.integers(0, len(levels), len(task))]
    report: list[Any] = [None] * len(task)
    for name, mask in levels.items():
        silent = (rng.random(len(task)) < 0.25) & mask.null
        given_: list[Any] = [None if s else x for x, s in zip(answer.tolist(), silent, strict=True)]
        if column == "label":
            given_ = [None if x is None else int(x) for x in given_]
        claims = Claims.from_frame(
            {"task": task, "worker": worker, column: given_},
            kind=mask.kind,
            options=[1, 2, 3, 4, 5] if mask.kind == "categorical" else None,
            null=mask.null,
        )
        drawn = mask.simulate(claims, rng, presence="assigned" if mask.null else None)
        for row, value in enumerate(drawn.to_arrow()[column].to_pylist()):
            if level[row] == name:
                report[row] = value
    table = {"task": task, "worker": [f"w{w}" for w in worker], column: report}
    return pa.table(table | {"level": level.tolist()})


def write(table: pa.Table, folder: Path, parts: int) -> pa.Table:
    """Write a table as partitions, by task, and return it in their order."""
    folder.mkdir(exist_ok=True)
    place = np.array(table["task"]) * parts // (max(table["task"].to_pylist()) + 1)
    for part in range(parts):
        rows = table.filter(pa.array(place == part))
        pa_parquet.write_table(rows, folder / f"part-{part:03}.parquet")
    return pa_parquet.read_table(folder)


def near(one: Any, other: Any) -> None:
    """Two columns are equal to 1e-9 of their scale, and miss the same entries."""
    first, second = (np.asarray(column.to_numpy(), dtype=float) for column in (one, other))
    scale = max(1.0, float(np.nanmax(np.abs(second), initial=1.0)))
    np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-9 * scale)


def assert_equal(found: NumericPartitionFit, fit: NumericEstimator) -> None:
    """Values, intervals, workers and diagnostics are the same, numbers to 1e-9."""
    for name in ("converged_", "iterations_", "components_"):
        assert getattr(found, name) == getattr(fit, name), name
    assert found.unanswered_.equals(fit.unanswered_)
    for one, other in (
        (found.intervals_, fit.intervals_),
        (found.reliability_, fit.reliability_),
    ):
        assert one.column_names == other.column_names
        assert one[0].equals(other[0])
        for name in one.column_names[1:]:
            near(one[name], other[name])
    assert found.truths_.column_names == ["task", "value"]
    assert found.constant_ == pytest.approx(fit.constant_, rel=1e-9, nan_ok=True)
    assert [remark.code for remark in found.remarks_] == [
        remark.code for remark in fit.solution_.remarks
    ]


@pytest.mark.parametrize(
    ("engine", "method"),
    on_engines(
        [(method,) for method in CLEAR],
        on_dask=CLEAR.index(QualityWeighted),
        name=lambda case: case[0].name,
    ),
    indirect=["engine"],
)
def test_numbers_are_as_in_memory(
    method: type[NumericEstimator], engine: Engine, tmp_path: Path
) -> None:
    """Every method for numbers finds over partitions what it finds in memory."""
    # The choice among all others makes hundreds of passes over each partition.
    whole = write(numbers(), tmp_path / "in", 2 if method is NumericAuto else 3)
    found = fit_numbers(Partitions.at(tmp_path / "in"), method(), engine=engine)
    fit = method().fit(whole)
    assert_equal(found, fit)
    if isinstance(fit, NumericAuto):
        assert found.selection_["chosen"].equals(fit.selection_["chosen"])
        near(found.selection_["score"], fit.selection_["score"])
    found.write(tmp_path / "out")
    assert pa_parquet.read_table(tmp_path / "out").equals(found.truths_)


@pytest.mark.parametrize(
    ("engine", "method", "mechanism"),
    on_engines(
        [
            (ChannelEM(max_iterations=12), QUANTISED),
            (ChannelEM(max_iterations=12), SILENT),
            (ChannelEM(max_iterations=6), NOISE),
            (ChannelEM(max_iterations=6, gate=1e6), QUANTISED),
            (ChannelEM(max_iterations=12), RATINGS),
            (ChannelEM(max_iterations=12, levels=(5, 4, 3, 2, 1)), RATINGS),
            (Moments(), QUANTISED),
            (Moments(), SILENT),
            (Moments(), RATINGS),
            (HeavyTail(max_iterations=12), QUANTISED),
            (QualityWeighted(), NOISE),
            (NumericAuto(), RATINGS),
            (NumericAuto(), QUANTISED),
        ]
    ),
    indirect=["engine"],
)
def test_masked_numbers_are_as_in_memory(
    method: NumericEstimator, mechanism: Mechanism, engine: Engine, tmp_path: Path
) -> None:
    """Masks of numbers and of ratings are seen through as in memory, "no answer" too."""
    column = "label" if mechanism.kind == "categorical" else "value"
    parts = 2 if isinstance(method, NumericAuto) else 3
    whole = write(ratings(mechanism, column=column), tmp_path, parts)
    found = fit_numbers(Partitions.at(tmp_path), method, engine=engine, mechanism=mechanism)
    assert_equal(found, method.unfitted().fit(whole, mechanism=mechanism))


@pytest.mark.parametrize(
    ("engine", "method", "column"),
    on_engines(
        [
            (method, column)
            for method in (ChannelEM(max_iterations=8), Mean(), Moments(), NumericAuto())
            for column in ("mechanism", "level")
        ]
    ),
    indirect=["engine"],
)
def test_numbers_may_each_have_their_mask(
    method: NumericEstimator, column: str, engine: Engine, tmp_path: Path
) -> None:
    """A mechanism a report of numbers is as in memory, from texts and from a table of levels."""
    table = ratings(LEVELS)
    levels: Any = LEVELS
    if column == "mechanism":
        texts = [str(LEVELS[name]) for name in table["level"].to_pylist()]
        table, levels = table.append_column("mechanism", pa.array(texts)), None
    whole = write(table, tmp_path, 2 if isinstance(method, NumericAuto) else 3)
    found = fit_numbers(Partitions.at(tmp_path), method, engine=engine, mechanism=levels)
    assert_equal(found, method.unfitted().fit(whole, mechanism=levels))


@pytest.mark.parametrize(
    ("method", "parts"),
    [
        *((CATD(max_iterations=8), parts) for parts in (1, 2, 7)),
        *((Reliability(), parts) for parts in (1, 2, 7)),
        *((HeavyTail(max_iterations=8), parts) for parts in (1, 2, 7)),
        *((ChannelEM(max_iterations=5), parts) for parts in (1, 2, 7)),
        pytest.param(NumericAuto(), 2, marks=pytest.mark.exhaustive),
    ],
    ids=lambda one: getattr(one, "name", str(one)),
)
def test_any_number_of_partitions_gives_the_same(
    method: NumericEstimator, parts: int, tmp_path: Path
) -> None:
    """One, two or seven partitions, some of a single task, give what memory gives."""
    table = numbers(3, tasks=24)
    if isinstance(method, ChannelEM):
        rounded = np.clip(np.rint(np.array(table["value"]) / 25), 0, 4)
        table = table.set_column(2, "value", pa.array(rounded))
    whole = write(table, tmp_path, parts)
    last = pa.table({"task": [99], "worker": ["new"], "value": [40.0 if parts == 7 else 1.0]})
    pa_parquet.write_table(last, tmp_path / "z.parquet")
    whole = pa.concat_tables([whole, last])
    with Stream() as streamed:
        found = fit_numbers(Partitions.at(tmp_path), method, engine=streamed)
        fit = method.unfitted().fit(whole)
        assert_equal(found, fit)
        if isinstance(fit, NumericAuto):
            assert found.selection_["chosen"].equals(fit.selection_["chosen"])
            near(found.selection_["score"], fit.selection_["score"])


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.integers(0, 6),
            st.sampled_from([-1e9, -1.5, 0.0, 1e-12, 2.0, 3.0, 7.25]),
        ),
        min_size=1,
        max_size=18,
        unique_by=lambda row: row[:2],
    ),
    st.integers(1, 4),
    st.sampled_from([Mean, Median, QualityWeighted, GaussianTruth, Reliability]),
)
def test_prop_small_odd_tables_are_equal_too(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, int, float]],
    parts: int,
    method: type[NumericEstimator],
) -> None:
    """Single answers, equal answers and answers of every size: any split gives the same values."""
    rows = sorted(rows)
    table = dict(zip(("task", "worker", "value"), map(list, zip(*rows, strict=True)), strict=True))
    folder = tmp_path_factory.mktemp("claims")
    place = np.unique(table["task"], return_inverse=True)[1] % parts
    for part in np.unique(place):
        pa_parquet.write_table(
            pa.table(table).filter(pa.array(place == part)), folder / f"{part}.parquet"
        )
    whole = pa_parquet.read_table(folder)
    with Stream() as streamed:
        found = fit_numbers(Partitions.at(folder), method(), engine=streamed)
        fit = method().fit(whole)
        near(found.intervals_["value"], fit.intervals_["value"])
        assert found.iterations_ == fit.iterations_


# Below half the largest float, where the mean of two is the same in every numpy; and the infinite.
_ADDABLE = st.floats(-sys.float_info.max / 2, sys.float_info.max / 2) | st.just(np.inf)


@given(st.lists(st.lists(_ADDABLE, max_size=6), min_size=1, max_size=4))
@example([[-np.inf], [np.inf]])
@example([[5e-324], [0.0]])
def test_prop_the_median_of_blocks_is_exact(blocks: list[list[float]]) -> None:
    """The median over blocks is numpy's of all values, to the last bit; NaN of none."""
    values = np.array([value for block in blocks for value in block], dtype=float)
    with np.errstate(invalid="ignore"):
        expected = float(np.median(values)) if len(values) else np.nan
    ends = medians(blocks)
    assert len(ends) == len(blocks)
    assert all(np.array_equal(end, expected, equal_nan=True) for end in ends)


def test_two_values_near_the_largest_float_have_a_median() -> None:
    """It is between them, and neither infinite nor a warning."""
    largest = sys.float_info.max
    assert medians([[largest], [largest]]) == [largest, largest]
    assert medians([[-largest, largest]]) == [0]


def medians(blocks: list[list[float]]) -> list[float]:
    """Return what the program of every block ends with, their figures added up at each pass."""
    programs = [requested(exact_median(np.array(block, dtype=float))) for block in blocks]
    requests: list[Any] = [next(program) for program in programs]
    while True:
        total = requests[0]
        for request in requests[1:]:
            total = total + request
        ends: list[float] = []
        for place, program in enumerate(programs):
            try:
                requests[place] = program.send(total.figures)
            except StopIteration as end:
                ends.append(end.value)
        if ends:
            return ends


def requested(program: Program[Any]) -> Program[Any]:
    """Return the program without its sections: what it asks for, and what it ends with."""
    answer: Any = None
    while True:
        try:
            request = program.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(request, Section):
            answer = yield from requested(request.program())
        else:
            answer = yield request


@pytest.mark.parametrize(
    "method",
    [
        Median(),
        HeavyTail(max_iterations=5),
        pytest.param(NumericAuto(), marks=pytest.mark.exhaustive),
    ],
    ids=lambda one: one.name,
)
def test_one_partition_is_held_at_a_time(
    method: NumericEstimator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of one partition at most are in memory at any time, whatever the number of passes."""
    write(numbers(4, tasks=24), tmp_path, 4)
    held, most, visits = [0], [0], [0]
    among = NumberPartition.among

    def counted(self: NumberPartition, *arguments: Any) -> Any:
        claims, masks = among(self, *arguments)
        size = len(claims)
        held[0] += size
        visits[0] += 1
        most[0] = max(most[0], held[0])

        def gone() -> None:
            held[0] -= size

        weakref.finalize(claims.value, gone)
        return claims, masks

    monkeypatch.setattr(NumberPartition, "among", counted)
    with Stream() as streamed:
        found = fit_numbers(Partitions.at(tmp_path), method, engine=streamed)
        assert found.truths_.num_rows == 24
    assert visits[0] >= 4
    assert most[0] == 36  # of the 144 claims, those of one partition
    assert held[0] == 0


def test_what_crosses_between_partitions_does_not_grow_with_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures that a visit asks for have the size of the crowd, not of the partition's tasks."""
    sizes = []
    for tasks in (40, 400):
        folder = tmp_path / str(tasks)
        write(numbers(5, tasks=tasks), folder, 2)
        asked: list[int] = []
        with Stream() as streamed:
            fold = streamed.fold

            def watched(*arguments: Any, fold: Any = fold, asked: list[int] = asked) -> Any:
                found = fold(*arguments)
                for figure in getattr(found, "figures", ()):
                    asked.append(int(np.size(figure)))
                return found

            monkeypatch.setattr(streamed, "fold", watched)
            fit_numbers(Partitions.at(folder), HeavyTail(max_iterations=3), engine=streamed)
        # medians are counted in histograms of 2**16, one or two
        sizes.append(max(size for size in asked if size not in (1 << 16, 1 << 17)))
    assert sizes[0] == sizes[1] == 14


def test_a_visit_is_made_once_and_a_lost_one_is_said_so(tmp_path: Path) -> None:
    """A visit that runs again has the same outcome; without its scratch files it says so."""

    def start() -> Any:
        return exact_median(np.array([3.0, 1.0]))

    first = Replay.visit(tmp_path / "run", 0, None, start, float)
    again = Replay.visit(tmp_path / "run", 0, None, start, float)
    assert isinstance(Replay.visit(tmp_path / "run", 7, (2,), start, float), Lost)
    assert isinstance(Replay.visit(tmp_path / "other", 1, (2,), start, float), Lost)
    assert isinstance(Replay.result(tmp_path / "other"), Lost)
    outcome: Any = first
    assert outcome.figures == again.figures == (2,)  # type: ignore[union-attr]
    number = 0
    while not isinstance(outcome, Finished):
        number += 1
        outcome = Replay.visit(tmp_path / "run", number, outcome.figures, start, float)
    assert outcome.result == Replay.result(tmp_path / "run") == 2.0


def test_a_killed_worker_changes_no_value(cluster: DaskCluster, tmp_path: Path) -> None:
    """With a worker killed after the fourth pass, and again when values are asked for."""
    whole = write(numbers(6), tmp_path, 4)
    method, killed = HeavyTail(max_iterations=4), list[int]()
    fit = method.unfitted().fit(whole)

    def kill() -> None:
        victim = next(iter(cluster.client.run(os.getpid).values()))
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    def tell(done: int, most: int) -> None:
        if done == 4 and not killed:
            kill()

    found = fit_numbers(Partitions.at(tmp_path), method, engine=cluster, progress=tell)
    kill()
    assert_equal(found, fit)
    assert len(killed) == 2


def test_errors_against_truths_are_those_in_memory(tmp_path: Path) -> None:
    """Errors of values and of one guess for all are worked out partition by partition."""
    whole = write(numbers(7), tmp_path, 3)
    truths = Truths.from_frame({"task": np.arange(70), "truth": np.linspace(20, 80, 70)})
    fit = Median().fit(whole)
    with Stream() as streamed:
        found = fit_numbers(Partitions.at(tmp_path), "median", engine=streamed)
        errors = found.errors(truths)
        assert errors.scored == scored(fit, truths)
        assert errors.mean_absolute == pytest.approx(mean_absolute_error(fit, truths))
        assert errors.root_mean_squared == pytest.approx(root_mean_squared_error(fit, truths))
        assert errors.constant == pytest.approx(fit.constant_error(truths))
        with pytest.raises(InputError, match="both a value and a truth"):
            found.errors(Truths.from_frame({"task": [1000], "truth": [1.0]}))
        with pytest.raises(ParameterError, match="median chooses no method"):
            _ = found.selection_
        with pytest.raises(ParameterError, match="not an empty folder"):
            found.write(tmp_path)
