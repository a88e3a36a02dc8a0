"""Noise that all voters draw together, and a sum that hides its parts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from masquerade.errors import ParameterError
from masquerade.exact import SimulatedCoins
from masquerade.exact.coins import Words
from masquerade.preference import SecureLaplace, SecureSum, SimulatedSecureSum, made_up_voters
from masquerade.preference.polya_noise import _one_in, _poisson, polya_share
from masquerade.preference.secure_sum import SecureTrust, from_words, to_words

FALSE_ALARM = 1e-7


def chi_square(observed: np.ndarray, expected: np.ndarray) -> tuple[float, float]:
    """Return the statistic and the value it exceeds once in 1e7."""
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return statistic, float(stats.chi2.isf(FALSE_ALARM, len(expected) - 1))


@pytest.mark.parametrize(("shares", "scale"), [(1, 2), (2, 3), (7, 3), (40, 5)])
def test_audit_shares_add_to_discrete_laplace_noise(shares: int, scale: int) -> None:
    """Chi-square of 10,000 sums against the formula; exceeded once in 1e7 runs, seed fixed."""
    n = 10_000
    coins = SimulatedCoins(np.random.default_rng(shares))
    total = polya_share(coins, Fraction(scale), shares, shares * n).reshape(shares, n).sum(axis=0)
    q = math.exp(-1 / scale)
    reach = int(scale * 4)
    points = np.arange(-reach, reach + 1)
    expected = n * (1 - q) / (1 + q) * q ** np.abs(points)
    observed = np.array([np.count_nonzero(total == x) for x in points], dtype=float)
    rest = n - expected.sum()
    statistic, most = chi_square(np.append(observed, n - observed.sum()), np.append(expected, rest))
    assert statistic < most


def test_audit_one_share_is_a_polya_number() -> None:
    """Of 20,000 differences of shape-1/4 shares, the share of zeros is the formula's.

    P(0) is the sum over x of the squares of the negative binomial's probabilities; 5.4 standard
    deviations are exceeded once in 1.5e7 runs; the seed is fixed.
    """
    n = 20_000
    drawn = polya_share(SimulatedCoins(np.random.default_rng(8)), Fraction(4), 4, n)
    q = math.exp(-1 / 4)
    wanted = float((stats.nbinom.pmf(np.arange(400), 1 / 4, 1 - q) ** 2).sum())
    found = np.count_nonzero(drawn == 0) / n
    assert abs(found - wanted) < 5.4 * math.sqrt(wanted * (1 - wanted) / n)


def test_audit_its_parts_have_their_probabilities() -> None:
    """Poisson numbers of mean 5 / 3 and flags of probability 4 / 7, each 20,000 times."""
    n = 20_000
    coins = SimulatedCoins(np.random.default_rng(2))
    counts = np.bincount(_poisson(coins, 5, 3, n), minlength=7)
    expected = stats.poisson.pmf(np.arange(6), 5 / 3) * n
    observed = np.append(counts[:6], counts[6:].sum()).astype(float)
    statistic, most = chi_square(observed, np.append(expected, n - expected.sum()))
    assert statistic < most
    kept = np.mean(_one_in(coins, np.full(n, 7, dtype=np.uint64), 4))
    assert abs(kept - 4 / 7) < 5.4 * math.sqrt(4 / 7 * 3 / 7 / n)


def test_missing_voters_leave_less_noise_than_was_sized() -> None:
    """Seven of ten shares have a standard deviation of sqrt(0.7) = 0.84 of the target.

    Six standard errors at n = 4,000; so `honest` must be a number that one can count on.
    """
    n = 4_000
    coins = SimulatedCoins(np.random.default_rng(6))
    total = polya_share(coins, Fraction(10), 10, 7 * n).reshape(7, n).sum(axis=0).astype(float)
    q = math.exp(-0.1)
    ratio = (total**2) / (2 * q / (1 - q) ** 2)
    assert abs(ratio.mean() - 0.7) < 6 * ratio.std() / math.sqrt(n)


def test_prop_words_and_integers_are_inverse() -> None:
    """Negative numbers survive the modulus, also in sums."""
    numbers = np.array([[-5, 3], [2, -(1 << 40)]], dtype=np.int64)
    assert np.array_equal(from_words(to_words(numbers)), numbers)
    total = SimulatedSecureSum().total(to_words(numbers))
    assert from_words(total).tolist() == [-3, 3 - (1 << 40)]


def test_the_simulated_sum_hides_each_row_and_keeps_the_total() -> None:
    """The hidden rows differ from run to run and add to the same."""
    rows = to_words(np.arange(12, dtype=np.int64).reshape(4, 3))
    simulation = SimulatedSecureSum()
    first, second = simulation.hide(rows), simulation.hide(rows)
    assert not (first == rows).any()
    assert not (first == second).any()
    assert np.array_equal(first.sum(axis=0), rows.sum(axis=0))
    with pytest.raises(ParameterError, match="two voters"):
        simulation.hide(rows[:1])


class Trusted:
    """A stand-in for a protocol that shows only the total."""

    protects = True

    def total(self, vectors: Words) -> Words:
        """Return the sum."""
        summed: Words = vectors.sum(axis=0, dtype=np.uint64)
        return summed


def test_only_a_real_secure_sum_protects_from_whoever_runs_it() -> None:
    """With the simulation the guarantee says that the process saw everything."""
    rng = np.random.default_rng(1)
    data = made_up_voters(rng, voters=9, features=2).choose(rng, 5)
    simulated = SecureLaplace(epsilon=1).release(data).guarantee
    assert simulated.trust == "aggregator"
    assert any("simulated" in each for each in simulated.assumptions)
    real = SecureLaplace(epsilon=1, honest=4, secure_sum=Trusted()).release(data)
    assert isinstance(Trusted(), SecureSum)
    assert real.guarantee.trust == "secure-sum"
    assert any("at least 4 of the 9" in each for each in real.guarantee.assumptions)
    assert str(SecureLaplace(epsilon=1, honest=4)) == "secure-laplace:epsilon=1,honest=4"


def test_more_honest_voters_than_there_are_is_refused() -> None:
    """And a number that is none."""
    with pytest.raises(ParameterError, match="lower it"):
        SecureTrust(honest=5).shares(4)
    with pytest.raises(ParameterError):
        SecureLaplace(epsilon=1, honest=0)
    with pytest.raises(ParameterError, match="SecureSum"):
        SecureLaplace(epsilon=1, secure_sum="none")  # type: ignore[arg-type]


@pytest.mark.parametrize(("scale", "shares"), [(Fraction(1, 1 << 30), 2), (Fraction(2), 0)])
def test_shares_that_cannot_be_drawn_are_refused(scale: Fraction, shares: int) -> None:
    """A scale out of range, and no shares."""
    with pytest.raises(ParameterError):
        polya_share(SimulatedCoins(np.random.default_rng(0)), scale, shares, 1)
