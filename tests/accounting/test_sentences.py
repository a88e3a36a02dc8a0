"""What is printed about a response is checked against an exact computation of its own."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from fractions import Fraction

import numpy as np
from scipy.signal import fftconvolve
from scipy.special import logsumexp

from masquerade.accounting import (
    Caps,
    Cost,
    Ledger,
    MemoryStorage,
    compose,
    explain,
    kinds_of,
    rho_of,
)
from masquerade.accounting.exact_loss import device_numbers, pattern_probabilities
from masquerade.exact import MICRO, Micro
from masquerade.mechanisms import (
    CategoricalMechanism,
    DiscreteGaussian,
    DiscreteLaplace,
    Mechanism,
    QuantisedResponse,
    RandomizedResponse,
    TwoLayer,
)

SETS = 36
ORDERS = (1.0001, 1.5, 2.0, 4.0, 16.0)
Floats = np.ndarray


def drawn(rng: np.random.Generator) -> Mechanism:
    """Return a mechanism at random."""
    epsilon = Fraction(int(rng.integers(1, 4000)), 1000)
    points = int(rng.integers(2, 8))
    match int(rng.integers(24)):
        case 0 | 1 | 2 | 3 | 4 | 5:
            return RandomizedResponse(points, epsilon=epsilon, null=bool(rng.integers(2)))
        case 6 | 7 | 8 | 9 | 10:
            return QuantisedResponse(
                0, points, epsilon=epsilon, levels=2, null=bool(rng.integers(2))
            )
        case 11 | 12 | 13 | 14:
            return DiscreteLaplace(0, points, epsilon=epsilon)
        case 15 | 16 | 17:
            # Sums of it take long where it hides little, so sigma is at least the range.
            sigma = (points - 1) * Fraction(int(rng.integers(10, 80)), 10)
            return DiscreteGaussian(0, points - 1, sigma=sigma)
        case _:
            low = Fraction(int(rng.integers(1, 40)), 100)
            return TwoLayer(points, low=low, high=low + Fraction(int(rng.integers(5, 40)), 100))


def worst_pair(mechanism: Mechanism) -> tuple[Floats, Floats]:
    """Return the laws of one report for the two answers that are told apart best."""
    if isinstance(mechanism, RandomizedResponse | QuantisedResponse):
        rows = [np.array([float(p) for p in row]) for row in mechanism.channel().table]
        return max(
            itertools.permutations(rows, 2), key=lambda pair: float((pair[0] / pair[1]).max())
        )
    assert isinstance(mechanism, DiscreteGaussian | DiscreteLaplace)
    lattice = mechanism.lattice
    reach = 260 if isinstance(mechanism, DiscreteGaussian) else 0
    reports = lattice.values(np.arange(-reach, lattice.points + reach))
    ends = lattice.values(np.array([0, lattice.points - 1]))
    one, other = (np.asarray(mechanism.probability(end, reports)) for end in ends)
    if isinstance(mechanism, DiscreteLaplace):  # all that lies beyond, put onto the ends
        q = math.exp(-1 / mechanism.scale)
        for law in (one, other):
            law[0], law[-1] = law[0] / (1 - q), law[-1] / (1 - q)
    seen = (one > 1e-60) & (other > 1e-60)  # what is left out only lowers the sums below
    return one[seen], other[seen]


def exact_pure(mechanism: Mechanism, count: int) -> float:
    """Return the loss of `count` answers; infinite for Gaussian noise."""
    if isinstance(mechanism, TwoLayer):
        law = pattern_probabilities(*device_numbers(mechanism), count)
        return math.log(max(law) / min(law))
    if isinstance(mechanism, DiscreteGaussian):
        return math.inf
    one, other = worst_pair(mechanism)
    return count * float(np.abs(np.log(one / other)).max())


def least_rho(mechanism: Mechanism) -> float:
    """Return a rho that the mechanism has at least."""
    one, other = worst_pair(mechanism)
    # In logarithms: a report next to impossible under the other answer has a ratio of e**100.
    log_one, loss = np.log(one), np.log(one) - np.log(other)
    return max(
        float(logsumexp(log_one + (order - 1) * loss)) / (order - 1) / order for order in ORDERS
    )


def delta_at(epsilon: float, mechanisms: list[Mechanism]) -> float:
    """Return at least the delta of independent masks, on a grid of losses rounded down."""
    step = 1e-3
    total, start = np.ones(1), 0
    for mechanism in mechanisms:
        one, other = worst_pair(mechanism)
        places = np.floor(np.log(one / other) / step).astype(np.int64)
        law = np.bincount(places - places.min(), weights=one)
        # Off by 1e-15 of all that is summed, far below a millionth.
        total, start = fftconvolve(total, law), start + int(places.min())
    loss = (start + np.arange(len(total))) * step
    above = loss > epsilon
    return float(total[above] @ -np.expm1(epsilon - loss[above]))


def check(seed: int) -> None:
    """Check every number and sentence about one random response."""
    rng = np.random.default_rng(seed)
    pool = [drawn(rng) for _ in range(int(rng.integers(1, 4)))]
    noisy = any(isinstance(mechanism, DiscreteGaussian) for mechanism in pool)
    count = int(rng.integers(1, 3 if noisy else 6))
    mechanisms = [pool[int(place)] for place in rng.integers(len(pool), size=count)]
    promise, words = compose(mechanisms), explain(compose(mechanisms))
    groups = Counter(mechanisms)
    pure = sum(exact_pure(mechanism, count) for mechanism, count in groups.items())
    independent = [m for m in mechanisms if not isinstance(m, TwoLayer)]
    if promise.delta == 0:
        assert pure - 1e-9 <= promise.epsilon_user.epsilon <= pure + 1e-5
        exact = 100 / (1 + math.exp(-promise.epsilon_user.epsilon))
    else:
        if len(independent) == len(mechanisms):
            assert delta_at(promise.epsilon_user.epsilon, independent) <= float(promise.delta)
        exact = 100 / (1 + math.exp(-promise.epsilon_user.epsilon))
        assert "But for a chance of 1 in 1,000,000" in words.all_answers
    [shown] = re.findall(r"([\d.]+) %", words.all_answers)
    assert float(shown) >= min(exact, 99.9) - 1e-9
    rho = sum(rho_of(kind).rho for kind in kinds_of(mechanisms))
    assert rho >= sum(map(least_rho, independent)) * (1 - 1e-9)
    cost = Cost.of("S", mechanisms)
    assert math.isclose(cost.micro_rho / MICRO, rho, rel_tol=1e-12)
    ledger = Ledger(
        MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps(Micro(200 * MICRO), promise.delta)
    )
    ledger.charge("p", "one", cost)
    sentences, spent = ledger.explain("p"), ledger.spent("p")
    assert f"epsilon = {spent.epsilon}, delta = {float(spent.delta):g}." in sentences[0]
    assert spent.epsilon <= promise.epsilon_user
    if spent.delta:
        assert len(independent) < len(mechanisms) or delta_at(
            spent.epsilon.epsilon, independent
        ) <= float(spent.delta)
    elif promise.delta == 0:
        assert spent.epsilon.epsilon >= pure - 1e-9
    single = [
        m.keep_probability / (m.keep_probability + m.other_probability)
        for m in mechanisms
        if isinstance(m, CategoricalMechanism)
    ]
    [event] = re.findall(r"([\d.]+) %", words.one_answer)
    assert (
        float(event) >= float(max([*single, Fraction(1, 2)])) * 100 - 1e-9 or float(event) >= 99.9
    )


def test_exact_what_is_printed_of_random_responses_is_never_too_small() -> None:
    """Epsilons, rhos, deltas and percentages of 36 random responses against their tables."""
    for seed in range(SETS):
        check(seed)


def test_every_assumption_is_printed() -> None:
    """What has to be true for a guarantee stands in its JSON."""
    for seed in range(20):
        mechanism = drawn(np.random.default_rng(seed))
        printed = " ".join(mechanism.guarantee().to_json()["assumptions"])
        assert "fresh operating-system randomness" in printed
        assert "which tasks a person answered may be seen" in printed
