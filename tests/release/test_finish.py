"""What is computed from noisy counts: posterior means, bandwidths, shrinkage, and no value."""

from __future__ import annotations

import itertools
import math
import typing
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln, xlogy

from masquerade.exact import SimulatedCoins
from masquerade.exact.noise import discrete_laplace, scale_rounded_up
from masquerade.release import GroupedClaims, parse_engine
from masquerade.release import counts_given_total as exact_total
from masquerade.release.bandwidth import own_bandwidth
from masquerade.release.counts_given_total import counts_given_total
from masquerade.release.finish import (
    NoisyHistograms,
    finish,
    moments,
    spread_factor,
    variances_within,
    wiener_shares,
)
from masquerade.release.grid import Grid
from masquerade.release.planner import Plan
from masquerade.release.templates import with_noise

Grouped = Callable[..., GroupedClaims]

GOLDEN = {
    1: (2.587018, 0.425651, 0.425651, 1.561680),
    3: (2.294744, 0.562248, 0.562248, 1.580760),
    10: (2.070659, 0.681324, 0.681324, 1.566694),
}
NOISY = np.array([[3, 0, 0, 2]])  # (3, -1, 0, 2) moved to 0 to 5


def rough(alpha: float, bins: int, total: int) -> np.ndarray:
    """Return log weights of counts, Dirichlet-multinomial around even shares."""
    k = np.arange(total + 1.0)
    return np.broadcast_to(gammaln(k + alpha / bins) - gammaln(k + 1), (1, bins, total + 1))


@pytest.mark.parametrize("alpha", [1, 3, 10])
def test_counts_given_the_total_are_the_golden_numbers(alpha: int) -> None:
    """Five claims in four bins at epsilon 1, rough families."""
    found = counts_given_total(rough(alpha, 4, 5), NOISY, 5, 2.0)
    assert found[0] == pytest.approx(GOLDEN[alpha], abs=1e-5)


def test_counts_given_the_total_of_a_smooth_family() -> None:
    """Multinomial counts around public shares: the golden numbers."""
    k = np.arange(6.0)
    share = np.array([0.4, 0.1, 0.1, 0.4])
    log_prior = (xlogy(k, share[:, None]) - gammaln(k + 1))[None]
    found = counts_given_total(log_prior, NOISY, 5, 2.0)
    assert found[0] == pytest.approx((2.493243, 0.278514, 0.278514, 1.949729), abs=1e-5)


def test_the_tilt_is_near_the_exact_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """Golden numbers, within .35 of a count of the exact ones, and the total is met."""
    monkeypatch.setattr(exact_total, "MOST_CONVOLVED", 1)
    found = counts_given_total(rough(1, 4, 5), NOISY, 5, 2.0)[0]
    assert found == pytest.approx((2.270407, 0.557957, 0.557957, 1.613679), abs=1e-5)
    assert np.abs(found - GOLDEN[1]).max() < 0.35
    assert found.sum() == pytest.approx(5)


@pytest.mark.parametrize(("total", "bins"), [(1, 2), (3, 3), (5, 4)])
def test_exact_means_are_those_of_all_vectors_of_counts(total: int, bins: int) -> None:
    """Brute force over all counts with the total; clamping the noisy ones changes nothing."""
    rng = np.random.default_rng(total)
    vectors = [v for v in itertools.product(range(total + 1), repeat=bins) if sum(v) == total]
    log_prior = rng.normal(size=(1, bins, total + 1))
    for scale in (0.3, 2.0, 40.0):
        noisy = rng.integers(-4, total + 5, bins)  # unclamped here
        log_weight = np.array(
            [
                sum(log_prior[0, b, k] - abs(noisy[b] - k) / scale for b, k in enumerate(v))
                for v in vectors
            ]
        )
        weight = np.exp(log_weight - log_weight.max())
        wanted = weight @ np.array(vectors) / weight.sum()
        found = counts_given_total(log_prior, np.clip(noisy, 0, total)[None], total, scale)[0]
        assert found == pytest.approx(wanted, abs=1e-11)


@pytest.mark.parametrize("total", [3, 40, 150])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1024.0])
def test_counts_sum_to_the_total_at_every_epsilon(total: int, epsilon: float) -> None:
    """Also for noisy counts that no noise explains: at least 0, and finite."""
    noisy = np.array([[total] * 9, [0] * 9, [*range(9)]]).clip(0, total)
    found = counts_given_total(rough(3, 9, total), noisy, total, 2 / epsilon)
    assert found.min() >= 0
    assert found.sum(axis=1) == pytest.approx([total] * 3, rel=1e-6)


