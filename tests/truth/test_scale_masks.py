"""A mechanism a report over partitions: the result of memory, streamed and on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from tests.representative import on_engines

from masquerade.answers import Claims
from masquerade.errors import MissingValue, ParameterError, UnknownLabel
from masquerade.mechanisms import QuantisedResponse, RandomizedResponse, TwoLayer
from masquerade.truth import (
    METHODS,
    Auto,
    BayesianCombination,
    CategoricalEstimator,
    DawidSkene,
    MajorityVote,
    OneCoin,
    WeightedVote,
)
from masquerade.truth.scale import (
    Engine,
    PartitionFit,
    Partitions,
    Stream,
    fit_partitions,
    partition_by_task,
)

LEVELS = {
    "low": RandomizedResponse(3, epsilon=5, null=True),
    "high": RandomizedResponse(3, epsilon=2),
    "other": RandomizedResponse(3, flip_probability=0.2),
}
OPTIONS = [0, 1, 2]


def reports(
    seed: int = 1, *, tasks: int = 90, levels: dict[str, Any] = LEVELS, options: int = 3
) -> pa.Table:
    """Return reports of 20 workers; one half change their level from task to task."""
    rng = np.random.default_rng(seed)
    truth, right = rng.integers(0, options, tasks), rng.beta(8, 3, 20)
    worker = np.argsort(rng.random((tasks, 20)), axis=1)[:, :6].ravel()
    task = np.repeat(np.arange(tasks), 6)
    wrong = (truth[task] + rng.integers(1, options, len(task))) % options
    label = np.where(rng.random(len(task)) < right[worker], truth[task], wrong)
    own = np.where(worker < 10, worker, rng.integers(0, 20, len(task)))
    level = np.array(list(levels))[own % len(levels)]
    answers = Claims.from_frame(
        {"task": task, "worker": worker, "label": label}, options=list(range(options))
    )
    report = np.array(label, dtype=object)
    for name, mechanism in levels.items():
        rows = level == name
        silent = rows & (rng.random(len(task)) < 0.3) & mechanism.null
        given = answers.with_values(
            np.where(silent, options, label).astype(np.int32), null=mechanism.null
        )
        drawn = mechanism.simulate(given, rng, presence="assigned" if mechanism.null else None)
        report[rows] = [None if code == options else int(code) for code in drawn.value[rows]]
    return pa.table(
        {
            "task": task,
            "worker": [f"w{w}" for w in worker],
            "label": pa.array(report.tolist(), pa.int64()),
            "level": level.tolist(),
        }
    )


def write(table: pa.Table, folder: Path, parts: int) -> pa.Table:
    """Write a table as partitions, by task, and return it in their order."""
    place = np.array(table["task"]) * parts // (max(table["task"].to_pylist()) + 1)
    for part in range(parts):
        rows = table.filter(pa.array(place == part))
        pa_parquet.write_table(rows, folder / f"part-{part:03}.parquet")
    return pa_parquet.read_table(folder)


def assert_equal(found: PartitionFit, fit: CategoricalEstimator) -> None:
    """Labels, posteriors, workers and diagnostics are the same, numbers to 1e-9."""
    assert found.truths_.equals(fit.truths_)
    assert found.unanswered_.equals(fit.unanswered_)
    for name in ("converged_", "iterations_", "components_", "orientation_ambiguous_"):
        assert getattr(found, name) == getattr(fit, name), name
    for one, other in (
        (found.reliability_, fit.reliability_),
        (found.posteriors_, fit.posteriors_),
    ):
        assert one[0].equals(other[0])
        for name in one.column_names[1:]:
            np.testing.assert_allclose(one[name], other[name], rtol=0, atol=1e-9)


def short(method: type[CategoricalEstimator]) -> CategoricalEstimator:
    """Return a method that iterates a few times only, where it iterates."""
    short = method()
    return short.set_params(max_iterations=8) if "max_iterations" in short.get_params() else short


CATEGORICAL = [one for one in METHODS if getattr(one, "streams", False)]


@pytest.mark.filterwarnings("default:::(distributed|tornado|asyncio|zict)")
@pytest.mark.parametrize(
    ("engine", "method"),
    on_engines(
        [(method,) for method in CATEGORICAL],
        on_dask=CATEGORICAL.index(DawidSkene),
        name=lambda case: case[0].name,
    ),
    indirect=["engine"],
)
def test_a_mechanism_a_report_is_as_in_memory(
    method: type[CategoricalEstimator], engine: Engine, tmp_path: Path
) -> None:
    """With levels, some with "no answer", every method gives its result in memory."""
    whole = Claims.from_frame(write(reports(), tmp_path, 4), options=OPTIONS, null=True)
    table = pa_parquet.read_table(tmp_path)
    fit = short(method).fit(table, mechanism=LEVELS)
    assert fit.claims_.n_options == whole.n_options
    found = fit_partitions(Partitions.at(tmp_path), short(method), engine=engine, mechanism=LEVELS)
    assert_equal(found, fit)
    assert found.index.n_workers == 20
    assert {one.code for one in found.remarks_} <= {one.code for one in fit.remarks_}


def test_weights_by_worker_count_at_every_level(tmp_path: Path) -> None:
    """Given weights are of workers, for all mechanisms that a report of theirs went through."""
    whole = Claims.from_frame(write(reports(), tmp_path, 4), options=OPTIONS, null=True)
    weights = {worker: 1.0 + place % 3 for place, worker in enumerate(whole.workers.to_pylist())}
    method = WeightedVote(weights=weights)
    fit = method.fit(pa_parquet.read_table(tmp_path), mechanism=LEVELS)
    assert fit.truths_.equals(WeightedVote(weights=weights).fit(whole).truths_)
    with Stream() as engine:
        found = fit_partitions(Partitions.at(tmp_path), method, engine=engine, mechanism=LEVELS)
    assert_equal(found, fit)


@pytest.mark.parametrize("parts", [1, 3, 7])
@pytest.mark.parametrize("method", [OneCoin(), BayesianCombination(), Auto()], ids=str)
def test_a_column_of_mechanisms_is_read_from_every_file(
    method: CategoricalEstimator, parts: int, tmp_path: Path
) -> None:
    """Text forms in the partitions are their reports' mechanisms, unasked; known truths too."""
    levels = {"a": TwoLayer(2, low=0, high="0.6"), "b": RandomizedResponse(2, epsilon=3)}
    table = reports(2, levels=levels, options=2)
    texts = [str(levels[name]) for name in table["level"].to_pylist()]
    table = table.append_column("mechanism", pa.array(texts))
    whole = write(table, tmp_path, parts)
    gold = {0: 1, 5: 0, 80: 1}
    fit = method.fit(whole, gold=gold)
    with Stream() as engine:
        found = fit_partitions(Partitions.at(tmp_path), method, engine=engine, gold=gold)
        assert_equal(found, fit)
        if isinstance(method, Auto):
            assert isinstance(fit, Auto)
            assert found.selection_["chosen"].equals(fit.selection_["chosen"])
            scores = (found.selection_["score"], fit.selection_["score"])
            np.testing.assert_allclose(*scores, rtol=0, atol=1e-9)


