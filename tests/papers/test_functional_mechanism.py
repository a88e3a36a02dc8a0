"""The functional mechanism: coefficients, their sensitivity, maxima of noisy quadratics."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize

from masquerade.errors import ParameterError
from masquerade.exact import Micro, SimulatedCoins
from masquerade.preference import made_up_voters
from masquerade.preference.directions import UNIT, whole_directions
from masquerade.preference.metrics import expected_agreement
from masquerade.preference.pooled_fit import fit_pooled
from masquerade.preference.vector_noise import LaplaceNoise
from masquerade_papers.preferences.functional import (
    AggregateFunctional,
    CentralFunctional,
    LocalFunctional,
    coefficient_rows,
    coefficients,
    in_coefficients,
    linear_and_matrix,
    maximise,
    noise_covariance,
    quadratic_sensitivity,
)

ONE = np.array([0, 1])


def rows_of(differences: np.ndarray) -> np.ndarray:
    """Return the coefficients of voters with one record each."""
    return coefficient_rows(whole_directions(differences), np.arange(len(differences) + 1))


def test_coefficients_are_those_of_the_expansion() -> None:
    """L = sqrt(2/pi) sum V and M = sum V V^T / pi, for directions V, within the grid's rounding."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(9, 4))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    offsets = np.array([0, 4, 4, 9])
    found = coefficient_rows(whole_directions(rows), offsets)
    assert found.shape == (3, coefficients(4)) == (3, 14)
    linear, matrix = linear_and_matrix(found.astype(float), 4)
    for voter, (a, b) in enumerate(itertools.pairwise(offsets)):
        assert np.allclose(linear[voter], math.sqrt(2 / math.pi) * unit[a:b].sum(axis=0), atol=3e-3)
        assert np.allclose(matrix[voter], unit[a:b].T @ unit[a:b] / math.pi, atol=3e-3)


@pytest.mark.parametrize(
    ("d", "published", "tight"),
    [(2, 3.530, 2.739), (5, 6.751, 5.049), (10, 11.412, 8.365), (23, 22.295, 16.078)],
)
def test_sensitivities_are_the_formulas(d: int, published: float, tight: float) -> None:
    """Both, in the coefficients' own unit; the tight one is about a quarter less."""
    found = {
        rule: in_coefficients(np.array(quadratic_sensitivity(d, rule).absolute, np.float64))
        for rule in ("published", "tight")
    }
    assert found["published"] == pytest.approx(published, abs=2e-3)
    assert found["tight"] == pytest.approx(tight, abs=1e-3)
    formula = 2 * (math.sqrt(2 * d / math.pi) + d / math.pi)
    assert found["published"] == pytest.approx(formula, rel=1e-3)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_sensitivity_holds_by_search(d: int) -> None:
    """Random pairs and a local search from the best of them stay below the tight claim.

    They come within 6 % of it (12 % for one feature): it is nearly the best possible.
    """
    claimed = quadratic_sensitivity(d, "tight").absolute
    rng = np.random.default_rng(d)

    def apart(pair: np.ndarray) -> int:
        first, second = rows_of(pair.reshape(2, d))
        return int(np.abs(first - second).sum())

    pairs = rng.normal(size=(2_000, 2 * d))
    sizes = [apart(pair) for pair in pairs]
    best = 0
    for start in pairs[np.argsort(sizes)[-3:]]:
        found = optimize.minimize(
            lambda pair: -apart(pair), start, method="Nelder-Mead", options={"maxiter": 300}
        )
        best = max(best, -int(found.fun))
    assert max(*sizes, best) <= claimed <= quadratic_sensitivity(d, "published").absolute
    assert best > (0.94 if d > 1 else 0.88) * claimed


def test_the_sensitivity_holds_for_short_directions_too() -> None:
    """The proof covers every vector of length at most 1; all of a grid of the disc are compared."""
    axis = np.arange(-UNIT, UNIT + 1, UNIT // 8)
    disc = np.array([(x, y) for x in axis for y in axis if x * x + y * y <= UNIT**2])
    rows = coefficient_rows(disc, np.arange(len(disc) + 1))
    apart = np.abs(rows[:, None, :] - rows[None, :, :]).sum(axis=2)
    assert apart.max() <= quadratic_sensitivity(2, "tight").absolute


def test_exact_the_log_ratio_is_at_most_epsilon() -> None:
    """Sensitivity over scale, in fractions, is at most epsilon for both rules."""
    for rule in ("tight", "published"):
        for epsilon in (Fraction(1, 100), Fraction(1, 3), Fraction(7)):
            sensitivity = quadratic_sensitivity(10, rule)
            ratio = sensitivity.absolute / LaplaceNoise.of(epsilon, sensitivity).scale
            assert epsilon * Fraction(999_999, 1_000_000) < ratio <= epsilon


def test_audit_the_noise_on_each_coefficient_has_the_stated_size() -> None:
    """Mean absolute noise over 3,000 reports is the scale within six standard errors."""
    sensitivity = quadratic_sensitivity(2, "tight")
    noise = LaplaceNoise.of(Fraction(1), sensitivity)
    drawn = noise.draw(SimulatedCoins(np.random.default_rng(1)), vectors=3_000, dimension=5)
    size = np.abs(drawn).astype(float)
    error = size.std() / math.sqrt(size.size)
    assert abs(size.mean() - float(noise.scale)) < 6 * error


def test_without_noise_the_maximum_solves_the_quadratic() -> None:
    """Half the inverse of M times l; directions of less than a quarter of the ridge are dropped."""
    linear = np.array([[1.0, 2.0], [1.0, 2.0]])
    matrix = np.array([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, -3.0]]])
    weights, _ = maximise(linear, matrix, np.zeros(2))
    assert np.allclose(weights[0], 0.5 * np.linalg.solve(matrix[0], linear[0]))
    assert np.allclose(weights[1], [0.5, 0.0])
    for bend, kept in ((-2.9, True), (-3.1, False)):
        noisy = np.array([[[2.0, 0.0], [0.0, bend]]])
        trimmed, _ = maximise(linear[:1], noisy, np.array([4.0]))
        assert np.allclose(trimmed[0], [0.5 / 6, 1 / (4 + bend) if kept else 0])