def test_the_noise_is_added_as_its_law_says() -> None:
    """The recursion is the sum over all counts of their probability times that of the noise."""
    law = np.random.default_rng(0).dirichlet(np.ones(7), 3)
    ratio = math.exp(-1 / 1.5)
    distance = np.abs(np.arange(7)[:, None] - np.arange(7))
    wanted = law @ ((1 - ratio) / (1 + ratio) * ratio**distance)
    assert with_noise(law, 1.5) == pytest.approx(wanted, abs=1e-14)


def test_the_own_bandwidth_is_the_golden_number() -> None:
    """Shares .1 .4 .3 .2 on 0 to 10 of ten claims: median 5, MAD 1.785714."""
    found = own_bandwidth(np.array([[0.1, 0.4, 0.3, 0.2]]), np.array([2.5]), np.array([10.0]))
    assert found == pytest.approx([1.770687], abs=1e-6)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20).filter(lambda x: sum(x) > 0.1))
def test_prop_the_own_bandwidth_is_the_same_from_both_ends(parts: list[float]) -> None:
    """Read from right to left the same shares ask for the same width, where none is empty."""
    share = np.array([parts]) + 1e-3
    share /= share.sum()
    one, two = (own_bandwidth(s, np.ones(1), np.full(1, 5.0)) for s in (share, share[:, ::-1]))
    assert one == pytest.approx(two, rel=1e-6)


def exact_deviation(counts: list[int]) -> Fraction:
    """Return the median absolute deviation of bins of these counts, in bins, in fractions."""
    cumulative = [Fraction(0)]
    for count in counts:
        cumulative.append(cumulative[-1] + Fraction(count, sum(counts)))

    def mass_below(at: Fraction) -> Fraction:
        inside = min(max(at, Fraction(0)), Fraction(len(counts)))
        b = min(int(inside), len(counts) - 1)
        return cumulative[b] + (inside - b) * (cumulative[b + 1] - cumulative[b])

    def reached(mass: Callable[[Fraction], Fraction], corners: list[Fraction]) -> Fraction:
        """Return the least value with half of a mass that grows in straight lines."""
        last = next(i for i, at in enumerate(corners) if mass(at) >= Fraction(1, 2))
        low, high = corners[last - 1], corners[last]
        return low + (Fraction(1, 2) - mass(low)) / (mass(high) - mass(low)) * (high - low)

    edges = [Fraction(edge) for edge in range(len(counts) + 1)]
    median = reached(mass_below, edges)
    corners = sorted({Fraction(0), *(abs(edge - median) for edge in edges)})
    return reached(lambda m: mass_below(median + m) - mass_below(median - m), corners)


@pytest.mark.parametrize("bins", [1, 2, 3, 5, 12, 41])
def test_exact_the_own_bandwidth_is_that_of_fractions(bins: int) -> None:
    """Of few claims in bins, where half of them often ends at an empty bin: never beyond it."""
    rng = np.random.default_rng(bins)
    law = rng.dirichlet(np.full(bins, 0.5), 60)
    counts = np.array([rng.multinomial(1 + i % 10, each) for i, each in enumerate(law)])
    share = counts / counts.sum(axis=1, keepdims=True)
    found = own_bandwidth(share, np.ones(60), np.ones(60)) / (1.06 * 1.4826)
    wanted = [float(exact_deviation(row)) for row in counts.tolist()]
    assert found == pytest.approx(wanted, rel=1e-9)


def test_shrinkage_gives_the_golden_numbers() -> None:
    """Four objects of five claims at epsilon 1, towards the claims and towards their source."""
    noisy = np.array([[3, -1, 0, 2], [0, 4, 1, 0], [1, 0, 5, -2], [2, 2, 0, 1]]) / 5
    ratio = math.exp(-0.5)
    noise, sampling = np.full(4, 2 * ratio / (1 - ratio) ** 2 / 25), np.full(4, 0.2)
    assert noise[0] * 25 == pytest.approx(7.835396, abs=1e-6)
    claims = wiener_shares(noisy, noise, sampling, "claims", least_objects=1)
    assert claims[0] == pytest.approx((0.359731, 0.229583, 0.295613, 0.115074), abs=1e-6)
    source = wiener_shares(noisy, noise, sampling, "source", least_objects=1)
    assert source == pytest.approx(np.tile([0.325, 0.275, 0.325, 0.075], (4, 1)), abs=1e-9)


def noisy_histograms(counts: np.ndarray, claims: int, epsilon: float) -> NoisyHistograms:
    """Return noisy counts of objects with equally many claims, shape (objects, bins)."""
    n = np.full(len(counts), claims)
    return NoisyHistograms(
        counts.ravel(), n, n.astype(float), 1 / np.maximum(n, 1), np.full(len(n), 2 / epsilon)
    )


def plan_of(objects: int, claims: int, epsilon: float, **more: Any) -> Plan:
    """Return the plan of objects on 0 to 10."""
    ends = np.zeros(objects), np.full(objects, 10.0)
    return Plan.of(np.full(objects, claims), epsilon, *ends, **more)


