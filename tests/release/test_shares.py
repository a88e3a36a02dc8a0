"""Shares from noisy counts, rows from shares: golden values, and unread inputs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.exact.arrays import Floats
from masquerade.release import summary
from masquerade.release.knots import Knots
from masquerade.release.measurement import Pool, with_floor
from masquerade.release.posterior_shares import NoisyCounts, posterior_shares
from masquerade.release.simplex import on_simplex, variance_of_sum_zero
from masquerade.release.summary import fine_shares, means_of, rows_of

EVEN = np.full(11, 1 / 11)
THREE = Knots(np.array([0, 5, 10]), 11, 256)


def test_the_posterior_has_its_golden_values() -> None:
    """Four objects of four claims on four answers, to a thousandth."""
    counts = np.array([(3, -1, 0, 2), (0, 4, 1, -1), (1, 0, 5, -2), (2, 2, 0, 0)])
    variance = variance_of_sum_zero(Fraction(2), 4) * 4 / 3
    assert variance == pytest.approx(5.372258, abs=1e-6)
    pool = with_floor(on_simplex(counts.mean(axis=0, keepdims=True) / 4)[0])
    noisy = NoisyCounts(
        counts,
        np.full(4, 4.0),
        np.full(4, 0.25),
        np.full(4, variance),
        Knots.at(np.arange(4), 4),
        pool,
    )
    expected = [
        (0.492, 0.205, 0.302, 0.001),
        (0.251, 0.435, 0.314, 0),
        (0.280, 0.186, 0.534, 0),
        (0.394, 0.340, 0.267, 0),
    ]
    assert np.abs(posterior_shares(noisy).shares - np.array(expected)).max() < 1.5e-3


def test_the_tilt_of_an_even_pool_has_its_golden_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares .5, .3, .2 at 0, 5, 10; without and with a hundredth of the pool."""
    shares = np.array([[0.5, 0.3, 0.2]])
    blended = fine_shares(shares, EVEN, THREE)[0]
    assert blended[:3] == pytest.approx([0.251946, 0.169883, 0.114549], abs=1e-6)
    monkeypatch.setattr(summary, "_BLEND", 0.0)
    fine = fine_shares(shares, EVEN, THREE)[0]
    expected = (
        *(0.253913, 0.170535, 0.114537, 0.076328, 0.051264, 0.034431),
        *(0.040945, 0.048691, 0.058100, 0.069092, 0.082164),
    )
    assert fine == pytest.approx(expected, abs=1e-6)
    assert means_of(shares, THREE)[0] == pytest.approx(0.35)
    assert rows_of(fine, 6, 3.5, answers=True).tolist() == [0, 0, 1, 3, 7, 10]


def test_rows_have_their_golden_values() -> None:
    """Shares .1, .2, .3, .25, .15: seven rows, and twenty in proportion."""
    shares = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    assert rows_of(shares, 7, 2.15, answers=True).tolist() == [0, 1, 2, 2, 3, 3, 4]
    twenty = rows_of(shares, 20, 2.15, answers=True).astype(int)
    assert np.bincount(twenty).tolist() == [2, 4, 6, 5, 3]


def fine_of(noisy: NoisyCounts) -> Floats:
    """Return the shares of the cells of each object."""
    read = posterior_shares(noisy)
    return fine_shares(read.shares, read.shape, noisy.knots)


@given(seed=st.integers(0, 2**16), count=st.integers(1, 60), cells=st.integers(2, 60))
def test_prop_rows_have_nearly_the_mean_that_is_reported(seed: int, count: int, cells: int) -> None:
    """Within half a range over their number, in places on the grid."""
    shares = np.random.default_rng(seed).dirichlet(np.full(cells, 0.5))
    mean = float(shares @ np.arange(cells))
    rows = rows_of(shares, count, mean, answers=True)
    assert len(rows) == count
    assert set(rows.tolist()) <= set(map(float, range(cells)))
    assert abs(rows.mean() - mean) <= (cells - 1) / (2 * count) + 1e-9


def test_equal_measurements_give_equal_shares() -> None:
    """The steps after the noise have no coins: the same counts give the same bytes."""
    rng = np.random.default_rng(3)
    counts = rng.integers(-100, 5000, (30, 3))
    pool = Pool.of(rng.integers(0, 30, 11), claims=150, variance=8.0)
    noisy = NoisyCounts(
        counts,
        np.full(30, 20.0),
        np.full(30, 0.05),
        np.full(30, 1.5),
        THREE,
        pool.shares,
        pool,
    )
    first, second = (fine_of(noisy) for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert first.sum(axis=1) == pytest.approx(np.ones(30))
    assert (first >= 0).all()


@pytest.mark.parametrize("objects", [0, 1, 2])
def test_few_objects_and_objects_without_claims_are_read_too(objects: int) -> None:
    """No object, one or two; without claims an object gets the crowd's mean."""
    counts = np.array([[0, 0, 0]] * objects + [[500, 300, 200]])[: objects + 1]
    total = np.array([0.0] * objects + [4.0])
    noisy = NoisyCounts(
        counts, total, np.full(objects + 1, 0.25), np.full(objects + 1, 2.0), THREE, EVEN
    )
    shares = posterior_shares(noisy).shares
    assert np.isfinite(shares).all()
    assert shares.sum(axis=1) == pytest.approx(np.ones(objects + 1))


def test_templates_place_narrow_objects_where_the_normal_model_cannot() -> None:
    """40 objects of 20 claims at one of nine places: shapes are narrow, and where claims are."""
    rng = np.random.default_rng(5)
    knots = Knots.at(np.array([0, 25, 50, 75, 100]), 101)
    place = rng.integers(1, 10, 40) * 10
    at = np.repeat(place, 20).astype(np.float64)
    exact = knots.table(at, np.repeat(np.arange(40), 20), 40, np.ones(800, dtype=np.int64))
    noise = rng.laplace(0, knots.parts / 2, exact.shape)
    noise = np.rint(noise - noise.mean(axis=1, keepdims=True)).astype(np.int64)
    counts = np.bincount(at.astype(int), minlength=101)
    pool = Pool.of(counts, claims=800, variance=8.0)
    noisy = NoisyCounts(
        exact + noise,
        np.full(40, 20.0),
        np.full(40, 0.05),
        np.full(40, 0.5),
        knots,
        pool.shares,
        pool,
    )
    read = posterior_shares(noisy)
    grid = np.arange(101)
    mean = read.shape @ grid
    spread = np.sqrt(read.shape @ grid**2 - mean**2)
    assert np.abs(mean - place).mean() < 4
    # the pool itself is 26 wide
    assert spread.mean() < 12


def test_a_pool_of_noise_alone_is_flat_and_a_heap_stays() -> None:
    """Where noise drowns the counts nothing is read off them; a heap is not smoothed away."""
    flat = Pool.of(np.array([3, -8, 5, 0, 2]), claims=2, variance=400.0)
    assert flat.shares == pytest.approx(np.full(5, 0.2))
    counts = np.full(101, 50)
    counts[50] = 3000
    heaped = Pool.of(counts, claims=int(counts.sum()), variance=400.0).shares
    assert heaped[50] > 0.3
    assert heaped[49] < 0.01
