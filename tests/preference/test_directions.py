"""Integer vectors: norms are bounded exactly, for all floats."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from masquerade.preference.directions import (
    UNIT,
    integer_root,
    sums_by_voter,
    whole_directions,
    whole_directions_of_integers,
)

FLOATS = st.floats(-1e12, 1e12, allow_nan=False)
ROWS = st.tuples(st.integers(0, 5), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=FLOATS)
)


@given(st.lists(st.integers(0, (1 << 62) - 1), max_size=20))
def test_prop_integer_roots_are_exact(squares: list[int]) -> None:
    """The root is that of exact integer arithmetic, up to 2**62."""
    found = integer_root(np.array(squares, dtype=np.int64))
    assert found.tolist() == [math.isqrt(each) for each in squares]


def test_integer_roots_at_squares() -> None:
    """At a square, and one below it, floats do not decide."""
    roots = np.array([1, 2, 94906265, 94906267, 2147483647], dtype=np.int64)
    assert integer_root(roots**2).tolist() == roots.tolist()
    assert integer_root(roots**2 - 1).tolist() == (roots - 1).tolist()


@given(ROWS)
def test_prop_directions_are_never_longer_than_the_unit(differences: np.ndarray) -> None:
    """Squares of each row add to at most UNIT**2, exactly, and nearly reach it."""
    found = whole_directions(differences)
    squares = [sum(int(x) ** 2 for x in row) for row in found]
    assert all(each <= UNIT**2 for each in squares)
    slack = 2 * math.sqrt(found.shape[1]) + 2
    for row, each in zip(differences, squares, strict=True):
        assert each == 0 if not row.any() else math.sqrt(each) > UNIT - slack


@given(ROWS)
def test_prop_the_opposite_record_has_the_opposite_direction(differences: np.ndarray) -> None:
    """Turning a choice round turns its direction round, to the last step."""
    assert np.array_equal(whole_directions(-differences), -whole_directions(differences))


@given(ROWS)
def test_prop_a_direction_depends_on_its_record_alone(differences: np.ndarray) -> None:
    """Each row, given by itself, has the same direction."""
    together = whole_directions(differences)
    for i, row in enumerate(differences):
        assert np.array_equal(whole_directions(row[None])[0], together[i])


def test_directions_point_where_the_records_do() -> None:
    """Steps are within one of the exact direction."""
    rows = np.array([[3.0, 4.0], [0.0, -2.0], [1e-300, 0.0], [0.0, 0.0]])
    wanted = [[2457, 3276], [0, -UNIT], [UNIT, 0], [0, 0]]
    assert np.abs(whole_directions(rows) - wanted).max() <= 1
    whole = whole_directions_of_integers(np.array([[3, 4], [0, 7]]))
    assert whole.tolist() == [[2457, 3276], [0, UNIT]]


def test_sums_by_voter_count_voters_without_records() -> None:
    """A voter without a record has a sum of zeros."""
    rows = np.arange(8, dtype=np.int64).reshape(4, 2)
    sums = sums_by_voter(rows, np.array([0, 0, 3, 3, 4]))
    assert sums.tolist() == [[0, 0], [6, 9], [0, 0], [6, 7]]
