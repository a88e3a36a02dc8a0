"""Nobody tells two worlds apart better than is stated: powers against exact enumerations."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from masquerade.accounting import (
    Caps,
    Cost,
    Kind,
    LaplaceNumber,
    Ledger,
    MaskedChoice,
    MaskedNumber,
    MemoryStorage,
    Mu,
    Rho,
    kinds_of,
    largest_power,
    largest_power_together,
)
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, MICRO, NO_LOSS, Micro
from masquerade.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Mechanism,
    QuantisedResponse,
    RandomizedResponse,
)

RATES = (0.001, 0.01, 0.05, 0.1, 0.5, 0.9)
Pair = tuple[np.ndarray, np.ndarray]


def exact_power(rate: float, pair: Pair) -> float:
    """Return the power of the best test of a rate between two listed laws (Neyman and Pearson)."""
    null, other = pair
    with np.errstate(divide="ignore"):
        order = np.argsort(-np.where(null > 0, other / np.where(null > 0, null, 1), np.inf))
    false, true = (np.concatenate([[0], np.cumsum(law[order])]) for law in (null, other))
    return float(np.interp(rate, false, true))


def product(pair: Pair, count: int) -> Pair:
    """Return the laws of several independent reports."""
    one, other = pair
    null, alternative = np.ones(1), np.ones(1)
    for _ in range(count):
        null = np.multiply.outer(null, one).ravel()
        alternative = np.multiply.outer(alternative, other).ravel()
    return null, alternative


def laws(mechanism: Mechanism) -> list[np.ndarray]:
    """Return the law of one report for each answer, listed."""
    if isinstance(mechanism, RandomizedResponse | QuantisedResponse):
        return [np.array([float(p) for p in row]) for row in mechanism.channel().table]
    assert isinstance(mechanism, DiscreteGaussian | DiscreteLaplace)
    lattice = mechanism.lattice
    reports = lattice.values(np.arange(-45, lattice.points + 45))
    answers = lattice.values(np.arange(lattice.points))
    return [np.asarray(mechanism.probability(answer, reports)) for answer in answers]


MECHANISMS = [
    (RandomizedResponse(2, epsilon="0.3"), 8),
    (RandomizedResponse(4, epsilon=1), 4),
    (RandomizedResponse(12, epsilon=3), 2),
    (QuantisedResponse(0, 10, epsilon=2, levels=3), 3),
    (DiscreteLaplace(1, 5, epsilon=1), 2),
    (DiscreteGaussian(1, 5, sigma=3), 2),
    pytest.param(DiscreteGaussian(1, 3, sigma=6), 2, marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize(("mechanism", "count"), MECHANISMS, ids=lambda value: str(value))
def test_exact_no_test_has_more_power_than_is_stated(mechanism: Mechanism, count: int) -> None:
    """Over all pairs of answers, for one report and for several, the best test stays below.

    And not far: the bound for the list is attained to a hundredth of what the answers allow.
    """
    of_answers = laws(mechanism)
    for reports in (1, count):
        kinds = kinds_of([mechanism] * reports)
        guarantee = mechanism.guarantee(answers=reports)
        together = largest_power_together(kinds)
        pairs = [product(pair, reports) for pair in itertools.permutations(of_answers, 2)]
        for rate in RATES:
            sharp = together(rate)
            stated = largest_power(rate, loss=guarantee.epsilon_user, delta=guarantee.delta)
            powers = [exact_power(rate, pair) for pair in pairs]
            assert max(powers) <= sharp + 1e-9
            assert max(powers) <= stated + 1e-9
            assert sharp <= stated + 1e-9
            assert sharp <= max(powers) + 0.01 * (1 - rate)


def test_exact_the_bound_of_an_epsilon_is_attained() -> None:
    """Randomized response, with a leak of probability delta, has exactly the stated power."""
    for epsilon, delta in itertools.product((0.1, 1.0, 3.0), (0.0, 1e-6, 0.01)):
        keep = 1 / (1 + math.exp(-epsilon))
        null = np.array([1 - keep, keep, 0, 0]) * (1 - delta) + np.array([0, 0, 0, delta])
        other = np.array([keep, 1 - keep, 0, 0]) * (1 - delta) + np.array([0, 0, delta, 0])
        for rate in RATES:
            stated = largest_power(
                rate, loss=Micro(round(epsilon * MICRO)), delta=Fraction(str(delta))
            )
            assert exact_power(rate, (null, other)) == pytest.approx(stated, abs=1e-9)


def test_equal_total_variation_is_no_protection() -> None:
    """A leak of probability delta has power where a coin of equal total variation has none."""
    epsilon, delta = Micro(MICRO), Fraction(1, 100)
    share = 0.01 + 0.99 * math.tanh(0.5)
    coin = np.array([[1 + share, 1 - share], [1 - share, 1 + share]]) / 2
    assert exact_power(0.0, (coin[0], coin[1])) == 0
    assert largest_power(0.0, loss=epsilon, delta=delta) >= 0.01
    by_coin = exact_power(0.001, (coin[0], coin[1]))
    assert largest_power(0.001, loss=epsilon, delta=delta) > 4 * by_coin


@pytest.mark.parametrize("count", [1, 5, 30])
def test_gaussian_noise_has_its_own_curve(count: int) -> None:
    """On the real line the power is that of shifted normal laws, far below that of an epsilon."""
    kind = Mu.of(Fraction(1, 3))
    for rate in RATES:
        exact = norm.cdf(norm.ppf(rate) + math.sqrt(count) / 3)
        assert exact <= largest_power_together([kind] * count)(rate) <= exact * (1 + 1e-8)


def test_what_was_sent_in_an_account_is_told_by_the_curve() -> None:
    """The second sentence of an account holds powers that no test of its reports exceeds."""
    mechanism = RandomizedResponse(2, epsilon="0.2")
    ledger = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps(delta=Fraction(1, 100)))
    for place in range(12):
        ledger.charge("p", str(place), Cost.of("S", [mechanism]))
    assert ledger.spent("p").delta > 0
    sentence = ledger.explain("p")[1]
    numbers = re.findall(r"[\d.]+", sentence.split("at most ")[1])
    shown = [float(number) for number in numbers[:3]]
    one, other = laws(mechanism)
    for rate, power in zip((0.01, 0.05, 0.1), shown, strict=True):
        exact = 100 * exact_power(rate, product((one, other), 12))
        assert exact <= power <= exact + 1.5


def test_powers_at_the_ends() -> None:
    """Nothing sent has the power of a guess, an answer in clear any; a rate is a probability."""
    for rate in RATES:
        assert largest_power(rate, loss=NO_LOSS) == largest_power_together([])(rate) == rate
        assert largest_power(rate, loss=INFINITE_LOSS) == 1
        assert largest_power_together([INFINITE_LOSS])(rate) == 1
        assert largest_power(rate, loss=NO_LOSS, delta=Fraction(1)) == 1
        assert largest_power_together([Rho(10**5), MaskedChoice(3, Micro(1))])(rate) < 1
    assert largest_power_together([Mu.of(Fraction(1))])(0.0) < 1e-4
    for kind in (MaskedNumber(0, Fraction(1)), LaplaceNumber(0, Fraction(1))):
        assert largest_power_together([kind])(0.05) == pytest.approx(0.05)
    zero: list[Kind] = []
    with pytest.raises(ParameterError, match=r"rate is -0\.1, expected 0 to 1"):
        largest_power(-0.1, loss=NO_LOSS)
    with pytest.raises(ParameterError, match="delta is 2, expected 0 to 1"):
        largest_power(0.1, loss=NO_LOSS, delta=Fraction(2))
    with pytest.raises(ParameterError, match=r"rate is 1\.1, expected 0 to 1"):
        largest_power_together(zero)(1.1)
