"""A person's caps, and the rule (a privacy filter) by which they admit another response.

Surveys come one after the other, and which comes next, at which level, may depend on what was
reported before. A theorem about a fixed list of mechanisms does not cover that; a filter does. With
everything spent and reserved, a response is admitted if

- the pure epsilons add to at most ``cap.epsilon``, or
- the Renyi divergences of the cap's order a add to at most R (`Room.divergence`), or
- the clocks add to at most B (`Room.clock`),

and the answers sent in clear are at most ``cap.clear``. With delta = 0, R = B = 0. An amount that
has no proof is infinite, so that nothing is decided by what somebody wrote down.

**Theorem 1.** Let every charge, its mechanism and whether there is another one be chosen as a
function of all earlier reports. If the transcript satisfies the rule at its end, for a cap fixed
before the first response, everything together is (epsilon, delta)-private.

*Proof.* Which condition holds at the end is a function of the transcript, for admission uses the
ledger alone. A1: the first holds; A2: the second and not the first; A3: the third alone. Sums only
grow, so a condition that holds at the end held all along; what was reserved and released never ran,
and what ran is no more than what was admitted. Let L be the log ratio of P and Q of all reports so
far. For each condition stop the process just before it would break: on its part it is the real one.

1. The stopped process has ``L <= epsilon``: ``P(T and A1) <= e**epsilon Q(T and A1)``.
2. ``exp((a-1)(L - sum D_a))`` is a supermartingale under P, so ``E exp((a-1) L) <= e**((a-1) R)``.
   The largest value over l of ``(1 - e**(epsilon - l))+ e**(-(a-1)(l - R))`` is ``(1/a)
   (1 - 1/a)**(a-1) e**((a-1)(R - epsilon))``, which is 2/5 of delta by the choice of R. So ``P(T
   and A2) <= e**epsilon Q(T and A2) + 2/5 delta``. (For a fixed list this is Proposition 12 of
   Canonne, Kamath and Steinke, 2020; with adaptive charges the Renyi filter of one order, Feldman
   and Zrnic, 2021, and Lecuyer, 2021.)
3. By Theorem 2 the stopped process has a delta of at most that of Gaussian noise with
   ``mu**2 = B + 1/32``, which is 3/5 of delta.

Add the three. Both directions are alike.

**Theorem 2 (clock).** Write h(l, b) for the mean of ``(1 - e**(epsilon - l - X))+``, X normal with
mean b/2 and variance b. One coordinate moved by d steps under lattice noise v, ``c = d**2 / v``:
for every l and every ``b >= 1/32`` with ``v b / (b + c) >= 2``, the loss Y of its report has
``E h(l + Y, b) <= (1 + eta) / (1 - eta) h(l, b + c)``, eta below 2e-17. Hence h(L, B + 1/32 - sum
clock) is a supermartingale but for these factors, whose product over a lifetime is below 1 + 1e-9,
which the margin in B pays; while the clocks add to at most B it is at least ``h(L, 1/32) >= (1 -
e**(epsilon - L))+`` (Jensen), and it starts at 3/5 of delta at most.

*Proof.* Take the measure sqrt(P Q). h is ``e**(-l/2)`` times an integral, against a function that
is nowhere negative, of the density ``e**(-b/8) phi_b`` of the loss. The lattice loss has points
``y = (d/v)(d/2 - x)`` with mass ``e**(-c/8) e**(-y**2 / (2c)) / Z``. The sum over y of ``e**(-y**2
/ (2c)) phi_b(z - y)`` is ``phi_(b+c)(z) sqrt((b+c)/b)`` times a sum of a normal density of variance
``w = b c / (b+c)`` over a lattice of spacing ``s = d/v``, which is ``sqrt(2 pi w) / s`` times 1
plus at most ``eta = 2 sum over k >= 1 of exp(-2 pi**2 k**2 w / s**2)`` (Poisson), and ``Z = sqrt(2
pi v)`` likewise; ``w / s**2 = v b / (b+c)`` grows with b. All other constants cancel. Coordinates
are independent: one after the other. (For normal noise on the line eta = 0: fully adaptive Gaussian
composition, Smith and Thakurta, 2022; Koskela, Tobaben and Honkela, 2023.)

**Theorem 3 (changed caps).** Let caps be changed at will, also because of reports, their epsilons
and deltas being at most E and D. Then everything together is (E, 3 D)-private; (E, 2 D) where D is
at most 1/100. A lower cap stops what follows. It is not always stricter: where its order is another
one, it may admit a sum of divergences that the cap before refuses, so that D alone is not proven.

*Proof.* Stop at the cap of the last admission. Pure epsilons and clocks are within those of (E, D),
as these rooms grow with both. A sum of divergences is within the largest R of its order a among
these caps, which by 2. gives a share of 2/5 of ``d e**((a-1) (e-E))`` for one of them, (e, d). On
the line where order a begins to be the best, with t = ln (1 / d), e grows by ``(a+b-1) / ((a-1)
(b-1))`` for each t, b being the order before; so the share is largest at e = E, with the largest d
of which a is the order there. These shares and 3/5 of D for clocks, worked out for all E, add to
less than 3 D for every D, 2 D up to D = 1/100, and 1.4 D at 1e-6.

Not tighter, and why: to add whole loss distributions and stop at the exact delta is wrong where
charges are chosen on the way; the sharper numbers of `masquerade.accounting.spent` describe a fixed
list and admit nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from masquerade.errors import ParameterError
from masquerade.exact import MICRO, NO_LOSS, Micro
from masquerade.exact.epsilon_at_delta import DEFAULT_DELTA
from masquerade.exact.loss import LEAST_CLOCK, ORDERS, RARE, REPLACE, Loss, Whole, rho_loss, tail
from masquerade.exact.number import in_range, largest_whole, one_of
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


DEFAULT_CAP = Micro(10 * MICRO)

#: The rule of today. Caps of rules 1 and 2 stand in older entries of a ledger.
RULE = 3


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that everything together may cost a person.

    Attributes
    ----------
    epsilon : Micro
        Finite.
    delta : Fraction
        0 or more, below 1. With 0 only pure epsilon counts.
    clear : int
        How many answers may be sent in clear; these are outside every guarantee.
    rule : int
        3; 1 or 2 for caps that an earlier version wrote. All admit by the rule of today.
    room : Room
        Derived: the order, and how far divergences and clocks may go.
    text : str
        Derived: what was given, as it is hashed.

    Examples
    --------
    >>> caps = Caps(Micro(10_000_000), Fraction(1, 10**6))
    >>> caps.room
    Room(order=4, divergence=5839179, clock=3276462)
    >>> caps.admit(pure=10_000_000, divergence=9_999_092, clock=9_999_092, clear=0)
    True
    >>> caps.admit(pure=10_000_001, divergence=5_839_180, clock=3_276_463, clear=0)
    False
    """

    epsilon: Micro = DEFAULT_CAP
    delta: Fraction = DEFAULT_DELTA
    clear: int = 0
    rule: int = RULE
    room: Room = field(init=False, repr=False, compare=False)
    text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Micro) or not isinstance(self.epsilon.micro, int):
            raise ParameterError(
                f"the cap on epsilon is {self.epsilon}, expected a finite Micro, such as "
                "Micro(10_000_000) for 10."
            )
        if not isinstance(self.delta, Fraction) or not 0 <= self.delta < 1:
            raise ParameterError(f"delta is {self.delta!r}, expected a fraction, 0 to below 1.")
        if not isinstance(self.clear, int) or isinstance(self.clear, bool) or self.clear < 0:
            raise ParameterError(f"clear is {self.clear!r}, expected an integer of at least 0.")
        one_of(self.rule, "rule", (1, 2, RULE))
        object.__setattr__(self, "room", room_of(self.epsilon, self.delta))
        text = f"{self.epsilon.micro},{self.delta},{self.clear}"
        # rule 1 is left out, so that the hashes of older entries stay as they are
        if self.rule > 1:
            text += f",{self.rule}"
        object.__setattr__(self, "text", text)

    def admit(self, *, pure: Whole, divergence: Whole, clock: Whole, clear: int) -> bool:
        """Return whether these totals are within the caps.

        Parameters
        ----------
        pure, divergence, clock : int or math.inf
            Sums in millionths: of pure epsilons, of divergences of the cap's order, of clocks.
        clear : int
            Number of answers in clear.
        """
        # exact: integers, so what is exactly enough is enough
        within = (
            pure <= self.epsilon.micro
            or divergence <= self.room.divergence
            or clock <= self.room.clock
        )
        return within and clear <= self.clear

    def admits(self, loss: Loss) -> bool:
        """Return whether an empty account admits a loss."""
        return self.admit(
            pure=loss.pure, divergence=loss.of_order(self.room.order), clock=loss.clock, clear=0
        )

    def share(self, loss: Loss) -> Fraction | None:
        """Return the part of an empty account that a loss takes; None where it never fits.

        The smallest over the three conditions, so that it is above 1 exactly where the loss is not
        admitted.
        """
        pairs = (
            (loss.pure, self.epsilon.micro),
            (loss.of_order(self.room.order), self.room.divergence),
            (loss.clock, self.room.clock),
        )
        shares = [
            Fraction(int(used), int(most)) if most else Fraction(0)
            for used, most in pairs
            if isinstance(used, int) and (most or not used)
        ]
        return min(shares, default=None)

    def tail(self, *, chance: Fraction = RARE) -> Micro:
        """Return a bound that the log ratio of two worlds exceeds with at most a chance.

        By all that these caps admit, chosen on the way: the pure epsilons add to at most `epsilon`;
        or ``e**((a-1)(L - sum D_a))`` is a supermartingale, for the cap's order with sums up to R,
        and for every order with ``D_a = a B / 2`` of clocks up to B. Which of the last two decides
        is known at the end only, so that each has half of the chance.

        Examples
        --------
        >>> str(Caps(Micro(10_000_000)).tail())
        '11.389144'
        """
        order, divergence, clock = self.room
        orders = tuple(divergence if a == order else math.inf for a in ORDERS)
        bounds = [
            tail(loss, chance=chance / 2)
            for loss, most in (
                (Loss(REPLACE, "person", math.inf, orders, math.inf), divergence),
                (rho_loss(Fraction(clock, 2 * MICRO)), clock),
            )
            if most
        ]
        return max([self.epsilon, *bounds])

    def within(self, other: Caps) -> bool:
        """Return whether no cap here is above the one of `other`."""
        return (
            self.epsilon <= other.epsilon
            and self.delta <= other.delta
            and self.clear <= other.clear
        )

    def of_today(self) -> Caps:
        """Return the same caps by the rule of today."""
        return Caps(self.epsilon, self.delta, self.clear)


def least_cap(loss: Loss, delta: Fraction) -> Micro:
    """Return the least cap on epsilon that admits a loss, to a millionth.

    Examples
    --------
    >>> from masquerade.exact.loss import noise
    >>> str(least_cap(noise(16, 16, Fraction(144)) * 29, Fraction(1, 10**6)))
    '9.901985'
    """
    if Caps(NO_LOSS, delta).admits(loss):
        return NO_LOSS
    return Micro(largest_whole(lambda m: not Caps(Micro(m), delta).admits(loss), most=1 << 40) + 1)
