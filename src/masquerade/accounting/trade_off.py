"""Trade-off functions: the power of the best test of two worlds at a false-positive rate.

A test looks at everything that was sent and names one of two worlds. Its false-positive rate is how
often it names the second where the first is true, its power how often where the second is. No test
of a given rate has more power than is stated here: by the pure epsilon (Wasserman and Zhou, 2010;
Kairouz, Oh and Viswanath, 2015) and by each Renyi divergence (Hoelder's inequality).
"""

from __future__ import annotations

import math

import pyarrow as pa

from masquerade.exact.loss import ORDERS, Loss
from masquerade.exact.number import in_range, whole

_ERROR = 1e-12  # relative, above what rounding does to the few operations of each bound
_FAR = 60.0  # in epsilon: beyond it no bound is below 1


def largest_power(rate: float, *, loss: Loss) -> float:
    """Return the largest power at a false-positive rate, rounded up.

    With e the pure epsilon and D the divergence of order a it is at most ``e**e rate`` and
    ``rate**((a-1)/a) e**((a-1) D / a)``, and the same with both kinds of error exchanged. These
    hold outright, also for any two sets of answers and any weights within them.

    Parameters
    ----------
    rate : float
        0 to 1.
    loss : Loss
        Of everything that was sent.

    Examples
    --------
    >>> from masquerade.exact import Micro
    >>> from masquerade.exact.loss import pure_loss
    >>> round(largest_power(0.01, loss=pure_loss(Micro(1_000_000))), 4)
    0.0272
    """
    in_range(rate, "rate", low=0, high=1)
    if loss.pure == 0:
        return rate
    # each pair: the power p is at most rate**share e**grows, and 1 - rate likewise of 1 - p
    pairs = [(1.0, loss.epsilon.epsilon)]
    for a, divergence in zip(ORDERS, loss.orders, strict=True):
        share = (a - 1) / a
        pairs.append((share, share * divergence / 1e6))
    bounds = [1.0]
    for share, grows in pairs:
        if grows <= _FAR:
            bounds.append(rate**share * math.exp(grows) * (1 + _ERROR))
            missed = (1 - rate) ** (1 / share) * math.exp(-grows / share)
            bounds.append(1 - missed * (1 - _ERROR) + _ERROR)
    return min(bounds)


def trade_off_curve(*, loss: Loss, points: int = 101) -> pa.Table:
    """Return the largest power at evenly spaced false-positive rates: ``rate``, ``power``.

    Parameters
    ----------
    loss : Loss
    points : int
        At least 2.

    Examples
    --------
    >>> from masquerade.exact import Micro
    >>> from masquerade.exact.loss import pure_loss
    >>> trade_off_curve(loss=pure_loss(Micro(1_000_000)), points=3)["power"].to_pylist()[::2]
    [0.0, 1.0]
    """
    whole(points, "points", low=2)
    rates = [place / (points - 1) for place in range(points)]
    return pa.table({"rate": rates, "power": [largest_power(rate, loss=loss) for rate in rates]})
