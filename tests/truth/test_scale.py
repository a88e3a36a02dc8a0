"""Fits over partitions equal fits in memory; partitions are checked like tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.representative import first_of_each

from masquerade.answers import Claims, Truths
from masquerade.errors import (
    DuplicateClaim,
    EmptyTable,
    InputError,
    MissingValue,
    MixedTypes,
    ParameterError,
    UnknownLabel,
    UnreadableFile,
)
from masquerade.mechanisms import CategoricalMechanism, RandomizedResponse, TwoLayer
from masquerade.simulate import crowd
from masquerade.truth import (
    GLAD,
    MACE,
    Auto,
    BayesianCombination,
    CategoricalEstimator,
    DawidSkene,
    MajorityVote,
    OneCoin,
    OneCoinDawidSkene,
    Subtypes,
    TruthDiscovery,
    TwoCoin,
    WeightedVote,
    accuracy,
)
from masquerade.truth.numeric import Median
from masquerade.truth.scale import (
    PartitionFit,
    Partitions,
    Stream,
    fit_partitions,
    partition_by_task,
)

METHODS = (
    MajorityVote(),
    TruthDiscovery(),
    TruthDiscovery(weights="share", floor=None),
    TruthDiscovery(max_iterations=2, ties="abstain"),
    OneCoin(),
    DawidSkene(),
    DawidSkene(max_iterations=1),
    OneCoinDawidSkene(max_iterations=20),
)

#: Methods that look at all claims before they start, or several times.
LONGER = (
    WeightedVote(),
    TwoCoin(max_iterations=8),
    MACE(max_iterations=8),
    BayesianCombination(max_iterations=8),
    BayesianCombination(shrink="one-coin", trust=(1.0, 0.0), max_iterations=8),
    Subtypes(max_iterations=8),
    Auto(),
)


def write(claims: Claims, folder: Path, parts: int) -> Claims:
    """Write claims as partitions, by task, and return them as a table of all has them."""
    table, place = claims.to_arrow(), claims.task * parts // claims.n_tasks
    for part in range(parts):
        rows = table.filter(pa.array(place == part))
        pa_parquet.write_table(rows, folder / f"part-{part:03}.parquet")
    assert claims.options is not None
    return Claims.from_frame(
        pa_parquet.read_table(folder), options=claims.options.to_pylist(), null=claims.null
    )


def assert_equal(found: PartitionFit, fit: CategoricalEstimator, truths: Truths) -> None:
    """Every result of the two is the same, numbers to 1e-9."""
    assert found.truths_.equals(fit.truths_)
    assert found.unanswered_.equals(fit.unanswered_)
    for name in ("converged_", "iterations_", "components_", "orientation_ambiguous_"):
        assert getattr(found, name) == getattr(fit, name), name
    for one, other in (
        (found.reliability_, fit.reliability_),
        (found.posteriors_, fit.posteriors_),
    ):
        assert set(one.column_names) <= set(other.column_names)
        assert one[0].equals(other[0])
        for name in one.column_names[1:]:
            np.testing.assert_allclose(one[name], other[name], rtol=0, atol=1e-9)
    if fit.truths_.column(1).null_count == fit.truths_.num_rows:  # every task is tied
        for score in (lambda: accuracy(fit, truths), lambda: found.accuracy(truths)):
            with pytest.raises(InputError, match="no task has both"):
                score()
        return
    expected = accuracy(fit, truths)
    assert found.accuracy(truths)[0] == pytest.approx(expected, abs=1e-12)


MASKS = (
    None,
    TwoLayer(2, low=0, high=0.6),
    RandomizedResponse(3, flip_probability=0.3, null=True),
)


@pytest.mark.parametrize(
    ("method", "mechanism"),
    first_of_each(
        [
            (method, MASKS[(place + turn) % len(MASKS)])
            for place, method in enumerate((*METHODS, *LONGER))
            for turn in range(len(MASKS))
        ],
        kind=lambda case: str(case[0]),
        name=lambda case: f"{case[1]}-{case[0]}",
    ),
)
def test_partitions_give_what_memory_gives(
    method: CategoricalEstimator, mechanism: CategoricalMechanism | None, tmp_path: Path
) -> None:
    """Labels, posteriors, weights and diagnostics are equal, masked or not, with "no answer"."""
    rng = np.random.default_rng(30)
    null = mechanism is not None and mechanism.null
    options = 2 if mechanism is None else mechanism.options
    claims, truths = crowd(
        rng,
        tasks=150,
        workers=25,
        options=options,
        answers_per_task=4,
        null_share=0.2 if null else 0,
    )
    if mechanism is not None:
        claims = mechanism.simulate(claims, rng, presence="assigned" if null else None)
    whole = write(claims, tmp_path, 5)
    fit = method.fit(whole, mechanism=mechanism)
    with Stream() as engine:
        partitions = Partitions.at(tmp_path, options=whole.options.to_pylist(), null=null)  # type: ignore[union-attr]
        found = fit_partitions(partitions, method, engine=engine, mechanism=mechanism)
        assert_equal(found, fit, truths)


@pytest.mark.parametrize("parts", [1, 3, 7])
@pytest.mark.parametrize(
    "method", [TruthDiscovery(), OneCoin(), DawidSkene(max_iterations=8), *LONGER], ids=str
)
def test_known_truths_anchor_any_number_of_partitions(
    method: CategoricalEstimator, parts: int, tmp_path: Path
) -> None:
    """With `gold`, one, three or seven partitions and empty ones give the result of memory."""
    claims, truths = crowd(np.random.default_rng(36), tasks=60, workers=12, answers_per_task=4)
    whole = write(claims, tmp_path, parts)
    pa_parquet.write_table(whole.to_arrow().slice(0, 0), tmp_path / "empty.parquet")
    gold = dict(zip(*(column.to_pylist()[:15] for column in truths.table.columns), strict=True))
    gold |= {"a task that nobody answered": "no label at all"}
    fit = method.fit(whole, gold=gold)
    with Stream() as engine:
        found = fit_partitions(Partitions.at(tmp_path), method, engine=engine, gold=gold)
        assert_equal(found, fit, truths)
        wrong = {whole.tasks[0].as_py(): "no label at all"}
        with pytest.raises(UnknownLabel, match="is none of the 2 options"):
            fit_partitions(Partitions.at(tmp_path), method, engine=engine, gold=wrong)


@pytest.mark.parametrize("parts", [1, 3, 7])
@pytest.mark.parametrize("misleading", [0.0, 0.4])
def test_auto_chooses_the_same_model_over_partitions(
    misleading: float, parts: int, tmp_path: Path
) -> None:
    """The held-out claims, the scores and the choice are those in memory, and so the labels."""
    rng = np.random.default_rng(37)
    truth = rng.integers(0, 2, 300)
    # On the misleading tasks half of the workers errs alike, which subtypes explain.
    hard = (truth == 0) & (rng.random(300) < misleading)
    worker = np.argsort(rng.random((300, 30)), axis=1)[:, :12].ravel()
    task = np.repeat(np.arange(300), 12)
    right = np.where(hard[task], np.where(worker < 15, 0.15, 0.9), 0.85)
    label = np.where(rng.random(len(task)) < right, truth[task], 1 - truth[task])
    whole = write(
        Claims.from_frame({"task": task, "worker": worker, "label": label}), tmp_path, parts
    )
    fit = Auto().fit(whole)
    assert (fit.chosen_.name == "subtypes") == (misleading > 0)
    with Stream() as engine:
        found = fit_partitions(Partitions.at(tmp_path), "auto", engine=engine)
        known = Truths.from_frame({"task": np.arange(300), "truth": truth})
        assert_equal(found, fit, known)
        assert found.selection_["chosen"].equals(fit.selection_["chosen"])
        for name in ("score", "t"):
            np.testing.assert_allclose(found.selection_[name], fit.selection_[name], atol=1e-9)
        assert [one.code for one in found.remarks_] == ["SUBTYPES"] * (misleading > 0)
        with pytest.raises(ParameterError, match="majority-vote chooses no model"):
            _ = fit_partitions(Partitions.at(tmp_path), "mv", engine=engine).selection_


def test_workers_who_know_nothing_are_said_so_over_partitions(tmp_path: Path) -> None:
    """Claims without regard to tasks give the prior's labels and the remark, as in memory."""
    rng = np.random.default_rng(38)
    table = {
        "task": np.repeat(np.arange(80), 4),
        "worker": np.tile(np.arange(4), 80),
        "label": rng.integers(0, 3, 320),
    }
    whole = write(Claims.from_frame(table), tmp_path, 3)
    fit = Auto().fit(whole)
    with Stream() as engine:
        found = fit_partitions(Partitions.at(tmp_path), "auto", engine=engine)
        truths = Truths.from_frame({"task": np.arange(80), "truth": rng.integers(0, 3, 80)})
        assert_equal(found, fit, truths)
        codes = [one.code for one in fit.remarks_]
        assert codes[0] in ("PRIOR_ONLY", "ONE_COIN")
        assert found.remarks_[0].code in codes


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 7), st.sampled_from("abc")),
        min_size=1,
        max_size=25,
        unique_by=lambda row: row[:2],
    ),
    st.integers(1, 4),
    st.sampled_from(METHODS),
)
def test_prop_small_odd_tables_are_equal_too(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, int, str]],
    parts: int,
    method: CategoricalEstimator,
) -> None:
    """Disconnected, one-sided, single-label and tied tables: any split gives the same result."""
    rows = sorted(rows)
    table = dict(zip(("task", "worker", "label"), map(list, zip(*rows, strict=True)), strict=True))
    claims = Claims.from_frame(table)
    folder = tmp_path_factory.mktemp("claims")
    write(claims, folder, min(parts, claims.n_tasks))
    whole = Claims.from_frame(pa_parquet.read_table(folder))
    fit = method.fit(whole)
    truths = Truths.from_frame({"task": whole.tasks, "truth": ["a"] * whole.n_tasks})
    with Stream() as engine:
        found = fit_partitions(Partitions.at(folder), method, engine=engine)
        assert_equal(found, fit, truths)


