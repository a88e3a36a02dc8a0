"""The test of plausible deniability: a candidate passes where enough claims could be its seed.

Bindschaedler, Shokri and Gunter (2017), as Huai et al. (2019) use it. What one attempt promises is
computed here; what a loop of attempts does not, in the tests and the documentation.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from masquerade.release.objects import Floats


def buckets(distance: ArrayLike, gamma: float) -> Floats:
    """Return the bucket of claims at some distances (in bandwidths) from a candidate.

    Bucket a holds the claims under which the candidate's density, relative to the kernel's peak, is
    above ``gamma**-(a + 1)`` and at most ``gamma**-a``. It does not depend on the unit of
    measurement, unlike buckets of the density itself.

    Parameters
    ----------
    distance : float array
    gamma : float, above 1
    """
    squared = np.clip(np.abs(distance), 0.0, 1e140) ** 2
    return np.asarray(np.floor(squared / (2 * math.log(gamma))))


def pass_probability(companions: ArrayLike, *, k: int, epsilon: float) -> Floats:
    """Return P(companions >= k + Laplace noise of scale 1 / epsilon).

    Parameters
    ----------
    companions : int array
        Claims in the seed's bucket, the seed included.
    k : int
        At least 1.
    epsilon : float
        Above 0.

    Examples
    --------
    >>> pass_probability([4, 5, 6], k=5, epsilon=1.0).round(4)
    array([0.1839, 0.5   , 0.8161])
    """
    over = np.asarray(companions, dtype=np.float64) - k
    tail = 0.5 * np.exp(-epsilon * np.abs(over))
    return np.asarray(np.where(over < 0, tail, 1 - tail))


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

    Parameters
    ----------
    epsilon : float
        At least `test_epsilon`.
    count : int
        Claims about the object.
    k : int
        Companions asked for.
    test_epsilon : float
        Of the test's noise.
    gamma : float
        Above 1.
    largest, least : float
        Extreme weights of claims, as probabilities of being the seed.
    failure : float
        Probability with which an attempt is thrown away whatever the test says.

    Notes
    -----
    A seed whose bucket holds j claims passes with probability L(j), and L(j) is at most
    ``e**test_epsilon L(j - 1)``. Replacing a claim takes one claim out of its bucket; the other
    j - 1 have at least ``(j - 1) least / gamma`` of its density. The largest over j of ``L(j)
    largest - (j - 1) least / gamma (e**epsilon L(j - 1) - L(j))`` is what is left over.
    """
    j = np.arange(1, count + 1)
    with_it = pass_probability(j, k=k, epsilon=test_epsilon)
    without = pass_probability(j - 1, k=k, epsilon=test_epsilon)
    others = (j - 1) * least / gamma * np.maximum(math.exp(epsilon) * without - with_it, 0.0)
    return float((1 - failure) * np.maximum(with_it * largest - others, 0.0).max())


def failure_delta(epsilon: float, *, test_epsilon: float, largest: float, failure: float) -> float:
    """Return delta at which it is (epsilon, delta)-private that an attempt released nothing."""
    excess = math.exp(epsilon) - math.exp(test_epsilon)
    return max((1 - failure) * largest - excess * failure, 0.0)


def published_epsilon(*, t: int, test_epsilon: float, gamma: float, ratio: float = 1.0) -> float:
    """Return epsilon of one attempt for a threshold t, ``test_epsilon + ln(1 + gamma ratio / t)``.

    Parameters
    ----------
    t : int
        1 to k - 1.
    test_epsilon, gamma : float
    ratio : float
        Largest weight over least; infinite where a weight is 0, and epsilon with it.
    """
    return test_epsilon + math.log1p(gamma * ratio / t)
