"""``truth`` over a folder of partitions, streamed or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

Run = Callable[..., Any]

TRUTHS = (("a", "yes"), ("b", "no"), ("c", "yes"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of two partitions on which the crowd agrees that a and c are yes, b is no."""
    path = tmp_path / "partitions"
    path.mkdir()
    for name, truths in (("one", TRUTHS[:2]), ("two", TRUTHS[2:])):
        rows = [(task, worker, label) for task, label in truths for worker in "xyz"]
        columns = dict(zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True))
        pa_parquet.write_table(
            pa.table({k: list(v) for k, v in columns.items()}), path / f"{name}.parquet"
        )
    return path


def test_a_folder_is_streamed(run: Run, folder: Path) -> None:
    """A folder needs no option; keys and scores are those of a file, and the partitions'."""
    truths = folder.with_name("truth.csv")
    truths.write_text("task,truth\na,yes\nb,yes\n")
    outcome = run("truth", folder, "--truth", truths, "--json")
    assert outcome.code == 0, outcome.err
    result = outcome.json
    whole = folder.with_name("whole.parquet")
    pa_parquet.write_table(pa_parquet.read_table(folder), whole)
    method = ("--method", "truth-discovery")
    other = run("truth", whole, *method, "--truth", truths, "--json").json
    assert (result.pop("engine"), result.pop("partitions")) == ("stream", 2)
    assert result.pop("seconds") > 0
    assert set(result.pop("remarks")) <= set(other["remarks"])
    assert result.items() <= other.items()
    assert (result["accuracy"], result["scored"]) == (0.5, 2)


def test_known_truths_and_auto_work_over_partitions(run: Run, folder: Path) -> None:
    """``--gold`` fixes a label, which turns the workers' others, also with ``--method auto``."""
    gold, out = folder.with_name("gold.csv"), folder.with_name("labels.csv")
    gold.write_text("task,truth\nb,yes\n")
    outcome = run("truth", folder, "--method", "auto", "--gold", gold, "--out", out, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["method"] == "auto"
    assert pa_csv.read_csv(out).to_pydict()["label"] == ["no", "yes", "no"]


def test_answers_go_to_a_file_or_a_folder(run: Run, folder: Path) -> None:
    """``--out`` with an ending is one file, without one a folder of a file a partition."""
    one, many = folder.with_name("answers.csv"), folder.with_name("answers")
    for out in (one, many):
        assert run("truth", folder, "--method", "one-coin", "--out", out).code == 0
    expected = {"task": ["a", "b", "c"], "label": ["yes", "no", "yes"]}
    assert pa_csv.read_csv(one).to_pydict() == expected
    assert pa_parquet.read_table(many).to_pydict() == expected
    assert len(list(many.iterdir())) == 2
    assert run("truth", folder, "--out", many).code == 1


def test_numbers_are_refused_with_what_to_do(run: Run, tmp_path: Path) -> None:
    """A folder with a column of values, or a method for numbers, is sent to memory."""
    folder = tmp_path / "in"
    folder.mkdir()
    table = pa.table({"task": ["a", "a"], "worker": ["x", "y"], "value": [1.0, 2.0]})
    pa_parquet.write_table(table, folder / "one.parquet")
    for more in ((), ("--method", "reliability"), ("--kind", "numeric")):
        refused = run("truth", folder, *more)
        assert refused.code == 1
        assert "in memory" in " ".join(refused.err.split())


def test_a_cluster_finds_the_same(run: Run, folder: Path) -> None:
    """``--engine dask`` starts a cluster here and ends it."""
    pytest.importorskip("distributed")
    words = ("--mechanism", "two-layer:options=2,low=0,high=0.5", "--method", "td", "--json")
    streamed = run("truth", folder, "--engine", "stream", *words).json
    outcome = run("truth", folder, "--engine", "dask", *words)
    assert outcome.code == 0, outcome.err
    result = outcome.json
    for one in (streamed, result):
        del one["seconds"], one["engine"]
    assert result == streamed


def test_split_tasks_can_be_repartitioned(run: Run, folder: Path) -> None:
    """A task in two files is refused with advice, and following it works."""
    extra = pa.table({"task": ["a"], "worker": ["v"], "label": ["yes"]})
    pa_parquet.write_table(extra, folder / "three.parquet")
    refused = run("truth", folder)
    assert refused.code == 1
    assert "--repartition" in refused.err
    words = ("--repartition", folder.with_name("anew"), "--json")
    result = run("truth", folder, *words).json
    assert (result["claims"], result["tasks"], result["workers"]) == (10, 3, 4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--engine", "stream", "--scheduler", "tcp://x:1"), "use --engine dask"),
        (("--engine", "stream", "--kind", "numeric"), "numbers were asked for"),
        (("--method", "mean"), "numbers were asked for (mean)"),
        (("--engine", "memory", "--repartition", "x"), "--engine stream or dask"),
        (
            (
                "--method",
                "glad",
            ),
            "glad does not work over partitions",
        ),
        (("--scheduler", "tcp://127.0.0.1:1"), "no cluster answers at tcp://127.0.0.1:1"),
    ],
)
def test_wrong_engines_are_refused(
    run: Run, folder: Path, words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method that cannot run over partitions is told, with those that can."""
    if "127.0.0.1" in message:
        pytest.importorskip("distributed")
        from masquerade.truth.scale import DaskCluster

        defaults = {**(DaskCluster.__init__.__kwdefaults__ or {}), "timeout": 0.5}
        monkeypatch.setattr(DaskCluster.__init__, "__kwdefaults__", defaults)
    outcome = run("truth", folder, *words)
    assert outcome.code == 1
    assert message in outcome.err
