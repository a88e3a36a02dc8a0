"""The test of plausible deniability: a candidate passes where enough claims could be its seed.

Bindschaedler, Shokri and Gunter (2017), as Huai et al. (2019) use it. The bound of one attempt is
computed here, and with it a plan: how to spend a budget on attempts, from public numbers alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf

from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade_papers.priscrowd.mixtures import uniforms

# What the search tries: numbers of attempts, gammas, and shares of an attempt's epsilon.
_ATTEMPTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_GAMMAS = (2.0, 4.0, 16.0, 64.0)
_TEST_SHARES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
_FINE = 1 << 20  # epsilons and failure rates are fractions of this
_MARGIN, _ABSOLUTE = 1 + 1e-9, 1e-15  # above the rounding errors of a delta
_LEAST_WORTH = 1e-3  # expected points below which no attempt is made
_MOST_CLAIMS, _MOST_BUCKET = 400, 2_000


def buckets(distance: ArrayLike, gamma: float) -> Floats:
    """Return the bucket of claims at some distances (in bandwidths) from a candidate.

    Bucket a holds the claims under which the candidate's density, relative to the kernel's peak, is
    above ``gamma**-(a + 1)`` and at most ``gamma**-a``. It does not depend on the unit of
    measurement, unlike buckets of the density itself.

    `gamma`: above 1.
    """
    # -ln(density / peak) = d^2 / 2, in units of ln gamma; far distances are cut before squaring
    squared = np.clip(np.abs(distance), 0.0, 1e140) ** 2
    return np.asarray(np.floor(squared / (2 * math.log(gamma))))


def pass_probability(companions: ArrayLike, *, k: int, epsilon: float) -> Floats:
    """Return P(companions >= k + Laplace noise of scale 1 / epsilon).

    `companions`: claims in the seed's bucket, the seed included. `k`: at least 1. `epsilon`: above
    0.

    Examples
    --------
    >>> pass_probability([4, 5, 6], k=5, epsilon=1.0).round(4)
    array([0.1839, 0.5   , 0.8161])
    """
    # the distribution function of the Laplace distribution, at companions - k
    over = np.asarray(companions, dtype=np.float64) - k
    tail = 0.5 * np.exp(-epsilon * np.abs(over))
    return np.asarray(np.where(over < 0, tail, 1 - tail))


def pass_decisions(
    between: Floats,
    step: Floats,
    present: Flags,
    source: WordSource,
    *,
    k: int,
    gamma: float,
    epsilon: float,
) -> Flags:
    """Return which candidates pass: enough claims are in the seed's bucket, give or take noise.

    Distances are in bandwidths. Shapes: `between` (n_objects, n_candidates, n_claims), from each
    claim to the seed; `step` (n_objects, n_candidates), from the seed to the candidate; `present`
    (n_objects, n_claims), which claims there are.
    """
    bucket, own = buckets(between + step[:, :, None], gamma), buckets(step, gamma)
    companions = ((bucket == own[:, :, None]) & present[:, None, :]).sum(axis=2)
    chance = pass_probability(companions, k=k, epsilon=epsilon)
    return uniforms(source, chance.size).reshape(chance.shape) < chance


def release_delta(
    epsilon: float,
    *,
    count: int,
    k: int,
    test_epsilon: float,
    gamma: float,
    largest: float,
    least: float,
    failure: float = 0.0,
) -> float:
    """Return delta at which the values of one attempt are (epsilon, delta)-private.

    Neighbours: one claim of the object replaced, weights, bandwidth and number of claims being
    public and fixed.

    `epsilon`: at least `test_epsilon`. `count`: claims about the object. `k`: companions asked for.
    `test_epsilon`: of the test's noise. `gamma`: above 1. `largest`, `least`: extreme weights of
    claims, as probabilities of being the seed. `failure`: probability with which an attempt is
    thrown away whatever the test says.

    Notes
    -----
    A seed whose bucket holds j claims passes with probability L(j), and L(j) is at most
    ``e**test_epsilon L(j - 1)``. Replacing a claim takes one claim out of its bucket; the other
    j - 1 have at least ``(j - 1) least / gamma`` of its density. The largest over j of ``L(j)
    largest - (j - 1) least / gamma (e**epsilon L(j - 1) - L(j))`` is what is left over.
    """
    # j: claims in the bucket of the seed, the seed among them
    j = np.arange(1, count + 1)
    with_it = pass_probability(j, k=k, epsilon=test_epsilon)
    without = pass_probability(j - 1, k=k, epsilon=test_epsilon)
    others = (j - 1) * least / gamma * np.maximum(math.exp(epsilon) * without - with_it, 0.0)
    return float((1 - failure) * np.maximum(with_it * largest - others, 0.0).max())


def failure_delta(epsilon: float, *, test_epsilon: float, largest: float, failure: float) -> float:
    """Return delta at which it is (epsilon, delta)-private that an attempt released nothing."""
    # ((1 - beta) largest - (e**epsilon - e**test_epsilon) beta)+ with failure rate beta: 0 from
    # beta = largest / (largest + excess) on
    excess = math.exp(epsilon) - math.exp(test_epsilon)
    return max((1 - failure) * largest - excess * failure, 0.0)


def published_epsilon(*, t: int, test_epsilon: float, gamma: float, ratio: float = 1.0) -> float:
    """Return epsilon of one attempt for a threshold t, ``test_epsilon + ln(1 + gamma ratio / t)``.

    `t`: 1 to k - 1. `ratio`: largest weight over least; infinite where a weight is 0, and epsilon
    with it.
    """
    return test_epsilon + math.log1p(gamma * ratio / t)


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of `test-honest` for one object."""

    attempts: int  # fixed number of attempts
    k: int  # companions asked for
    gamma: float
    # test_epsilon, failure: of the test's noise; and the probability with which an attempt is
    # thrown away anyway.
    test_epsilon: Fraction
    failure: Fraction
    expected: float  # points expected to pass, by a guess that looks at no claim


