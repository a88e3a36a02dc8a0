"""Amounts of privacy loss are exact, never too small, and rounded up once."""

from __future__ import annotations

import decimal
import json
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, MICRO, NO_LOSS, Amount, Guarantee, Micro
from masquerade.exact.loss import pure_loss
from masquerade.mechanisms import RandomizedResponse

positive = st.integers(min_value=1, max_value=1 << 200)


def true_micro(ratio: Fraction, times: int = 1) -> mpmath.mpf:
    """Return times * |ln ratio| in micro-epsilon, to 100 digits."""
    with mpmath.workdps(200):
        return abs(mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)) * times * MICRO


def assert_just_above(micro: int | float, exact: mpmath.mpf) -> None:
    """Check that `micro` is `exact` rounded up."""
    with mpmath.workdps(200):
        assert 0 <= mpmath.mpf(micro) - exact < 1 + mpmath.mpf(10) ** -6


@given(numerator=positive, denominator=positive)
def test_prop_of_ratio_is_never_below_the_true_loss(numerator: int, denominator: int) -> None:
    """A ratio's loss is at least the true one and less than 1.000001 micro-epsilon above it."""
    ratio = Fraction(numerator, denominator)
    assert_just_above(Micro.of_ratio(ratio).micro, true_micro(ratio))


@given(
    numerator=st.integers(1, 10**30),
    offset=st.integers(1, 10**6),
    times=st.integers(0, 10**6),
)
def test_prop_of_ratio_holds_for_ratios_near_one_and_many_draws(
    numerator: int, offset: int, times: int
) -> None:
    """Ratios next to 1, drawn up to a million times, are rounded up once and never down."""
    ratio = Fraction(numerator + offset, numerator)
    assert_just_above(Micro.of_ratio(ratio, times=times).micro, true_micro(ratio, times))


@given(numerator=positive, denominator=positive)
def test_prop_of_ratio_is_symmetric(numerator: int, denominator: int) -> None:
    """A ratio and its inverse cost the same."""
    ratio = Fraction(numerator, denominator)
    assert Micro.of_ratio(ratio) == Micro.of_ratio(1 / ratio)


@given(a=st.integers(0, 1 << 80), b=st.integers(0, 1 << 80), times=st.integers(0, 1000))
def test_prop_sums_and_multiples_are_exact(a: int, b: int, times: int) -> None:
    """Amounts add and multiply as integers, beyond the range of floats."""
    assert (Micro(a) + Micro(b)).micro == a + b
    assert (Micro(a) * times).micro == a * times == (times * Micro(a)).micro
    assert (Micro(a) < Micro(b)) == (a < b)


@given(micro=st.integers(0, 10**15))
def test_prop_the_printed_amount_is_the_amount(micro: int) -> None:
    """The text of a loss has all its digits, so that a printed bound is never below the bound."""
    assert Fraction(str(Micro(micro))) == Fraction(micro, MICRO)


@pytest.mark.parametrize(
    ("ratio", "micro"),
    [
        (Fraction(1), 0),
        (Fraction(3), 1_098_613),
        (Fraction(1, 3), 1_098_613),
        (Fraction(2), 693_148),
        (Fraction(10) ** 400, 921_034_038),
        (math.inf, math.inf),
        (Fraction(0), math.inf),
    ],
)
def test_of_ratio_gives_known_amounts(ratio: Fraction | float, micro: float) -> None:
    """Known ratios give their logarithm rounded up; 0 and infinity an infinite loss."""
    assert Micro.of_ratio(ratio).micro == micro


def test_of_ratio_rounds_a_product_once() -> None:
    """Ten draws are rounded up together, and cost no more than ten single amounts."""
    ten = Micro.of_ratio(Fraction(3), times=10)
    assert ten == Micro(10_986_123)
    assert ten <= Micro.of_ratio(Fraction(3)) * 10
    assert Micro.of_ratio(math.inf, times=0) == NO_LOSS


def test_of_ratio_ignores_the_callers_decimal_settings() -> None:
    """A caller's few decimal digits, or trap of inexact results, change nothing."""
    with decimal.localcontext() as context:
        context.prec = 3
        context.traps[decimal.Inexact] = True
        assert Micro.of_ratio(Fraction(3)) == Micro(1_098_613)
        assert RandomizedResponse(2, epsilon=1).guarantee().epsilon_single == Micro(MICRO)


