"""Noise for vectors: sized to the claim, and drawn as the formulas say."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from masquerade.accounting import gaussian_sigma
from masquerade.accounting.gaussian import lattice_epsilon
from masquerade.errors import ParameterError
from masquerade.exact import Micro, SimulatedCoins, epsilon_of_rho
from masquerade.exact.noise import scale_rounded_up
from masquerade.preference.composition import Sensitivity
from masquerade.preference.vector_noise import (
    MOST_DIMENSIONS,
    GaussianNoise,
    LaplaceNoise,
    NormNoise,
    acceptance,
    largest_rho,
    norm_noise,
    rho_of_gaussian,
)

EPSILONS = st.integers(10_000, 30_000_000).map(lambda micro: Fraction(micro, 10**6))
DELTA = Fraction(1, 10**6)
FALSE_ALARM = 1e-7


def floor_length(vector: tuple[int, ...]) -> int:
    """Return the length, rounded down."""
    return math.isqrt(sum(x * x for x in vector))


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_exact_norm_noise_costs_at_most_its_rate_a_step(dimension: int) -> None:
    """Every pair of vectors at most D steps apart has lengths, rounded down, at most D apart.

    The noise's probabilities are proportional to exp(-rate * length), with the same factor for any
    true vector, so this is the whole proof. All vectors of a box are enumerated.
    """
    reach = {1: 40, 2: 9, 3: 4}[dimension]
    box = list(itertools.product(range(-reach, reach + 1), repeat=dimension))
    for x in box:
        for shift in box:
            distance = math.isqrt(max(sum(s * s for s in shift) - 1, 0)) + 1 if any(shift) else 0
            moved = tuple(a + b for a, b in zip(x, shift, strict=True))
            assert abs(floor_length(x) - floor_length(moved)) <= distance


@pytest.mark.parametrize("dimension", [1, 2, 3, 10])
def test_exact_norm_noise_accepts_in_the_right_proportion(dimension: int) -> None:
    """Proposal times acceptance is exp(-rate * (length + 1)) in exact fractions, never above 1.

    The proposal's exponent is (sum of absolute values) / scale, the acceptance's what is missing.
    """
    from masquerade.preference.vector_noise import _terms

    p, q = _terms(Fraction(7, 100))
    r = math.isqrt(p * p // dimension)
    rng = np.random.default_rng(dimension)
    zero = [[0] * dimension]
    for x in rng.integers(-1000, 1000, size=(500, dimension)).tolist() + zero:
        absolute = sum(map(abs, x))
        accepted = Fraction((floor_length(tuple(x)) + 1) * p - absolute * r, q)
        assert accepted >= 0
        assert accepted + absolute / Fraction(q, r) == Fraction(7, 100) * (
            floor_length(tuple(x)) + 1
        )


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_audit_norm_noise_has_the_formulas_frequencies(dimension: int) -> None:
    """Chi-square of 40,000 lengths against exp(-rate * length) counted over the whole lattice.

    The bound is exceeded once in 1e7 runs; the seed is fixed.
    """
    rate, n = Fraction(2), 40_000
    drawn = norm_noise(
        SimulatedCoins(np.random.default_rng(dimension)), rate, vectors=n, dimension=dimension
    )
    reach = 30
    one = np.zeros(reach**2, dtype=float)  # how many integers have each square
    one[np.arange(reach) ** 2] = [1, *[2] * (reach - 1)]
    counts = np.ones(1)
    for _ in range(dimension):
        counts = np.convolve(counts, one)[: reach**2]
    levels = np.arange(reach)
    level_of = np.array([math.isqrt(square) for square in range(reach**2)])
    weights = np.bincount(level_of, np.pad(counts, (0, reach**2 - len(counts)))) * np.exp(
        -2.0 * levels
    )
    expected = weights / weights.sum() * n
    lengths = np.array([floor_length(tuple(x)) for x in drawn.tolist()])
    observed = np.array([np.count_nonzero(lengths == level) for level in levels], dtype=float)
    cut = int(np.flatnonzero(expected >= 20)[-1])
    expected = np.append(expected[:cut], expected[cut:].sum())
    observed = np.append(observed[:cut], n - observed[:cut].sum())
    statistic = float(((observed - expected) ** 2 / expected).sum())
    assert statistic < stats.chi2.isf(FALSE_ALARM, len(expected) - 1)


def test_norm_noise_spreads_as_on_the_real_line() -> None:
    """In 10 dimensions the mean square is (d + 1) / rate**2 within six standard errors."""
    noise = NormNoise.of(Fraction(1), Sensitivity(0, 2 << 12))
    drawn = noise.draw(SimulatedCoins(np.random.default_rng(1)), vectors=3_000, dimension=10)
    squares = (drawn.astype(float) ** 2).mean(axis=1) / noise.variance(10)
    assert abs(squares.mean() - 1) < 6 * squares.std() / math.sqrt(3_000)
    assert np.abs(drawn.mean(axis=0)).max() < 6 * math.sqrt(noise.variance(10) / 3_000)


def test_norm_noise_refuses_what_it_cannot_draw() -> None:
    """Too many features, and a loss too small for 64 bits, are errors that name a way out."""
    coins = SimulatedCoins(np.random.default_rng(0))
    with pytest.raises(ParameterError, match="linear-gaussian"):
        norm_noise(coins, Fraction(1, 100), vectors=1, dimension=MOST_DIMENSIONS + 1)
    with pytest.raises(ParameterError, match="raise epsilon"):
        norm_noise(coins, Fraction(1, 10**9), vectors=1, dimension=10)
    assert 0.09 < acceptance(10) < 0.091


@given(EPSILONS, st.integers(1, 1 << 40))
def test_prop_laplace_noise_is_never_too_small(epsilon: Fraction, size: int) -> None:
    """The scale is at least sensitivity / epsilon, and hardly more."""
    noise = LaplaceNoise.of(epsilon, Sensitivity(size, size))
    assert noise.scale >= size / epsilon
    assert noise.scale <= size / epsilon * (1 + Fraction(1, 1 << 20)) + Fraction(1, 1 << 20)
    assert max(noise.scale.numerator, noise.scale.denominator) <= 1 << 48
    assert noise.loss(3) == Micro.of_amount(3 * epsilon)


@given(EPSILONS, st.integers(1, 1 << 20))
def test_prop_norm_noise_costs_exactly_epsilon(epsilon: Fraction, size: int) -> None:
    """Rate times sensitivity is epsilon."""
    noise = NormNoise.of(epsilon, Sensitivity(0, size))
    assert noise.rate * size == epsilon
    assert noise.loss(2) == Micro.of_amount(2 * epsilon)


@settings(max_examples=20)
@given(EPSILONS, st.integers(1, 1 << 20))
def test_prop_gaussian_noise_costs_at_most_epsilon(epsilon: Fraction, size: int) -> None:
    """The loss of one unit is at most epsilon, and a ledger's charge at least its rho."""
    noise = GaussianNoise.of(epsilon, Sensitivity(0, size), DELTA)
    assert noise.loss(1) <= Micro.of_amount(epsilon)
    assert noise.loss(1) <= epsilon_of_rho(Micro(noise.rho.micro), delta=DELTA)
    assert noise.rho <= rho_of_gaussian(epsilon, DELTA, units=1)
    more = Micro(int(largest_rho(epsilon, DELTA).micro) + 1)
    assert epsilon_of_rho(more, delta=DELTA) > Micro.of_amount(epsilon)


