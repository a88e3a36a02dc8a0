"""The privacy loss of a report: pure epsilon, Renyi divergences and Gaussian clock, in one value.

A `Loss` says between which worlds it holds (`relation`, `unit`), so that losses of different
neighbours can never be added. Each amount is worked out from the probabilities that are drawn, in
whole millionths, rounded up: none is set by hand, and an amount that has no proof is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from masquerade.errors import NeighbourMismatch, NoGuarantee, ParameterError
from masquerade.exact.micro import MICRO, AsNumber, Micro
from masquerade.exact.number import in_range, one_of, whole
from masquerade.exact.portable import BITS, GUARD, ONE, exp, ln

#: Orders of the Renyi divergences that a loss holds.
ORDERS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)

#: Neighbours are the same people with other answers.
REPLACE = "replace"
#: Neighbours are with and without one unit.
ADD_REMOVE = "add-remove"
RELATIONS = (REPLACE, ADD_REMOVE)
LOSS_UNITS = ("person", "answer", "record", "choice", "claim")

#: The chance with which a loss may exceed its tail, where none is named.
RARE = Fraction(1, 1_000_000)

#: Least variance that the clock may still have to come, Theorem 2: 1/32.
LEAST_CLOCK = Fraction(1, 32)

# Where e**epsilon is beyond this, D_a is the pure epsilon to more than a millionth.
_LARGE = 64 * MICRO

Whole = int | float
"""A whole number of millionths, or infinity."""


@dataclass(frozen=True, slots=True, eq=False)
class Loss(AsNumber):
    """How well the reports of two neighbouring worlds can be told apart, at most.

    Amounts are whole millionths, or infinite, and hold in both directions. As a plain number a loss
    is its pure epsilon, and equals that number; one without a pure epsilon equals a number only
    where nothing else bounds it: infinity. Two losses are equal if all their amounts, their units
    and their relations are; the smaller one is smaller in every amount.

    Attributes
    ----------
    relation : str
        ``"replace"`` (the same people, other answers) or ``"add-remove"``.
    unit : str
        Where neighbours differ: all of a ``"person"``, or one ``"answer"``, ``"record"``,
        ``"choice"`` or ``"claim"``.
    pure : int or math.inf
        Pure epsilon.
    orders : tuple of int or math.inf
        Renyi divergence of each of `ORDERS`.
    clock : int or math.inf
        mu**2 of a shift of Gaussian noise, where the loss is bounded by one
        (`masquerade.accounting.caps`).

    Examples
    --------
    >>> two = pure_loss(Micro(1_000_000)) * 2
    >>> two.pure, two.orders[:3]
    (2000000, (1470652, 1693454, 1791768))
    >>> two, float(two), two == 2, f"{two:.1f}"
    (Loss(epsilon=2, unit='person', relation='replace'), 2.0, True, '2.0')
    >>> two + pure_loss(Micro(1), relation=ADD_REMOVE)
    Traceback (most recent call last):
        ...
    masquerade.errors.NeighbourMismatch: a loss of replace, person cannot be added to one of \
