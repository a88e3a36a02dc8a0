"""Many claims: models are compared on a sample of whole tasks, the same wherever claims are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from masquerade.answers import Claims, Truths
from masquerade.mechanisms import RandomizedResponse
from masquerade.truth import Auto, BayesianCombination, MajorityVote, Subtypes, accuracy, auto
from masquerade.truth.samples import TaskSample
from masquerade.truth.scale import Engine, PartitionFit, Partitions, Stream
from masquerade.truth.scale import fit_partitions as fitted

LIMITS = "masquerade.truth.samples."


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare on some 3,600 claims from 7,200 on."""
    for name, limit in (("_CLAIMS", 3600), ("_A_WORKER", 1), ("_A_CELL", 1)):
        monkeypatch.setattr(LIMITS + name, limit)


def crowd(tasks: int, *, workers: int, misleading: float) -> tuple[Claims, Truths]:
    """Return yes-or-no tasks of 12 claims; on misleading ones half of the workers errs alike."""
    rng = np.random.default_rng(50)
    truth = rng.integers(0, 2, tasks)
    hard = (truth == 0) & (rng.random(tasks) < misleading)
    worker = np.argsort(rng.random((tasks, workers)), axis=1)[:, :12].ravel()
    task = np.repeat(np.arange(tasks), 12)
    right = np.where(hard[task], np.where(worker < workers // 2, 0.15, 0.9), 0.85)
    label = np.where(rng.random(len(task)) < right, truth[task], 1 - truth[task])
    claims = Claims.from_frame({"task": task, "worker": worker, "label": label})
    return claims, Truths.from_frame({"task": np.arange(tasks), "truth": truth})


def write(claims: Claims, folder: Path, parts: int) -> Claims:
    """Write claims as partitions and return them as a table of all has them."""
    table, place = claims.to_arrow(), claims.task * parts // claims.n_tasks
    for part in range(parts):
        rows = table.filter(pa.array(place == part))
        pa_parquet.write_table(rows, folder / f"part-{part:03}.parquet")
    return Claims.from_frame(pa_parquet.read_table(folder))


def assert_equal(found: PartitionFit, fit: Auto) -> None:
    """The choice, its scores, labels, posteriors and weights are the same, numbers to 1e-9."""
    one, other = found.selection_, fit.selection_
    for name in ("candidate", "chosen", "sample_tasks", "sample_claims"):
        assert one[name].equals(other[name]), name
    for name in ("score", "t"):
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=1e-9)
    assert found.truths_.equals(fit.truths_)
    for first, second in (
        (found.reliability_["weight"], fit.reliability_["weight"]),
        (found.posteriors_["1"], fit.posteriors_["1"]),
    ):
        np.testing.assert_allclose(first, second, rtol=0, atol=1e-9)
    codes = ("SUBTYPES", "OWN_ACCURACY")
    chosen = [[rem for rem in f.remarks_ if rem.code in codes] for f in (found, fit)]
    assert chosen[0] == chosen[1]


@pytest.mark.usefixtures("small_samples")
@pytest.mark.filterwarnings("default:::(distributed|tornado|asyncio|zict)")
@pytest.mark.parametrize(("epsilon", "here"), [(None, 0), (3, 100_000)])
def test_the_sample_is_the_same_everywhere(
    epsilon: int | None,
    here: int,
    engine: Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In memory, streamed and on a cluster, held by one process or by all, results are equal."""
    monkeypatch.setattr("masquerade.truth.scale.blocks._HERE", here)
    # A few rounds of each model: every round goes through the cluster.
    monkeypatch.setitem(auto._ROUGHLY, "max_iterations", 4)
    for model in (BayesianCombination, Subtypes):
        monkeypatch.setitem(model.__init__.__kwdefaults__ or {}, "max_iterations", 4)
    claims, _ = crowd(800, workers=30, misleading=0.4)
    mask = None if epsilon is None else RandomizedResponse(2, epsilon=epsilon)
    if mask is not None:
        claims = mask.simulate(claims, np.random.default_rng(51))
    whole = write(claims, tmp_path, 3)
    fit = Auto().fit(whole, mechanism=mask)
    assert fit.selection_["sample_claims"][0].as_py() < len(whole) / 2
    found = fitted(Partitions.at(tmp_path), "auto", engine=engine, mechanism=mask)
    assert_equal(found, fit)


@pytest.mark.usefixtures("small_samples")
def test_a_partition_may_have_no_task_in_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Partitions of one task each, most of them outside the sample, give the result of memory."""
    monkeypatch.setattr("masquerade.truth.scale.blocks._HERE", 0)
    monkeypatch.setattr(LIMITS + "_CLAIMS", 48)
    claims, _ = crowd(10, workers=14, misleading=0.4)
    whole = write(claims, tmp_path, 10)
    with Stream() as engine:
        found = fitted(Partitions.at(tmp_path), "auto", engine=engine)
        fit = Auto().fit(whole)
        assert 0 < fit.selection_["sample_tasks"][0].as_py() < 7
        assert_equal(found, fit)


def test_the_sample_is_of_names_and_of_about_the_size_aimed_at() -> None:
    """It holds its share of tasks, in any order, and more claims where workers are many."""
    names = pa.array([f"task {number}" for number in range(100_000)])
    sample = TaskSample.of(np.full(100, 10_000.0), 2)
    assert (sample.share, sample.claims) == (0.2, 200_000)
    chosen = sample.tasks(names)
    # a standard deviation of 126 tasks; false alarm 1e-6
    assert abs(np.count_nonzero(chosen) - 20_000) < 630
    order = np.random.default_rng(0).permutation(len(names))
    assert np.array_equal(sample.tasks(names.take(pa.array(order))), chosen[order])
    assert TaskSample.of(np.full(2000, 10_000.0), 2).claims == 2_000_000
    assert TaskSample.of(np.full(100, 100_000.0), 10).claims == 400_000
    assert TaskSample.of(np.full(20_000, 10_000.0), 5).share == pytest.approx(0.1)
    # Behind a mask that leaves half of a difference, a report says a quarter of an answer.
    assert TaskSample.of(np.full(200, 10_000.0), 5, 0.5).claims == 800_000


@pytest.mark.parametrize(("workers", "claims"), [(100, 4000), (20_000, 500), (1_000_000, 10)])
def test_few_claims_a_worker_are_not_thinned(workers: int, claims: int) -> None:
    """Where a sample would leave workers too few claims to compare models, all are taken."""
    sample = TaskSample.of(np.full(workers, float(claims)), 2)
    assert sample.is_whole
    assert sample.claims == workers * claims


@pytest.mark.usefixtures("small_samples")
def test_claims_on_a_few_tasks_are_all_taken() -> None:
    """Where a share of the tasks is not that share of the claims, models are compared on all."""
    rng = np.random.default_rng(52)
    worker = np.concatenate([np.arange(9000), np.tile(np.arange(4), 100)])
    task = np.concatenate([np.repeat([0, 1, 2], 3000), np.repeat(np.arange(3, 103), 4)])
    label = np.where(rng.random(len(task)) < 0.8, task % 2, 1 - task % 2)
    fit = Auto().fit({"task": task, "worker": worker, "label": label})
    assert len(fit.selection_) == 2
    assert fit.selection_["sample_tasks"].null_count == 2


def test_with_many_claims_the_sample_finds_kinds_of_tasks() -> None:
    """From 400,000 claims on the choice by a sample is that by all, and finds its truths."""
    claims, truths = crowd(40_000, workers=100, misleading=0.4)
    fit = Auto().fit(claims)
    table = fit.selection_.to_pydict()
    assert table["chosen"] == [False, True]
    tasks, n_claims = table["sample_tasks"][0], table["sample_claims"][0]
    assert n_claims == 12 * tasks
    assert abs(n_claims - 200_000) < 12 * 5 * np.sqrt(tasks)
    (remark,) = [one for one in fit.remarks_ if one.code == "SUBTYPES"]
    assert f"on a sample of {tasks:,} tasks with {n_claims:,} claims" in remark.text
    assert fit.truths_.equals(Subtypes().fit(claims).truths_)
    assert accuracy(fit, truths) > accuracy(BayesianCombination().fit(claims), truths) + 0.01
    assert accuracy(fit, truths) > accuracy(MajorityVote().fit(claims), truths) + 0.05


def test_up_to_400_000_claims_all_are_compared() -> None:
    """Below the limit the selection names no sample."""
    claims, _ = crowd(2000, workers=100, misleading=0.4)
    table = Auto().fit(claims).selection_
    assert table["sample_tasks"].null_count == table["sample_claims"].null_count == 2
    assert table["score"].null_count == 0
