"""Zero-concentrated loss: exact amounts of rho, and the least rho that a mechanism is known by."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from masquerade.exact import INFINITE_LOSS, MICRO, NO_LOSS, Micro
from masquerade.exact.arrays import Floats
from masquerade.exact.epsilon_at_delta import epsilon_of_rho
from masquerade.exact.micro import Amount
from masquerade.exact.number import in_range, largest_whole

_ERROR = 1e-12  # relative, far above what rounding does to the few operations of each bound
_SLACK = 1e-7  # how far above the supremum the search may stop
_DIGITS = 80
_GUARD = decimal.Decimal(10) ** -30
_LARGEST_MICRO = 1 << 60
_SMALLEST_STEP = decimal.Decimal("1e-20")


class Rho(Amount):
    """An amount of zero-concentrated loss in integer micro-rho, or infinite.

    A mechanism costs rho if the Renyi divergence of order a between its reports in two neighbouring
    worlds is at most ``rho a``, for every a > 1 (Bun and Steinke, 2016). Amounts of mechanisms
    that are used one after the other add, also where each is chosen after seeing the reports of
    the ones before.

    Parameters
    ----------
    micro : int or math.inf
        Millionths of rho, at least 0.

    Examples
    --------
    >>> Rho(400_000) + 2 * Rho(100_000)
    Rho(micro=600000)
    """

    __slots__ = ()

    @classmethod
    def of(cls, rho: Fraction) -> Rho:
        """Return an exact amount, rounded up to a whole micro-rho."""
        return cls(math.ceil(rho * MICRO))

    @property
    def rho(self) -> float:
        """The amount in rho."""
        return self.number

    def epsilon(self, delta: Fraction) -> Micro:
        """Return the epsilon at `delta` that follows from this amount, rounded up."""
        if delta == 0 and self.micro:
            return INFINITE_LOSS
        return epsilon_of_rho(Micro(self.micro), delta=delta) if self.micro else NO_LOSS


#: The rho of what costs nothing.
NO_RHO = Rho(0)
#: The rho of an answer in clear.
INFINITE_RHO = Rho(math.inf)


@lru_cache(maxsize=4096)
def rho_of_pure(epsilon: Micro) -> Rho:
    """Return the rho of any mechanism that is known to be epsilon-private, rounded up.

    It is ``epsilon tanh(epsilon / 2)``, below the usual ``epsilon**2 / 2``, and attained by
    randomized response with two options.

    Notes
    -----
    Every pair of output distributions of an epsilon-private mechanism is a function of the output
    of two-option randomized response with that epsilon (Kairouz, Oh and Viswanath, 2015), so that
    its Renyi divergences are at most the response's. Those are, with ``t = a - 1/2``,
    ``D(a) / a = (F(t**2) - F(1/4)) / (t**2 - 1/4)`` where ``F(s) = ln cosh(epsilon sqrt(s))``.
    ``F'(s) = epsilon tanh(epsilon sqrt(s)) / (2 sqrt(s))`` decreases, so F is concave, its
    difference quotient falls with t, and the supremum is the limit at a = 1:
    ``F'(1/4) = epsilon tanh(epsilon / 2)``.

    Examples
    --------
    >>> from masquerade.exact import Micro
    >>> str(rho_of_pure(Micro(1_000_000)))
    '0.462118'
    """
    if epsilon.micro == math.inf:
        return INFINITE_RHO
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        whole = decimal.Decimal(epsilon.micro)
        # tanh(epsilon / 2) = (1 - e**-epsilon) / (1 + e**-epsilon)
        shrunk = (-whole / MICRO).exp()
        micro = whole * (1 - shrunk) / (1 + shrunk)
        # The guard is far above the rounding error of 80 digits; the product is never above
        # epsilon, whatever the rounding.
        rounded = (micro + _GUARD).to_integral_value(decimal.ROUND_CEILING)
    return Rho(min(int(rounded), int(epsilon.micro)))


@lru_cache(maxsize=4096)
def rho_of_response(symbols: int, epsilon: Micro) -> Rho:
    """Return the rho of randomized response, never below the true one, rounded up.

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
    >>> from masquerade.exact import Micro
    >>> str(rho_of_response(5, Micro(1_000_000)))
    '0.255763'
    """
    in_range(symbols, "symbols", low=2)
    closed = rho_of_pure(epsilon)
    if symbols == 2 or closed.micro in (0, math.inf):
        return closed
    size = epsilon.epsilon
    # The limit at order 1, by which the grid of orders is scaled.
    kullback_leibler = size * -math.expm1(-size) / (1 + (symbols - 1) * math.exp(-size))
    excess = np.concatenate([[0.0], np.geomspace(1e-3, max(2.0, size / kullback_leibler), 256)])
    divergence = _divergence(excess, size, symbols)
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
        at_middle = _divergence(middle, size, symbols)
        found = max(found, float((at_middle / (1 + middle)).max()))
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        at_high = np.concatenate([at_middle, at_high])
    return min(closed, _rounded(enough))


@lru_cache(maxsize=4096)
def rho_of_laplace(change: int, scale: Fraction) -> Rho:
    """Return the rho of discrete Laplace noise on a lattice, exactly, rounded up.

    With ``h = 1 / scale`` and ``epsilon = change h`` it is
    ``epsilon - (1 - e**-epsilon) h / sinh(h)``: for a change of one step ``epsilon tanh(epsilon /
    2)``, on a fine lattice ``epsilon - 1 + e**-epsilon``.

    Parameters
    ----------
    change : int
        Largest change of the answer in steps of the lattice, at least 0.
    scale : Fraction
        Of the noise in steps, above 0: P(n steps) is proportional to ``exp(-abs(n) / scale)``.

    Notes
    -----
    Write d for the change, ``u = a - 1/2`` and ``M(u)`` for the sum of ``P**a Q**(1 - a)``, so that
    ``D(a) = ln M(u) / (a - 1)``. Summed as geometric series, with ``q = e**-h`` and ``X = e**(2 u
    h)``, M is ``X**(-d/2) (X**d + (1 - q)(X**(d-1) + ... + X) + 1)`` times a constant. Times
    ``X - 1`` the polynomial is ``X**d (X - q) - (1 - q X)``. Where ``|X| > 1``, ``|X**d| > 1`` and
    ``|X - q| > |1 - q X|``; where ``|X| < 1`` the other way round: all of its zeros have modulus 1,
    so that u is imaginary and ``w = u**2`` is negative. M is even in u and of order 1/2 in w, hence
    (Hadamard) a constant times the product of ``1 + w / w_k`` with all w_k > 0, and ``ln M`` is
    concave in w for w > 0. It is 0 at w = 1/4, where a = 1, and ``(a - 1) a = w - 1/4``: so
    ``D(a) / a`` is a difference quotient of a concave function, which falls as a grows, and its
    supremum is the limit at a = 1, the Kullback-Leibler divergence. That grows with d, so smaller
    changes cost less; and what stands in for "no answer" is one of the answers or a mixture of
    them, which costs no more (Renyi divergences are quasi-convex).

    Examples
    --------
    >>> from fractions import Fraction
    >>> str(rho_of_laplace(4, Fraction(4)))
    '0.374417'
    """
    in_range(change, "change", low=0)
    in_range(scale, "scale", above=0)
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        step = decimal.Decimal(scale.denominator) / decimal.Decimal(scale.numerator)
        size = change * step
        # h / sinh(h) = 2 h e**-h / (1 - e**-2h) never overflows, and of 80 digits it can lose some
        # where h is small; below that, h / sinh(h) is at least 1 - h**2 / 6.
        if step > _SMALLEST_STEP:
            share = 2 * step * (-step).exp() / (1 - (-2 * step).exp())
        else:
            share = 1 - step * step / 6
        micro = (size - (1 - (-size).exp()) * share) * MICRO
        rounded = (micro + _GUARD).to_integral_value(decimal.ROUND_CEILING)
        most = (size * MICRO).to_integral_value(decimal.ROUND_CEILING)
    return Rho(min(max(int(rounded), 0), int(most)))


@lru_cache(maxsize=1024)
def rho_of_cap(epsilon: Micro, delta: Fraction) -> Rho:
    """Return the largest rho that never exceeds a cap, rounded down to a whole micro-rho.

    A finite cap gives a finite rho, at most 1e12.

    Parameters
    ----------
    epsilon : Micro
        The cap.
    delta : Fraction
        At which the cap holds, 0 to 1.

    Examples
    --------
    >>> [str(rho_of_cap(Micro(cap * MICRO), Fraction(1, 10**6))) for cap in (3, 10)]
    ['0.185069', '1.539278']
    """
    if epsilon.micro == math.inf:
        return INFINITE_RHO

    # epsilon grows with rho
    return Rho(largest_whole(lambda m: Rho(m).epsilon(delta) <= epsilon, most=_LARGEST_MICRO))


def _rounded(rho: float) -> Rho:
    return Rho(math.ceil(rho * (1 + _ERROR) * MICRO))


def _divergence(excess: Floats, epsilon: float, symbols: int) -> Floats:
    """Return the Renyi divergence of orders ``1 + excess`` between the reports of two answers.

    With ``x = (e**(excess epsilon) - 1)(1 - e**(-a epsilon)) / (1 + (symbols - 1) e**-epsilon)``
    it is ``ln(1 + x) / excess``; no two terms cancel, so the relative error stays near 1e-15.
    """
    positive = np.maximum(excess, np.finfo(np.float64).tiny)
    growth = positive * epsilon
    log_x = (
        growth
        + np.log(-np.expm1(-growth))
        + np.log(-np.expm1(-(1 + excess) * epsilon))
        - math.log1p((symbols - 1) * math.exp(-epsilon))
    )
    limit = epsilon * -math.expm1(-epsilon) / (1 + (symbols - 1) * math.exp(-epsilon))
    value: Floats = np.where(excess == 0, limit, np.logaddexp(0, log_x) / positive)
    return value