add-remove, person: they compare different worlds. Convert the second with as_replace, which says \
what that costs.
    """

    relation: str
    unit: str
    pure: Whole
    orders: tuple[Whole, ...]
    clock: Whole

    def __post_init__(self) -> None:
        one_of(self.relation, "relation", RELATIONS)
        one_of(self.unit, "unit", LOSS_UNITS)
        if len(self.orders) != len(ORDERS):
            raise ParameterError(
                f"orders holds {len(self.orders)} amounts, expected {len(ORDERS)}, one for each "
                f"of {', '.join(map(str, ORDERS))}."
            )
        for amount in (self.pure, self.clock, *self.orders):
            if (type(amount) is not int and amount != math.inf) or amount < 0:
                raise ParameterError(
                    f"an amount of a loss is {amount!r}, expected a whole number of millionths, "
                    "at least 0, or infinity."
                )

    def __repr__(self) -> str:
        return f"Loss(epsilon={self.epsilon}, unit={self.unit!r}, relation={self.relation!r})"

    def __str__(self) -> str:
        return str(self.epsilon)

    @property
    def epsilon(self) -> Micro:
        """Pure epsilon."""
        return Micro(self.pure)

    @property
    def number(self) -> float:
        """Pure epsilon as the nearest float."""
        return self.epsilon.number

    @property
    def millionths(self) -> int | float:
        """The millionths of pure epsilon, by which a loss compares with a number."""
        return self.pure

    def _compared(self, other: object, compare: Callable[[Any, Any], bool]) -> bool:
        if not isinstance(other, type(self)):
            return AsNumber._compared(self, other, compare)
        self._require_same_worlds(other, "compared with")
        pairs = list(zip(self._amounts(), other._amounts(), strict=True))
        below, above = all(a <= b for a, b in pairs), all(a >= b for a, b in pairs)
        # Neither is smaller where one is so in one amount and the other in another: nan is never.
        return compare(above - below if above or below else math.nan, 0)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, type(self)):
            worlds, others = (self.relation, self.unit), (other.relation, other.unit)
            return worlds == others and self._amounts() == other._amounts()
        return AsNumber.__eq__(self, other) if self._is_a_number else False

    def __hash__(self) -> int:
        return hash(self.number) if self._is_a_number else hash(self._amounts())

    @property
    def _is_a_number(self) -> bool:
        return not math.isinf(self.pure) or self.in_clear

    def _amounts(self) -> tuple[Whole, ...]:
        return (self.pure, *self.orders, self.clock)

    def _require_same_worlds(self, other: Loss, how: str) -> None:
        if (self.relation, self.unit) != (other.relation, other.unit):
            raise NeighbourMismatch(
                f"a loss of {self.relation}, {self.unit} cannot be {how} one of "
                f"{other.relation}, {other.unit}: they compare different worlds. Convert the "
                "second with as_replace, which says what that costs."
            )

    @property
    def in_clear(self) -> bool:
        """Whether nothing bounds the loss."""
        return math.isinf(self.pure) and math.isinf(self.orders[0])

    def of_order(self, order: int) -> Whole:
        """Return the Renyi divergence of one of `ORDERS`."""
        return self.orders[ORDERS.index(order)]

    def of_unit(self, unit: str) -> Loss:
        """Return the same amounts for another unit of the same relation."""
        return replace(self, unit=unit)

    def __add__(self, other: Loss) -> Loss:
        self._require_same_worlds(other, "added to")
        return Loss(
            self.relation,
            self.unit,
            self.pure + other.pure,
            tuple(map(sum, zip(self.orders, other.orders, strict=True))),
            self.clock + other.clock,
        )

    def __mul__(self, times: int) -> Loss:
        times = whole(times, "times", low=0)  # as Python's own integer: numpy's wrap round
        if not times:
            return no_loss(relation=self.relation, unit=self.unit)
        orders = tuple(times * amount for amount in self.orders)
        return Loss(self.relation, self.unit, times * self.pure, orders, times * self.clock)

    __rmul__ = __mul__

    def within_pure(self, epsilon: Micro) -> Loss:
        """Return the same loss where a smaller pure epsilon is known for it as a whole."""
        pure = min(self.pure, epsilon.micro)
        return replace(self, pure=pure, orders=tuple(min(pure, one) for one in self.orders))

    def as_replace(self) -> Loss:
        """Return the loss of a replacement: one unit removed and another one added.

        A pure epsilon doubles. Gaussian noise has four times the squared change; whether it still
        counts on the clock is not known from the amounts, so that the clock becomes infinite.

        Raises
        ------
        NoGuarantee
            The loss has neither a pure epsilon nor a clock: nothing follows for a replacement.
        """
        if self.relation == REPLACE:
            return self
        if not math.isinf(self.pure):
            return pure_loss(Micro(2 * self.pure), unit=self.unit)
        if math.isinf(self.clock):
            raise NoGuarantee(
                f"a loss of {ADD_REMOVE} without a pure epsilon and without Gaussian noise says "
                "nothing of a replacement. Use a mechanism whose loss is stated for replacement."
            )
        # rho of the noise is at most clock / 2, and that of twice the change four times as much
        return rho_loss(Fraction(2 * int(self.clock), MICRO), unit=self.unit)


def no_loss(*, relation: str = REPLACE, unit: str = "person") -> Loss:
    """Return the loss of a report that tells nothing."""
    return Loss(relation, unit, 0, (0,) * len(ORDERS), 0)


def in_clear(*, relation: str = REPLACE, unit: str = "person") -> Loss:
    """Return the loss of an answer in clear: all amounts are infinite."""
    return Loss(relation, unit, math.inf, (math.inf,) * len(ORDERS), math.inf)


@lru_cache(maxsize=4096)
def pure_loss(epsilon: Micro, *, relation: str = REPLACE, unit: str = "person") -> Loss:
    """Return the loss of a mechanism of which only a pure epsilon is known.

    Two-option randomized response is its worst case (Kairouz, Oh and Viswanath, 2015), so that
    ``D_a = ln((e**(a epsilon) + e**((1-a) epsilon)) / (e**epsilon + 1)) / (a - 1)``.

    Examples
    --------
    >>> pure_loss(Micro(1_000_000)).orders[:4]
    (735326, 846727, 895884, 921716)
    """
    size = epsilon.micro
    if isinstance(size, float):
        return in_clear(relation=relation, unit=unit)
    if size == 0:
        return no_loss(relation=relation, unit=unit)

    def divergence(a: int) -> int:
        # both sides times e**((a-1) epsilon), so that no exponent is negative
        above = exp((2 * a - 1) * size, MICRO) + ONE
        below = exp(a * size, MICRO) + exp((a - 1) * size, MICRO)
        return _amount(above, below, a)

    if size >= _LARGE:
        orders: tuple[Whole, ...] = (size,) * len(ORDERS)
    else:
        orders = tuple(min(size, divergence(a)) for a in ORDERS)
    return Loss(relation, unit, size, orders, math.inf)


@lru_cache(maxsize=4096)
def response(keep: int, other: int, symbols: int) -> Loss:
    """Return the loss of one answer by randomized response with whole numbers, exactly.

    ``D_a = ln((K**(2a-1) + O**(2a-1) + (k-2) O**a K**(a-1)) / (T K**(a-1) O**(a-1))) / (a - 1)``,
    the largest over both directions, which are alike.

    Parameters
    ----------
    keep : int
        K: of ``total = keep + (symbols - 1) other`` numbers that a device draws, those with which
        the answer is reported.
    other : int
        O: those with which one certain other symbol is reported.
    symbols : int
        k, at least 2.

    Examples
    --------
    >>> response(3, 1, 2).pure
    1098613
    """
    whole(keep, "keep", low=0)
    whole(other, "other", low=0)
    whole(symbols, "symbols", low=2)
    if keep == other:
        return no_loss()
    if not keep or not other:
        return in_clear()
    return one_of_three(keep, other, (symbols - 2) * other)


@lru_cache(maxsize=4096)
def one_of_three(keep: int, other: int, rest: int) -> Loss:
    """Return the loss of a report that speaks for one answer, for the other, or for neither.

    ``D_a = ln((K**(2a-1) + O**(2a-1) + R (K O)**(a-1)) / (T (K O)**(a-1))) / (a - 1)``.

    Parameters
    ----------
    keep, other, rest : int
        K, O, R: of ``T = K + O + R`` numbers that a device draws, those with which it speaks for
        the answer, for the other one, and for neither.

    Examples
    --------
    >>> one_of_three(3, 1, 0) == response(3, 1, 2)
    True
    """
    if keep == other:
        return no_loss()
    if not keep or not other:
        return in_clear()
    shared = math.gcd(keep, other, rest)
    keep, other, rest = keep // shared, other // shared, rest // shared
    total = keep + other + rest
    pure = _amount(max(keep, other), min(keep, other), 2)

    def divergence(a: int) -> int:
        k, o = keep ** (a - 1), other ** (a - 1)
        above = k * k * keep + o * o * other + rest * k * o
        return _amount(above, total * k * o, a)

    return Loss(REPLACE, "person", pure, tuple(min(pure, divergence(a)) for a in ORDERS), math.inf)


@lru_cache(maxsize=4096)
def laplace(steps: int, scale: Fraction) -> Loss:
    """Return the loss of discrete Laplace noise on a lattice, exactly.

    With ``h = 1 / scale``, ``q = e**-h`` and d steps, ``D_a`` is ``1 / (a - 1)`` times the
    logarithm of ``(e**((a-1) d h) + e**(-a d h)) / (1 + q) + (1 - q) / (1 + q) e**((a-1) d h)
    sum over 0 < n < d of e**(-(2a-1) n h)``.

    Parameters
    ----------
    steps : int
        d: largest change of the answer.
    scale : Fraction
        P(n steps) is proportional to ``exp(-abs(n) / scale)``.

    Examples
    --------
    >>> laplace(4, Fraction(4)).pure
    1000000
    """
    whole(steps, "steps", low=0)
    in_range(scale, "scale", above=0)
    if steps == 0:
        return no_loss()
    top, bottom = scale.denominator, scale.numerator  # of h
    pure = math.ceil(Fraction(steps * top * MICRO, bottom))
    if pure >= _LARGE:
        return Loss(REPLACE, "person", pure, (pure,) * len(ORDERS), math.inf)
    # digits that differences such as e**h - 1 lose where h is small are added beforehand
    lost = 2 * max(0, bottom.bit_length() - top.bit_length())

    def power(times: int) -> int:
        return _long_exp(times * top, bottom, lost)

    one = 1 << (BITS + lost)
    h = power(1)

    def divergence(a: int) -> int:
        # The geometric sum in closed form, with R = e**((2a-1) h) and X = R**d; all of it times
        # e**(a d h) and (R - 1), so that no exponent is negative.
        r, x = power(2 * a - 1), power((2 * a - 1) * steps)
        above = (x + one) * h * (r - one) + one * (h - one) * (x - r)
        return _amount(above, (h + one) * (r - one) * power(a * steps), a)

    return Loss(REPLACE, "person", pure, tuple(min(pure, divergence(a)) for a in ORDERS), math.inf)


def noise(
    squared: Fraction | int,
    largest: Fraction | int,
    variance: Fraction,
    *,
    relation: str = REPLACE,
    unit: str = "person",
) -> Loss:
    """Return the loss of discrete Gaussian noise on a lattice, for a number or a vector.

    ``D_a = a D / (2 v)`` itself (Canonne, Kamath and Steinke, 2020, Theorem 4). The clock counts
    ``D / v`` where the lattice is fine enough for Theorem 2 of `masquerade.accounting.caps`.

    Parameters
    ----------
    squared : Fraction or int
        D: square of the largest Euclidean change, in squared steps.
    largest : Fraction or int
        Square of the largest change of one coordinate.
    variance : Fraction
        v: parameter of the noise of each coordinate, in squared steps.

    Examples
    --------
    >>> moved = noise(16, 16, Fraction(36))
    >>> moved.orders[:3], moved.clock
    ((444445, 666667, 888889), 444445)
    """
    in_range(squared, "squared", low=0)
    in_range(largest, "largest", low=0, high=squared)
    in_range(variance, "variance", above=0)
    if not squared:
        return no_loss(relation=relation, unit=unit)
    share = Fraction(squared) / variance
    orders = tuple(math.ceil(a * share * MICRO / 2) for a in ORDERS)
    # Theorem 2: v b / (b + c) >= 2 for c = largest / v at the least b
    fine = LEAST_CLOCK * variance**2 >= 2 * (LEAST_CLOCK * variance + largest)
    clock = math.ceil(share * MICRO) if fine else math.inf
    return Loss(relation, unit, math.inf, orders, clock)


def rho_loss(rho: Fraction, *, relation: str = REPLACE, unit: str = "person") -> Loss:
    """Return the loss of a mechanism known by zero-concentrated loss alone: ``D_a = a rho``.

    Examples
    --------
    >>> rho_loss(Fraction(1, 2)).orders[:3]
    (1000000, 1500000, 2000000)
    """
    in_range(rho, "rho", low=0)
    if not rho:
        return no_loss(relation=relation, unit=unit)
    orders = tuple(math.ceil(a * rho * MICRO) for a in ORDERS)
    return Loss(relation, unit, math.inf, orders, math.inf)


def tail(loss: Loss, *, chance: Fraction = RARE, adaptive: bool = False) -> Micro:
    """Return a bound that the log ratio of two worlds exceeds with at most a chance.

    ``min(pure, least of D_a + ln(1 / chance) / (a - 1))``, rounded up.

    Fix any two sets of answers of one person and any weights within them. Under either of the two
    hypotheses the chance that the log ratio of the two mixtures exceeds this is at most `chance`,
    so that posterior odds grow by more than ``e**tail`` with at most that chance. D_a of mixtures
    is at most the largest D_a of pairs (it is jointly quasi-convex), that of a function of the
    reports is no more (data processing), and Markov's inequality for ``e**((a-1) L)`` gives the
    chance. The pure epsilon is never exceeded.

    Parameters
    ----------
    chance : Fraction
        Above 0, below 1.
    adaptive : bool
        Whether what is added up in `loss` was chosen after seeing earlier reports, and when to stop
        too. For each order ``e**((a-1) (L - D_a))`` then is a supermartingale, and its own share of
        the chance holds at any stopping time; the least of all orders needs the sum of the shares.

    Examples
    --------
    >>> str(tail(noise(16, 16, Fraction(144))))
    '1.809924'
    """
    in_range(chance, "chance", above=0, below=1)
    if adaptive:
        chance /= len(ORDERS)
    rare = ln(chance.denominator, chance.numerator)
    amounts = [loss.pure]
    for a, divergence in zip(ORDERS, loss.orders, strict=True):
        if not math.isinf(divergence):
            amounts.append(divergence + _share(rare, a))
    return Micro(min(amounts))


def _amount(above: int, below: int, a: int) -> int:
    """Return ``ln(above / below) / (a - 1)`` in millionths, rounded up; 0 where it is below 0."""
    if above <= below:
        return 0
    return _share(ln(above, below), a)


def _share(log: int, a: int) -> int:
    """Return ``log / (a - 1)`` in millionths, rounded up."""
    return -(-(log + GUARD) * MICRO // ((a - 1) << BITS))


def _long_exp(n: int, m: int, more: int) -> int:
    """Return e**(n / m) in units of ``2**-(160 + more)``."""
    if not more:
        return exp(n, m)
    # e**x = (e**(x / 2**more))**(2**more) would lose digits; the series is taken with more of them
    one = 1 << (BITS + more)
    halvings = max(0, (n // m).bit_length())
    x = (n << (BITS + more)) // (m << halvings)
    total = term = one
    k = 1
    while term:
        term = (term * x >> (BITS + more)) // k
        total += term
        k += 1
    for _ in range(halvings):
        total = total * total >> (BITS + more)
    return total
