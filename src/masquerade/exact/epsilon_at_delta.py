"""Epsilon at a delta, with proof, of zero-concentrated loss (rho) and of discrete Gaussian noise.

Bun and Steinke (2016) define rho-zCDP; the conversion is Proposition 12 of Canonne, Kamath and
Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020.

For noise with P(y) proportional to exp(-y**2 / (2 v)), let F be its distribution function. Answers
that lie d lattice steps apart are (epsilon, delta)-indistinguishable exactly when

    delta >= max over t of F(t) - e**epsilon F(t - d),

because the noise is log-concave, so the likelihood ratio of two shifts is monotone and the worst
set of reports is a half-line (Neyman and Pearson). The right side grows with d, for F(t - d) falls:
the two ends of the range are the worst pair. The maximum is at the largest t with
``(d**2 - 2 d t) / (2 v) > epsilon``, found here in exact fractions.

Several reports, each moved by d, lose ``(n d**2 - 2 d S) / (2 v)`` together, where S is the sum of
their noises: S alone decides. S is nearly discrete Gaussian itself, with parameter n v. By
induction: if ``P(S_k = s) = C exp(-s**2 / (2 k v)) u(s)`` with a <= u <= b, then

    P(S_(k+1) = s) = C' exp(-s**2 / (2 (k+1) v)) * sum over x of exp(-(x - c)**2 / (2 w)) u(s - x)

with ``w = k v / (k+1)`` and ``c = s / (k+1)``. The sum without u is ``sqrt(2 pi w)`` times 1 plus
at most ``eta = 2 sum over m >= 1 of exp(-2 pi**2 m**2 w)`` in size (Poisson summation). So b / a
grows by at most ``(1 + eta) / (1 - eta)`` at each step, no probability of S is more than b / a
times that of the discrete Gaussian, and delta, a sum of these probabilities times the same numbers
from 0 to 1, is at most b / a times the delta of one report with distance n d and parameter n v.
From 2 steps of standard deviation on, b / a is 1 to 16 digits.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.loss import ORDERS, Loss
from masquerade.exact.micro import INFINITE_LOSS, MICRO, NO_LOSS, Micro
from masquerade.exact.number import NumberLike, finite, in_range, largest_whole
from masquerade.exact.portable import BITS, GUARD, ln

#: The delta at which an epsilon is stated where none is named: one in a million.
DEFAULT_DELTA = Fraction(1, 1_000_000)
_DIGITS = 80
_SMALLEST_EXCESS = 1e-9
_GUARD = decimal.Decimal(10) ** -30
_ORDER_ERROR = 1e-11


def probability_of_failure(delta: NumberLike) -> Fraction:
    """Return `delta` as a fraction above 0 and below 1."""
    number = finite(delta, "delta")
    in_range(number, "delta", above=0, below=1)
    return number


def epsilon_of_rho(rho: Micro, *, delta: NumberLike = DEFAULT_DELTA) -> Micro:
    """Return an epsilon with which every rho-zCDP mechanism is (epsilon, delta)-private.

    It is the smallest over orders a > 1 of ``a rho + ln(1 - 1/a) - ln(delta a) / (a - 1)``. Each
    order gives a valid bound, so the order is found in floats and its bound computed to 80 digits
    and rounded up: how well the search does can cost precision, never the proof.

    Parameters
    ----------
    rho : Micro
        Millionths of rho.
    delta : number
        Above 0 and below 1.

    Examples
    --------
    >>> epsilon_of_rho(Micro(638_600)).epsilon
    6.000016
    """
    delta = probability_of_failure(delta)
    if rho == INFINITE_LOSS:
        return INFINITE_LOSS
    if rho == NO_LOSS:
        return NO_LOSS
    return _epsilon_of_rho(rho, delta)


@lru_cache(maxsize=1024)
def _epsilon_of_rho(rho: Micro, delta: Fraction) -> Micro:
    order = _best_order(rho.epsilon, delta)
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        a = decimal.Decimal(order)  # exactly the float, which is above 1
        log_delta = decimal.Decimal(delta.numerator).ln() - decimal.Decimal(delta.denominator).ln()
        bound = (
            a * decimal.Decimal(int(rho.micro)) / MICRO
            + (1 - 1 / a).ln()
            - (log_delta + a.ln()) / (a - 1)
        )
        # The guard is far above the rounding error of 80 digits: no division is by less than 1e-9,
        # and no term is anywhere near 1e40.
        micro = ((bound + _GUARD) * MICRO).to_integral_value(decimal.ROUND_CEILING)
    return Micro(max(int(micro), 0))


def epsilon_of_orders(loss: Loss, delta: Fraction) -> Micro:
    """Return an epsilon with which a loss is (epsilon, delta)-private, by the best of its orders.

    The smallest over `masquerade.exact.loss.ORDERS` of ``D_a + ln(1 - 1/a) - ln(delta a) /
    (a - 1)``, and the pure epsilon, rounded up.

    Examples
    --------
    >>> from masquerade.exact.loss import noise
    >>> str(epsilon_of_orders(noise(16, 16, Fraction(144)), DEFAULT_DELTA))
    '1.560546'
    """
    in_range(delta, "delta", low=0, below=1)
    amounts = [loss.pure]
    for a, divergence in zip(ORDERS, loss.orders, strict=True):
        if delta and not math.isinf(divergence):
            above, below = delta.denominator, delta.numerator * a
            failure = ln(above, below) if above >= below else -ln(below, above)
            share = -(-failure // (a - 1)) - ln(a, a - 1) + GUARD
            amounts.append(max(0, divergence - (-share * MICRO >> BITS)))
    return Micro(min(amounts))


def rho_of_epsilon(epsilon: Micro, *, delta: NumberLike = DEFAULT_DELTA) -> Micro:
    """Return the largest rho, in millionths, with an `epsilon_of_rho` of at most `epsilon`.

    Parameters
    ----------
    epsilon : Micro
        Millionths of epsilon.
    delta : number
        Above 0 and below 1.

    Raises
    ------
    ParameterError
        Epsilon is so small that less than a millionth of rho fits.

    Examples
    --------
    >>> rho_of_epsilon(Micro(1_000_000)).epsilon
    0.024355
    """
    if epsilon == INFINITE_LOSS:
        return INFINITE_LOSS
    return _rho_of_epsilon(epsilon, probability_of_failure(delta))


@lru_cache(maxsize=1024)
def _rho_of_epsilon(epsilon: Micro, delta: Fraction) -> Micro:
    # over millionths: epsilon grows with rho
    micro = largest_whole(lambda m: epsilon_of_rho(Micro(m), delta=delta) <= epsilon)
    if micro == 0:
        raise ParameterError(
            f"epsilon {epsilon.epsilon:g} at delta {float(delta):g} needs "
            "more noise than is offered; raise epsilon or delta, or use a mechanism without delta.",
            field="epsilon",
        )
    return Micro(micro)


def _best_order(rho: float, delta: Fraction) -> float:
    """Return nearly the order with the smallest bound, by golden section over ln(order - 1)."""
    # A delta that floats cannot tell from 1 has the logarithm 0, whose own there is none.
    log_delta = min(math.log(delta.numerator) - math.log(delta.denominator), -1e-16)

    def bound(log_excess: float) -> float:
        order = 1 + math.exp(log_excess)
        entropy = log_excess - math.log(order)  # ln(1 - 1 / order)
        return order * rho + entropy - (log_delta + math.log(order)) / math.exp(log_excess)

    # where a rho and -ln(delta) / (a - 1) balance: a - 1 = sqrt(-ln(delta) / rho)
    middle = 0.5 * math.log(-log_delta / rho)
    low, high = middle - 10, middle + 10
    ratio = (math.sqrt(5) - 1) / 2
    # the bound is flat at its least, so that it is known to twice as many digits as the order
    while high - low > _ORDER_ERROR:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if bound(left) < bound(right):
            high = right
        else:
            low = left
    return 1 + max(math.exp(low), _SMALLEST_EXCESS)


_BLOCKS_PER_SIGMA = 1024
_SIGMAS = 12
_FEWEST_TERMS = 48
# Each exponent is below 800 or its term negligible, and is computed with a relative error of a few
# 2**-53; sums of positive terms add less. All of it is far below this relative margin.
_MARGIN = 1e-11
_UNDERFLOW = 1e-300
_FIRST_STEPS = 64
_MOST_LOG = 500.0


@lru_cache(maxsize=1024)
def epsilon_of_one_report(distance: int, variance: Fraction, delta: Fraction) -> Micro:
    """Return the smallest epsilon, in millionths, that is proven for one report at `delta`.

    `distance`: largest distance of two answers, in lattice steps. `variance`: parameter of the
    noise, in squared lattice steps. Cost: about 25 evaluations of `delta_at_most`.
    """
    return epsilon_of_reports(distance, variance, delta, reports=1)


@lru_cache(maxsize=1024)
def epsilon_of_reports(
    distance: int, variance: Fraction, delta: Fraction, *, reports: int
) -> Micro:
    """Return the smallest epsilon, in millionths, proven for some equal `reports` at `delta`.

    All are of one person, each with noise of its own; never above `epsilon_of_rho`. The other
    parameters are those of `epsilon_of_one_report`.
    """
    rho = Micro.of_amount(Fraction(reports * distance**2) / (2 * variance))
    high = epsilon_of_rho(rho, delta=delta).micro
    more = _more_than_gaussian(variance, reports)
    assert isinstance(high, int)
    if more == math.inf:
        return Micro(high)
    distance, variance = reports * distance, reports * variance

    def too_small(micro: int) -> bool:
        return delta_at_most(distance, variance, Fraction(micro, MICRO)) * more > delta

    return Micro(largest_whole(too_small, low=-1, high=high) + 1)


def delta_at_most(distance: int, variance: Fraction, epsilon: Fraction) -> float:
    """Return an upper bound on the delta of one report at `epsilon`, tight to about 1e-5 of it."""
    # (d**2 - 2 d t) / (2 v) > epsilon for t below this; the largest such whole number is the worst
    limit = Fraction(distance, 2) - epsilon * variance / distance
    t = math.ceil(limit) - 1
    log_total_low, log_total_high = _log_total(variance)
    far_low, _ = _log_tail(distance - t, variance)
    if t < 0:
        near = math.exp(_log_tail(-t, variance)[1] - log_total_low)
    else:
        near = 1 - math.exp(_log_tail(t + 1, variance)[0] - log_total_high)
    # F(t) rounded up less e**epsilon F(t - d) rounded down: an upper bound of delta
    log_far = float(epsilon) + far_low - log_total_high
    slack = _MARGIN + 1e-15 * (float(epsilon) + abs(far_low))
    bound = near * (1 + slack) - math.exp(log_far) * (1 - slack)
    return max(bound, 0.0) + _UNDERFLOW


def _more_than_gaussian(variance: Fraction, reports: int) -> float:
    """Return by how much the sum of noises can exceed a discrete Gaussian: b / a, rounded up."""
    if reports == 1:
        return 1.0
    # The first steps by their own eta, all others by that of the last of these, which is larger.
    log_ratio = 0.0
    steps = min(reports - 1, _FIRST_STEPS)
    for k in range(1, steps + 1):
        share = math.exp(-2 * math.pi**2 * float(variance) * k / (k + 1))
        eta = 2 * share / (1 - share)  # m**2 >= m
        if eta >= 1:
            return math.inf
        term = math.log1p(eta) - math.log1p(-eta)
        log_ratio += term * (reports - steps if k == steps else 1)
    log_ratio = log_ratio * (1 + _MARGIN) + _MARGIN
    return math.exp(log_ratio) if log_ratio < _MOST_LOG else math.inf


@lru_cache(maxsize=256)
def _log_total(variance: Fraction) -> tuple[float, float]:
    """Return bounds on the log of the sum of exp(-y**2 / (2 variance)) over all integers."""
    low, high = _log_tail(1, variance)
    return math.log1p(2 * math.exp(low)), math.log1p(2 * math.exp(high))


def _log_tail(first: int, variance: Fraction) -> tuple[float, float]:
    """Return bounds on the log of the sum of exp(-y**2 / (2 variance)) over y >= first >= 1.

    Up to 1024 points a standard deviation are added one by one. A finer lattice is added in blocks
    of equally many points: where the summand is convex (beyond one standard deviation), the mean
    over a block lies between the value in the middle and the mean of the ends (Jensen); where it is
    concave, the other way round; in the block between, it lies between the two ends.
    """
    v = float(variance)
    sigma = math.sqrt(v)
    block = max(1, math.floor(sigma / _BLOCKS_PER_SIGMA))
    count = math.ceil((_SIGMAS * sigma + _FEWEST_TERMS) / block)
    start = block * np.arange(count + 1, dtype=np.float64)  # distance from `first`

    def relative(distance: np.ndarray) -> np.ndarray:
        """Return the summand at first + distance over the summand at first."""
        values: np.ndarray = np.exp(-distance * (distance + 2.0 * first) / (2 * v))
        return values

    left = relative(start)
    beyond = left[-1] / -math.expm1(-(2 * (first + start[-1]) + 1) / (2 * v))  # geometric series
    left, start = left[:-1], start[:-1]
    if block == 1:
        low = high = float(left.sum())
    else:
        right = relative(start + (block - 1))
        ends, middle = (left + right) / 2, relative(start + (block - 1) / 2)
        mixed = (start + first <= sigma * (1 + 1e-9)) & (
            start + (first + block - 1) >= sigma * (1 - 1e-9)
        )
        low = block * float(np.where(mixed, right, np.minimum(ends, middle)).sum())
        high = block * float(np.where(mixed, left, np.maximum(ends, middle)).sum())
    log_first = -(float(first) ** 2) / (2 * v)
    return log_first + math.log(low), log_first + math.log(high + beyond)
