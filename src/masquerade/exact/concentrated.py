"""Zero-concentrated loss, rho, by which levels are named; what is charged is in exact/loss.py.

A mechanism costs rho if the Renyi divergence of order a between its reports of two answers is at
most ``rho a``, for every a > 1 (Bun and Steinke, 2016). The device has it in loss.js.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.exact.micro import INFINITE_LOSS, MICRO, Micro
from masquerade.exact.number import whole

_ERROR = 1e-12  # relative, far above what rounding does to the few operations of each bound
_SLACK = 1e-7  # how far above the supremum the search may stop


def rho_of_pure(epsilon: Micro) -> Fraction | float:
    """Return the zero-concentrated loss of an epsilon-private mechanism, in whole millionths.

    ``epsilon tanh(epsilon / 2)``, which randomized response with two options attains: D_a / a of it
    falls with a (with ``t = a - 1/2`` it is a difference quotient of ``ln cosh(epsilon sqrt(s))``
    between ``t**2`` and 1/4, which is concave in s), so that its supremum is the limit at 1.

    Examples
    --------
    >>> float(rho_of_pure(Micro(1_000_000)))
    0.462118
    """
    if epsilon == INFINITE_LOSS:
        return math.inf
    size = int(epsilon.micro)
    # epsilon tanh(epsilon / 2) in floats, with far more than its rounding added
    amount = size * math.tanh(size / (2 * MICRO)) * (1 + _ERROR)
    return Fraction(min(size, math.ceil(amount)), MICRO)


@lru_cache(maxsize=4096)
def rho_of_response(symbols: int, epsilon: Micro) -> Fraction | float:
    """Return the zero-concentrated loss of randomized response, in whole millionths, rounded up.

    Parameters
    ----------
    symbols : int
        Number of different reports, at least 2.
    epsilon : Micro
        Of one report. A larger epsilon is never more private, so rounding it up is safe.

    Notes
    -----
    The supremum of ``D(a) / a`` over orders a > 1 is enclosed, not sampled. D grows with a, so on
    orders from l to u it is at most ``D(u) / l``; intervals are halved until none of these bounds
    exceeds the largest value found by more than a ten-millionth. D is at most epsilon, so orders
    above epsilon over that value need no look. The limit at a = 1, the Kullback-Leibler divergence,
    is the supremum for few symbols only: for 7 symbols and an epsilon of 0.1 it is already too low.

    A response that keeps the answer less often than any other symbol is reported costs less than
    one that keeps it more often with the same epsilon and number of symbols.

    Examples
    --------
    >>> float(rho_of_response(5, Micro(1_000_000)))
    0.255763
    """
    whole(symbols, "symbols", low=2)
    closed = rho_of_pure(epsilon)
    if symbols == 2 or closed in (0, math.inf):
        return closed
    # P(the answer itself is reported)
    return rho_of_kept(1 / (1 + (symbols - 1) * math.exp(-epsilon.epsilon)), epsilon)


@lru_cache(maxsize=4096)
def rho_of_kept(kept: float, epsilon: Micro) -> Fraction | float:
    """Return the zero-concentrated loss of a report with three losses: epsilon, 0 and -epsilon.

    Parameters
    ----------
    kept : float
        Probability of the first, by the answer itself.
    epsilon : Micro
        Of one report, rounded up: with a larger one the divergence is larger too.
    """
    closed = rho_of_pure(epsilon)
    if closed in (0, math.inf):
        return closed
    size, others = epsilon.epsilon, -math.log(kept)
    # The limit at order 1, by which the grid of orders is scaled.
    kullback_leibler = size * -math.expm1(-size) * kept
    excess = np.concatenate([[0.0], np.geomspace(1e-3, max(2.0, size / kullback_leibler), 256)])
    divergence = _divergence(excess, size, others)
    low, high, at_high = excess[:-1], excess[1:], divergence[1:]
    # A lower bound of the supremum, raised until no interval can hold more than it and the slack.
    found = float((divergence / (1 + excess)).max())
    while True:
        enough = found * (1 + _SLACK / 10) + _SLACK
        # D grows with the order, so D(a) / a on an interval is at most D at its end over its start
        open_ = at_high / (1 + low) > enough
        if not open_.any():
            break
        low, high, at_high = low[open_], high[open_], at_high[open_]
        middle = (low + high) / 2
        at_middle = _divergence(middle, size, others)
        found = max(found, float((at_middle / (1 + middle)).max()))
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        at_high = np.concatenate([at_middle, at_high])
    return min(closed, Fraction(math.ceil(enough * (1 + _ERROR) * MICRO), MICRO))


def _divergence(excess: Floats, epsilon: float, others: float) -> Floats:
    """Return the Renyi divergence of orders ``1 + excess`` between the reports of two answers.

    With ``x = (e**(excess epsilon) - 1)(1 - e**(-a epsilon)) e**-others``, of which the last factor
    is how often the answer is kept, it is ``ln(1 + x) / excess``; no two terms cancel, so the
    relative error stays near 1e-15.
    """
    positive = np.maximum(excess, np.finfo(np.float64).tiny)
    growth = positive * epsilon
    log_x = (
        growth + np.log(-np.expm1(-growth)) + np.log(-np.expm1(-(1 + excess) * epsilon)) - others
    )
    limit = epsilon * -math.expm1(-epsilon) * math.exp(-others)
    value: Floats = np.where(excess == 0, limit, np.logaddexp(0, log_x) / positive)
    return value
