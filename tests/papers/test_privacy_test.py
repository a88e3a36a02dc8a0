"""The privacy test: its bound for one attempt, and why the published loop does not inherit it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from masquerade.exact import SimulatedCoins
from masquerade.exact.arrays import Floats
from masquerade.release import GroupedClaims
from masquerade_papers.priscrowd.density import DensityModel, fit_density
from masquerade_papers.priscrowd.engine import PrisCrowd
from masquerade_papers.priscrowd.privacy_test import (
    buckets,
    failure_delta,
    pass_probability,
    published_epsilon,
    release_delta,
)
from masquerade_papers.priscrowd.simulation import simulate

Grouped = Callable[..., GroupedClaims]


def released(values: Floats, at: Floats, *, k: int, gamma: float, epsilon: float) -> Floats:
    """Return the density with which one attempt releases each value, uniform weights, h = 1."""
    apart = at[:, None] - values[None, :]
    bucket = buckets(apart, gamma)
    companions = (bucket[:, :, None] == bucket[:, None, :]).sum(axis=2)
    chance = pass_probability(companions, k=k, epsilon=epsilon)
    kernel = np.exp(-0.5 * np.clip(apart, -38, 38) ** 2) / math.sqrt(2 * math.pi)
    return np.asarray((kernel * chance).mean(axis=1))


def midpoints(values: Floats, step: float = 2e-3) -> Floats:
    """Return the middles of cells that cover all that can be released from `values`."""
    return np.asarray(np.arange(values.min() - 9, values.max() + 9, step) + step / 2)


def test_pass_probabilities_equal_the_published_values() -> None:
    """P(pass) for 1 to 8 companions where 5 are asked for."""
    expected = [
        0.0091578194,
        0.0248935342,
        0.0676676416,
        0.1839397206,
        0.5,
        0.8160602794,
        0.9323323584,
        0.9751064658,
    ]
    found = pass_probability(np.arange(1, 9), k=5, epsilon=1.0)
    assert found == pytest.approx(expected, abs=1e-9)


def test_buckets_do_not_depend_on_the_unit_and_hold_their_edges() -> None:
    """A squared distance that is exactly a multiple opens the next bucket; huge ones are finite."""
    edge = math.sqrt(2 * math.log(4.0))
    assert buckets([0, edge * 0.999999, edge * 1.000001, -2.000001 * edge], 4.0).tolist() == [
        0,
        0,
        1,
        4,
    ]
    assert np.isfinite(buckets([1e150, -1e308], 1.0000001)).all()


def test_the_bound_of_one_attempt_equals_the_published_values() -> None:
    """Epsilon and delta for gamma 4, k 5, ten claims of equal weight."""
    settings = {"count": 10, "k": 5, "test_epsilon": 1.0, "gamma": 4.0}
    epsilon = published_epsilon(t=1, test_epsilon=1.0, gamma=4.0)
    assert epsilon == pytest.approx(2.6094379, abs=1e-7)
    weights = {"largest": 0.1, "least": 0.1}
    found = release_delta(epsilon, **settings, **weights)  # type: ignore[arg-type]
    assert found == pytest.approx(9.15781944e-4, abs=1e-11)
    found = release_delta(2.0, **settings, **weights)  # type: ignore[arg-type]
    assert found == pytest.approx(1.42000070e-3, abs=1e-10)


def test_the_chance_of_passing_equals_quadrature_and_the_loop() -> None:
    """One attempt passes with probability 0.342049; the loop's rate agrees, 5 standard errors."""
    values = np.array([0, 0.2, 0.4, 0.6, 0.8, 9])
    at = midpoints(values)
    chance = released(values, at, k=5, gamma=4.0, epsilon=1.0).sum() * 2e-3
    assert chance == pytest.approx(0.342049, abs=5e-4)
    claims = GroupedClaims.of({"task": [1] * 6, "worker": list(range(6)), "value": values})
    model = fit_density(claims, weights="uniform", bandwidth=1.0)
    engine = PrisCrowd(max_attempts=40_000)
    release = simulate(model, np.random.default_rng(4), engine=engine, samples=40_000)
    error = math.sqrt(chance * (1 - chance) / 40_000)
    assert abs(len(release.points) / 40_000 - chance) < 5 * error


def test_neighbours_never_exceed_the_bound() -> None:
    """300 random pairs of data sets, every value and failures too, stay below the stated delta."""
    rng = np.random.default_rng(7)
    worst = -1.0
    for _ in range(300):
        n, k = int(rng.integers(2, 12)), int(rng.integers(1, 9))
        gamma, test = float(rng.choice([1.5, 2, 4, 16])), float(rng.uniform(0.2, 2))
        one = rng.choice([0.5, 2, 6]) * rng.standard_normal(n)
        other = one.copy()
        other[0] = rng.choice([one[-1], rng.uniform(-15, 15), one[0] + 0.5])
        at = midpoints(np.concatenate((one, other)), 2e-2)
        settings = {"k": k, "gamma": gamma, "epsilon": test}
        here, there = (released(x, at, **settings) for x in (one, other))  # type: ignore[arg-type]
        epsilon = test + float(rng.uniform(0, 2))
        for p, q in ((here, there), (there, here)):
            excess = float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * 2e-2)
            bound = release_delta(
                epsilon, count=n, k=k, test_epsilon=test, gamma=gamma, largest=1 / n, least=1 / n
            )
            worst = max(worst, excess - bound)
            fail = (1 - p.sum() * 2e-2) - math.exp(epsilon) * (1 - q.sum() * 2e-2)
            assert (
                fail <= failure_delta(epsilon, test_epsilon=test, largest=1 / n, failure=0.0) + 1e-3
            )
    assert worst < 1e-3


