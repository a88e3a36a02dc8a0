"""`test-honest`: the exact bound of its attempts, its planner, and its corner cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact import Coins, SimulatedCoins
from masquerade.release import GroupedClaims, guarantee_sentence
from masquerade_papers.priscrowd.privacy_test import (
    Plan,
    failure_delta,
    holds,
    pass_probability,
    plan,
    release_delta,
)
from masquerade_papers.priscrowd.proven_test import ProvenTest, attempts
from masquerade_papers.priscrowd.simulation import simulate

Grouped = Callable[..., GroupedClaims]
STEPS = 64
TEST = Plan(1, 3, 4.0, Fraction(1, 2), Fraction(1, 8), 0.0)


def table(place: NDArray[np.int64], weight: NDArray[np.int64], chosen: Plan) -> Any:
    """Return all candidates and the probability with which one attempt releases each."""
    reach = 7 * STEPS
    at = np.arange(place.min() - reach, place.max() + reach + 1)
    noise = np.arange(-reach, reach + 1)
    law = np.exp(-(noise**2) / (2 * STEPS**2))
    law /= law.sum()
    bucket = math.floor(2 * STEPS**2 * math.log(chosen.gamma) * (1 - 1e-12))
    apart = at[:, None] - place[None, :]
    of = apart**2 // bucket
    companions = (of[:, :, None] == of[:, None, :]).sum(axis=2)
    chance = pass_probability(companions, k=chosen.k, epsilon=float(chosen.test_epsilon))
    inside = np.abs(apart) <= reach
    kernel = np.where(inside, law[np.clip(apart + reach, 0, 2 * reach)], 0.0)
    share = weight / weight.sum()
    return at, (1 - float(chosen.failure)) * (kernel * chance) @ share


def test_exact_attempts_keep_to_the_bound_on_the_lattice() -> None:
    """60 pairs of neighbours: the whole table of one attempt, failure included, within delta."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        n = int(rng.integers(1, 9))
        chosen = Plan(
            1,
            int(rng.integers(1, 7)),
            float(rng.choice([2.0, 4.0, 16.0])),
            Fraction(int(rng.integers(1, 8)), 4),
            Fraction(int(rng.integers(0, 8)), 16),
            0.0,
        )
        weight = rng.integers(13, 257, n) if rng.random() < 0.5 else np.ones(n, np.int64)
        one = rng.integers(0, int(rng.choice([100, 1000])), n)
        other = one.copy()
        other[0] = rng.choice([one[-1], int(rng.integers(0, 1000))])
        ends = np.concatenate((one, other))
        here, there = (
            dict(zip(*(x.tolist() for x in table(p, weight, chosen)), strict=True))
            for p in (one, other)
        )
        epsilon = float(chosen.test_epsilon) + float(rng.uniform(0, 2))
        extremes = {"largest": weight.max() / weight.sum(), "least": weight.min() / weight.sum()}
        stated = release_delta(
            epsilon,
            count=n,
            k=chosen.k,
            test_epsilon=float(chosen.test_epsilon),
            gamma=chosen.gamma,
            failure=float(chosen.failure),
            **extremes,
        )
        failing = failure_delta(
            epsilon,
            test_epsilon=float(chosen.test_epsilon),
            largest=extremes["largest"],
            failure=float(chosen.failure),
        )
        at = range(int(ends.min()) - 500, int(ends.max()) + 501)
        for p, q in ((here, there), (there, here)):
            excess = sum(max(p.get(y, 0) - math.exp(epsilon) * q.get(y, 0), 0) for y in at)
            assert excess <= stated + 1e-9
            fails = [1 - sum(x.values()) for x in (p, q)]
            assert fails[0] - math.exp(epsilon) * fails[1] <= failing + 1e-9


def test_audit_attempts_have_the_table_s_probabilities() -> None:
    """60,000 attempts: passes and their places against the table, 5 standard errors each."""
    place, weight = np.array([0, 10, 30, 700]), np.array([1, 2, 2, 3])
    at, law = table(place, weight, TEST)
    chosen = Plan(60_000, TEST.k, TEST.gamma, TEST.test_epsilon, TEST.failure, 0.0)
    source = SimulatedCoins(np.random.default_rng(3))
    (points,) = attempts(place[None], weight[None], chosen, source)
    for event in (at < 10_000, at < 0, at > 400, (at > 10) & (at < 40)):
        expected = law[event].sum()
        seen = np.isin(points, at[event]).mean() * len(points) / 60_000
        assert abs(seen - expected) < 5 * math.sqrt(expected * (1 - expected) / 60_000)
    assert points.tolist() == sorted(points.tolist())


