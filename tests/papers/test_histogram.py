"""Private histograms: exact promise, noise, projection, two passes, pooling."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import chi2

from masquerade.errors import ParameterError
from masquerade.exact import SimulatedCoins
from masquerade.exact.noise import scale_rounded_up
from masquerade.release import Domain, GroupedClaims, guarantee_sentence
from masquerade_papers.priscrowd.grid import Grid, bins_by_rule, nearest_counts
from masquerade_papers.priscrowd.histogram import (
    UNITS_OF_WEIGHT,
    Histogram,
    in_units,
    noisy_counts,
    public_weights,
)
from masquerade_papers.priscrowd.metrics import ise
from masquerade_papers.priscrowd.mixtures import Mixtures
from masquerade_papers.priscrowd.pooled import PooledHistogram
from masquerade_papers.priscrowd.simulation import simulate
from masquerade_papers.priscrowd.templates import PARTS_OF_BIN, log_likelihoods, templates_for

Grouped = Callable[..., GroupedClaims]


def counts_of(values: tuple[float, ...], grouped: Grouped, engine: Histogram) -> Counter[int]:
    """Return how many claims are in each bin."""
    claims = grouped([values])
    return Counter(engine.grid(claims, engine.epsilon_of_object).bin_of(claims).tolist())


@pytest.mark.parametrize(("epsilon", "unit", "cap"), [("1", "claim", 10), ("7/3", "user", 4)])
def test_exact_no_neighbour_is_told_apart_by_more_than_epsilon(
    grouped: Grouped, epsilon: str, unit: Any, cap: int
) -> None:
    """All data sets of 3 claims on 5 values: the worst log-ratio is epsilon, in fractions.

    Noise of scale s has P(x) proportional to e**(-abs(x) / s), so that the log-ratio of two count
    vectors is at most their distance over s, and reaches it.
    """
    engine = Histogram(epsilon=epsilon, domain=(0, 4), bins=5, unit=unit, cap=cap)
    scale = scale_rounded_up(2 / engine.epsilon_of_object)
    worst = Fraction(0)
    for values in itertools.product(range(5), repeat=3):
        here = counts_of(values, grouped, engine)
        for other in range(5):
            there = counts_of((other, *values[1:]), grouped, engine)
            distance = sum(abs(here[b] - there[b]) for b in range(5))
            worst = max(worst, Fraction(distance) / scale)
    assert worst == engine.epsilon_of_object
    objects = 1 if unit == "claim" else cap
    assert engine.epsilon_of_object * objects == engine.exact_epsilon == Fraction(epsilon)
    assert engine.guarantee().epsilon.epsilon >= float(Fraction(epsilon))


def test_exact_weights_never_move_a_count_by_more_than_one_claim() -> None:
    """For every new weight of a user, two counts move by at most the largest weight each."""
    weight = in_units(np.array([-3.0, 0, 0.05, 0.3, 1.0, 9.0, 0.999999]))
    assert weight.min() >= 0.05 * UNITS_OF_WEIGHT - 1
    assert weight.max() == UNITS_OF_WEIGHT


def test_audit_noise_has_the_stated_distribution(grouped: Grouped) -> None:
    """40,000 noisy counts against the geometric law, chi-square, false alarm 1e-6."""
    claims = grouped([[0.5] * 4] * 500)
    grid = Grid.of(claims, Domain(0, 80), np.full(500, 80))
    source = SimulatedCoins(np.random.default_rng(11))
    noisy = noisy_counts(claims, grid, None, Fraction(1), source).reshape(500, 80)
    noise = noisy.copy()
    noise[:, 0] -= 4
    seen = np.clip(noise.ravel(), -9, 9)
    ratio = math.exp(-0.5)
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-9, 10))
    law[[0, -1]] = ratio**9 / (1 + ratio)
    expected = law * seen.size
    counts = np.array([(seen == x).sum() for x in range(-9, 10)])
    assert law.sum() == pytest.approx(1)
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-6, 18)


def test_audit_no_event_betrays_more_than_epsilon(grouped: Grouped) -> None:
    """The most telling event, 40,000 runs a world, false alarm 1e-6, stays below epsilon 1."""
    engine = Histogram(epsilon=1, domain=(0, 4), bins=4)
    hits = []
    for value in (0.5, 3.5):
        claims = grouped([[value, 1.5, 1.5]] * 40_000)
        grid = engine.grid(claims, engine.epsilon_of_object)
        source = SimulatedCoins(np.random.default_rng(5))
        noisy = noisy_counts(claims, grid, None, engine.epsilon_of_object, source).reshape(-1, 4)
        hits.append(int(((noisy[:, 0] >= 1) & (noisy[:, 3] <= 0)).sum()))
    # Hoeffding: each share is within 0.0139 of its probability but for 5e-7.
    margin = math.sqrt(math.log(2 / 1e-6) / (2 * 40_000))
    lower = math.log((hits[0] / 40_000 - margin) / (hits[1] / 40_000 + margin))
    assert 0.5 < lower <= 1


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=12), st.floats(0.5, 30))
def test_prop_projection_is_the_nearest_point(values: list[float], total: float) -> None:
    """On the simplex, unchanged where it is there already, and no feasible direction is nearer."""
    x = np.array(values)
    found = nearest_counts(x, np.array([total]), np.array([len(x)]))
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    again = nearest_counts(found, np.array([total]), np.array([len(x)]))
    assert again == pytest.approx(found, abs=1e-9)
    gap = x - found
    # optimality: the gap is the same where positive and no larger elsewhere
    level = gap[found > 1e-9]
    assert np.ptp(level) < 1e-8
    assert gap.max() <= level.max() + 1e-8


def test_projection_equals_an_optimiser() -> None:
    """Two objects at once against scipy's constrained minimum."""
    values = np.array([3.0, -1, 2, 0.5, 4, 4, -9])
    found = nearest_counts(values, np.array([2.0, 5.0]), np.array([3, 4]))
    for part, total in ((slice(0, 3), 2.0), (slice(3, 7), 5.0)):
        x = values[part]
        best = minimize(
            lambda p, x=x: ((p - x) ** 2).sum(),
            np.full(len(x), total / len(x)),
            bounds=[(0, None)] * len(x),
            constraints={"type": "eq", "fun": lambda p, total=total: p.sum() - total},
        )
        assert found[part] == pytest.approx(best.x, abs=1e-4)


