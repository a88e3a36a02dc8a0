"""The L1 ball: projection, certificate, exact grid and quadratic maximum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from masquerade.errors import ParameterError
from masquerade.preference.l1_ball import STEPS, gap, maximise_quadratic, on_grid, project


def test_the_projection_has_its_known_value() -> None:
    """[3, -1, .5] is nearest to [2, 0, 0] in the ball of 2; inner points stay."""
    assert project(np.array([[3, -1, 0.5], [1, -0.5, 0.5]]), 2).tolist() == [
        [2, 0, 0],
        [1, -0.5, 0.5],
    ]


@given(
    point=st.lists(st.floats(-100, 100), min_size=1, max_size=6),
    bound=st.floats(0.01, 50),
    seed=st.integers(0, 1000),
)
def test_prop_no_point_of_the_ball_is_nearer(point: list[float], bound: float, seed: int) -> None:
    """The projection is in the ball and makes an obtuse angle with every point of it."""
    x = np.array(point)
    nearest = project(x[None], bound)[0]
    assert np.abs(nearest).sum() <= bound * (1 + 1e-9)
    others = np.random.default_rng(seed).dirichlet(np.ones(len(x) + 1), 20)[:, :-1] * bound
    others = np.vstack([others, -others, np.eye(len(x)) * bound])
    scale = 1 + np.abs(x).max() * bound
    assert ((x - nearest) @ (others - nearest).T).max() <= 1e-9 * scale


def test_exact_the_grid_keeps_the_bound_in_whole_numbers() -> None:
    """A million rows on the surface of the ball, with its rounding, sum to at most the steps."""
    rng = np.random.default_rng(5)
    points = project(rng.normal(size=(1_000_000, 5)) * 3, 2.0)
    assert np.abs(points).sum(axis=1).max() > 2  # rounding really leaves the ball
    grid = on_grid(points, Fraction(2))
    assert grid.dtype == np.int64
    assert int(np.abs(grid).sum(axis=1).max()) <= STEPS
    assert np.abs(grid * (2 / STEPS) - points).max() <= 2 / STEPS


@given(
    rows=st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=1, max_size=5),
    steps=st.integers(1, 1000),
)
def test_prop_the_grid_keeps_the_bound_whatever_comes(rows: list[list[float]], steps: int) -> None:
    """Points far outside the ball are brought to it too."""
    grid = on_grid(np.array(rows), Fraction(7, 3), steps=steps)
    assert max(sum(map(abs, row)) for row in grid.tolist()) <= steps


@pytest.mark.parametrize(("bound", "steps"), [(Fraction(0), 4), (Fraction(1), 0)])
def test_an_empty_ball_is_refused(bound: Fraction, steps: int) -> None:
    """Bound and steps are above 0."""
    with pytest.raises(ParameterError):
        on_grid(np.zeros((1, 2)), bound, steps=steps)


@pytest.mark.parametrize("bound", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("rank", [2, 5])
def test_the_quadratic_maximum_is_found(bound: float, rank: int) -> None:
    """On any rank the certificate is met and a general solver finds nothing better."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(20, 5, rank))
    matrix = root @ root.transpose(0, 2, 1)
    linear = rng.normal(size=(20, 5)) * 3
    found = maximise_quadratic(matrix, linear, np.zeros((20, 5)), bound, np.full(20, 1e-9))
    gradient = linear - np.einsum("nij,nj->ni", matrix, found)
    assert np.abs(found).sum(axis=1).max() <= bound * (1 + 1e-12)
    assert gap(found, gradient, bound).max() < 1e-6
    for i in range(5):
        doubled = minimize(
            lambda x, i=i: (  # positive and negative parts make the ball a simplex
                (x[:5] - x[5:]) @ matrix[i] @ (x[:5] - x[5:]) / 2 - linear[i] @ (x[:5] - x[5:])
            ),
            np.full(10, bound / 20),
            bounds=[(0, None)] * 10,
            constraints={"type": "ineq", "fun": lambda x: bound - x.sum()},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        ours = linear[i] @ found[i] - found[i] @ matrix[i] @ found[i] / 2
        assert ours >= -doubled.fun - 1e-6