@given(
    st.integers(1, 120),
    st.fractions(Fraction(1, 4), Fraction(8)),
    st.sampled_from([Fraction(1, 100), Fraction(1, 10**6)]),
    st.floats(1, 5),
)
def test_prop_plans_keep_to_their_budget(
    count: int, epsilon: Fraction, delta: Fraction, ratio: float
) -> None:
    """For every budget, all attempts together stay within epsilon and delta."""
    least = 1 / (count * ratio)
    largest = min(ratio * least, 1.0) if count > 1 else 1.0
    least = least if count > 1 else 1.0
    found = plan(count, epsilon, delta, largest=largest, least=least)
    if found is not None:
        assert holds(found, count, epsilon, delta, largest=largest, least=least)
        assert 0 < found.failure < 1
        assert found.test_epsilon * found.attempts < epsilon


def test_more_budget_plans_more_points() -> None:
    """The expected number of points grows with epsilon."""
    found = [
        plan(50, Fraction(e), Fraction(1, 100), largest=0.02, least=0.02) for e in (1, 2, 4, 8)
    ]
    expected = [0.0 if p is None else p.expected for p in found]
    assert expected == sorted(expected)
    assert expected[-1] > 3 * expected[0] > 0


def test_what_cannot_be_afforded_is_not_tried(grouped: Grouped) -> None:
    """One claim, or next to no budget, releases nothing and says so; many claims release some."""
    claims = grouped([[5.0], np.linspace(4, 6, 200)])
    engine = ProvenTest(epsilon=1, domain=(0, 10), bandwidth="0.5")
    release = simulate(claims, np.random.default_rng(0), engine=engine)
    assert release.status[1] == "ok"
    assert len(release.points) > 0
    tight = ProvenTest(epsilon="0.0001", delta="1e-9", domain=(0, 10), bandwidth="0.5")
    nothing = simulate(claims, np.random.default_rng(0), engine=tight)
    assert nothing.statuses == {"not_tried": 2}
    assert len(nothing.points) == 0


def test_points_stay_in_the_domain_and_on_its_grid(grouped: Grouped) -> None:
    """Clipping and rounding come after everything else."""
    claims = grouped([np.linspace(-3, 12, 100)])
    for engine in (
        ProvenTest(epsilon=20, domain=(0, 10), bandwidth=2),
        ProvenTest(epsilon=20, domain=(0, 10), bandwidth=2, reliability={"u0000": 0.5}),
    ):
        release = simulate(claims, np.random.default_rng(0), engine=engine)
        assert 0 <= release.points.min() <= release.points.max() <= 10
        assert release.collector["outside_domain"] > 0
    assert "bandwidth, 2" in guarantee_sentence(engine.guarantee())
    assert "weights" in guarantee_sentence(engine.guarantee())


def test_real_releases_draw_from_the_operating_system() -> None:
    """The same attempts run on `Coins`."""
    found = attempts(np.zeros((1, 30), np.int64), np.ones((1, 30), np.int64), TEST, Coins())
    assert len(found) == 1


@pytest.mark.parametrize(
    "words",
    [
        {"bandwidth": None},
        {"bandwidth": 0},
        {"bandwidth": -1},
        {"bandwidth": "nan"},
        {"delta": 0},
        {"delta": 1},
        {"epsilon": 0},
        {"domain": None},
    ],
)
def test_bad_parameters_are_refused(words: dict[str, Any]) -> None:
    """Bandwidth and domain are public and given; delta is a small probability."""
    given: dict[str, Any] = {"epsilon": 1, "domain": (0, 1), "bandwidth": "0.1"}
    with pytest.raises(ParameterError):
        ProvenTest(**given | words)


def test_it_cannot_be_charged() -> None:
    """An epsilon at a delta does not add up over a lifetime."""
    with pytest.raises(NoGuarantee, match="delta"):
        ProvenTest(epsilon=1, domain=(0, 1), bandwidth=1).loss(1)
