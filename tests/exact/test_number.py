"""Numbers of people are read with their meaning, and written back exactly."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade.exact.number import NumberLike, exact, finite, text_of, whole


@given(number=st.fractions(max_denominator=10**40))
def test_prop_the_text_of_a_fraction_reads_back_as_the_fraction(number: Fraction) -> None:
    """Text and fraction are inverse, for negative and very long fractions too."""
    assert exact(text_of(number), "x") == number


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_prop_a_float_means_its_shortest_decimal(number: float) -> None:
    """A float is read by its shortest text, so 0.3 is three tenths."""
    assert exact(number, "x") == Fraction(repr(number))
    assert float(exact(number, "x")) == number


@pytest.mark.parametrize(
    ("value", "fraction"),
    [
        (0.3, Fraction(3, 10)),
        ("0.3", Fraction(3, 10)),
        (" 1/3 ", Fraction(1, 3)),
        ("1e-3", Fraction(1, 1000)),
        ("1E+2", Fraction(100)),
        (decimal.Decimal("0.70"), Fraction(7, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (7, Fraction(7)),
        (np.int64(7), Fraction(7)),
        (np.float64(0.1), Fraction(1, 10)),
        (-0.0, Fraction(0)),
        (5e-324, Fraction("5e-324")),
    ],
)
def test_each_kind_of_number_is_read_exactly(value: NumberLike, fraction: Fraction) -> None:
    """Floats, texts, decimals, fractions, integers and numpy scalars give exact fractions."""
    assert finite(value, "x") == fraction


@pytest.mark.parametrize("value", [math.inf, "inf", "Infinity", " +inf ", decimal.Decimal("inf")])
def test_infinity_is_read_where_it_is_allowed(value: NumberLike) -> None:
    """Infinity is a number for `exact` and an error for `finite`."""
    assert exact(value, "epsilon") == math.inf
    with pytest.raises(ParameterError, match=r"epsilon is .*expected a finite number"):
        finite(value, "epsilon")


@pytest.mark.parametrize(
    "value",
    ["", "one", "nan", math.nan, -math.inf, "-inf", "1/0", "1..2", None, [], True, "0x10"],
)
def test_what_is_no_number_is_an_error_that_names_it(value: object) -> None:
    """NaN, minus infinity, words and other objects are errors that name the parameter."""
    with pytest.raises(ParameterError, match="flip is"):
        exact(value, "flip")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "1E+0005000", "9" * 5000])
def test_a_number_of_a_million_digits_is_refused_at_once(text: str) -> None:
    """A short text that stands for gigabytes of digits is an error, not a long wait."""
    with pytest.raises(ParameterError, match=r"epsilon is .*expected a shorter number"):
        exact(text, "epsilon")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(3, 10), "0.3"),
        (Fraction(-1, 20), "-0.05"),
        (Fraction(-5, 2), "-2.5"),
        (Fraction(1, 3), "1/3"),
        (Fraction(4), "4"),
        (Fraction(0), "0"),
        (Fraction(1, 1 << 18), "0.000003814697265625"),
        (Fraction(1, 1 << 19), "1/524288"),
        (math.inf, "inf"),
    ],
)
def test_the_shortest_text_is_written(number: Fraction | float, text: str) -> None:
    """Decimals of up to 18 digits are written as decimals, others as fractions."""
    assert text_of(number) == text
    assert exact(text, "x") == number


@pytest.mark.parametrize(
    ("value", "number"), [(3, 3), ("3", 3), (np.int32(3), 3), ("+3", 3), (5, 5)]
)
def test_whole_numbers_are_read(value: object, number: int) -> None:
    """Integers, numpy integers and their texts become Python integers."""
    result = whole(value, "options", low=2, high=5)
    assert result == number
    assert type(result) is int


@pytest.mark.parametrize("value", ["x", "1.5", "", 1.5, 2.0, True, None, [3], "9" * 5000])
def test_what_is_no_whole_number_is_an_error(value: object) -> None:
    """Fractions, booleans, words and objects are errors that name the parameter."""
    with pytest.raises(ParameterError, match=r"options is .*expected a whole number"):
        whole(value, "options", low=2)


def test_a_whole_number_outside_its_range_is_an_error() -> None:
    """The message holds the number and the range."""
    with pytest.raises(ParameterError, match="options is 1, expected at least 2"):
        whole(1, "options", low=2)
    with pytest.raises(ParameterError, match="options is 6, expected 2 to 5"):
        whole("6", "options", low=2, high=5)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_numpy_floats_mean_what_is_printed(kind: Any) -> None:
    """Three tenths stay three tenths in every precision."""
    assert exact(kind("0.3"), "epsilon") == Fraction(3, 10)
