"""How to spend a budget on attempts at the privacy test: a plan made from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import erf

from masquerade.release.objects import Floats, Integers
from masquerade.release.privacy_test import failure_delta, pass_probability, release_delta

_ATTEMPTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_GAMMAS = (2.0, 4.0, 16.0, 64.0)
_TEST_SHARES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
_FINE = 1 << 20
_MARGIN, _ABSOLUTE = 1 + 1e-9, 1e-15
_LEAST_WORTH = 1e-3
_MOST_CLAIMS, _MOST_BUCKET = 400, 2_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of `test-honest` for one object.

    Attributes
    ----------
    attempts : int
        Fixed number of attempts.
    k : int
        Companions asked for.
    gamma : float
    test_epsilon, failure : Fraction
        Of the test's noise; and the probability with which an attempt is thrown away anyway.
    expected : float
        Points expected to pass, by a guess that looks at no claim.
    """

    attempts: int
    k: int
    gamma: float
    test_epsilon: Fraction
    failure: Fraction
    expected: float


@lru_cache(maxsize=4096)
def plan(
    count: int, epsilon: Fraction, delta: Fraction, *, largest: float, least: float
) -> Plan | None:
    """Return the plan with the most points expected, or None where none is worth an attempt.

    Each of T attempts may cost epsilon / T and delta / T (basic composition), the failure included.
    How many companions a candidate will find is guessed for claims that are normally distributed
    and a bandwidth by the rule of thumb for them.

    Parameters
    ----------
    count : int
        Claims about the object, at least 1.
    epsilon, delta : Fraction
        For the object.
    largest, least : float
        Extreme weights of its claims.
    """
    best: Plan | None = None
    for attempts in _ATTEMPTS:
        each, spare = float(epsilon / attempts), float(delta / attempts)
        for gamma in _GAMMAS:
            found = _best_test(count, each, spare, gamma, largest, least)
            if found is None:
                continue
            k, test_epsilon, failure, passing = found
            expected = attempts * passing
            if best is None or expected > best.expected:
                best = Plan(attempts, k, gamma, test_epsilon, failure, expected)
    return best if best is not None and best.expected >= _LEAST_WORTH else None


def holds(settings: Plan, count: int, epsilon: Fraction, delta: Fraction, *, largest: float,
          least: float) -> bool:  # fmt: skip
    """Return whether a plan keeps to epsilon and delta, rounding against itself."""
    each = float(epsilon / settings.attempts) * (1 - 1e-12)
    test_epsilon, failure = float(settings.test_epsilon), float(settings.failure)
    if test_epsilon > each:
        return False
    cost = release_delta(
        each, count=count, k=settings.k, test_epsilon=test_epsilon, gamma=settings.gamma,
        largest=largest, least=least, failure=failure,
    )  # fmt: skip
    cost += failure_delta(each, test_epsilon=test_epsilon, largest=largest, failure=failure)
    # rounding errors of the terms grow with e**epsilon
    return cost * _MARGIN + _ABSOLUTE * math.exp(each) <= float(delta / settings.attempts)


def guessed_companions(count: int, gamma: float) -> float:
    """Return how many claims a candidate's bucket is guessed to hold, the seed included."""
    bandwidth = 1.06 * count**-0.2  # in standard deviations of the claims
    reach = bandwidth * math.sqrt(2 * math.log(gamma))
    share = float(erf(reach / math.sqrt(2 * (2 + bandwidth**2))))
    return 1 + (count - 1) * share


def _best_test(
    count: int, epsilon: float, delta: float, gamma: float, largest: float, least: float
) -> tuple[int, Fraction, Fraction, float] | None:
    """Return k, epsilon and failure rate of the best test of one attempt, and P(pass)."""
    each = epsilon * (1 - 1e-12)
    tests = [Fraction(math.floor(each * share * _FINE), _FINE) for share in _TEST_SHARES]
    tests = [test for test in tests if test > 0]
    if not tests:
        return None
    companions = guessed_companions(count, gamma)
    most = min(count, _MOST_CLAIMS)
    candidates = np.unique(np.rint(np.geomspace(1, 4 * most + 40, 48)).astype(np.int64))
    best: tuple[int, Fraction, Fraction, float] | None = None
    for test in tests:
        number = float(test)
        excess = math.exp(each) - math.exp(number)
        failure = Fraction(math.ceil(largest / (largest + excess) * _FINE), _FINE)
        if failure >= 1:
            continue
        kept = 1 - float(failure)
        delta_of = _release_deltas(each, count, candidates, number, gamma, largest, least) * kept
        fits = delta_of * _MARGIN + 2 * _ABSOLUTE * math.exp(each) <= delta
        if not fits.any():
            continue
        k = int(candidates[fits][0])
        passing = kept * float(pass_probability(companions, k=k, epsilon=number))
        if best is None or passing > best[3]:
            best = (k, test, failure, passing)
    return best


def _release_deltas(
    epsilon: float,
    count: int,
    ks: Integers,
    test: float,
    gamma: float,
    largest: float,
    least: float,
) -> Floats:
    """Return `release_delta` without failures for many k at once."""
    # A search among settings: whether the one that is found keeps to delta, `holds` computes.
    j = np.arange(1, min(count, _MOST_BUCKET) + 1)
    over = j[None, :] - ks[:, None]
    tail = 0.5 * np.exp(-test * np.abs(over))
    with_it = np.where(over < 0, tail, 1 - tail)
    before = 0.5 * np.exp(-test * np.abs(over - 1))
    without = np.where(over - 1 < 0, before, 1 - before)
    others = (j - 1) * least / gamma * np.maximum(math.exp(epsilon) * without - with_it, 0.0)
    return np.asarray(np.maximum(with_it * largest - others, 0.0).max(axis=1))