def test_the_rule_for_bins_is_public() -> None:
    """4 sqrt(n epsilon / 2), from 8 to 80, and never more bins than answers."""
    assert bins_by_rule(np.array([1, 50, 200, 10**6]), 1.0).tolist() == [8, 20, 40, 80]


def test_one_claim_and_edges_and_grids_work(grouped: Grouped) -> None:
    """A single claim, values at and beyond the ends, and whole-number scales are released."""
    claims = grouped([[5.0], [0, 10, -3, 12]])
    release = simulate(
        claims, np.random.default_rng(0), engine=Histogram(epsilon=1, domain=Domain(0, 10, step=1))
    )
    assert release.status == ("ok", "ok")
    assert set(release.points.tolist()) <= set(map(float, range(11)))
    assert release.collector["outside_domain"] == 2
    own = Domain(0, 10, of_objects={"o0001": (-5, 15)})
    release = simulate(claims, np.random.default_rng(0), engine=Histogram(epsilon=1, domain=own))
    assert release.collector["outside_domain"] == 0
    assert release.points[:30].min() >= 0
    assert release.points[:30].max() <= 10


def test_any_number_of_points_costs_the_same(grouped: Grouped) -> None:
    """One point or a thousand: one epsilon, and the same noise."""
    claims = grouped([[5.0] * 20])
    engine = Histogram(epsilon=1, domain=(0, 10))
    releases = [
        simulate(claims, np.random.default_rng(0), engine=engine, samples=m) for m in (1, 1000)
    ]
    assert releases[0].densities.weight.tolist() == releases[1].densities.weight.tolist()
    assert [len(r.points) for r in releases] == [1, 1000]


