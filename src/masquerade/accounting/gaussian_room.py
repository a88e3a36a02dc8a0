"""The cap on Gaussian noise that a filter admits beside its rule on rho, at one delta for both.

The rule on rho cannot tell Gaussian noise from the worst mechanism of the same rho, and admits a
tenth less of it than fits (27 numbers at level high under epsilon 10, where 30 fit). So a person
whose answers all have Gaussian noise may go on up to a larger sum, `Room.gaussian`; everybody else
stops at `Room.rho`. That both hold at one delta, whatever is chosen on the way, is shown here.

A charge counts as Gaussian if its reports are a function of Gaussian noise on the real line of a
strength mu with ``mu**2 <= 2 (1 + s) rho``, where s is `INFLATION`, but for a chance of `RARELY`;
see `is_gaussian`. Let L be the log ratio of the probabilities of all reports so far in the two
worlds, under the first. By Gaussian noise it moves like Brownian motion with drift 1/2 whose clock
m is the sum of mu**2 (what is less informative is a function of it). Fix an order a > 1 and let

    c(l) = (1/a) (1 - 1/a)**(a-1) e**((a-1)(l - epsilon))          at least (1 - e**(epsilon - l))+
    h(l) = delta at epsilon - l of Gaussian noise with mu**2 = B - M

with ``M = 2 (1 + s) rho`` and ``B = 2 (1 + s) gaussian``. While all charges are Gaussian let

    V(l, m) = E max(c(l + X), h(l + X)),  X normal with mean half its variance M - m, for m <= M,
    V(l, m) = delta at epsilon - l of Gaussian noise with mu**2 = B - m, for m >= M,

and once another charge came, with r the sum of rho, ``W(l, r) = c(l) e**((a-1) a (rho - r))``. In
the mean none of them grows along the way:

- Gaussian noise: variances of X and of the step add up; passing M, ``E h <= E max``.
- Another charge, after others: ``E e**((a-1) step) <= e**((a-1) a r')`` for a charge of r', by the
  definition of rho.
- The first other charge: the sum so far is r with ``m <= 2 (1 + s) r <= M``, and ``W(l, r) <=
  E c(l + X) <= V(l, m)``, because ``E e**((a-1) X) = e**((a-1) a (M - m) / 2)`` and ``(M - m) / 2
  >= rho - r``.

Each is at least ``(1 - e**(epsilon - l))+`` (Jensen), whose mean at the end is the delta of
everything. So that delta is at most ``V(0, 0) = E max(c, h)`` at time M, which is summed here over
cells, each by its upper end: both grow with l. One order proves it; which one is taken costs only
precision. The chance that some report is no function of Gaussian noise is at most `RARELY` times
the number of charges, of which each costs a millionth of rho or more; a millionth of delta pays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from masquerade.accounting.concentrated import Rho, rho_of_cap
from masquerade.accounting.gaussian import ROUNDED, Mu, gaussian_sigma
from masquerade.accounting.kinds import Kind, MaskedNumber
from masquerade.exact import MICRO, Loss
from masquerade.exact.arrays import Floats

#: s: how much more mu**2 / 2 than rho a charge may have that counts as Gaussian.
INFLATION = Fraction(7, 10_000)

#: Chance that a report of a charge that counts as Gaussian is no function of Gaussian noise.
RARELY = 1e-33

_SHARE = 0.7  # of delta for all-Gaussian lists; the mean of the larger is far below the sum of both
_FOR_RARE = 1e-6
_LARGEST_EPSILON = 50
_LEAST_VARIANCE = 120  # in squared steps; below this, lattice noise grows too fast at any rate
_REACH = 16  # standard deviations
_CELLS = 16384
_MARGIN = 1e-9


@dataclass(frozen=True, slots=True)
class Room:
    """The largest sums of rho within a cap."""

    rho: Rho  # of all charges
    gaussian: Rho  # of all charges, where each counts as Gaussian; at least `rho`


def is_gaussian(kind: Kind) -> bool:
    """Return whether a charge counts as Gaussian; see the module's docstring.

    For noise on a lattice with parameter v (in squared steps) let F be its distribution function
    and ``R(t)`` the normal quantile of F(t). A shift of d steps is a function of a shift by mu of
    normal noise if and only if ``R(t) - R(t - d) <= mu`` for all t, so it is enough that R never
    grows by more than ``mu / d`` in a step. That is looked at within 16 standard deviations; the
    law may be taken for one that goes on so beyond, which differs with a chance below `RARELY`.
    Where v is large, the noise is rounded noise of variance v - 4, see `accounting.gaussian`.
    """
    if isinstance(kind, Mu):
        return True
    return isinstance(kind, MaskedNumber) and _like_normal(kind.variance)


@lru_cache(maxsize=1024)
def room_of(epsilon: Loss, delta: Fraction) -> Room:
    """Return how far sums of rho may go under a cap.

    A finite epsilon.
    """
    # Between thousandths the lower one is taken, so that a lower cap never gives more room.
    whole = int(epsilon.micro) // 1000
    plain = rho_of_cap(epsilon, delta)
    if not delta or not 0 < whole <= 1000 * _LARGEST_EPSILON:
        return Room(plain, plain)
    return _room(whole, delta, plain)


def _room(thousandths: int, delta: Fraction, plain: Rho) -> Room:
    size = thousandths / 1000
    left = float(delta) * (1 - 2 * _FOR_RARE)
    if left <= 0:
        return Room(plain, plain)
    together = 1 / gaussian_sigma(size, _SHARE * left) ** 2 * (1 - _MARGIN)  # B
    gaussian = math.floor(together / 2 / (1 + float(INFLATION)) * MICRO)
    rare = gaussian * RARELY * (1 + math.exp(size))
    if gaussian <= plain.micro or rare > _FOR_RARE * float(delta):
        return Room(plain, plain)
    order = _order(size, left, plain.rho, together)
    low, high = 0, int(plain.micro) + 1
    while high - low > 1:
        middle = (low + high) // 2
        fits = _largest_delta(size, order, middle / MICRO, together) <= left
        low, high = (middle, high) if fits else (low, middle)
    return Room(Rho(low), Rho(gaussian)) if low else Room(plain, plain)


def _order(epsilon: float, delta: float, rho: float, together: float) -> float:
    """Return nearly the best order."""
    middle = math.sqrt(-math.log(delta) / rho)
    orders = 1 + middle * np.linspace(0.6, 1.3, 15)
    return float(min(orders, key=lambda a: _largest_delta(epsilon, a, 0.97 * rho, together)))


def _largest_delta(epsilon: float, order: float, rho: float, together: float) -> float:
    """Return V(0, 0), rounded up."""
    clock = 2 * (1 + float(INFLATION)) * rho
    rest = together - clock
    if rest <= 0 or clock <= 0:
        return 1.0
    spread, grows = math.sqrt(clock), order - 1
    log_factor = grows * math.log1p(-1 / order) - math.log(order) - grows * epsilon
    top = clock / 2 + grows * clock + 10 * spread
    ends = np.linspace(clock / 2 - 12 * spread, top, _CELLS + 1)
    place = (ends - clock / 2) / spread
    mass = np.where(place[1:] > 0, -np.diff(ndtr(-place)), np.diff(ndtr(place)))
    # c may not be cut at 1: its mean, not c itself, is what a charge of rho leaves as it is.
    value = np.maximum(np.exp(log_factor + grows * ends), _delta(epsilon - ends, rest))
    below = float(ndtr(place[0])) * float(value[0])
    beyond = math.exp(log_factor + grows * order * clock / 2) * float(ndtr(-10.0))
    beyond += float(ndtr(-place[-1]))
    # `value` grows along the cells, so that its upper end bounds it in each
    return (float(mass @ value[1:]) + below + beyond) * (1 + _MARGIN)


def _delta(epsilon: Floats, squared: float) -> Floats:
    """Return delta of Gaussian noise at epsilons of any sign, rounded up."""
    mu = math.sqrt(squared)
    first = ndtr((squared / 2 - epsilon) / mu)
    # Balle and Wang (2018); the product is formed in logs, for e**epsilon alone may overflow
    second = np.exp(np.minimum(epsilon + log_ndtr((-squared / 2 - epsilon) / mu), 0.0))
    return np.asarray(np.maximum(first - second, 0.0) + 1e-13 * first)


@lru_cache(maxsize=4096)
def _like_normal(variance: Fraction) -> bool:
    if variance < _LEAST_VARIANCE:
        return False
    if ROUNDED / (variance - ROUNDED) <= INFLATION:
        return True
    v = float(variance)
    steps = np.arange(-math.ceil((_REACH + 2) * math.sqrt(v)), 1, dtype=np.float64)
    weight = np.exp(-(steps**2) / (2 * v))
    # The law is symmetric, so that its lower half, and as much above, is all of it.
    below = np.cumsum(weight) / (2 * float(weight.sum()) - 1)
    looked_at = steps >= -_REACH * math.sqrt(v)
    growth = np.diff(ndtri(below[looked_at]))
    return bool(growth.max() <= math.sqrt((1 + float(INFLATION)) / v) * (1 - _MARGIN))
