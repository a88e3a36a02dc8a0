"""Connected components of workers and tasks."""

from __future__ import annotations

import numpy as np

from masquerade.answers import Claims
from masquerade.truth import components


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
    """Null reports make no connection, and who gave nothing else gets the number `count`."""
    rows = {"task": ["a", "b", "b"], "worker": ["x", "x", "y"], "label": ["n", None, "n"]}
    found = components(Claims.from_frame(rows, options=["n", "m"], null=True))
    assert found.count == 2
    assert found.of_task[0] != found.of_task[1]
    rows["label"] = ["n", None, None]
    found = components(Claims.from_frame(rows, options=["n", "m"], null=True))
    assert found.count == 1
    assert found.of_task.tolist() == [0, 1]
    assert found.of_worker.tolist() == [0, 1]


def test_numeric_claims_have_components_too() -> None:
    """The kind of the values does not matter."""
    rows = {"task": np.arange(4), "worker": np.arange(4), "value": np.zeros(4)}
    assert components(Claims.from_frame(rows)).count == 4
