"""Claims in which somebody answers a task twice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.answers.claim_rows import ROWS, expected, rows_of

from masquerade.answers import Claims
from masquerade.errors import (
    DuplicateClaim,
    ParameterError,
)

TWICE = {
    "task": ["a", "b", "a", "a", "b"],
    "worker": ["x", "x", "y", "x", "x"],
    "label": ["p", "q", "q", "q", "p"],
}


def test_a_second_answer_to_a_task_is_an_error_with_both_rows() -> None:
    """The first repeated row is named, with the row that it repeats and how many there are."""
    with pytest.raises(
        DuplicateClaim,
        match=r"row 4: worker 'x' already answered task 'a' in row 1 \(2 such rows",
    ):
        Claims.from_frame(TWICE)


@pytest.mark.parametrize(
    ("duplicates", "rows"), [("first", [0, 1, 2]), ("last", [2, 3, 4]), ("all", [0, 1, 2, 3, 4])]
)
def test_duplicates_are_kept_as_asked(duplicates: Any, rows: list[int]) -> None:
    """The first, the last, or every answer of a worker to a task stays, in the rows' order."""
    claims = Claims.from_frame(TWICE, duplicates=duplicates)
    assert rows_of(claims) == [expected(TWICE)[row] for row in rows]


def test_an_unknown_way_with_duplicates_is_an_error() -> None:
    """Only error, first, last and all are ways to treat duplicates."""
    with pytest.raises(ParameterError, match="duplicates is 'mean'"):
        Claims.from_frame(ROWS, duplicates="mean")  # type: ignore[arg-type]


@given(
    pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30),
)
def test_prop_first_and_last_agree_with_a_plain_dictionary(pairs: list[tuple[int, int]]) -> None:
    """Keeping the first or last answer gives the dictionary of (task, worker)."""
    frame = {
        "task": [task for task, _ in pairs],
        "worker": [worker for _, worker in pairs],
        "label": list(range(len(pairs))),
    }
    last = {pair: row for row, pair in enumerate(pairs)}
    first = {pair: row for row, pair in reversed(list(enumerate(pairs)))}
    for way, kept in (("first", first), ("last", last)):
        claims = Claims.from_frame(frame, duplicates=way)  # type: ignore[arg-type]
        assert [row[2] for row in rows_of(claims)] == sorted(kept.values())