def test_components_over_partitions_keep_their_own_orientation(tmp_path: Path) -> None:
    """A crowd with most of its reports flipped is turned, its neighbour is not, as in memory."""
    rng = np.random.default_rng(15)
    tables, known = [], []
    for half, flip in ((0, 0.05), (1, 0.95)):
        claims, truths = crowd(rng, tasks=120, workers=10, answers_per_task=10, accuracy=(9, 1))
        reports = RandomizedResponse(2, flip_probability=flip).simulate(claims, rng).to_arrow()
        for name in ("task", "worker"):
            named = pa.array([f"{half}{value}" for value in reports[name].to_pylist()])
            reports = reports.set_column(reports.column_names.index(name), name, named)
        tables.append(reports)
        known += [(f"{half}{t}", label) for t, label in zip(*truths.table.columns, strict=True)]
    for part, table in enumerate(tables):
        for piece in range(2):
            rows = table.slice(piece * 600, 600)
            pa_parquet.write_table(rows, tmp_path / f"{part}{piece}.parquet")
    truths = Truths.from_frame({"task": [k for k, _ in known], "truth": [v for _, v in known]})
    mechanism, method = TwoLayer(2, low=0.5, high=1), OneCoin(accuracy_prior=(9.0, 1.0))
    fit = method.fit(Claims.from_frame(pa_parquet.read_table(tmp_path)), mechanism=mechanism)
    with Stream() as engine:
        found = fit_partitions(Partitions.at(tmp_path), method, engine=engine, mechanism=mechanism)
        assert found.components_ == 2
        assert_equal(found, fit, truths)


