"""A cap holds for every choice on the way, and admits the charges of the table."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.accounting.charges import compared, random_list

from masquerade.accounting import Caps, what_a_cap_buys
from masquerade.accounting.account_words import answers_allowed
from masquerade.errors import ParameterError
from masquerade.exact import MICRO, Micro
from masquerade.exact.pairs import KnownPair, NoisePair, ResponsePair

NUMBER = NoisePair.of_number(4, Fraction(144))


@pytest.mark.parametrize(
    ("cap", "numbers", "twos", "fives", "tens"),
    [
        (3, (3, 0, 0), (8, 4, 2), (6, 3, 1), (4, 2, 1)),
        (6, (12, 3, 0), (17, 8, 4), (13, 6, 3), (11, 5, 2)),
        (10, (29, 7, 1), (31, 14, 6), (28, 10, 5), (26, 8, 4)),
        (20, (91, 22, 5), (90, 29, 13), (85, 24, 11), (82, 21, 9)),
    ],
)
def test_the_filter_admits_what_the_table_says(
    cap: int,
    numbers: tuple[int, ...],
    twos: tuple[int, ...],
    fives: tuple[int, ...],
    tens: tuple[int, ...],
) -> None:
    """Answers of each kind at high, medium and low under the caps of ACCOUNTANT's table."""
    found = what_a_cap_buys(Caps(Micro(cap * MICRO)))
    kinds = {"number": numbers, "2 options": twos, "5 options": fives, "10 options": tens}
    for kind, counts in kinds.items():
        levels = ("high", "medium", "low")
        assert tuple(found[f"{level}, {kind}"].ledger for level in levels) == counts
        assert all(
            found[f"{level}, {kind}"].by_method["fixed"] >= count
            for level, count in zip(levels, counts, strict=True)
        )


def test_surveys_that_reached_beyond_their_cap_are_refused() -> None:
    """Charges beyond delta under rule 2 fit no more, alone or chosen on the way."""
    one_sum = NoisePair(1, 1, 1 / (2 * Fraction(697069, 10**6)))
    yes_or_no = NoisePair(2, 1, 1 / Fraction(5135469, 10**6))
    assert not Caps(Micro(6 * MICRO)).admits(one_sum.loss)
    assert not Caps(Micro(20 * MICRO)).admits(yes_or_no.loss)
    assert one_sum.loss.clock == math.inf
    three = NoisePair(2, 1, 3 / Fraction(166861, 10**5))
    assert not Caps().admits(three.loss * 3)


@pytest.mark.parametrize("count", [60, pytest.param(1_000, marks=pytest.mark.exhaustive)])
def test_random_lists_are_never_below_another_accountant(count: int) -> None:
    """Epsilon, divergences, delta at the cap and tails of fixed lists beside dp-accounting.

    Its figures are rounded down, so that ours are never below. benchmarks/accountant.py compares
    10,000 lists.
    """
    pld: Any = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    lists = [random_list(seed) for seed in range(count)]
    found = [compared(caps, charges, pld) for caps, charges in lists if charges]
    assert len(found) >= 0.9 * count
    assert max(one.below for one in found) <= 0
    assert max(one.orders for one in found) <= 0
    assert max(one.delta for one in found) <= 1
    assert max(one.exceeded for one in found) <= 1
    assert float(np.median([one.tail for one in found])) <= 1.1
    noisy = [one.tail for one in found if one.exceeded]
    assert float(np.median(noisy)) <= 1.1
    assert max(noisy) <= 1.25


def test_what_a_charge_of_one_kind_is_allowed() -> None:
    """Answers in clear are counted by their own cap; charges without a cost have no number."""
    clear = answers_allowed(ResponsePair(1, 0, 2), Caps(clear=3))
    assert (clear.ledger, clear.by_method) == (3, {"clear": 3})
    with pytest.raises(ParameterError, match="costs nothing"):
        answers_allowed(ResponsePair(1, 1, 2), Caps())


def test_a_cap_is_an_amount() -> None:
    """A float is no cap: the error shows a cap."""
    with pytest.raises(ParameterError, match=r"the cap on epsilon is 10\.0, expected a finite"):
        Caps(10.0)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="delta is 1e-06"):
        Caps(delta=1e-6)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="clear is -1"):
        Caps(clear=-1)
    with pytest.raises(ParameterError, match="rule"):
        Caps(rule=4)


def test_a_share_is_above_1_exactly_where_a_loss_is_refused() -> None:
    """The smallest share over the conditions says whether an empty account admits a loss."""
    for cap in (1, 3, 10):
        caps = Caps(Micro(cap * MICRO))
        for count in range(1, 60):
            for pair in (NUMBER, ResponsePair(3, 1, 2), KnownPair(Micro(250_000))):
                loss = pair.loss * count
                share = caps.share(loss)
                assert share is not None
                assert (share <= 1) == caps.admits(loss)
    assert Caps(delta=Fraction(0)).share(NUMBER.loss) is None