@pytest.mark.parametrize("target", ["claims", "source"])
def test_finishing_sees_no_claims(target: Any, grouped: Grouped) -> None:
    """It is given none, and of neighbouring tables with equal noisy counts it makes equal bytes."""
    hints = typing.get_type_hints(finish)
    assert GroupedClaims not in hints.values()
    engine = parse_engine(target, epsilon=1, domain=(0, 10))
    made = []
    for value in (1.0, 9.0):
        claims = grouped([[value, 2, 2, 3], [5, 5, 5, 6]])
        plan = engine.plan(claims)  # type: ignore[attr-defined]
        # the same noisy counts in both worlds, whatever the values are
        counts = np.random.default_rng(0).integers(-2, 4, (2, 9))
        made.append(finish(noisy_histograms(counts, 4, 1.0), plan, target))
    for part in ("offset", "location", "weight", "width"):
        assert getattr(made[0], part).tobytes() == getattr(made[1], part).tobytes()


@pytest.mark.parametrize("claims", [1, 2, 20, 150, 3000])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1024.0])
def test_every_number_of_claims_and_epsilon_has_a_density(claims: int, epsilon: float) -> None:
    """One object alone, all claims at one end; weights sum to 1 and widths are above 0."""
    for more in ({}, {"bins": 1}, {"bins": 60}, {"step": 5.0}):
        plan = plan_of(1, claims, epsilon, **more)
        counts = np.zeros((1, int(plan.grid.bins[0])), dtype=np.int64)
        counts[0, 0] = claims
        noisy = counts + noise_like(counts, epsilon, 0)
        for target in ("claims", "source"):
            made = finish(noisy_histograms(noisy, claims, epsilon), plan, target)
            assert made.weight.sum() == pytest.approx(1)
            assert (made.weight >= 0).all()
            assert (made.width > 0).all()


def test_objects_of_different_sizes_are_finished_together() -> None:
    """Numbers of claims from 0 to 3000 in one call; those without claims have no density."""
    claims = np.array([0, 1, 5, 5, 30, 101, 3000])
    plan = Plan.of(claims, 2.0, np.zeros(7), np.array([10.0] * 6 + [3.0]))
    counts = np.zeros(int(plan.grid.offset[-1]), dtype=np.int64)
    counts[plan.grid.offset[:-1]] = claims
    noisy = NoisyHistograms(
        counts, claims, claims.astype(float), 1 / np.maximum(claims, 1), np.ones(7)
    )
    made = finish(noisy, plan, "claims")
    assert np.diff(made.offset).tolist()[0] == 0
    assert (np.diff(made.offset)[1:] > 0).all()
    weight = np.bincount(np.repeat(np.arange(7), np.diff(made.offset)), made.weight)
    assert weight[1:] == pytest.approx(np.ones(6))


def noise_like(counts: np.ndarray, epsilon: float, seed: int) -> np.ndarray:
    """Return two-sided geometric noise of scale 2 / epsilon for every count."""
    coins = SimulatedCoins(np.random.default_rng(seed))
    scale = scale_rounded_up(2 / Fraction(epsilon))
    return discrete_laplace(coins, scale, counts.size).reshape(counts.shape)


def test_audit_the_estimate_of_the_spread_is_unbiased() -> None:
    """400 draws of noise on the same counts: z below 4.9, false alarm 1e-6."""
    bins = 9
    counts = np.random.default_rng(1).multinomial(30, np.ones(bins) / bins, 4)
    x, share = (np.arange(bins) - 4) / bins, counts / 30
    true = float((share @ x**2 - (share @ x) ** 2).mean())
    grid = Grid(np.full(4, bins), np.zeros(4), np.ones(4), np.arange(5) * bins)
    found = [
        variances_within(noisy_histograms(counts + noise_like(counts, 1, i), 30, 1), grid).mean()
        for i in range(400)
    ]
    z = (np.mean(found) - true) / (np.std(found, ddof=1) / 20)
    assert abs(z) < 4.9


def test_points_are_drawn_together_where_the_release_is_too_wide() -> None:
    """Many objects of tight claims at a small epsilon: a factor well below 1; few objects: 1."""
    plan = plan_of(200, 20, 0.5)
    counts = np.zeros((200, 9), dtype=np.int64)
    counts[np.arange(200), np.arange(200) % 9] = 20
    counts += noise_like(counts, 0.5, 0)
    noisy = noisy_histograms(counts, 20, 0.5)
    made = finish(noisy, plan, "claims")
    assert 0 < spread_factor(noisy, plan.grid, made) < 0.83
    few = noisy_histograms(counts[:20], 20, 0.5)
    small = plan_of(20, 20, 0.5)
    assert spread_factor(few, small.grid, finish(few, small, "claims")) == 1.0
    mean, variance = moments(made)
    assert ((mean >= -1) & (mean <= 11) & (variance > 0)).all()
