"""The rules for Gaussian noise and for everything else share one delta, whatever is chosen."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

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
    gaussian_delta,
    rho_of_cap,
)
from masquerade.accounting.caps import INFLATION, is_gaussian, room_of
from masquerade.errors import InsufficientBudget
from masquerade.exact import INFINITE_LOSS, MICRO, Micro
from masquerade.mechanisms import DiscreteGaussian, RandomizedResponse

CAPS = [(10, 6), (3, 6), (8, 5), (20, 9), (1, 3)]


def delta_of(epsilon: np.ndarray, squared: float) -> np.ndarray:
    """Return delta of Gaussian noise at epsilons of any sign."""
    mu = math.sqrt(squared)
    second = np.exp(epsilon + log_ndtr((-squared / 2 - epsilon) / mu))
    return np.asarray(ndtr((squared / 2 - epsilon) / mu) - second)


@pytest.mark.parametrize(("cap", "power"), CAPS)
def test_room_lies_around_what_rho_alone_would_give(cap: int, power: int) -> None:
    """The rule on rho gives up little, the one for Gaussian noise gains more, within delta."""
    epsilon, delta = Micro(cap * MICRO), Fraction(1, 10**power)
    room, plain = room_of(epsilon, delta), rho_of_cap(epsilon, delta)
    assert 0.96 * plain.rho < room.rho.rho < plain.rho < room.gaussian.rho < 1.25 * plain.rho
    mu = math.sqrt(2 * room.gaussian.rho * (1 + float(INFLATION)))
    assert gaussian_delta(cap, mu=mu) <= float(delta)


@pytest.mark.parametrize(("cap", "power"), CAPS)
def test_exact_no_adversary_who_switches_gains(cap: int, power: int) -> None:
    """Gaussian noise first, then by what was seen: more of it, or strong responses within rho.

    The value of the best of these strategies, by dynamic programming over the log ratio, is below
    delta. Responses are all lists of equal randomized response that fit what is left of rho.
    """
    delta = Fraction(1, 10**power)
    caps = Caps(Micro(cap * MICRO), delta)
    top, most = 2 * caps.rho.rho, 2 * caps.gaussian.rho
    worst = 0.0
    for share in (0.1, 0.5, 0.9):
        used = share * top
        place = np.linspace(-9, 12, 6001)
        ratio = used / 2 + math.sqrt(used) * place
        weight = np.exp(-(place**2) / 2) / math.sqrt(2 * math.pi) * (place[1] - place[0])
        best = delta_of(cap - ratio, most - used)
        for count in (1, 2, 3, 5, 8):
            size = _epsilon_of_rho((top - used) / 2 / count)
            keep = 1 / (1 + math.exp(-size))
            value = np.zeros_like(ratio)
            for kept in range(count + 1):
                law = math.comb(count, kept) * keep**kept * (1 - keep) ** (count - kept)
                end = ratio + (2 * kept - count) * size
                value += law * np.maximum(0, -np.expm1(np.minimum(cap - end, 0)))
            best = np.maximum(best, value)
        worst = max(worst, float(weight @ best))
    assert 0.3 * float(delta) < worst <= float(delta)


def _epsilon_of_rho(rho: float) -> float:
    """Return the epsilon of randomized response with two options that costs rho."""
    low, high = 0.0, 1 + 2 * rho + 2 * math.sqrt(rho)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if middle * math.tanh(middle / 2) > rho else (middle, high)
    return low


@pytest.mark.parametrize(
    "variance", [Fraction(121), Fraction(144), Fraction(225), Fraction(2000), Fraction(9000)]
)
def test_exact_noise_on_such_lattices_is_a_function_of_gaussian_noise(variance: Fraction) -> None:
    """To 40 digits, no step of the normal quantile of its distribution is longer than is said."""
    assert is_gaussian(MaskedNumber(4, variance))
    sigma = math.sqrt(variance)
    with mpmath.workdps(40):
        reach = int(14 * sigma)
        weights = [mpmath.exp(-mpmath.mpf(x * x) / (2 * int(variance))) for x in range(reach + 1)]
        total = weights[0] + 2 * sum(weights[1:])
        most = mpmath.sqrt((1 + mpmath.mpf(7) / 10_000) / int(variance))
        below, tails = mpmath.mpf(0), []
        for weight in reversed(weights):
            below += weight
            tails.append(below / total)
        looked_at = tails[reach - int(9 * sigma) :: max(1, int(sigma) // 3)]
        steps = max(1, int(sigma) // 3)
        quantiles = [-mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * tail) for tail in looked_at]
        for one, other in itertools.pairwise(quantiles):
            assert other - one <= steps * most


def test_what_counts_as_gaussian() -> None:
    """Noise on the line and on fine lattices does; coarse lattices and all else do not."""
    assert is_gaussian(Mu.of(Fraction(5)))
    assert is_gaussian(MaskedNumber(1, Fraction(10**12)))
    others: list[Kind] = [
        MaskedNumber(4, Fraction(36)),
        MaskedNumber(4, Fraction(1, 9)),
        Rho(5),
        Micro(5),
        MaskedChoice(2, Micro(5)),
        LaplaceNumber(4, Fraction(100)),
    ]
    assert not any(map(is_gaussian, others))


def test_thirty_numbers_are_admitted_where_thirty_fit() -> None:
    """Ratings at level high: 30 under epsilon 10, in any order of reserving; 27 after a choice."""
    rating = Cost.of("R", [DiscreteGaussian(1, 5, sigma=12)])
    choice = Cost.of("C", [RandomizedResponse(2, epsilon="0.01")])
    assert rating.gaussian
    assert not choice.gaussian
    ledger = Ledger(MemoryStorage(), clock=lambda: "2026-03-14")
    for place in range(30):
        ledger.reserve("p", str(place), rating)
    with pytest.raises(InsufficientBudget, match=r"left of 1\.66"):
        ledger.reserve("p", "more", rating)
    with pytest.raises(InsufficientBudget, match=r"has 0 left of 1\.50"):
        ledger.reserve("p", "choice", choice)
    for place in range(30):
        ledger.commit("p", str(place))
    assert ledger.spent("p").epsilon <= Micro(10 * MICRO)
    assert "your cap holds" in ledger.explain("p")[4]
    ledger.charge("q", "choice", choice)
    for place in range(27):
        ledger.charge("q", str(place), rating)
    with pytest.raises(InsufficientBudget):
        ledger.charge("q", "more", rating)
    assert ledger.verify() == 60 + 28


def test_a_released_choice_gives_the_room_back() -> None:
    """What was reserved and never drawn does not count: the rule for Gaussian noise is back."""
    rating = Cost.of("R", [DiscreteGaussian(1, 5, sigma=12)])
    choice = Cost.of("C", [RandomizedResponse(2, epsilon=1)])
    ledger = Ledger(MemoryStorage(), clock=lambda: "2026-03-14")
    ledger.reserve("p", "choice", choice)
    ledger.release("p", "choice")
    for place in range(30):
        ledger.charge("p", str(place), rating)
    assert ledger.balance("p").cap_rho == Caps().gaussian
    assert ledger.verify() == 32


def test_the_flag_is_part_of_what_is_hashed() -> None:
    """A cost that claims to be Gaussian has another digest; without the claim it is the old one."""
    plain = Cost("S", ("m",), INFINITE_LOSS, INFINITE_LOSS, rho=Rho(5))
    claimed = Cost("S", ("m",), INFINITE_LOSS, INFINITE_LOSS, rho=Rho(5), gaussian=True)
    assert plain.digest != claimed.digest
    assert (plain.other, claimed.other) == (1, 0)
    free = Cost("S", (), Micro(0), Micro(0))
    assert free.other == 0


def test_caps_without_room() -> None:
    """Without delta, and beyond epsilon 50, there is the rule on rho alone."""
    for epsilon, delta in (
        (Micro(10 * MICRO), Fraction(0)),
        (Micro(60 * MICRO), Fraction(1, 10**6)),
    ):
        room = room_of(epsilon, delta)
        assert room.rho == room.gaussian == rho_of_cap(epsilon, delta)
