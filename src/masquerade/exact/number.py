"""Numbers that people write, as exact fractions and back."""

from __future__ import annotations

import decimal
import math
import numbers
import re
from fractions import Fraction

from masquerade.errors import ParameterError

NumberLike = Fraction | int | float | str | decimal.Decimal

_MOST_CHARACTERS = 1000
_MOST_DIGITS_IN_EXPONENT = 3


def exact(value: NumberLike, name: str) -> Fraction | float:
    """Return `value` as the fraction that a person means by it, or ``math.inf``.

    A float, of Python or numpy, is read by its shortest decimal form (0.3 is three tenths), as is a
    text; a text may also be a fraction (``1/3``).

    Raises
    ------
    ParameterError
        The value is NaN, negative infinity, no number, or absurdly long: a few characters
        (``1e999999999``) can ask for gigabytes of digits.
    """
    try:
        text = str(value).strip()
        if text.lower() in ("inf", "infinity", "+inf"):
            return math.inf
        exponent = re.search(r"[eE][+-]?0*(\d+)$", text)
        if len(text) > _MOST_CHARACTERS or (
            exponent and len(exponent[1]) > _MOST_DIGITS_IN_EXPONENT
        ):
            raise ParameterError(
                f"{name} is {text[:20]}..., expected a shorter number.", field=name
            )
        # exact: the shortest decimal that a float prints, so that 0.3 is three tenths
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"{name} is {value!r}, expected a number.", field=name) from error


def finite(value: NumberLike, name: str) -> Fraction:
    """Return `value` as a fraction; refuse infinity."""
    number = exact(value, name)
    if isinstance(number, float):
        raise ParameterError(f"{name} is {value!r}, expected a finite number.", field=name)
    return number


def positive(value: NumberLike, name: str) -> Fraction:
    """Return `value` as a fraction; refuse what is not above 0, and infinity."""
    number = finite(value, name)
    if number <= 0:
        raise ParameterError(f"{name} is {text_of(number)}, expected above 0.", field=name)
    return number


def text_of(number: Fraction | float) -> str:
    """Return the shortest exact text: a decimal where one exists, else ``n/d``; `exact` reads it.

    Examples
    --------
    >>> text_of(Fraction(3, 10)), text_of(Fraction(1, 3)), text_of(Fraction(4))
    ('0.3', '1/3', '4')
    """
    if isinstance(number, float):
        return "inf"
    if number.denominator == 1:
        return str(number.numerator)
    # A decimal exists where the denominator has no prime factors but 2 and 5.
    rest, digits = number.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest //= prime
            power += 1
        digits = max(digits, power)
    if rest != 1 or digits > 18:
        return f"{number.numerator}/{number.denominator}"
    scaled = str(abs(number.numerator) * 10**digits // number.denominator).rjust(digits + 1, "0")
    return f"{'-' if number < 0 else ''}{scaled[:-digits]}.{scaled[-digits:]}"


def whole(value: object, name: str, *, low: int, high: int | None = None) -> int:
    """Return `value` as an integer of at least `low` (and at most `high`)."""
    try:
        if isinstance(value, bool) or not isinstance(value, str | numbers.Integral):
            raise ValueError
        number = int(value)
    except ValueError as error:
        raise ParameterError(
            f"{name} is {value!r}, expected a whole number.", field=name
        ) from error
    if number < low or (high is not None and number > high):
        span = f"at least {low}" if high is None else f"{low} to {high}"
        raise ParameterError(f"{name} is {number}, expected {span}.", field=name)
    return number