def test_labels_that_only_some_partitions_hold_are_options_of_all(tmp_path: Path) -> None:
    """Partitions with other labels share one list of options, sorted as in memory."""
    for name, labels in (("a", ["x", "z"]), ("b", ["y", "z"]), ("c", ["z", "z"])):
        table = {"task": [name, name], "worker": ["u", "v"], "label": labels}
        pa_parquet.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    fit = MajorityVote(seed=3).fit(pa_parquet.read_table(tmp_path))
    truths = Truths.from_frame({"task": ["a", "b", "c"], "truth": ["x", "y", "z"]})
    with Stream() as engine:
        found = fit_partitions(Partitions.at(tmp_path), MajorityVote(seed=3), engine=engine)
        assert_equal(found, fit, truths)
        assert found.posteriors_.column_names == ["task", "x", "y", "z"]


def test_repeated_claims_count_as_in_memory(tmp_path: Path) -> None:
    """``duplicates`` means the same within partitions; by default a repeated claim is an error."""
    table = {"task": ["a", "a", "a"], "worker": ["x", "x", "y"], "label": ["0", "1", "1"]}
    pa_parquet.write_table(pa.table(table), tmp_path / "only.parquet")
    for duplicates in ("all", "first", "last"):
        whole = Claims.from_frame(table, duplicates=duplicates)
        with Stream() as engine:
            partitions = Partitions.at(tmp_path, duplicates=duplicates)
            found = fit_partitions(partitions, TruthDiscovery(), engine=engine)
            truths = Truths.from_frame({"task": ["a"], "truth": ["1"]})
            assert_equal(found, TruthDiscovery().fit(whole), truths)
    with Stream() as engine, pytest.raises(DuplicateClaim, match=r"only\.parquet: row 2"):
        fit_partitions(Partitions.at(tmp_path), engine=engine)


