"""The exact loss of one report with discrete Gaussian noise, bounded from above with proof.

For noise with P(y) proportional to exp(-y**2 / (2 v)), let F be its distribution function. Answers
that lie d lattice steps apart are (epsilon, delta)-indistinguishable exactly when

    delta >= max over t of F(t) - e**epsilon F(t - d),

because the noise is log-concave, so the likelihood ratio of two shifts is monotone and the worst
set of reports is a half-line (Neyman and Pearson). The right side grows with d, for F(t - d) falls:
the two ends of the range are the worst pair. The maximum is at the largest t with
``(d**2 - 2 d t) / (2 v) > epsilon``, found here in exact fractions.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from masquerade.mechanisms.concentrated import epsilon_of_rho
from masquerade.mechanisms.loss import MICRO, Loss

_BLOCKS_PER_SIGMA = 1024
_SIGMAS = 12
_FEWEST_TERMS = 48
# Each exponent is below 800 or its term negligible, and is computed with a relative error of a few
# 2**-53; sums of positive terms add less. All of it is far below this relative margin.
_MARGIN = 1e-11
_UNDERFLOW = 1e-300


@lru_cache(maxsize=1024)
def epsilon_of_one_report(distance: int, variance: Fraction, delta: Fraction) -> Loss:
    """Return the smallest epsilon, in millionths, that is proven for one report at `delta`.

    Parameters
    ----------
    distance : int
        Largest distance of two answers, in lattice steps.
    variance : Fraction
        Parameter of the noise, in squared lattice steps.
    delta : Fraction

    Cost: about 25 evaluations of `delta_at_most`.
    """
    rho = Loss.of_amount(Fraction(distance**2) / (2 * variance))
    high = epsilon_of_rho(rho, delta=delta).micro
    assert isinstance(high, int)
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        if delta_at_most(distance, variance, Fraction(middle, MICRO)) <= delta:
            high = middle
        else:
            low = middle
    return Loss(high)


def delta_at_most(distance: int, variance: Fraction, epsilon: Fraction) -> float:
    """Return an upper bound on the delta of one report at `epsilon`, tight to about 1e-5 of it."""
    limit = Fraction(distance, 2) - epsilon * variance / distance
    t = math.ceil(limit) - 1
    log_total_low, log_total_high = _log_total(variance)
    far_low, _ = _log_tail(distance - t, variance)
    if t < 0:
        near = math.exp(_log_tail(-t, variance)[1] - log_total_low)
    else:
        near = 1 - math.exp(_log_tail(t + 1, variance)[0] - log_total_high)
    log_far = float(epsilon) + far_low - log_total_high
    slack = _MARGIN + 1e-15 * (float(epsilon) + abs(far_low))
    bound = near * (1 + slack) - math.exp(log_far) * (1 - slack)
    return max(bound, 0.0) + _UNDERFLOW


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
