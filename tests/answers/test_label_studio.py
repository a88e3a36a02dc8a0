"""Round trips: claims and inferred labels to Label Studio and to crowd-kit, and back."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.answers.claim_rows import rows_of

from masquerade.answers import ClaimColumns, Claims, Truths
from masquerade.answers.label_studio import to_label_studio
from masquerade.errors import ParameterError, SchemaError
from masquerade.simulate import crowd
from masquerade.truth import DawidSkene, accuracy

WORKERS = {f"w{number}": str(number) for number in range(5)} | {"w5": "ann@example.org"}


def a_crowd() -> tuple[Claims, Truths]:
    """Return claims of people as Label Studio names them, and the truths."""
    claims, truths = crowd(np.random.default_rng(3), tasks=20, workers=6, answers_per_task=4)
    table = claims.to_arrow().to_pydict()
    names = dict(zip(dict.fromkeys(table["worker"]), WORKERS.values(), strict=True))
    return Claims.from_frame(table | {"worker": [names[one] for one in table["worker"]]}), truths


def read_back(tasks: list[dict[str, Any]], path: Path) -> Claims:
    """Return the claims of tasks that were written into a file."""
    path.write_text(json.dumps(tasks), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Claims.read(path)


def test_annotations_of_label_studio_are_the_same_claims(tmp_path: Path) -> None:
    """Claims that are written as Label Studio's annotations are read back equal."""
    claims, _ = a_crowd()
    again = read_back(to_label_studio(claims), tmp_path / "tasks.json")
    assert sorted(rows_of(again)) == sorted(
        (str(task), str(worker), str(label)) for task, worker, label in rows_of(claims)
    )


def test_a_task_is_named_by_a_field_of_its_data(tmp_path: Path) -> None:
    """A field of the task's data can name it; one that is not there is an error that lists all."""
    tasks = to_label_studio(a_crowd()[0])
    for task in tasks:
        task["data"]["picture"] = f"{task['id']}.jpg"
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named = Claims.read(path, columns=ClaimColumns(task="picture"))
    assert str(named.to_arrow()["task"][0]).endswith(".jpg")
    with pytest.raises(SchemaError, match=r"row 1: the task has no field 'image'.*picture"):
        Claims.read(path, columns=ClaimColumns(task="image"))


def test_numbers_go_to_label_studio_too(tmp_path: Path) -> None:
    """Numbers are results of the type number, with all their digits; a skipped task is no claim."""
    rows = {"task": ["a", "a", "b"], "worker": ["1", "2", "1"], "value": [0.1 + 0.2, None, -7.0]}
    tasks = to_label_studio(Claims.from_frame(rows, null=True), field="size", on="image")
    assert tasks[0]["annotations"][1] == {"completed_by": 2, "result": [], "was_cancelled": True}
    again = read_back(tasks, tmp_path / "tasks.json").to_arrow().to_pydict()
    assert list(map(float, next(again[key] for key in again if key not in ("task", "worker")))) == [
        0.1 + 0.2,
        -7.0,
    ]


def test_inferred_labels_are_predictions() -> None:
    """Each task has one prediction, in the form that Label Studio imports, with its score."""
    claims, truths = a_crowd()
    fit = DawidSkene().fit(claims)
    tasks = to_label_studio(
        claims, fit.truths_, data={"t0": {"text": "A good film."}}, scores={"t0": np.float64(0.75)}
    )
    assert all(set(task) == {"id", "data", "annotations", "predictions"} for task in tasks)
    first = tasks[0]["predictions"][0]
    [result] = first["result"]
    assert {key: result[key] for key in ("from_name", "to_name", "type")} == {
        "from_name": "label",
        "to_name": "text",
        "type": "choices",
    }
    back = {
        task["data"]["task"]: task["predictions"][0]["result"][0]["value"]["choices"][0]
        for task in json.loads(json.dumps(tasks))
    }
    given = fit.truths_.to_pydict() if hasattr(fit.truths_, "to_pydict") else dict(fit.truths_)
    assert list(back.values()) == list(map(str, given["label"]))
    assert accuracy(back, truths) == accuracy(fit, truths)


def test_workers_that_differ_by_a_zero_stay_apart(tmp_path: Path) -> None:
    """Workers "7" and "07" are two people, there and read back."""
    claims = {"task": ["a", "a"], "worker": ["7", "07"], "label": ["x", "y"]}
    tasks = to_label_studio(claims)
    assert [one["completed_by"] for one in tasks[0]["annotations"]] == [7, {"email": "07"}]
    assert len(set(read_back(tasks, tmp_path / "tasks.json").workers.to_pylist())) == 2


@pytest.mark.parametrize(
    ("what", "given"),
    [("truths", {7: "x"}), ("data", {"7": {"text": "?"}}), ("scores", {"7": 0.5})],
)
def test_tasks_without_a_claim_are_refused(what: str, given: Any) -> None:
    """A truth, a text or a score of a task that is not among the claims is named, and not lost."""
    claims = {"task": [6], "worker": ["1"], "label": ["x"]}
    with pytest.raises(ParameterError, match=rf"{what} holds task '?7'?, of which") as refused:
        to_label_studio(claims, **{what: given})
    assert refused.value.field == what


def test_crowd_kits_tables_are_the_same_claims() -> None:
    """Claims are crowd-kit's table (task, worker, label), and its result is read as truths.

    Its aggregation returns a series of labels by task.
    """
    pandas = pytest.importorskip("pandas")
    claims, truths = a_crowd()
    table = pandas.DataFrame(claims.to_arrow().to_pydict())
    assert list(table.columns) == ["task", "worker", "label"]
    assert sorted(rows_of(Claims.from_frame(table))) == sorted(rows_of(claims))
    known = truths.to_arrow().to_pydict()
    series = pandas.Series(known["truth"], index=pandas.Index(known["task"], name="task"))
    series = series.rename("agg_label").sample(frac=1, random_state=1)
    for again in (Truths.of(series), Truths.of(series.reset_index())):
        assert sorted(zip(*again.to_arrow().to_pydict().values(), strict=True)) == sorted(
            zip(*known.values(), strict=True)
        )