@lru_cache(maxsize=4096)
def plan(
    count: int, epsilon: Fraction, delta: Fraction, *, largest: float, least: float
) -> Plan | None:
    """Return the plan with the most points expected, or None where none is worth an attempt.

    Each of T attempts may cost epsilon / T and delta / T (basic composition), the failure included.
    How many companions a candidate will find is guessed for claims that are normally distributed
    and a bandwidth by the rule of thumb for them.

    `count`: claims about the object, at least 1. `epsilon`, `delta`: for the object. `largest`,
    `least`: extreme weights of its claims.
    """
    best: Plan | None = None
    for attempts in _ATTEMPTS:
        each, spare = float(epsilon / attempts), float(delta / attempts)
        for gamma in _GAMMAS:
            best_test = _best_test(count, each, spare, gamma, largest, least)
            if best_test is None:
                continue
            k, test_epsilon, failure, passing = best_test
            expected = attempts * passing
            if best is None or expected > best.expected:
                best = Plan(attempts, k, gamma, test_epsilon, failure, expected)
    return best if best is not None and best.expected >= _LEAST_WORTH else None


def holds(
    settings: Plan, count: int, epsilon: Fraction, delta: Fraction, *, largest: float, least: float
) -> bool:
    """Return whether a plan keeps to epsilon and delta, rounding against itself."""
    # below the exact fraction, which float() may have rounded up
    each = float(epsilon / settings.attempts) * (1 - 1e-12)
    test_epsilon, failure = float(settings.test_epsilon), float(settings.failure)
    if test_epsilon > each:
        return False
    cost = release_delta(
        each,
        count=count,
        k=settings.k,
        test_epsilon=test_epsilon,
        gamma=settings.gamma,
        largest=largest,
        least=least,
        failure=failure,
    )
    cost += failure_delta(each, test_epsilon=test_epsilon, largest=largest, failure=failure)
    # rounding errors of the terms grow with e**epsilon
    return cost * _MARGIN + _ABSOLUTE * math.exp(each) <= float(delta / settings.attempts)


def guessed_companions(count: int, gamma: float) -> float:
    """Return how many claims a candidate's bucket is guessed to hold, the seed included."""
    bandwidth = 1.06 * count**-0.2  # in standard deviations of the claims
    reach = bandwidth * math.sqrt(2 * math.log(gamma))
    # candidate less another claim is normal with variance 1 + 1 + bandwidth**2; bucket 0 is the
    # distances up to `reach`
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
    # k above the number of claims too: such a test passes by noise, and may be all that fits
    candidates = np.unique(np.rint(np.geomspace(1, 4 * most + 40, 48)).astype(np.int64))
    best: tuple[int, Fraction, Fraction, float] | None = None
    for test in tests:
        number = float(test)
        # the least failure rate whose own delta is 0; see `failure_delta`
        excess = math.exp(each) - math.exp(number)
        failure = Fraction(math.ceil(largest / (largest + excess) * _FINE), _FINE)
        if failure >= 1:
            continue
        survival = 1 - float(failure)
        delta_of = (
            _release_deltas(each, count, candidates, number, gamma, largest, least) * survival
        )
        fits = delta_of * _MARGIN + 2 * _ABSOLUTE * math.exp(each) <= delta
        if not fits.any():
            continue
        # the least k: the fewer companions are asked for, the more candidates pass
        k = int(candidates[fits][0])
        passing = survival * float(pass_probability(companions, k=k, epsilon=number))
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