def test_split_tasks_are_refused_and_repartitioning_mends_them(tmp_path: Path) -> None:
    """A task in two partitions is named with both files; written anew, the fit is the whole's."""
    claims, truths = crowd(np.random.default_rng(31), tasks=60, workers=12, answers_per_task=5)
    table = claims.to_arrow()
    source, mended = tmp_path / "by-worker", tmp_path / "by-task"
    source.mkdir()
    for part in range(3):
        rows = table.filter(pa.array(claims.worker % 3 == part))
        pa_parquet.write_table(rows, source / f"{part}.parquet", row_group_size=17)
    with Stream() as engine:
        with pytest.raises(DuplicateClaim, match=r"task 't\d+' has claims in \d.parquet and"):
            fit_partitions(Partitions.at(source), engine=engine)
        files = partition_by_task(source, mended, partitions=4)
        assert sum(pa_parquet.read_metadata(file).num_rows for file in files) == len(claims)
        found = fit_partitions(Partitions.at(mended), OneCoin(), engine=engine)
        whole = Claims.from_frame(pa_parquet.read_table(mended))
        assert_equal(found, OneCoin().fit(whole), truths)
        assert found.accuracy(truths)[0] == pytest.approx(accuracy(OneCoin().fit(claims), truths))


def test_partitioning_takes_other_files_too(tmp_path: Path) -> None:
    """One CSV file, dictionary columns and whole-number tasks are partitioned; rows keep order."""
    csv = tmp_path / "claims.csv"
    csv.write_text("task,worker,label,note\n" + "".join(f"t{i % 7},w{i},0,n\n" for i in range(50)))
    files = partition_by_task(csv, tmp_path / "from-csv", partitions=3)
    back = pa.concat_tables([pa_parquet.read_table(file) for file in files])
    assert sorted(back["worker"].to_pylist()) == sorted(f"w{i}" for i in range(50))
    coded = pa.table(
        {
            "task": pa.array([3, 1, 3, 2]),
            "worker": ["a", "b", "b", "a"],
            "label": pa.array(["x", "y", "y", "x"]).dictionary_encode(),
        }
    )
    pa_parquet.write_table(coded, tmp_path / "one.parquet")
    (file,) = partition_by_task(tmp_path / "one.parquet", tmp_path / "one")
    assert pa_parquet.read_table(file)["task"].to_pylist() == [3, 1, 3, 2]
    with pytest.raises(ParameterError, match="not an empty folder"):
        partition_by_task(csv, tmp_path / "one", partitions=3)
    with pytest.raises(ParameterError, match="partitions is 0"):
        partition_by_task(csv, tmp_path / "none", partitions=0)


def test_writing_gives_one_file_a_partition(tmp_path: Path) -> None:
    """`PartitionFit.write` holds the truths, a file for each partition, in a new folder only."""
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    claims, _ = crowd(np.random.default_rng(32), tasks=30, workers=8, answers_per_task=3)
    write(claims, source, 3)
    with Stream(scratch=tmp_path) as engine:
        found = fit_partitions(Partitions.at(source), "mv", engine=engine)
        found.write(out)
        assert len(list(out.iterdir())) == 3
        assert pa_parquet.read_table(out).equals(found.truths_)
        with pytest.raises(ParameterError, match="not an empty folder"):
            found.write(out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]  # scratch is gone


