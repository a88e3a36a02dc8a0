"""Exact amounts of privacy loss.

An amount is an integer number of micro-epsilon, rounded up once, when a mechanism's exact
probability ratio is turned into it. Sums of amounts are exact from there on.
"""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Rational, Real
from typing import Any, Self

from masquerade.errors import ParameterError

#: Millionths in one: losses are whole numbers of them.
MICRO = 1_000_000
_DIGITS = 80
_GUARD = decimal.Decimal(10) ** -60


class AsNumber:
    """An exact amount that is used as a plain number is: compared, formatted, as a float."""

    __slots__ = ()

    @property
    def number(self) -> float:
        """The amount as the nearest float."""
        raise NotImplementedError

    @property
    def millionths(self) -> int | float:
        """The millionths that comparisons go by."""
        raise NotImplementedError

    def __float__(self) -> float:
        return self.number

    def __format__(self, spec: str) -> str:
        return format(self.number, spec) if spec else str(self)

    def _compared(self, other: object, compare: Callable[[Any, Any], bool]) -> bool:
        # NotImplemented is what Python expects here; it then tries the other's own comparison.
        if type(other) is type(self):
            return compare(self.millionths, other.millionths)
        if isinstance(other, decimal.Decimal) and not other.is_finite():
            return compare(self.millionths, math.nan if other.is_nan() else float(other))
        if isinstance(other, decimal.Decimal):
            return compare(self.millionths, Fraction(other) * MICRO)
        if isinstance(other, Rational):
            # As Python's own integers: numpy's wrap round.
            fraction = Fraction(int(other.numerator), int(other.denominator))
            return compare(self.millionths, fraction * MICRO)
        if not isinstance(other, Real):
            return NotImplemented  # type: ignore[no-any-return]
        if not math.isfinite(other):
            return compare(self.millionths, float(other))
        # A float is the number that is written, so that 0.3 is three tenths.
        return compare(self.millionths, Fraction(str(float(other))) * MICRO)

    # exact: equality, like the order, goes by the value of a fraction or decimal, and by the
    # shortest decimal of a float. Python's 0.3 is not three tenths and hashes otherwise, so that no
    # amount can hash like both: the hash is that of the float.
    def __eq__(self, other: object) -> bool:
        return self._compared(other, operator.eq)

    def __hash__(self) -> int:
        return hash(self.number)

    def __lt__(self, other: object) -> bool:
        return self._compared(other, operator.lt)

    def __le__(self, other: object) -> bool:
        return self._compared(other, operator.le)

    def __gt__(self, other: object) -> bool:
        return self._compared(other, operator.gt)

    def __ge__(self, other: object) -> bool:
        return self._compared(other, operator.ge)


@dataclass(frozen=True, slots=True, eq=False)
class Amount(AsNumber):
    """A number of whole millionths, or infinite; amounts of one kind add, and only these.

    An amount compares with amounts of its kind and with plain numbers, exactly: with fractions and
    decimals by their value, with floats as they are written. It hashes as its float does. In a set
    or dict, a fraction or decimal that no float is, such as three tenths, is therefore another key
    than the amount that equals it.

    Parameters
    ----------
    micro : int or math.inf
        Millionths, at least 0.

    Examples
    --------
    >>> from masquerade.exact import Micro
    >>> Micro(500_000) + Micro(250_000)
    Micro(micro=750000)
    >>> (Micro(500_000) + Micro(250_000)).number
    0.75
    >>> Micro(300_000) == 0.3, Micro(300_001) <= 0.3, f"{Micro(300_000):.2f}"
    (True, False, '0.30')
    """

    micro: int | float

    def __post_init__(self) -> None:
        whole = isinstance(self.micro, int) and not isinstance(self.micro, bool)
        if not (whole or self.micro == math.inf) or self.micro < 0:
            raise ParameterError(
                f"micro is {self.micro!r}, expected an integer of at least 0 or infinity."
            )

    @property
    def number(self) -> float:
        """The amount as the nearest float; infinite where no float is as large."""
        try:
            return self.micro / MICRO
        except OverflowError:
            return math.inf

    @property
    def millionths(self) -> int | float:
        """The millionths that comparisons go by."""
        return self.micro

    def __add__(self, other: Self) -> Self:
        return type(self)(self.micro + other.micro)

    def __mul__(self, times: int) -> Self:
        # As Python's own integer: numpy's wrap round.
        times = operator.index(times)
        return type(self)(self.micro * times if times else 0)

    __rmul__ = __mul__

    def __str__(self) -> str:
        if self.micro == math.inf:
            return "infinite"
        ones, millionths = divmod(int(self.micro), MICRO)
        return f"{ones}.{millionths:06}".rstrip("0").rstrip(".")  # all digits: never rounded down

    def to_json(self) -> float | str:
        """Return the amount as a number; the text ``"inf"`` where it is infinite."""
        return "inf" if math.isinf(self.number) else self.number