def test_gaussian_noise_is_as_small_as_the_analytic_one() -> None:
    """From 100 steps on, the scale is at most a thousandth above that of the real line."""
    for steps in (100, 1 << 20):
        for epsilon in (Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(4), Fraction(10)):
            noise = GaussianNoise.of(epsilon, Sensitivity(0, steps), DELTA)
            exact = gaussian_sigma(float(epsilon), float(DELTA), sensitivity=steps)
            assert 1 <= math.sqrt(noise.squared_scale) / exact < 1.001


@pytest.mark.parametrize("change", [(3, 0), (3, 4), (1, 2, 2), (6, 6)])
@pytest.mark.parametrize("variance", [5, 9, 40])
def test_exact_vectors_with_gaussian_noise_lose_no_more_than_is_said(
    change: tuple[int, ...], variance: int
) -> None:
    """Delta at the stated epsilon, summed over all reports of the vector, is at most delta."""
    delta = Fraction(1, 1000)
    squared = sum(step**2 for step in change)
    epsilon = lattice_epsilon(Fraction(squared), variance=Fraction(variance), delta=delta).epsilon
    x = np.arange(-80, 81)
    weight = np.exp(-(x**2) / (2 * variance))
    probability = np.ones(1)
    loss = np.zeros(1)
    for step in change:
        each = (step**2 - 2 * step * x) / (2 * variance)
        probability = np.multiply.outer(probability, weight / weight.sum()).ravel()
        loss = np.add.outer(loss, each).ravel()
    above = loss > epsilon
    assert probability[above] @ -np.expm1(epsilon - loss[above]) <= float(delta)


def test_gaussian_noise_counts_whole_voters() -> None:
    """Ten records of one voter cost as much as ten times the change of one."""
    noise = GaussianNoise.of(Fraction(1), Sensitivity(0, 1 << 12), DELTA)
    ten = GaussianNoise(noise.squared_scale, 10 << 12, DELTA)
    assert noise.loss(10) == ten.loss(1)
    assert noise.loss(10) < epsilon_of_rho(Micro(100 * noise.rho.micro), delta=DELTA)
    assert rho_of_gaussian(Fraction(1), DELTA, units=10).micro >= 99 * noise.rho.micro


def test_audit_each_noise_has_its_variance() -> None:
    """Means of 20,000 squares are within six standard errors of the stated variance.

    The chance of a false alarm is below 1e-6 in all; the seed is fixed.
    """
    coins = SimulatedCoins(np.random.default_rng(4))
    sensitivity = Sensitivity(1 << 13, 1 << 12)
    for noise in (
        LaplaceNoise.of(Fraction(1), sensitivity),
        GaussianNoise.of(Fraction(1), sensitivity, DELTA),
    ):
        drawn = noise.draw(coins, vectors=4_000, dimension=5).astype(float) ** 2
        error = drawn.std() / math.sqrt(drawn.size)
        assert abs(drawn.mean() - noise.variance(5)) < 6 * error


def test_a_scale_with_many_digits_is_rounded_up() -> None:
    """Towards more noise; a value that cannot fit is an error."""
    wide = Fraction(10**30 + 1, 10**20)
    assert wide <= scale_rounded_up(wide) <= wide + Fraction(1, 100)
    with pytest.raises(ParameterError, match="64 bits"):
        scale_rounded_up(Fraction(10**40))


def test_an_epsilon_that_leaves_no_noise_is_refused() -> None:
    """A loss a step at which hardly any proposal is accepted is an error, not an endless draw."""
    source = SimulatedCoins(np.random.default_rng(1))
    assert norm_noise(source, Fraction(4), vectors=3, dimension=2).shape == (3, 2)
    with pytest.raises(ParameterError, match="leaves next to no noise"):
        norm_noise(source, Fraction(41, 10), vectors=3, dimension=2)
