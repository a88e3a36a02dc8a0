"""Lists that reports show are declared, and never read off the answers."""

from __future__ import annotations

from typing import Any

import pytest

from masquerade.answers import Claims
from masquerade.errors import InvalidRecord, ParameterError
from masquerade.mechanisms import DiscreteLaplace, RandomizedResponse, TwoLayer

ROWS: dict[str, Any] = {
    "task": ["a", "a", "b"],
    "worker": ["x", "y", "x"],
    "label": ["flu", "none", "hiv"],
}
OPTIONS = ["flu", "none", "hiv"]


@pytest.mark.parametrize(
    "mechanism",
    [RandomizedResponse(3, epsilon=1), TwoLayer(3, low=0, high=1)],
    ids=str,
)
def test_options_that_were_read_off_the_answers_are_not_published(mechanism: Any) -> None:
    """One person's answer would put its name into every report's list of options."""
    with pytest.raises(ParameterError, match="declare all options"):
        mechanism.randomize(Claims.from_frame(ROWS))
    lists = []
    for last in OPTIONS:
        rows = {**ROWS, "label": [*ROWS["label"][:2], last]}
        reports = mechanism.randomize(Claims.from_frame(rows, options=OPTIONS))
        lists.append(reports.options.to_pylist())
    assert lists == [OPTIONS] * 3


def test_hiding_which_tasks_were_answered_needs_the_lists_of_tasks_and_workers() -> None:
    """A task that one worker alone answered, or a worker with one answer, would tell by name."""
    mechanism = DiscreteLaplace(1, 5, epsilon=1, null=True)
    rows: dict[str, list[Any]] = {
        "task": ["a", "a", "b"],
        "worker": ["x", "y", "x"],
        "value": [1.0, 2.0, 5.0],
    }
    for lists, missing in (
        ({}, "tasks"),
        ({"tasks": ["a", "b", "c"]}, "workers"),
        ({"workers": ["x", "y"]}, "tasks"),
    ):
        with pytest.raises(ParameterError, match=f"declare all {missing}"):
            mechanism.randomize(Claims.from_frame(rows, **lists), presence="hidden")  # type: ignore[arg-type]
    shown = []
    for kept in (3, 2, 1):  # the last answers were not given
        given = {name: column[:kept] for name, column in rows.items()}
        claims = Claims.from_frame(given, tasks=["a", "b", "c"], workers=["y", "x"])
        table = mechanism.randomize(claims, presence="hidden").to_arrow()
        shown.append((table["task"].to_pylist(), table["worker"].to_pylist()))
    assert shown[0] == shown[1] == shown[2] == (["a", "b", "c"] * 2, ["y"] * 3 + ["x"] * 3)


def test_declared_tasks_and_workers_are_each_there_once_and_nobody_else() -> None:
    """In their order; a stranger, a double or a missing id is an error that names it."""
    claims = Claims.from_frame(ROWS, options=OPTIONS, tasks=["b", "a"], workers=["z", "y", "x"])
    assert (claims.tasks.to_pylist(), claims.workers.to_pylist()) == (["b", "a"], ["z", "y", "x"])
    assert (claims.task.tolist(), claims.worker.tolist()) == ([1, 1, 0], [2, 1, 2])
    assert claims.read_off == frozenset()
    assert Claims.from_frame(ROWS).read_off == {"tasks", "workers", "options"}
    with pytest.raises(InvalidRecord, match="row 3: 'b' is not among the 1 declared tasks"):
        Claims.from_frame(ROWS, tasks=["a"])
    with pytest.raises(ParameterError, match="worker 'x' is declared twice"):
        Claims.from_frame(ROWS, workers=["x", "y", "x"])
    with pytest.raises(ParameterError, match="declared task 2 is missing"):
        Claims.from_frame(ROWS, tasks=["a", None])
    with pytest.raises(ParameterError, match="sequence of ids"):
        Claims.from_frame(ROWS, tasks="ab")


def test_made_up_answers_need_no_declaration() -> None:
    """A study with a seed reads its options off the table as before."""
    import numpy as np

    reports = RandomizedResponse(3, epsilon=1).simulate(
        Claims.from_frame(ROWS), np.random.default_rng(0)
    )
    assert len(reports) == 3
