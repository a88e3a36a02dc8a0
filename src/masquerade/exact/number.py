"""Numbers that people write, as exact fractions and back."""

from __future__ import annotations

import decimal
import math
import numbers
import re
from collections.abc import Callable, Iterable
from fractions import Fraction

from masquerade.errors import ParameterError
from masquerade.lazy import suggestion

NumberLike = Fraction | int | float | str | decimal.Decimal

_MOST_CHARACTERS = 1000
_MOST_DIGITS_IN_EXPONENT = 3


def exact(value: NumberLike, name: str) -> Fraction | float:
    """Return `value` as the fraction that a person means by it, or ``math.inf``.

    A float, of Python or numpy, is read by its shortest decimal form (0.3 is three tenths), as is a
    text; a text may also be a fraction (``1/3``). Absurdly long numbers are refused: a few
    characters (``1e999999999``) can ask for gigabytes of digits.
    """
    # Most numbers are small and whole; to write and read them as text takes ten times as long.
    if type(value) is int and value.bit_length() <= 64:
        return Fraction(value)
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


def quantity(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: `one` of one, `many` of all others.

    Examples
    --------
    >>> quantity(1, "worker"), quantity(0, "worker"), quantity(1200, "person", "people")
    ('1 worker', '0 workers', '1,200 people')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def finite(value: NumberLike, name: str) -> Fraction:
    """Return `value` as a fraction; refuse infinity."""
    number = exact(value, name)
    if isinstance(number, float):
        raise ParameterError(f"{name} is {value!r}, expected a finite number.", field=name)
    return number


def positive(value: NumberLike, name: str) -> Fraction:
    """Return `value` as a fraction; refuse 0, negative numbers and infinity."""
    number = finite(value, name)
    in_range(number, name, above=0)
    return number


def in_range(
    value: Fraction | float,
    name: str,
    *,
    low: Fraction | float | None = None,
    above: Fraction | float | None = None,
    high: Fraction | float | None = None,
    below: Fraction | float | None = None,
) -> None:
    """Raise `ParameterError` where a number, or NaN, is not between the limits given.

    `low` and `high` belong to the range, `above` and `below` do not; below infinity is finite.
    """
    # each comparison is false for NaN, which so is in no range
    if (
        (low is None or low <= value)
        and (above is None or above < value)
        and (high is None or value <= high)
        and (below is None or value < below)
    ):
        return
    limits = (("at least", low), ("above", above), ("at most", high), ("below", below))
    texts = [f"{words} {_shown(limit)}" for words, limit in limits if limit is not None]
    span = " and ".join(texts).replace("below inf", "finite")
    if low is not None and high is not None:
        span = f"{_shown(low)} to {_shown(high)}"
    most = below if high is None else high
    hint = ""
    if most is not None and most <= 1 < value <= 100:
        hint = f" Did you mean {_shown(value / 100)}, which is {_shown(value)} %?"
    raise ParameterError(f"{name} is {_shown(value)}, expected {span}.{hint}", field=name)


def _shown(number: Fraction | float) -> str:
    return text_of(number) if isinstance(number, Fraction) else f"{number}"


def one_of(value: object, name: str, choices: Iterable[object]) -> None:
    """Raise `ParameterError` where a value is none of the choices."""
    known = list(choices)
    if value not in known:
        names = ", ".join(map(repr, known))
        hint = suggestion(str(value), [one for one in known if isinstance(one, str)])
        raise ParameterError(f"{name} is {value!r}, expected one of {names}.{hint}", field=name)


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


def largest_whole(
    fits: Callable[[int], bool], *, low: int = 0, high: int | None = None, most: float = math.inf
) -> int:
    """Return the largest whole number that fits, where fitting never comes back once it is lost.

    `low` is taken to fit and `high` not to. Without `high`, one is found by doubling, so that few
    numbers are tried; above `most` none is, and the last that fits is returned.
    """
    if high is None:
        high = low + 1
        while high <= most and fits(high):
            low, high = high, 2 * high
        if high > most:
            return low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
