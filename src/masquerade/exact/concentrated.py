"""From zero-concentrated loss (rho) to epsilon at a given delta, with proof.

Bun and Steinke (2016) define rho-zCDP; the conversion is Proposition 12 of Canonne, Kamath and
Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

from masquerade.errors import ParameterError
from masquerade.exact.loss import INFINITE_LOSS, MICRO, NO_LOSS, Loss
from masquerade.exact.number import NumberLike, finite, text_of

DEFAULT_DELTA = Fraction(1, 1_000_000)
_DIGITS = 80
_SMALLEST_EXCESS = 1e-9
_GUARD = decimal.Decimal(10) ** -30
_SEARCH_TURNS = 200


def probability_of_failure(delta: NumberLike) -> Fraction:
    """Return `delta` as a fraction above 0 and below 1."""
    number = finite(delta, "delta")
    if not 0 < number < 1:
        raise ParameterError(f"delta is {text_of(number)}, expected above 0 and below 1.")
    return number


def epsilon_of_rho(rho: Loss, *, delta: NumberLike = DEFAULT_DELTA) -> Loss:
    """Return an epsilon with which every rho-zCDP mechanism is (epsilon, delta)-private.

    It is the smallest over orders a > 1 of ``a rho + ln(1 - 1/a) - ln(delta a) / (a - 1)``. Each
    order gives a valid bound, so the order is found in floats and its bound computed to 80 digits
    and rounded up: how well the search does can cost precision, never the proof.

    Parameters
    ----------
    rho : Loss
        Millionths of rho.
    delta : number
        Above 0 and below 1.

    Examples
    --------
    >>> epsilon_of_rho(Loss(638_600)).epsilon
    6.000016
    """
    delta = probability_of_failure(delta)
    if rho == INFINITE_LOSS:
        return INFINITE_LOSS
    if rho == NO_LOSS:
        return NO_LOSS
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
    return Loss(max(int(micro), 0))


def _best_order(rho: float, delta: Fraction) -> float:
    """Return nearly the order with the smallest bound, by golden section over ln(order - 1)."""
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)

    def bound(log_excess: float) -> float:
        order = 1 + math.exp(log_excess)
        entropy = log_excess - math.log(order)  # ln(1 - 1 / order)
        return order * rho + entropy - (log_delta + math.log(order)) / math.exp(log_excess)

    # where a rho and -ln(delta) / (a - 1) balance: a - 1 = sqrt(-ln(delta) / rho)
    middle = 0.5 * math.log(-log_delta / rho)
    low, high = middle - 10, middle + 10
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(_SEARCH_TURNS):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if bound(left) < bound(right):
            high = right
        else:
            low = left
    return 1 + max(math.exp(low), _SMALLEST_EXCESS)
