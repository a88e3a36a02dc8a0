"""Several labels a task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from masquerade.errors import (
    DuplicateClaim,
    EmptyTable,
    MissingValue,
    NotFitted,
    ParameterError,
    SchemaError,
    UnknownLabel,
)
from masquerade.mechanisms import RandomizedResponse
from masquerade.truth import BinaryRelevance, DawidSkene, MajorityVote, OneCoin

ROWS: dict[str, list[Any]] = {
    "task": ["b", "b", "b", "a", "a", "a"],
    "worker": ["x", "y", "z"] * 2,
    "label": [["roof", "tree"], ["roof"], ["roof", "tree", "moss"], ["car"], ["car", "man"], []],
}


def many(seed: int, tasks: int = 300) -> tuple[dict[str, list[Any]], np.ndarray]:
    """Return lists of 4 labels from 9 workers that err on each, and the true labels."""
    rng = np.random.default_rng(seed)
    holds = rng.random((tasks, 4)) < 0.4
    error = rng.beta(2, 8, 9)
    rows: dict[str, list[Any]] = {"task": [], "worker": [], "label": []}
    for task in range(tasks):
        for worker in range(9):
            said = holds[task] ^ (rng.random(4) < error[worker])
            rows["task"].append(task)
            rows["worker"].append(worker)
            rows["label"].append([f"l{k}" for k in np.flatnonzero(said)])
    return rows, holds


def _found(fit: BinaryRelevance) -> np.ndarray:
    names = [f"l{k}" for k in range(4)]
    return np.array([[name in row for name in names] for row in fit.truths_["label"].to_pylist()])


def test_each_option_is_voted_on() -> None:
    """A label holds where most workers gave it; a task may have none."""
    fit = BinaryRelevance().fit(ROWS)
    assert fit.truths_.to_pylist() == [
        {"task": "b", "label": ["roof", "tree"]},
        {"task": "a", "label": ["car"]},
    ]
    assert fit.posteriors_["tree"].to_pylist() == pytest.approx([2 / 3, 0])
    assert fit.reliability_["claims"].to_pylist() == [2, 2, 2]
    assert list(fit.methods_) == ["car", "man", "moss", "roof", "tree"]


@pytest.mark.parametrize("method", [MajorityVote(), DawidSkene()], ids=lambda m: m.name)
def test_every_method_may_join_the_answers(method: Any) -> None:
    """Most labels of a crowd are found, and the given method itself stays unfitted."""
    rows, holds = many(1)
    fit = BinaryRelevance(method=method).fit(rows)
    assert (_found(fit) == holds).mean() > 0.97
    with pytest.raises(NotFitted):
        _ = method.labels_


def test_masked_lists_are_freed_from_the_mask() -> None:
    """Where each yes or no was flipped by itself, the reliability is of answers, not of reports."""
    rows, holds = many(2, tasks=600)
    mask = RandomizedResponse(2, epsilon=1)
    keep, rng = float(mask.channel().matrix()[0][0]), np.random.default_rng(3)
    names = [f"l{k}" for k in range(4)]
    masked = rows | {
        "label": [
            [name for name in names if (name in said) ^ (rng.random() > keep)]
            for said in rows["label"]
        ]
    }
    aware = BinaryRelevance(method=OneCoin()).fit(masked, mechanism=mask, options=names)
    assert (_found(aware) == holds).mean() > 0.8
    plain = BinaryRelevance(method=OneCoin()).fit(masked)
    one, other = (np.mean(f.reliability_["reliability"].to_pylist()) for f in (aware, plain))
    assert one > other + 0.05


def test_known_lists_stay() -> None:
    """A task with known labels has these, for all votes."""
    fit = BinaryRelevance().fit(ROWS, gold={"a": ["man"], "elsewhere": ["car"]})
    assert fit.truths_["label"].to_pylist() == [["roof", "tree"], ["man"]]


def test_tables_come_back_in_their_own_kind() -> None:
    """From pandas comes a series of lists over the sorted tasks, from a dict a dict."""
    pandas = pytest.importorskip("pandas")
    series = BinaryRelevance().fit_predict(pandas.DataFrame(ROWS))
    assert series.name == "agg_label"
    assert series.to_dict() == {"a": ["car"], "b": ["roof", "tree"]}
    assert BinaryRelevance().fit_predict(ROWS)["task"].tolist() == ["b", "a"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"label": ["roof"] * 6}, SchemaError, "expected a list of labels"),
        ({"worker": ["x"] * 6}, DuplicateClaim, "row 2: worker 'x' already answered"),
        ({"label": [["roof"]] * 5 + [None]}, MissingValue, "row 6: the list is missing"),
        ({"label": [["roof"]] * 5 + [[None]]}, MissingValue, "row 6: a label is missing"),
        ({"task": [], "worker": [], "label": []}, EmptyTable, "no rows"),
        ({"label": [[]] * 6}, Exception, "every list is empty|expected a list"),
    ],
)
def test_bad_rows_are_named(change: dict[str, Any], error: type[Exception], message: str) -> None:
    """Each error names the row and its fault."""
    with pytest.raises(error, match=message):
        BinaryRelevance().fit(ROWS | change)


def test_what_a_mask_needs() -> None:
    """A mask is of two options and needs declared labels; a label outside them is named."""
    mask = RandomizedResponse(2, epsilon=1)
    with pytest.raises(ParameterError, match="declare all"):
        BinaryRelevance().fit(ROWS, mechanism=mask)
    with pytest.raises(ParameterError, match="masks 3 options"):
        BinaryRelevance().fit(
            ROWS, mechanism=RandomizedResponse(3, epsilon=1), options=["car", "man"]
        )
    with pytest.raises(ParameterError, match="row 1: 'roof' is not one of the 2"):
        BinaryRelevance().fit(ROWS, options=["car", "tree"])
    with pytest.raises(ParameterError, match="expected such as MajorityVote"):
        BinaryRelevance(method="majority-vote")  # type: ignore[arg-type]


def test_nothing_is_known_before_fit() -> None:
    """Asking for a result before fit names the method to call."""
    with pytest.raises(NotFitted, match=r"BinaryRelevance.*call fit"):
        _ = BinaryRelevance().truths_


def test_tasks_where_nobody_ticked_anything_are_fitted() -> None:
    """Lists that are all empty say no to each declared option."""
    fit = BinaryRelevance().fit(ROWS | {"label": [[]] * 6}, options=["car", "man"])
    assert fit.truths_["label"].to_pylist() == [[], []]


@pytest.mark.parametrize("options", [["car", "car"], ["car", None], "car", [1, 2]])
def test_declared_options_are_checked(options: Any) -> None:
    """Each stands once, none is missing, and all are of the labels' type."""
    with pytest.raises(ParameterError, match="options"):
        BinaryRelevance().fit(ROWS, options=options)


def test_known_labels_are_options() -> None:
    """A known label that is no option, or a text where a list is due, is no silent "no"."""
    with pytest.raises(UnknownLabel, match="'a' has 'typo'"):
        BinaryRelevance().fit(ROWS, gold={"a": ["typo"]})
    with pytest.raises(ParameterError, match="expected a list"):
        BinaryRelevance().fit(ROWS, gold={"a": "car"})