def test_going_on_until_one_passes_destroys_the_bound() -> None:
    """Five claims far apart: one release has delta 0.2 at every epsilon, thirty have 0.9988.

    All candidates pass alike, so what passes is drawn from the five bumps; replace a claim and a
    fifth of the mass is where there was none. The theorem claims 0.018 (and 2e-9 at epsilon 5).
    """
    values: Floats = np.array([0, 100, 200, 300, 400.0])
    moved: Floats = np.array([0, 100, 200, 300, 900.0])
    at = midpoints(moved)
    laws = []
    worlds: tuple[Floats, ...] = (values, moved)
    for x in worlds:
        density = released(x, at, k=5, gamma=4.0, epsilon=1.0)
        laws.append(density / density.sum())
    for epsilon in (0.1, 1.0, 5.0, 50.0):
        excess = np.maximum(laws[1] - math.exp(epsilon) * laws[0], 0).sum()
        assert excess == pytest.approx(0.2, abs=1e-6)
    assert pytest.approx(0.9988, abs=1e-4) == 1 - (1 - 0.2) ** 30
    assert math.exp(-1.0 * (5 - 1)) < 0.0184


def test_the_engine_itself_gives_the_replaced_claim_away(grouped: Grouped) -> None:
    """Thirty points of `test-paper` show the far claim in one world and never in the other."""
    seen = []
    for last in (400.0, 900.0):
        claims = grouped([[0, 100, 200, 300, last]])
        model = fit_density(claims, weights="uniform", bandwidth=1.0)
        engine = PrisCrowd(max_attempts=100_000)
        release = simulate(model, np.random.default_rng(1), engine=engine)
        assert release.status == ("ok",)
        assert release.guarantee.status == "none"
        seen.append(bool((np.abs(release.points - 900) < 20).any()))
    assert seen == [False, True]


def test_failures_leak_unless_they_are_forced() -> None:
    """30 clumped claims almost never fail; with one outlier a thirtieth of the attempts do.

    Forced failures cover that: their delta is 0 at the planned rate.
    """
    clumped = np.zeros(30)
    outlier = np.append(np.zeros(29), 50.0)
    fails = []
    for x in (clumped, outlier):
        at = midpoints(x)
        fails.append(1 - released(x, at, k=5, gamma=4.0, epsilon=1.0).sum() * 2e-3)
    assert 0.5 * math.exp(-25) == pytest.approx(7e-12, rel=0.02)
    assert abs(fails[0]) < 1e-9
    assert fails[1] == pytest.approx(0.0330, abs=1e-4)
    settings = {"test_epsilon": 1.0, "largest": 1 / 30}
    assert failure_delta(2.0, failure=0.0, **settings) >= 0.033
    rate = (1 / 30) / (1 / 30 + math.exp(2) - math.e)
    assert failure_delta(2.0, failure=rate, **settings) == pytest.approx(0, abs=1e-12)


def test_objects_below_k_pass_by_noise_alone() -> None:
    """Three claims, one moved far away: delta 0.155 for one release, 0.994 for thirty."""
    companions = {1: 1, 2: 2}
    chance = {j: float(pass_probability(companions[j], k=5, epsilon=1.0)) for j in (1, 2)}
    delta = chance[1] / (2 * chance[2] + chance[1])
    assert delta == pytest.approx(0.155, abs=5e-4)
    assert 1 - (1 - delta) ** 30 == pytest.approx(0.994, abs=5e-4)
    together = np.array([0.0, 0, 0])
    moved = np.array([0.0, 0, 60])
    at = midpoints(moved)
    laws = [released(x, at, k=5, gamma=4.0, epsilon=1.0) for x in (together, moved)]
    laws = [law / law.sum() for law in laws]
    assert np.maximum(laws[1] - math.exp(20) * laws[0], 0).sum() == pytest.approx(delta, abs=1e-4)


def test_zero_weights_make_the_published_epsilon_infinite(grouped: Grouped) -> None:
    """The robust weights contain exact zeros, also in clean data."""
    rng = np.random.default_rng(0)
    model: DensityModel = fit_density(grouped(rng.normal(size=(100, 20))))
    least = np.minimum.reduceat(model.weight, model.claims.offset[:-1])
    assert (least == 0).mean() > 0.5
    assert published_epsilon(t=1, test_epsilon=1.0, gamma=4.0, ratio=math.inf) == math.inf


def test_deltas_fall_with_epsilon_and_k() -> None:
    """More epsilon or more companions asked for never raise delta."""
    settings = {"count": 20, "test_epsilon": 0.5, "gamma": 4.0, "largest": 0.05, "least": 0.05}
    by_epsilon = [release_delta(e, k=5, **settings) for e in (0.5, 1, 2, 4)]  # type: ignore[arg-type]
    by_k = [release_delta(2.0, k=k, **settings) for k in (1, 3, 5, 9)]  # type: ignore[arg-type]
    for row in (by_epsilon, by_k):
        assert all(a >= b for a, b in itertools.pairwise(row))


def test_simulated_words_are_enough_to_repeat_a_release(grouped: Grouped) -> None:
    """The same generator state gives the same points, bit for bit."""
    claims = grouped(np.random.default_rng(0).normal(size=(5, 9)))
    first, second = (
        PrisCrowd().draw(claims, 10, SimulatedCoins(np.random.default_rng(3))) for _ in "ab"
    )
    assert first.points.tolist() == second.points.tolist()