@pytest.mark.parametrize("ratio", [Fraction(-1), -0.5, math.nan, -math.inf])
def test_of_ratio_refuses_what_is_no_ratio(ratio: Fraction | float) -> None:
    """A negative ratio or NaN is an error that names the ratio."""
    with pytest.raises(ParameterError, match="ratio is"):
        Micro.of_ratio(ratio)


def test_of_ratio_refuses_a_negative_number_of_draws() -> None:
    """A negative number of draws is an error that names it."""
    with pytest.raises(ParameterError, match="times is -1"):
        Micro.of_ratio(Fraction(2), times=-1)


@pytest.mark.parametrize("micro", [-1, 1.0, 0.5, True, math.nan, -math.inf, "1"])
def test_an_amount_is_a_whole_number_or_infinite(micro: object) -> None:
    """An amount that is no integer of at least 0 and not infinity is an error."""
    with pytest.raises((ParameterError, TypeError)):
        Micro(micro)  # type: ignore[arg-type]


def test_infinite_losses_stay_infinite_and_none_times_anything_is_none() -> None:
    """Infinity absorbs sums and multiples; zero draws of anything cost nothing."""
    assert INFINITE_LOSS + Micro(5) == INFINITE_LOSS == INFINITE_LOSS * 3
    assert INFINITE_LOSS * 0 == NO_LOSS == NO_LOSS * 7
    assert Micro(10**30) < INFINITE_LOSS
    assert str(INFINITE_LOSS) == "infinite"
    assert INFINITE_LOSS.to_json() == "inf"
    assert INFINITE_LOSS.epsilon == math.inf


def test_of_bound_adds_the_error_and_rounds_up() -> None:
    """A computed bound is raised by its error and then to the next micro-epsilon."""
    assert Micro.of_bound(0.5, error=0) == Micro(500_000)
    assert Micro.of_bound(0.5, error=1e-9) == Micro(500_001)
    assert Micro.of_bound(math.inf, error=0) == INFINITE_LOSS == Micro.of_bound(1, error=math.inf)


def test_integers_of_numpy_multiply_as_pythons_do() -> None:
    """No multiple of an amount or loss wraps round, or is refused, by the type of its number."""
    amount, loss = Micro(10**6), pure_loss(Micro(10**6))
    # Of the types a person's number of answers has in a table of numpy.
    numbers: list[Any] = [np.int64(2**62), np.uint64(2**62), np.uint8(255), np.int32(3)]
    for number in numbers:
        assert amount * number == Micro(int(number) * 10**6)
        assert loss * number == loss * int(number)


def test_a_loss_is_frozen_and_hashable() -> None:
    """Amounts are values: equal ones are one key, and none can be changed."""
    assert len({Micro(1), Micro(1), Micro(2)}) == 2
    with pytest.raises(AttributeError):
        Micro(1).micro = 2  # type: ignore[misc]


def test_a_guarantee_is_json_with_amounts_unit_and_status() -> None:
    """A guarantee's JSON has its amounts, unit, trust, and status."""
    promise = Guarantee(
        epsilon_single=Micro(400_000),
        epsilon_event=Micro(400_000),
        epsilon_user=INFINITE_LOSS,
        answers=3,
        assumptions=("one", "two"),
    )
    assert json.loads(json.dumps(promise.to_json())) == {
        "epsilon_single": 0.4,
        "epsilon_event": 0.4,
        "epsilon_user": "inf",
        "delta": 0.0,
        "rho_event": None,
        "rho_user": None,
        "answers": 3,
        "unit": "worker",
        "trust": "local",
        "status": "proven",
        "assumptions": ["one", "two"],
    }


def test_amounts_beyond_floats_stay_exact() -> None:
    """A loss that no float holds is counted exactly and shown as infinite in JSON."""
    huge = Micro(10**400)
    assert huge + Micro(1) > huge
    assert (huge.epsilon, huge.to_json()) == (math.inf, "inf")


def test_amounts_of_different_kinds_do_not_compare() -> None:
    """Epsilon and rho are neither equal nor ordered."""
    epsilon: Any = Micro(5)
    rho: Any = Amount(5)
    assert epsilon != rho
    with pytest.raises(TypeError):
        _ = epsilon < rho


@pytest.mark.parametrize(
    "number", [0.3, Fraction(3, 10), Decimal("0.3"), np.float64(0.3)], ids=lambda one: type(one)
)
def test_an_amount_compares_as_the_number_that_is_written(number: Any) -> None:
    """An amount is ordered around the number that somebody writes, exactly."""
    amount = Micro(300_000)
    assert amount <= number <= amount
    assert Micro(300_001) > number > Micro(299_999)
    assert Micro(math.inf) > number