def test_one_mechanism_for_all_goes_before_the_column(tmp_path: Path) -> None:
    """A mechanism that is given is that of all claims, as in memory."""
    mechanism = RandomizedResponse(2, epsilon=1)
    table = reports(3, levels={"a": mechanism}, options=2)
    table = table.append_column("mechanism", pa.array([str(LEVELS["high"])] * len(table)))
    whole = write(table, tmp_path, 2)
    with Stream() as engine:
        found = fit_partitions(
            Partitions.at(tmp_path), OneCoin(), engine=engine, mechanism=mechanism
        )
        assert_equal(found, OneCoin().fit(whole, mechanism=mechanism))


def test_text_forms_are_taken_as_in_memory(tmp_path: Path) -> None:
    """A mechanism's text form, for all claims or for a level, is the mechanism itself."""
    mask = RandomizedResponse(2, epsilon=1)
    whole = write(reports(3, levels={"a": mask}, options=2), tmp_path, 2)
    with Stream() as engine:
        for given in (str(mask), {"a": str(mask)}):
            found = fit_partitions(
                Partitions.at(tmp_path), OneCoin(), engine=engine, mechanism=given
            )
            assert_equal(found, OneCoin().fit(whole, mechanism=given))


def test_workers_are_joined_over_their_mechanisms(tmp_path: Path) -> None:
    """Groups that only a worker with two mechanisms joins are one group, as in memory."""
    table = pa.table(
        {
            "task": [1, 1, 2, 2],
            "worker": ["x", "y", "y", "z"],
            "label": [0, 1, 1, 1],
            "level": ["high", "high", "other", "other"],
        }
    )
    whole = write(table, tmp_path, 2)
    levels = {name: RandomizedResponse(2, epsilon=e) for name, e in (("high", 1), ("other", 2))}
    with Stream() as engine:
        partitions = Partitions.at(tmp_path)
        found = fit_partitions(partitions, OneCoin(), engine=engine, mechanism=levels)
        assert found.components_ == 1
        assert_equal(found, OneCoin().fit(whole, mechanism=levels))
        assert found.reliability_["claims"].to_pylist() == [1, 2, 1]
        # The same files under other masks are other claims, in one scratch folder too.
        more = {name: RandomizedResponse(2, epsilon=6) for name in levels}
        other = fit_partitions(partitions, OneCoin(), engine=engine, mechanism=more)
        assert_equal(other, OneCoin().fit(whole, mechanism=more))