def test_folders_are_read_as_writers_leave_them(tmp_path: Path) -> None:
    """Folders below count; marker files, hidden files and empty partitions do not."""
    table = pa.table({"task": ["a"], "worker": ["x"], "label": ["0"]})
    for name in ("day=1/p.parquet", "day=2/p.pq", "_tmp/p.parquet", ".x.parquet"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        pa_parquet.write_table(table, path)
    (tmp_path / "_SUCCESS").write_text("")
    pa_parquet.write_table(table.slice(0, 0), tmp_path / "empty.parquet")
    names = [
        str(Path(str(one.path)).relative_to(tmp_path)) for one in Partitions.at(tmp_path).files
    ]
    assert names == ["day=1/p.parquet", "day=2/p.pq"]


def test_bad_partitions_are_named(tmp_path: Path) -> None:
    """Errors name the file and the row, and give advice."""
    with pytest.raises(UnreadableFile, match="neither a file nor a folder"):
        Partitions.at(tmp_path / "nowhere")
    with pytest.raises(EmptyTable, match="no Parquet file"):
        Partitions.at(tmp_path)
    with pytest.raises(ParameterError, match="duplicates is 'some'"):
        Partitions.at(tmp_path, duplicates="some")  # type: ignore[arg-type]

    def refused(second: dict[str, Any], error: type[InputError], match: str, **how: Any) -> None:
        good = {"task": ["a"], "worker": ["x"], "label": ["0"]}
        pa_parquet.write_table(pa.table(good), tmp_path / "a.parquet")
        pa_parquet.write_table(pa.table(second), tmp_path / "b.parquet")
        with Stream() as engine, pytest.raises(error, match=match):
            fit_partitions(Partitions.at(tmp_path, **how), engine=engine)

    named = {"task": ["b", "c"], "worker": ["x", "y"], "label": ["0", "1"]}
    refused(named | {"label": ["0", None]}, MissingValue, r"b\.parquet: column 'label', row 2")
    refused(named | {"worker": [1, 2]}, MixedTypes, r"b\.parquet: column 'worker' holds int64")
    refused(named, UnknownLabel, r"b\.parquet: column 'label', row 2: '1'", options=["0", "x"])
    (tmp_path / "b.parquet").write_text("no parquet")
    with pytest.raises(UnreadableFile, match=r"b\.parquet cannot be read"):
        Partitions.at(tmp_path)


def test_what_cannot_be_fitted_is_refused(tmp_path: Path) -> None:
    """Methods for numbers, mechanisms of other options, and unknown truths are errors."""
    table = {"task": ["a", "a"], "worker": ["x", "y"], "label": ["0", None]}
    pa_parquet.write_table(pa.table(table), tmp_path / "a.parquet")
    partitions = Partitions.at(tmp_path, null=True, options=["0", "1"])
    with Stream() as engine:
        with pytest.raises(ParameterError, match="median does not work over partitions"):
            fit_partitions(partitions, Median(), engine=engine)
        with pytest.raises(ParameterError, match="glad does not work over partitions"):
            fit_partitions(partitions, GLAD(), engine=engine)
        with pytest.raises(ParameterError, match="is for 3 options, the claims have 2"):
            fit_partitions(partitions, engine=engine, mechanism=RandomizedResponse(3, epsilon=1))
        with pytest.raises(ParameterError, match="cannot mask 'no answer', which 1 claim is"):
            fit_partitions(partitions, engine=engine, mechanism=RandomizedResponse(2, epsilon=1))
        found = fit_partitions(partitions, engine=engine)
        with pytest.raises(InputError, match="no task has both"):
            found.accuracy(Truths.from_frame({"task": ["q"], "truth": ["0"]}))
    with pytest.raises(ParameterError, match="expected a folder that is there"):
        Stream(scratch=tmp_path / "nowhere")


def test_progress_is_told_after_each_round(tmp_path: Path) -> None:
    """The callback hears of every round and of the most there can be."""
    claims, _ = crowd(np.random.default_rng(33), tasks=80, workers=15, answers_per_task=4)
    write(claims, tmp_path, 2)
    told: list[tuple[int, int]] = []
    with Stream() as engine:
        found = fit_partitions(
            Partitions.at(tmp_path),
            TruthDiscovery(),
            engine=engine,
            progress=lambda done, most: told.append((done, most)),
        )
    assert told == [(i + 1, 50) for i in range(found.iterations_)]