def test_the_noise_covariance_is_that_of_small_noise() -> None:
    """Over 4,000 draws of small noise in the coefficients, within 15 % of the formula."""
    rng = np.random.default_rng(3)
    linear, matrix = np.array([[1.0, -0.5]]), np.array([[[3.0, 0.4], [0.4, 2.0]]])
    weights, inverse = maximise(linear, matrix, np.zeros(1))
    sd = 0.01
    wanted = noise_covariance(weights, inverse, np.array([sd**2]))[0]
    off = rng.normal(scale=sd, size=(4_000, 5))
    noisy = np.repeat(matrix, 4_000, axis=0)
    noisy[:, 0, 0] += off[:, 0]
    noisy[:, 1, 1] += off[:, 1]
    noisy[:, 0, 1] += off[:, 2] / 2
    noisy[:, 1, 0] += off[:, 2] / 2
    drawn, _ = maximise(linear + off[:, 3:], noisy, np.zeros(4_000))
    assert np.allclose(np.cov(drawn.T), wanted, atol=0.15 * wanted.max())


def test_the_same_noise_is_best_added_once() -> None:
    """Over 8 crowds at epsilon 2: a trusted aggregator does best, both local ways about alike."""
    found: dict[str, list[float]] = {}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        voters = made_up_voters(rng, voters=60, features=6)
        data = voters.choose(rng, 40)
        for kind in (LocalFunctional, AggregateFunctional, CentralFunctional):
            learned = kind(epsilon=2).simulate(data, rng)
            agreed = expected_agreement(learned.weights, voters.mean_weights, reference="r1")
            found.setdefault(kind.name, []).append(agreed.accuracy)
    means = {name: np.mean(each) for name, each in found.items()}
    assert means["local-functional"] > 0.8
    assert abs(means["local-functional"] - means["aggregate-functional"]) < 0.05
    assert means["aggregate-functional"] + 0.05 < means["central-functional"]


def test_with_little_noise_the_sum_points_where_the_pooled_fit_does() -> None:
    """At epsilon 20 of a trusted aggregator the directions agree on 97 % of pairs."""
    rng = np.random.default_rng(4)
    data = made_up_voters(rng, voters=80, features=4).choose(rng, 40)
    learned = CentralFunctional(epsilon=20).simulate(data, rng)
    pooled = fit_pooled(data).weights
    assert expected_agreement(learned.weights, pooled, reference="r3").accuracy > 0.97


def test_the_guarantee_is_of_records_and_says_what_a_voter_gets() -> None:
    """N times epsilon for a voter with n records, for all three."""
    rng = np.random.default_rng(0)
    data = made_up_voters(rng, voters=5, features=3).choose(rng, 4)
    for kind, paradigm in (
        (LocalFunctional, "RLDP"),
        (AggregateFunctional, "RLDP"),
        (CentralFunctional, "RLCP"),
    ):
        released = kind(epsilon=0.5).release(data)
        promise = released.guarantee
        assert (promise.epsilon, promise.epsilon_user) == (Micro(500_000), Micro(2_000_000))
        assert released.paradigm == paradigm


def test_a_bound_projects_the_maximum() -> None:
    """Absolute weights add to at most the bound."""
    rng = np.random.default_rng(0)
    data = made_up_voters(rng, voters=30, features=3).choose(rng, 20)
    for kind in (LocalFunctional, AggregateFunctional, CentralFunctional):
        learned = kind(epsilon=20, bound="0.1").simulate(data, rng)
        assert np.abs(learned.weights).sum() <= 0.1 + 1e-12
    for wrong in ({"bound": 0}, {"sensitivity": "loose"}, {"unit": "voter"}):
        with pytest.raises(ParameterError):
            LocalFunctional(**{"epsilon": 1, **wrong})  # type: ignore[arg-type]
