"""Knots: how many, where, and the soft counts of claims."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade.release.knots import Knots, number_of_knots, placed_knots


def soft(knots: list[int], cells: int, at: list[float]) -> list[tuple[int, ...]]:
    """Return the soft counts of single claims."""
    made = Knots(np.array(knots), cells, 256)
    rows = np.arange(len(at))
    table = made.table(np.array(at, dtype=float), rows, len(at), np.ones_like(rows))
    return [tuple(row) for row in table.tolist()]


def test_soft_counts_have_their_golden_values() -> None:
    """Reference values on 0, 5, 10 and on 0, 2, 10 with 256 parts."""
    assert soft([0, 5, 10], 11, [0, 1, 2.5, 5, 7.3, 10]) == [
        (256, 0, 0),
        (205, 51, 0),
        (128, 128, 0),
        (0, 256, 0),
        (0, 138, 118),
        (0, 0, 256),
    ]
    assert soft([0, 2, 10], 11, [1, 3, 9.5]) == [(128, 128, 0), (0, 224, 32), (0, 16, 240)]


def test_the_number_of_knots_has_its_golden_values() -> None:
    """By claims times epsilon: where every number, 10, 11 or 5 values can be answered."""
    evidence = (1, 3, 4, 10, 20, 40, 80, 160, 400, 1600, 20_000)
    free = [number_of_knots(t, answers=None, means=False) for t in evidence]
    assert free == [2, 2, 3, 5, 5, 5, 7, 9, 11, 17, 39]
    assert [number_of_knots(t, answers=10, means=False) for t in (1, 3, 4, 10)] == [2, 2, 3, 10]
    eleven = [number_of_knots(t, answers=11, means=False) for t in (10, 20, 40, 80)]
    assert eleven == [5, 5, 5, 11]
    assert number_of_knots(0.1, answers=5, means=False) == 5
    assert number_of_knots(1e6, answers=5, means=True) == 2


def test_knots_stand_where_the_pool_lies() -> None:
    """Reference places on 21 cells."""
    pool = np.exp(-np.arange(21) / 4)
    pool /= pool.sum()
    assert placed_knots(pool, 5).tolist() == [0, 1, 4, 7, 20]
    assert placed_knots(pool, 7).tolist() == [0, 1, 2, 4, 6, 10, 20]
    with pytest.raises(ParameterError, match="knots is 22"):
        placed_knots(pool, 22)


@given(
    cells=st.integers(2, 120),
    count=st.integers(2, 41),
    seed=st.integers(0, 2**16),
    heap=st.floats(0, 1),
)
def test_prop_knots_are_distinct_cells_with_both_ends(
    cells: int, count: int, seed: int, heap: float
) -> None:
    """Ascending, from the first cell to the last, wherever the pool heaps up."""
    count = min(count, cells)
    rng = np.random.default_rng(seed)
    pool = (1 - heap) * rng.dirichlet(np.full(cells, 0.3))
    pool[rng.integers(cells)] += heap
    placed = placed_knots(pool, count)
    assert placed[0] == 0
    assert placed[-1] == cells - 1
    assert (np.diff(placed) > 0).all()


@given(seed=st.integers(0, 2**16), count=st.integers(2, 30))
def test_prop_soft_counts_keep_the_number_and_the_mean(seed: int, count: int) -> None:
    """They add to the parts of each claim, and their mean is the claims' to 1/512 of a gap."""
    rng = np.random.default_rng(seed)
    knots = Knots.at(placed_knots(rng.dirichlet(np.ones(101)), count), 101)
    at = rng.uniform(0, 100, 40)
    table = knots.table(at, np.zeros(40, dtype=np.int64), 1, np.ones(40, dtype=np.int64))[0]
    assert table.sum() == 40 * knots.parts
    assert (table >= 0).all()
    gap = np.diff(knots.cell).max()
    assert abs(table @ knots.cell / table.sum() - at.mean()) <= gap / 512 + 1e-12


def test_the_hats_are_how_the_middle_of_each_cell_counts() -> None:
    """They add to 1 in every cell."""
    knots = Knots.at(np.array([0, 3, 50, 100]), 101)
    assert knots.hats.sum(axis=0) == pytest.approx(np.ones(101))
    assert knots.hats[:, 50].tolist() == [0, 0, 1, 0]