@pytest.mark.parametrize("number", [0.3, Fraction(3, 10), Decimal("0.3"), np.float64(0.3)])
@pytest.mark.parametrize("micro", [299_999, 300_000, 300_001])
@pytest.mark.parametrize(
    "of", [Micro, lambda micro: pure_loss(Micro(micro))], ids=["Micro", "Loss"]
)
def test_one_of_less_equal_and_greater_holds(of: Any, micro: int, number: Any) -> None:
    """An amount and a number are equal where neither is less, seen from both sides."""
    amount = of(micro)
    equal = micro == 300_000
    # numpy before 2.0 answers for its own number, on the left, with a bool of its own.
    assert (amount == number) is bool(number == amount) is bool(amount <= number <= amount) is equal
    assert (amount != number) is (amount < number or amount > number) is not equal


@pytest.mark.parametrize(
    "of", [Micro, lambda micro: pure_loss(Micro(micro))], ids=["Micro", "Loss"]
)
@pytest.mark.parametrize(
    "number", [np.int8(100), np.uint8(200), np.int32(1 << 30), np.int64(1 << 62)]
)
def test_a_whole_number_of_numpy_compares_like_pythons(of: Any, number: Any) -> None:
    """No integer of numpy is too large for its own type, in millionths, to be compared exactly."""
    same = int(number) * MICRO
    for micro in (same - 1, same, same + 1):
        amount = of(micro)
        assert (amount < number) is bool(number > amount) is (micro < same)
        assert (amount == number) is bool(number == amount) is (micro == same)
        assert (amount > number) is bool(number < amount) is (micro > same)


EQUALS: list[Any] = [0.3, np.float64(0.3), 0.5, Fraction(1, 2), Decimal("0.5"), 2, 2.0, math.inf]


@pytest.mark.parametrize(
    "of", [Micro, lambda micro: pure_loss(Micro(micro))], ids=["Micro", "Loss"]
)
def test_equal_amounts_hash_equally(of: Any) -> None:
    """An amount has the hash of every float, and of every number a float holds, that equals it."""
    amounts = [of(micro) for micro in (300_000, 500_000, 2_000_000, math.inf)]
    equal = [(a, b) for a in amounts for b in (*EQUALS, *amounts) if a == b]
    assert len(equal) == len(EQUALS) + len(amounts)
    assert all(b == a and hash(a) == hash(b) and len({a, b}) == 1 for a, b in equal)


def test_an_amount_is_a_number_for_python() -> None:
    """`float`, `format` and sets take an amount as its number; NaN and texts are none."""
    amount = Micro(1_250_000)
    assert (float(amount), f"{amount:.1f}", f"{amount}") == (1.25, "1.2", "1.25")
    assert amount in {1.25}
    assert not amount < math.nan
    assert amount < Decimal("Infinity") != amount
    assert not amount <= Decimal("NaN")
    assert amount != "1.25"
    with pytest.raises(TypeError):
        _ = amount < "2"


def test_a_guarantee_says_what_its_unit_costs() -> None:
    """Where the unit is a person, epsilon is that of all answers; else that of one thing."""
    promise = Guarantee(Micro(1), Micro(2), Micro(6), 3, (), delta=Fraction(1, 8))
    assert promise.epsilon == Micro(6)
    assert replace(promise, unit="record").epsilon == Micro(2)
    nothing = Guarantee.none("it is for study")
    assert (nothing.epsilon, nothing.status) == (INFINITE_LOSS, "none")
    assert nothing.assumptions == ("it is for study",)


@pytest.mark.parametrize("wrong", [{"unit": "Person"}, {"trust": "nobody"}, {"status": "likely"}])
def test_a_guarantee_in_unknown_words_is_refused(wrong: dict[str, Any]) -> None:
    """A misspelt unit would give the loss of one thing of many, so it is an error."""
    promise = Guarantee(Micro(1), Micro(2), Micro(6), 3, ())
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} is .*expected one of"):
        replace(promise, **wrong)


@given(amount=st.fractions(min_value=0, max_value=10**6))
def test_prop_an_amount_is_rounded_up_to_a_millionth(amount: Fraction) -> None:
    """The stated amount is at least the true one, and less than a millionth above it."""
    stated = Fraction(int(Micro.of_amount(amount).micro), MICRO)
    assert amount <= stated < amount + Fraction(1, MICRO)
    assert Micro.of_amount(Fraction(1, 3 * MICRO)) == Micro(1)
    assert Micro.of_amount(stated) == Micro(int(stated * MICRO))