class Micro(Amount):
    """An amount of epsilon (or rho) in integer millionths, or infinite.

    Parameters
    ----------
    micro : int or math.inf
        Millionths of epsilon (natural logarithm), at least 0.

    Examples
    --------
    >>> Micro.of_ratio(Fraction(3))          # ln 3 = 1.0986122..., rounded up
    Micro(micro=1098613)
    >>> (Micro(400_000) + Micro(200_000)).epsilon
    0.6
    """

    __slots__ = ()

    @classmethod
    def of_ratio(cls, ratio: Fraction | float, *, times: int = 1) -> Micro:
        """Return ``times * |ln ratio|``, rounded up to a whole micro-epsilon.

        Parameters
        ----------
        ratio : Fraction or math.inf
            A ratio of two probabilities; 0 and infinity give an infinite loss.
        times : int
            Number of independent draws with this ratio, at least 0.
        """
        if times < 0:
            raise ParameterError(f"times is {times}, expected at least 0.")
        if not ratio >= 0:
            raise ParameterError(f"ratio is {ratio}, expected at least 0.")
        if times == 0:
            return NO_LOSS
        if ratio == math.inf or ratio == 0:
            return INFINITE_LOSS
        exact = Fraction(ratio)
        if exact == 1:
            return NO_LOSS
        with decimal.localcontext(decimal.Context(prec=_DIGITS)):
            # The guard is far above the rounding error of 80 digits and far below a micro-epsilon,
            # so the amount is never below the true one.
            once = _size_of_log(exact) * MICRO + _GUARD
            micro = (once * times).to_integral_value(decimal.ROUND_CEILING)
        return cls(int(micro))

    @classmethod
    def of_amount(cls, amount: Fraction) -> Micro:
        """Return an exact amount, rounded up to a millionth."""
        return cls(math.ceil(amount * MICRO))

    @classmethod
    def of_bound(cls, epsilon: float, *, error: float) -> Micro:
        """Return a computed bound plus its numerical error, rounded up to a micro-epsilon."""
        if math.isinf(epsilon) or math.isinf(error):
            return INFINITE_LOSS
        return cls(math.ceil((epsilon + error) * MICRO))

    @property
    def epsilon(self) -> float:
        """The amount in epsilon."""
        return self.number


# A mechanism's ratio is asked for with one answer and with many, for each question and each cost.
@lru_cache(maxsize=4096)
def _size_of_log(ratio: Fraction) -> decimal.Decimal:
    """Return ``|ln ratio|``, nearly to the last of its digits."""
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        return abs(decimal.Decimal(ratio.numerator).ln() - decimal.Decimal(ratio.denominator).ln())


#: The loss of what reveals nothing.
NO_LOSS = Micro(0)
#: The loss of an answer in clear.
INFINITE_LOSS = Micro(math.inf)
