"""Connected components of workers and tasks, and labels that may be one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masquerade.answers import Claims
from masquerade.truth import MajorityVote
from masquerade.truth.diagnostics import components, remarks_on, similar_labels


def test_groups_that_share_nothing_are_told_apart() -> None:
    """Tasks and workers get the number of their component, counted from 0."""
    rows = {
        "task": ["a", "b", "c", "d", "b"],
        "worker": ["x", "x", "y", "z", "z"],
        "label": ["n"] * 5,
    }
    found = components(Claims.from_frame(rows))  # x: a, b; z: d, b; y: c
    assert found.count == 2
    assert found.of_task[0] == found.of_task[1] == found.of_task[3] == found.of_worker[0]
    assert found.of_worker[0] == found.of_worker[2]
    assert found.of_task[2] == found.of_worker[1] != found.of_task[0]


def test_no_answer_joins_nobody() -> None:
    """Null reports make no connection, and a worker with nothing else gets the number `count`."""
    rows = {"task": ["a", "b", "b"], "worker": ["x", "x", "y"], "label": ["n", None, "n"]}
    found = components(Claims.from_frame(rows, options=["n", "m"], null=True))
    assert found.count == 2
    assert found.of_task[0] != found.of_task[1]
    rows["label"] = ["n", None, None]
    found = components(Claims.from_frame(rows, options=["n", "m"], null=True))
    assert found.count == 1
    assert found.of_task.tolist() == [0, 1]
    assert found.of_worker.tolist() == [0, 1]


@settings(deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30),
    chain=st.integers(0, 40),
)
def test_prop_components_are_those_of_a_search(pairs: list[tuple[int, int]], chain: int) -> None:
    """Two tasks are in one component exactly if a path of answers joins them.

    A chain of workers with two tasks each is longer than the first search looks.
    """
    pairs += [(100 + link + end, 100 + link) for link in range(chain) for end in (0, 1)]
    claims = Claims.from_frame(
        {
            "task": [f"t{t}" for t, _ in pairs] or ["a"],
            "worker": [f"w{w}" for _, w in pairs] or ["b"],
        }
        | {"label": ["n"] * max(len(pairs), 1)},
        duplicates="first",
    )
    found = components(claims)
    leader = list(range(claims.n_tasks + claims.n_workers))

    def root(node: int) -> int:
        return node if leader[node] == node else root(leader[node])

    for task, worker in zip(claims.task.tolist(), claims.worker.tolist(), strict=True):
        leader[root(task)] = root(claims.n_tasks + worker)
    roots = [root(node) for node in range(len(leader))]
    numbers = [*found.of_task.tolist(), *found.of_worker.tolist()]
    assert len(set(zip(roots, numbers, strict=True))) == len(set(roots)) == found.count
    assert set(numbers) == set(range(found.count))


def test_numeric_claims_have_components_too() -> None:
    """The kind of the values does not matter."""
    rows = {"task": np.arange(4), "worker": np.arange(4), "value": np.zeros(4)}
    assert components(Claims.from_frame(rows)).count == 4


@pytest.mark.parametrize(
    ("labels", "groups"),
    [
        (["yes", "no", " Yes", "YES "], [["yes", " Yes", "YES "]]),
        (["1", "1.0", "01", "2"], [["1", "1.0", "01"]]),
        (["caf\u00e9", "cafe\u0301", "cafe"], [["caf\u00e9", "cafe\u0301"]]),
        (["a b", "a  b", "ab"], [["a b", "a  b"]]),
        (["12345678901234567", "12345678901234568"], []),
        (["nan", "inf", "1e3", "1000"], [["1e3", "1000"]]),
        ([1, 2], []),
    ],
)
def test_labels_that_may_be_one_are_named(labels: list[Any], groups: list[list[Any]]) -> None:
    """Labels that differ only by case, space or form are grouped; others are not."""
    assert similar_labels(labels) == groups


def test_similar_labels_are_remarked_on() -> None:
    """A fit counts them apart, and says so with the labels, also where they hold braces."""
    table = {"task": [1, 1, 2, 2], "worker": ["x", "y"] * 2, "label": ["{A}", "{a}", "b", "b"]}
    (remark,) = [r for r in MajorityVote().fit(table).remarks_ if r.code == "SIMILAR_LABELS"]
    assert remark.text.endswith("'{A}', '{a}'")
    plain = MajorityVote().fit({**table, "label": ["a", "c", "b", "b"]})
    assert "SIMILAR_LABELS" not in [r.code for r in plain.remarks_]


@pytest.mark.parametrize(
    "letter", ["\u200b", "\u200d", "\u2066", "\ufeff", "\u00ad", "\ufe0f", "\u17b5", "\U000e0101"]
)
def test_letters_that_nobody_sees_make_no_other_label(letter: str) -> None:
    """Zero-width, joining, bidirectional and soft marks and variation selectors do not count."""
    assert similar_labels(["yes", f"y{letter}es", "no"]) == [["yes", f"y{letter}es"]]


def test_format_marks_that_are_seen_make_another_label() -> None:
    """The Arabic sign of a number is a format mark, but by Unicode it is shown: labels differ."""
    assert similar_labels(["a", "\u0600a"]) == []


def test_one_is_no_plural() -> None:
    """Remarks on one task or worker are of one, and on several of several."""
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("c", "x"), ("c", "y"), ("a", "z")]
    claims = {
        "task": [task for task, _ in rows],
        "worker": [worker for _, worker in rows],
        "label": ["no", "yes", "no", "no", "yes", "yes"],
    }
    said = {one.code: one.text for one in remarks_on(Claims.from_frame(claims))}
    assert said == {
        "SINGLE_ANSWER": "1 task has one answer only",
        "SEEN_ONCE": "1 worker answered one task only; their quality is the crowd's",
    }
    claims["task"][0] = "d"
    said = {one.code: one.text for one in remarks_on(Claims.from_frame(claims))}
    assert said["SINGLE_ANSWER"] == "2 tasks have one answer only"
