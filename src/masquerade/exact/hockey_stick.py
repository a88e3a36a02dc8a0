"""Delta at an epsilon and epsilon at a delta, of two laws whose reports are listed."""

from __future__ import annotations

import numpy as np

from masquerade.exact.arrays import Floats

_HALVINGS = 200


def log_ratio(one: Floats, other: Floats) -> Floats:
    """Return ln (one / other) for each report; minus infinity where `one` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(one > 0, np.log(one) - np.log(other), -np.inf)


def delta_at(epsilon: float, probability: Floats, loss: Floats) -> float:
    """Return ``sum of P (1 - e**(epsilon - loss))+``, what P lacks to 1 added.

    Parameters
    ----------
    epsilon : float
    probability : float array, shape (n,)
        P of each report.
    loss : float array, shape (n,)
        ln (P / Q) of each report.
    """
    above = (probability > 0) & (loss > epsilon)
    found = float(probability[above] @ -np.expm1(epsilon - loss[above]))
    return found + max(0.0, 1 - float(probability.sum()))


def epsilon_at(delta: float, probability: Floats, loss: Floats) -> float:
    """Return the least epsilon of at least 0 with ``delta_at(epsilon) <= delta``, to a float."""
    low, high = 0.0, float(loss[probability > 0].max(initial=0.0))
    if delta_at(low, probability, loss) <= delta:
        return 0.0
    if high == np.inf:
        high = float(loss[np.isfinite(loss)].max(initial=0.0))
        if delta_at(high, probability, loss) > delta:
            return float("inf")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if delta_at(middle, probability, loss) > delta else (low, middle)
    return high