def test_points_have_the_density_they_are_drawn_from() -> None:
    """20,000 points of a mixture against its distribution function, Kolmogorov, 1e-6."""
    mixture = Mixtures(
        np.array([0, 2, 2]), np.array([0.0, 5]), np.array([0.3, 0.7]), np.array([1.0, 0.5])
    )
    points = mixture.sample(np.array([20_000, 0]), SimulatedCoins(np.random.default_rng(0)))
    from scipy.special import ndtr

    at = np.sort(points)
    law = 0.3 * ndtr(at) + 0.7 * ndtr((at - 5) / 0.5)
    gap = np.abs(law - (np.arange(20_000) + 0.5) / 20_000).max()
    assert gap < math.sqrt(math.log(2 / 1e-6) / 2 / 20_000)


def test_public_weights_drop_bad_users(grouped: Grouped) -> None:
    """With reliabilities from elsewhere the copied value of bad users loses most of its share."""
    rows = np.full((40, 30), 2.0)
    rows[:, :12] = 8.0
    claims = grouped(rows)
    names = claims.users.to_pylist()
    weights = dict.fromkeys(names[:12], 0.05)
    for reliability, low, high in ((None, 0.3, 0.5), (weights, 0.0, 0.1)):
        engine = Histogram(epsilon=8, domain=(0, 10), reliability=reliability)
        points = simulate(claims, np.random.default_rng(0), engine=engine, samples=200).points
        assert low <= (points > 5).mean() <= high
    assert "weights" in guarantee_sentence(engine.guarantee())


@pytest.mark.parametrize(
    ("weight", "units"),
    [(0.3, 77), ("0.3", 77), (Fraction(3, 10), 77), (np.float32(0.3), 77), (1, 256), (-0.0, 13)],
)
def test_a_public_weight_may_be_any_number(grouped: Grouped, weight: Any, units: int) -> None:
    """Floats, texts, fractions and whole numbers that say the same weigh the same."""
    assert public_weights({"u0001": weight}, grouped([[1.0, 2.0]])).tolist() == [256, units]


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        (math.nan, "the weight of user 'u0001' is nan, expected a number"),
        (-math.inf, "the weight of user 'u0001' is -inf, expected a number"),
        (math.inf, "the weight of user 'u0001' is inf, expected a finite number"),
        ("much", "the weight of user 'u0001' is 'much', expected a number"),
        (True, "the weight of user 'u0001' is True, expected a number"),
    ],
)
def test_a_public_weight_that_is_no_number_is_refused(
    grouped: Grouped, weight: Any, said: str
) -> None:
    """The message names the user."""
    with pytest.raises(ParameterError, match=said):
        public_weights({"u0001": weight}, grouped([[1.0, 2.0]]))


@pytest.mark.parametrize(("users", "epsilon"), [(10, 2), (20, 1), (20, 4), (50, 1)])
def test_pooling_beats_plain_histograms_where_claims_are_few(
    grouped: Grouped, users: int, epsilon: int
) -> None:
    """On one-mode objects with a fifth of bad users the error falls by at least a tenth."""
    rng = np.random.default_rng(users)
    truth, spread = rng.uniform(-12, 12, 60), np.exp(rng.uniform(-0.2, 0.7, 60))
    rows = truth[:, None] + spread[:, None] * rng.standard_normal((60, users))
    bad = rng.random(users) < 0.2
    wide = truth[:, None] + 3 * spread[:, None] * rng.standard_t(2, (60, users))
    claims = grouped(np.where(bad, wide, rows))
    reference = Mixtures.of_points(np.arange(61), truth, spread)
    error = {}
    for kind in (Histogram, PooledHistogram):
        engine = kind(epsilon=epsilon, domain=(-20, 20))
        release = simulate(claims, np.random.default_rng(1), engine=engine)
        error[kind.name] = ise(reference, release).rel_ise
        assert release.status == ("ok",) * 60
    assert error["pooled"] < 0.9 * error["hist"]


