"""Gaussian differential privacy: the cost of Gaussian noise, alone and added up, exactly.

``delta(epsilon) = Phi(mu/2 - epsilon/mu) - e**epsilon Phi(-mu/2 - epsilon/mu)`` (Balle and Wang,
2018), and mechanisms of strengths mu_i together have ``sqrt(sum of mu_i**2)`` (Dong, Roth and Su,
2022). All of this is for noise on the real line. Noise on a lattice has nearly the same epsilon,
sometimes above it; `masquerade.exact.loss.noise` counts it, and at one delta a vector has
`lattice_epsilon`:

A whole vector m plus discrete Gaussian noise of parameter v is nearly a function of m plus Gaussian
noise Y of variance ``v - t``, for any t below v: round each coordinate y of it to a whole number k
with probability proportional to ``exp(-(k - y)**2 / (2 t))``. The sum of these over k is
``sqrt(2 pi t)`` times 1 plus at most ``eta = 2 sum over j >= 1 of exp(-2 pi**2 t j**2)`` in size
(Poisson summation), so that k has probability ``exp(-(k - m)**2 / (2 v))``, times a constant, times
a number from ``1 / (1 + eta)`` to ``1 / (1 - eta)``; the discrete Gaussian has the same without the
last factor. For d coordinates, with ``r = ((1 + eta) / (1 - eta))**d``, every set of vectors has at
most ``r`` times and at least ``1 / r`` times the probability that it has with rounded noise. Hence
``delta(epsilon) <= r delta'(epsilon - 2 ln r)``, with delta' that of the real line at variance
``v - t``. For t = 4, eta is below 1e-34, and r for a billion billion coordinates below 1 + 1e-15.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from masquerade.exact import INFINITE_LOSS, NO_LOSS, Micro
from masquerade.exact.number import in_range

_ERROR = 8e-15  # relative, above what rounding does to the few operations of each term
_HALVINGS = 200
_LATTICE_SHARE = 1e-12  # far above r - 1 and 2 ln r

#: Squared steps of a discrete Gaussian that pay for its being one: t in the module's docstring.
ROUNDED = 4


def gaussian_delta(epsilon: float, *, mu: float) -> float:
    """Return the least delta at which strength `mu` is epsilon-private, rounded up.

    Parameters
    ----------
    epsilon : float
        At least 0.
    mu : float
        Largest change of the answer over the standard deviation of the noise, at least 0.

    Examples
    --------
    >>> round(gaussian_delta(0.85, mu=2 / 3), 5)
    0.04712
    """
    in_range(epsilon, "epsilon", low=0, below=math.inf)
    _check_mu(mu)
    if mu == 0:
        return 0.0
    return min(1.0, math.nextafter(math.exp(_log_delta(epsilon, mu)), 1.0))  # never quite 0


def gaussian_epsilon(delta: float, *, mu: float) -> float:
    """Return the least epsilon that strength `mu` has at `delta`, rounded up.

    Parameters
    ----------
    delta : float
        Above 0, at most 1; 0 gives infinity where `mu` is above 0.
    mu : float
        At least 0.

    Examples
    --------
    >>> round(gaussian_epsilon(1e-6, mu=4 / 3), 4)
    6.8027
    """
    in_range(delta, "delta", low=0, high=1)
    _check_mu(mu)
    if mu == 0 or delta == 1:
        return 0.0
    if delta == 0:
        return math.inf
    log_delta = math.log(delta)
    if _log_delta(0.0, mu) <= log_delta:
        return 0.0
    # delta falls with epsilon: a bracket by doubling, then halves; `high` always keeps delta
    low, high = 0.0, 1.0
    while _log_delta(high, mu) > log_delta:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _log_delta(middle, mu) > log_delta else (low, middle)
    return high


def gaussian_sigma(epsilon: float, delta: float, *, sensitivity: float = 1.0) -> float:
    """Return the least standard deviation with which Gaussian noise is private, rounded up.

    Parameters
    ----------
    epsilon, delta : float
        What it has to keep; epsilon at least 0, delta above 0 and below 1.
    sensitivity : float
        Largest change of the answer, above 0.

    Examples
    --------
    >>> round(gaussian_sigma(1, 1e-6), 4)
    4.2247
    """
    in_range(epsilon, "epsilon", low=0, below=math.inf)
    in_range(delta, "delta", above=0, below=1)
    in_range(sensitivity, "sensitivity", above=0, below=math.inf)
    log_delta = math.log(delta)
    low, high = 0.0, 1.0  # of 1 / mu
    while _log_delta(epsilon, 1 / high) > log_delta:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        too_little = _log_delta(epsilon, 1 / middle) > log_delta
        low, high = (middle, high) if too_little else (low, middle)
    return high * sensitivity * (1 + 1e-15)


@lru_cache(maxsize=1024)
def lattice_epsilon(squared: Fraction, *, variance: Fraction, delta: Fraction) -> Micro:
    """Return an epsilon at `delta` of whole vectors with discrete Gaussian noise, rounded up.

    `squared`: square of the largest Euclidean change, in steps. `variance`: parameter of the noise
    of each coordinate, in squared steps; up to `ROUNDED` gives infinity.
    """
    if squared == 0:
        return NO_LOSS
    if variance <= ROUNDED:
        return INFINITE_LOSS
    # delta(epsilon) <= r delta'(epsilon - 2 ln r): the share covers both corrections
    mu = math.sqrt(squared / (variance - ROUNDED)) * (1 + 1e-15)
    epsilon = gaussian_epsilon(_below(delta) * (1 - _LATTICE_SHARE), mu=mu)
    return Micro.of_bound(epsilon, error=_LATTICE_SHARE)


@lru_cache(maxsize=1024)
def lattice_mu(epsilon: Fraction, delta: Fraction) -> float:
    """Return the largest strength mu that `lattice_epsilon` finds within `epsilon`, rounded down.

    Noise whose parameter is at least ``(change / mu)**2 + ROUNDED`` is private enough.
    """
    allowed = math.nextafter(float(epsilon), 0.0) - _LATTICE_SHARE
    if allowed <= 0:
        return 0.0
    return 1 / gaussian_sigma(allowed, _below(delta) * (1 - _LATTICE_SHARE)) * (1 - 1e-12)


def _log_delta(epsilon: float, mu: float) -> float:
    """Return ln of delta, rounded up.

    ``delta = phi(a) (M(a) - M(b))`` with ``a = epsilon/mu - mu/2``, ``b = epsilon/mu + mu/2`` and M
    the Mills ratio, because ``e**epsilon phi(b) = phi(a)``; so neither term can overflow, and only
    the difference of the ratios, whose error is added, can cancel.
    """
    # Dear to load, and a server that charges no Gaussian noise never needs it.
    from scipy.special import erfcx, log_ndtr, ndtr

    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a < -5:  # delta is nearly 1, and the second term is far below the first
        difference = float(ndtr(-a)) - math.exp(min(0.0, epsilon + float(log_ndtr(-b))))
        return math.log(difference + _ERROR)
    ratio_a = float(erfcx(a / math.sqrt(2)))
    ratio_b = float(erfcx(b / math.sqrt(2)))
    difference = (ratio_a - ratio_b + _ERROR * ratio_a) / 2
    # M is convex, so its fall is at most mu times its slope at a, `a M(a) - 1`; where mu is tiny,
    # this loses less than the difference does.
    slope = 1 / math.sqrt(2 * math.pi) - a * ratio_a / 2
    fall = mu * (slope + _ERROR * (1 + abs(a) * ratio_a))
    error = _ERROR * (1 + abs(a) * b)  # of a, as it grows in the exponent
    return math.log(min(difference, fall)) - a * a / 2 + error


def _below(delta: Fraction) -> float:
    """Return a float that is not above `delta`."""
    return math.nextafter(float(delta), 0.0) if delta else 0.0


def _check_mu(mu: float) -> None:
    in_range(mu, "mu", low=0, below=math.inf)