def test_writing_anew_keeps_mechanisms(tmp_path: Path) -> None:
    """`partition_by_task` keeps the columns that name mechanisms."""
    (tmp_path / "in").mkdir()
    table = reports(4)
    pa_parquet.write_table(table, tmp_path / "in" / "all.parquet")
    partition_by_task(tmp_path / "in", tmp_path / "out", partitions=3)
    whole = pa_parquet.read_table(tmp_path / "out")
    assert sorted(whole["level"].to_pylist()) == sorted(table["level"].to_pylist())
    with Stream() as engine:
        found = fit_partitions(
            Partitions.at(tmp_path / "out"), MajorityVote(), engine=engine, mechanism=LEVELS
        )
        assert_equal(found, MajorityVote().fit(whole, mechanism=LEVELS))


@pytest.mark.parametrize(
    ("second", "levels", "error", "message"),
    [
        ({"level": ["high", "mid"]}, LEVELS, UnknownLabel, r"2\.parquet: .*row 2: 'mid'"),
        ({"level": ["high", None]}, LEVELS, MissingValue, r"2\.parquet: .*row 2: nothing"),
        ({}, LEVELS, ParameterError, r"2\.parquet has no column 'level'"),
        (
            {"level": ["high", "high"], "mechanism": ["x", "y"]},
            None,
            ParameterError,
            r"1\.parquet has no column 'mechanism'",
        ),
        (
            {"level": ["high", "odd"]},
            LEVELS | {"odd": RandomizedResponse(2, epsilon=1)},
            ParameterError,
            "mask different questions",
        ),
        (
            {"level": ["high", "odd"]},
            LEVELS | {"odd": QuantisedResponse(1, 5, epsilon=1, levels=5)},
            ParameterError,
            "mask different questions",
        ),
        (
            {"level": ["low", "high"], "label": [1, None]},
            LEVELS,
            ParameterError,
            "cannot mask 'no answer', which 1 claim is",
        ),
        (
            {"level": ["two", "two"]},
            {"high": RandomizedResponse(2, epsilon=1), "two": RandomizedResponse(2, epsilon=2)},
            ParameterError,
            "is for 2 options, the claims have 3",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    second: dict[str, Any],
    levels: dict[str, Any] | None,
    error: type[Exception],
    message: str,
    tmp_path: Path,
) -> None:
    """Errors name the file and the row, or the mechanism, whichever partition is at fault."""
    first = {"task": [1, 1, 1], "worker": ["x", "y", "z"], "label": [0, 1, 2]}
    first["level"] = ["high"] * 3
    pa_parquet.write_table(pa.table(first), tmp_path / "1.parquet")
    table = {"task": [2, 2], "worker": ["x", "y"], "label": [0, 1], **second}
    pa_parquet.write_table(pa.table(table), tmp_path / "2.parquet")
    with Stream() as engine, pytest.raises(error, match=message):
        fit_partitions(Partitions.at(tmp_path), engine=engine, mechanism=levels)
