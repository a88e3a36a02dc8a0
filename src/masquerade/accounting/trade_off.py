"""Trade-off functions: the power of the best test of two worlds at a false-positive rate.

A test looks at everything that was sent and names one of two worlds. Its false-positive rate is how
often it names the second where the first is true, its power how often where the second is. No test
of a given rate has more power than is stated here (Wasserman and Zhou, 2010; Kairouz, Oh and
Viswanath, 2015; Dong, Roth and Su, 2022). For a pure epsilon the bound is attained by randomized
response with two options, for Gaussian noise on the real line by Gaussian noise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction

import pyarrow as pa

from masquerade.accounting.gaussian import Mu
from masquerade.accounting.kinds import Kind, pure_of, rho_of
from masquerade.accounting.loss_distribution import LossDistribution, composed
from masquerade.accounting.rho import NO_RHO
from masquerade.exact import NO_LOSS, Micro
from masquerade.exact.number import in_range, whole

NO_CHANCE = Fraction(0)
_ERROR = 1e-12  # relative, above what rounding does to the few operations of each bound
_TURNS = 100
_FAR = 60.0  # in epsilon; no loss beyond it changes a power
_DELTAS = tuple(Fraction(1, 10**power) for power in range(1, 13))


def largest_power(rate: float, *, loss: Micro, delta: Fraction = NO_CHANCE) -> float:
    """Return the largest power at a false-positive rate under (epsilon, delta), rounded up.

    It is the smaller of ``e**epsilon rate + delta`` and ``1 - e**-epsilon (1 - delta - rate)``.

    Parameters
    ----------
    rate : float
        0 to 1.
    loss : Micro
        Epsilon.
    delta : Fraction
        0 to 1.

    Examples
    --------
    >>> round(largest_power(0.01, loss=Micro(1_000_000)), 4)
    0.0272
    """
    _check_rate(rate)
    in_range(delta, "delta", low=0, high=1)
    if loss == NO_LOSS and not delta:
        return rate
    return _of_pair(rate, loss.epsilon, float(delta))


def trade_off_curve(*, loss: Micro, delta: Fraction = NO_CHANCE, points: int = 101) -> pa.Table:
    """Return the largest power at evenly spaced false-positive rates: ``rate``, ``power``.

    Parameters
    ----------
    loss, delta
        As in `largest_power`.
    points : int
        At least 2.

    Examples
    --------
    >>> from masquerade.exact import Micro
    >>> trade_off_curve(loss=Micro(1_000_000), points=3)["power"].to_pylist()[::2]
    [0.0, 1.0]
    """
    whole(points, "points", low=2)
    rates = [place / (points - 1) for place in range(points)]
    power = [largest_power(rate, loss=loss, delta=delta) for rate in rates]
    return pa.table({"rate": rates, "power": power})


def largest_power_together(charges: Iterable[Kind]) -> Callable[[float], float]:
    """Return the largest power against everything that was sent, a function of the rate.

    The smallest of all bounds that hold for the list: that of the sum of pure epsilons, of the sum
    of rhos at several deltas, of all Gaussian noise together, and of the distribution of the loss.

    Parameters
    ----------
    charges : iterable of Kind
        One for each report, fixed beforehand; see `masquerade.accounting.spent`.

    Examples
    --------
    >>> from masquerade.exact import Micro
    >>> power = largest_power_together([Micro(500_000), Micro(500_000)])
    >>> round(power(0.05), 3)
    0.136
    """
    counts = Counter(charges)
    pure = sum((pure_of(kind) * count for kind, count in counts.items()), NO_LOSS)
    rho = sum((rho_of(kind) * count for kind, count in counts.items()), NO_RHO)
    pairs = [(pure.epsilon, 0.0)]
    # one rho gives an epsilon at every delta: some are tried, and each is a bound
    pairs += [(rho.epsilon(delta).epsilon, float(delta)) for delta in _DELTAS]
    squared = sum((k.squared * n for k, n in counts.items() if isinstance(k, Mu)), Fraction(0))
    mu = Mu(squared).mu if all(isinstance(kind, Mu) for kind in counts) else math.inf
    distribution = composed(counts)

    def power(rate: float) -> float:
        _check_rate(rate)
        if pure == NO_LOSS:
            return rate
        bounds = [_of_pair(rate, *pair) for pair in pairs]
        bounds.append(_of_gaussian(rate, mu))
        if distribution is not None:
            bounds.append(_of_distribution(rate, distribution))
        return min(bounds)

    return power


def _of_pair(rate: float, epsilon: float, delta: float) -> float:
    if epsilon > _FAR:
        return 1.0
    # power <= e**epsilon rate + delta, and the same with both kinds of error exchanged
    grown = math.exp(epsilon) * rate + delta
    shrunk = 1 - math.exp(-epsilon) * max(0.0, 1 - delta - rate)
    return min(1.0, grown * (1 + _ERROR), shrunk + _ERROR)


def _of_gaussian(rate: float, mu: float) -> float:
    if mu == math.inf:
        return 1.0
    # Phi(Phi**-1(rate) + mu), the power of the best test of two normals mu apart
    from scipy.special import ndtr, ndtri  # dear to load, as `gaussian` says

    return min(1.0, float(ndtr(ndtri(rate) + mu)) * (1 + 1e-9)) if rate else 0.0


def _of_distribution(rate: float, distribution: LossDistribution) -> float:
    """Return the least of the bounds ``e**epsilon rate + delta(epsilon)``, epsilon of any sign.

    The worst pairs are symmetric: it does not matter which world is true.
    """

    def bound(epsilon: float) -> float:
        return math.exp(epsilon) * rate + distribution.delta(epsilon)

    low, high = -_FAR, _FAR  # convex in e**epsilon, so that thirds find the least
    for _ in range(_TURNS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if bound(left) < bound(right):
            high = right
        else:
            low = left
    return min(1.0, bound(low) * (1 + 1e-9))


def _check_rate(rate: float) -> None:
    in_range(rate, "rate", low=0, high=1)