def test_pooling_leaves_rich_objects_as_they_are(grouped: Grouped) -> None:
    """Above 20 claims and 50 claims times epsilon, densities are those of `hist` to the bit."""
    rows = [[1.0] * 60, [2.0] * 10]
    releases = [
        simulate(grouped(rows), np.random.default_rng(0), engine=kind(epsilon=2, domain=(0, 10)))
        for kind in (Histogram, PooledHistogram)
    ]
    plain, pooled = (r.densities.bumps(0) for r in releases)
    assert plain == pooled
    assert releases[0].densities.bumps(1) != releases[1].densities.bumps(1)
    assert releases[1].parameters["pooled_objects"] == 1
    assert releases[1].guarantee == releases[0].guarantee


def test_pooling_uses_nothing_but_noisy_counts(
    grouped: Grouped, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the noisy counts given, the claims' values change no density."""
    counts = np.random.default_rng(0).integers(-2, 8, 8 * 5)
    monkeypatch.setattr("masquerade_papers.priscrowd.pooled.noisy_counts", lambda *_: counts)
    rng = np.random.default_rng(1)
    found = []
    for _ in range(2):
        claims = grouped(rng.uniform(0, 10, (5, 6)))
        engine = PooledHistogram(epsilon=1, domain=(0, 10), bins=8)
        release = simulate(claims, np.random.default_rng(0), engine=engine)
        found.append(release.densities.weight.tolist())
    assert found[0] == found[1]


def test_shapes_are_shares_and_likelihoods_are_the_noise_law() -> None:
    """Every shape sums to 1, and the likelihood of one bin is binomial plus geometric."""
    templates = templates_for(8)
    assert templates.share.sum(axis=1) == pytest.approx(1)
    assert templates.bump.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert templates.bump.shape[1] == 8 * PARTS_OF_BIN
    prior = templates.prior(np.full(8, 1 / 8))
    assert np.bincount(templates.family, prior) == pytest.approx(1)
    peak = np.zeros((1, 8), np.int64)
    peak[0, 3] = 12
    found = log_likelihoods(peak, 12, 2 / 50, templates)[0]
    best = templates.share[int(found.argmax())]
    assert best.argmax() == 3
    # all of twelve claims in one bin, and next to no noise: nearly certain under the narrowest
    assert -0.1 < found.max() <= 0


@pytest.mark.parametrize(
    "words",
    [
        {"epsilon": 0},
        {"epsilon": "nan"},
        {"epsilon": -1},
        {"epsilon": 10**6},
        {"domain": (3, 3)},
        {"domain": (3, 1)},
        {"domain": 7},
        {"domain": (0, "inf")},
        {"unit": "person"},
        {"cap": 0},
        {"bins": 0},
        {"bins": 81},
        {"bandwidth": 0.0},
        {"bandwidth": math.nan},
    ],
)
def test_bad_parameters_are_refused(words: dict[str, Any]) -> None:
    """Each parameter has its range."""
    given: dict[str, Any] = {"epsilon": 1, "domain": (0, 1)}
    with pytest.raises(ParameterError):
        Histogram(**given | words)


def test_the_domain_must_come_from_outside() -> None:
    """Without a domain a private engine says why it cannot look at the claims for one."""
    with pytest.raises(ParameterError, match="somebody's claims"):
        Histogram(epsilon=1, domain=None)
    with pytest.raises(ParameterError, match="no whole number of steps"):
        Domain(0, 10, step=3)
    with pytest.raises(ParameterError, match="step"):
        Domain(0, 10, step=0)


def test_noise_scales_are_rounded_towards_more_noise() -> None:
    """An epsilon with many digits still gives at most 48 bits, and never less noise."""
    epsilon = Fraction(1, 3) + Fraction(1, 10**30)
    scale = scale_rounded_up(2 / epsilon)
    assert scale >= 2 / epsilon
    assert float(scale) == pytest.approx(6, rel=1e-6)
    with pytest.raises(ParameterError, match="too small"):
        scale_rounded_up(2 / Fraction(1, 10**20))
