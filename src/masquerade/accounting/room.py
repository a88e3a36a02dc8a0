"""The room under a cap: how far sums of Renyi divergences and of clocks may go.

The two share delta: 2/5 for one order of divergence, 3/5 for the clock of Gaussian noise. The proof
is in `masquerade.accounting.caps`; ``room.js`` works out the same whole numbers on a device.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from masquerade.exact import MICRO, Micro
from masquerade.exact.loss import LEAST_CLOCK, ORDERS
from masquerade.exact.number import in_range, largest_whole
from masquerade.exact.portable import BITS, GUARD, ln, normal_delta

#: Shares of delta, in fifths.
_OF_ORDER, _OF_CLOCK = 2, 3
_LARGEST_EPSILON = 700 * MICRO  # where e**epsilon is still a double
_WIDER, _LESS = 1 + 1e-12, 1 - 1e-9  # far above the rounding of `normal_delta`


class Room(NamedTuple):
    """The largest sums within a cap, in whole millionths.

    Attributes
    ----------
    order : int
        The order of `ORDERS` whose divergences are added up.
    divergence : int
        R: the most that they may come to.
    clock : int
        B: the most that the clocks may come to.
    """

    order: int
    divergence: int
    clock: int


@lru_cache(maxsize=1024)
def room_of(epsilon: Micro, delta: Fraction) -> Room:
    """Return the room under a cap, rounded down; above epsilon 700, that of 700.

    Examples
    --------
    >>> room_of(Micro(10_000_000), Fraction(1, 10**6))
    Room(order=4, divergence=5839179, clock=3276462)
    """
    in_range(delta, "delta", low=0, below=1)
    # a larger cap has at least the room of a smaller one
    size = int(min(epsilon.micro, _LARGEST_EPSILON))
    if not delta:
        return Room(ORDERS[0], 0, 0)
    # exact: R_a / a of whole numbers; ties go to the smaller order
    rooms = [(_room_of_order(size, delta, a), a) for a in ORDERS]
    divergence, order = max(rooms, key=lambda room: (Fraction(room[0], room[1]), -room[1]))
    return Room(order, max(0, divergence), _clock(size, delta))


def _room_of_order(epsilon: int, delta: Fraction, a: int) -> int:
    """Return ``epsilon + ln(a / (a-1)) - ln(1 / (delta_R a)) / (a-1)``, rounded down."""
    above, below = 5 * delta.denominator, _OF_ORDER * delta.numerator * a
    # rounded up, whichever sign it has
    log = ln(above, below) if above >= below else -ln(below, above)
    failure = -(-log // (a - 1))
    return epsilon + ((ln(a, a - 1) - failure - GUARD) * MICRO >> BITS)


def _clock(epsilon: int, delta: Fraction) -> int:
    """Return the largest clock at which normal noise keeps its share of delta, less 1/32."""
    if epsilon < MICRO // 1000:
        return 0
    size = epsilon / MICRO
    most = _OF_CLOCK * delta.numerator / (5 * delta.denominator) * _LESS

    def fits(clock: int) -> bool:
        return clock == 0 or normal_delta(size, clock / MICRO) * _WIDER <= most

    return max(0, largest_whole(fits) - int(LEAST_CLOCK * MICRO))
