"""What is claimed is the truth to a fiftieth: claims over exact computations of their own."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from masquerade.accounting import (
    Caps,
    Cost,
    Ledger,
    MemoryStorage,
    answers_allowed,
    compose,
    kinds_of,
    rho_of,
    rho_of_laplace,
)
from masquerade.errors import InsufficientBudget
from masquerade.exact import MICRO
from masquerade.mechanisms import DiscreteGaussian, DiscreteLaplace, Mechanism, QuantisedResponse


def divergence_per_order(order: float, one: np.ndarray, other: np.ndarray) -> float:
    """Return the Renyi divergence of an order over that order, of two listed laws."""
    terms = order * np.log(one) + (1 - order) * np.log(other)
    top = terms.max()
    total = top + math.log(np.exp(terms - top).sum())
    return float(total / (order - 1) / order)


def largest_rho(laws: list[np.ndarray]) -> float:
    """Return the largest divergence per order over all pairs of answers and many orders."""
    excesses = np.geomspace(1e-4, 200, 300)
    return max(
        divergence_per_order(1 + excess, one, other)
        for excess in excesses
        for one in laws
        for other in laws
        if one is not other
    )


def laplace_laws(mechanism: DiscreteLaplace) -> list[np.ndarray]:
    """Return the law of the report for each answer; what lies beyond the range is put together."""
    points, q = mechanism.lattice.points, math.exp(-1 / mechanism.scale)
    places = np.arange(points)
    laws = []
    for answer in range(points):
        law = (1 - q) / (1 + q) * q ** np.abs(places - answer)
        law[0], law[-1] = q**answer / (1 + q), q ** (points - 1 - answer) / (1 + q)
        laws.append(law)
    return laws


@pytest.mark.parametrize(
    ("points", "epsilon"), [(2, 1), (3, 2), (5, 1), (5, 4), (11, "0.3"), (11, 8), (20, "0.5")]
)
def test_exact_rho_of_laplace_noise(points: int, epsilon: object) -> None:
    """It is never below the largest Renyi divergence per order of any two answers, nor far above.

    Orders from 1.0001 to 201, both directions, all pairs.
    """
    mechanism = DiscreteLaplace(1, points, epsilon=epsilon)  # type: ignore[arg-type]
    [kind] = kinds_of([mechanism])
    true = largest_rho(laplace_laws(mechanism))
    assert true <= rho_of(kind).rho <= true * 1.001 + 2e-6


@pytest.mark.parametrize(
    "scale", [Fraction(1, 50), Fraction(1), Fraction(10**6), Fraction(1 << 47)]
)
@pytest.mark.parametrize("change", [1, 2, 1000])
def test_prop_rho_of_laplace_noise_is_rounded_up(scale: Fraction, change: int) -> None:
    """The amount is the formula's, computed to 200 digits, rounded up to a millionth."""
    with mpmath.workdps(200):
        h = mpmath.mpf(scale.denominator) / scale.numerator
        size = change * h
        exact = (size - (1 - mpmath.exp(-size)) * h / mpmath.sinh(h)) * MICRO
        assert exact <= rho_of_laplace(change, scale).micro <= exact + 1.001


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize(("epsilon", "levels"), [("0.5", 3), (2, 5), (4, 2)])
def test_exact_rho_of_a_quantised_response(epsilon: object, levels: int, null: bool) -> None:
    """It is that of its table: all pairs of answers, "no answer" among them, in both directions."""
    mechanism = QuantisedResponse(0, 12, epsilon=epsilon, levels=levels, null=null)  # type: ignore[arg-type]
    laws = [np.array([float(p) for p in row]) for row in mechanism.channel().table]
    [kind] = kinds_of([mechanism])
    true = largest_rho(laws)
    assert true <= rho_of(kind).rho * (1 + 1e-9)
    assert rho_of(kind).rho <= true * 1.001 + 2e-6


@pytest.mark.parametrize(
    "mechanism",
    [
        QuantisedResponse(0, 10, epsilon="0.5", levels=5),
        DiscreteLaplace(0, 10, epsilon="0.1"),
        DiscreteGaussian(1, 5, sigma=12),
    ],
    ids=str,
)
def test_answers_of_one_response_cost_what_they_cost_one_by_one(mechanism: Mechanism) -> None:
    """As many answers fit under a cap in one response as in responses of one answer each."""
    one = Cost.of("S", [mechanism])
    assert Cost.of("S", [mechanism] * 50).micro_rho == 50 * one.micro_rho
    alone = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps())
    [kind] = kinds_of([mechanism])
    count = answers_allowed(kind, Caps()).ledger
    for place in range(count):
        alone.charge("p", str(place), one)
    with pytest.raises(InsufficientBudget):
        alone.charge("p", "more", one)
    together = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps())
    together.charge("p", "all", Cost.of("S", [mechanism] * count))
    with pytest.raises(InsufficientBudget):
        together.charge("q", "all", Cost.of("S", [mechanism] * (count + 1)))
    if isinstance(mechanism, DiscreteLaplace):
        assert count > 300  # 100 by pure epsilon


def sum_of_noise(variance: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers and the probabilities of the sum of `count` discrete Gaussians."""
    reach = math.ceil(14 * math.sqrt(variance)) + 2
    x = np.arange(-reach, reach + 1)
    law = np.exp(-(x**2) / (2 * variance))
    law /= law.sum()
    total = np.ones(1)
    for _ in range(count):
        total = np.convolve(total, law)
    return np.arange(len(total)) - count * reach, total


def exact_epsilon(change: int, variance: float, count: int, delta: float) -> float:
    """Return the epsilon of `count` numbers by the law of the sum of their noises."""
    x, law = sum_of_noise(variance, count)
    loss = (count * change**2 - 2 * change * x) / (2 * variance)
    low, high = 0.0, float(loss.max())
    for _ in range(100):
        middle = (low + high) / 2
        above = loss > middle
        if float(law[above] @ -np.expm1(middle - loss[above])) > delta:
            low = middle
        else:
            high = middle
    return high


@pytest.mark.parametrize(("points", "sigma"), [(5, "1"), (5, 3), (5, 6), (5, 12), (9, 9)])
@pytest.mark.parametrize("answers", [1, 2, 7, 40])
def test_exact_epsilon_of_several_numbers(points: int, sigma: object, answers: int) -> None:
    """One source: the mechanism and `compose` say the same, to a hundredth of the exact."""
    mechanism = DiscreteGaussian(1, points, sigma=sigma)  # type: ignore[arg-type]
    claimed = mechanism.guarantee(answers=answers).epsilon_user
    composed = compose([mechanism] * answers).epsilon_user
    variance = float(mechanism.noise_variance)
    true = exact_epsilon(points - 1, variance, answers, 1e-6)
    assert true - 1e-9 * (1 + true) <= composed.epsilon <= claimed.epsilon
    assert claimed.epsilon <= true * 1.005 + 2e-6
    assert claimed.micro - composed.micro <= claimed.micro // 100


def test_gaussian_claims_of_other_deltas() -> None:
    """At deltas from a hundredth to a billionth the claim is exact to a thousandth too."""
    mechanism = DiscreteGaussian(1, 5, sigma=6)
    for power in (2, 4, 9):
        delta = Fraction(1, 10**power)
        claimed = mechanism.guarantee(answers=10, delta=delta).epsilon_user.epsilon
        true = exact_epsilon(4, 36.0, 10, float(delta))
        assert true - 1e-8 <= claimed <= true * 1.001 + 2e-6
