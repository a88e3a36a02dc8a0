"""Algorithms 1 and 2: bounded fits with noise of an aggregator, of each voter, or of all."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.answers import Comparisons, Feature
from masquerade.errors import ParameterError
from masquerade.exact import Micro, SimulatedCoins
from masquerade.preference import (
    made_up_voters,
    thurstone,
)
from masquerade.preference.l1_ball import STEPS
from masquerade.preference.mechanisms.central_laplace import (
    SENSITIVITY,
    CentralLaplace,
    fits_on_grid,
)
from masquerade.preference.thurstone import fit_voters
from masquerade.preference.vector_noise import LAPLACE, LaplaceNoise
from masquerade_papers.preferences.local_laplace import LocalLaplace

TWO = Fraction(2)


def voters(records: list[np.ndarray]) -> Comparisons:
    """Return one voter for each array of records."""
    counts = [len(each) for each in records]
    d = records[0].shape[1]
    return Comparisons(
        np.concatenate(records),
        np.concatenate([[0], np.cumsum(counts)]),
        pa.array(range(len(records))),
        tuple(Feature(f"f{k}") for k in range(d)),
    )


def few(seed: int = 0, count: int = 12, features: int = 3) -> Comparisons:
    """Return made-up voters."""
    rng = np.random.default_rng(seed)
    return made_up_voters(rng, voters=count, features=features).choose(rng, 8)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 12))
def test_prop_a_fit_is_within_its_bound_on_integers(seed: int, d: int, n: int) -> None:
    """Absolute weights of a voter add to at most the whole number of steps of the bound."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-8, 8)
    fit = fits_on_grid(voters([rows]), TWO)
    assert sum(abs(int(x)) for x in fit[0]) <= STEPS


def test_a_voters_fit_does_not_depend_on_other_voters() -> None:
    """To the last bit, so that one voter changes one fit and no more; 25 crowds of odd data.

    Voters with few and many, separable, collinear, equal, large and tiny records; the changed voter
    has any number of them. Fits are compared with those of another crowd and with those alone.
    """
    rng = np.random.default_rng(7)
    for crowd in range(25):
        d, bound = int(rng.integers(1, 12)), float(rng.choice([0.1, 2, 10, 1000]))
        records = [odd(rng, d) for _ in range(int(rng.integers(2, 25)))]
        together = fit_voters(voters(records), bound=bound).weights
        changed = int(rng.integers(len(records)))
        others = [odd(rng, d) if i == changed else each for i, each in enumerate(records)]
        again = fit_voters(voters(others), bound=bound).weights
        same = np.arange(len(records)) != changed
        assert again[same].tobytes() == together[same].tobytes(), crowd
        some = int(rng.integers(len(records)))
        alone = fit_voters(voters([records[some]]), bound=bound).weights
        assert alone[0].tobytes() == together[some].tobytes(), crowd


def odd(rng: np.random.Generator, d: int) -> np.ndarray:
    """Return records of one voter."""
    rows = rng.normal(size=(int(rng.integers(0, 40)), d)) * 10.0 ** rng.integers(-3, 4)
    match rng.integers(0, 5):
        case 0:
            rows[:] = rows[:1]
        case 1:
            rows[:, 0] = rows[:, -1]
        case 2:
            rows = np.rint(rows)
        case 3:
            rows = np.abs(rows)
    return rows


def test_a_voters_block_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits in blocks of any size, by one thread or several, are the same to the last bit."""
    data = few(count=60, features=4)
    whole = fit_voters(data).weights.tobytes()
    for numbers in (1, 200, 3_000):
        monkeypatch.setattr(thurstone, "_BLOCK_NUMBERS", numbers)
        assert fit_voters(data).weights.tobytes() == whole


def test_padding_depends_on_a_voters_own_records_alone() -> None:
    """Every number of records has one padded length, at most a third above it."""
    counts = np.arange(5_000)
    lengths = thurstone.padded_lengths(counts)
    assert (lengths >= counts).all()
    assert (lengths[1:] * 3 <= counts[1:] * 4).all()
    for few_ in (counts[:9], counts[[7, 300]], counts[::-1]):
        assert np.array_equal(thurstone.padded_lengths(few_), lengths[few_])


def test_the_sensitivity_holds_and_is_attained() -> None:
    """Over 40 random pairs, fits differ by at most the claim; one record can attain it."""
    rng = np.random.default_rng(11)
    for _ in range(40):
        d = int(rng.integers(1, 4))
        pair = [rng.normal(size=(int(rng.integers(1, 4)), d)) * 50 for _ in range(2)]
        first, second = fits_on_grid(voters(pair), TWO)
        assert np.abs(first - second).sum() <= SENSITIVITY.absolute
        assert math.sqrt(((first - second) ** 2).sum()) <= SENSITIVITY.euclidean
    one = np.array([[1.0, 0.0]])
    first, second = fits_on_grid(voters([one, -one]), TWO)
    assert np.abs(first - second).sum() == SENSITIVITY.absolute == SENSITIVITY.euclidean


def test_exact_the_noise_has_the_published_scale() -> None:
    """On the mean, 2 * bound / (voters * epsilon): for 50 voters at epsilon 1/2, 0.16."""
    scale = LaplaceNoise.of(Fraction(1, 2), SENSITIVITY).scale
    assert scale == 4 * STEPS
    released = CentralLaplace(epsilon=0.5).simulate(few(count=50), np.random.default_rng(0))
    wanted = 2 * (2 * 2 / (50 * 0.5)) ** 2
    assert np.allclose(np.diag(released.noise_covariance), wanted)
    assert np.allclose(np.diag(released.noise_covariance), 2 * 0.16**2)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3, 7), Fraction(10)])
def test_exact_the_log_ratio_of_any_report_is_at_most_epsilon(epsilon: Fraction) -> None:
    """In fractions, exponents differ by at most epsilon for any two fits.

    Corners of the ball and some reports are enumerated; the normalising factor is the same.
    """
    scale = LaplaceNoise.of(epsilon, SENSITIVITY).scale
    corners = [(STEPS, 0), (-STEPS, 0), (0, STEPS), (STEPS // 2, -STEPS // 2), (0, 0)]
    worst = Fraction(0)
    for report in [(STEPS, 0), (7, -3), (-2 * STEPS, 5), (STEPS // 3, STEPS)]:
        exponents = [
            sum(abs(r - c) for r, c in zip(report, corner, strict=True)) / scale
            for corner in corners
        ]
        worst = max(worst, max(exponents) - min(exponents))
    assert worst <= epsilon
    assert worst > epsilon * Fraction(99, 100)


def test_audit_reports_have_the_probabilities_of_discrete_laplace() -> None:
    """Shares of 8,000 numbers beyond the fit by 0, 1 and 2 scales are the formula's.

    Within 5.2 standard deviations, which fails once in 5e6 runs each; the seed is fixed.
    """
    records = voters([np.array([[1.0, 0.5]])] * 1)
    fit = fits_on_grid(records, TWO)[0]
    coins = SimulatedCoins(np.random.default_rng(3))
    noise = LAPLACE.sized(Fraction(2), SENSITIVITY)
    drawn = fit + noise.draw(coins, vectors=4_000, dimension=2)
    for scales in (0, 1, 2):
        share = np.mean(drawn - fit >= scales * STEPS + 1)
        wanted = math.exp(-scales) / 2
        assert abs(share - wanted) < 5.2 * math.sqrt(wanted * (1 - wanted) / 8_000)


def test_both_units_protect_the_whole_voter() -> None:
    """Under the unit record the noise is the same, so the voter-level epsilon is epsilon."""
    data = few()
    for kind in (CentralLaplace, LocalLaplace):
        for unit in ("voter", "record"):
            released = kind(epsilon=1, unit=unit).release(data)
            promise = released.guarantee
            assert promise.epsilon == promise.epsilon_user == Micro(1_000_000)
            assert promise.status == "proven"
            assert released.hardened
            assert released.paradigm[0] == unit[0].upper()


def test_noise_is_unbiased_and_as_large_as_it_says() -> None:
    """Mean and variance of 16 releases are those of the plain mean and the stated covariance."""
    data = few()
    plain = fits_on_grid(data, TWO).mean(axis=0) * 2 / STEPS
    rng = np.random.default_rng(5)
    for mechanism in (CentralLaplace(epsilon=1), LocalLaplace(epsilon=1)):
        runs = [mechanism.simulate(data, rng) for _ in range(16)]
        off = np.array([run.weights for run in runs]) - plain
        variance = runs[0].noise_covariance[0, 0]
        assert abs(off.mean()) < 6 * math.sqrt(variance / off.size)
        assert 0.3 < (off**2).mean() / variance < 3


@pytest.mark.parametrize("bound", [0, -1, "nan", "inf", 10**9])
def test_a_bound_that_is_none_is_refused(bound: object) -> None:
    """Zero, negative, infinite, no number, absurdly large."""
    with pytest.raises(ParameterError):
        CentralLaplace(epsilon=1, bound=bound)  # type: ignore[arg-type]


def test_an_aggregator_takes_one_epsilon() -> None:
    """Epsilons of voters are for local mechanisms."""
    with pytest.raises(ParameterError, match="one epsilon"):
        CentralLaplace(epsilon=[1, 2])


def test_a_voter_without_records_counts_and_adds_noise() -> None:
    """The mean is over all voters."""
    data = voters([np.array([[1.0, 0.0]]), np.empty((0, 2))])
    assert fits_on_grid(data, TWO).tolist() == [[STEPS, 0], [0, 0]]
    report = LocalLaplace(epsilon=1).device(data.features).report([])
    assert len(report.values) == 2
    assert any(report.values)


def test_one_voter_is_warned_of_by_the_aggregator() -> None:
    """The local mechanism does not mind."""
    data = voters([np.array([[1.0, 2.0]])])
    with pytest.warns(UserWarning, match="one voter"):
        CentralLaplace(epsilon=1).release(data)
    LocalLaplace(epsilon=1).release(data)
