"""A channel is a table of exact probabilities, and its epsilon is read off the whole table."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, NO_LOSS, Micro
from masquerade.mechanisms import CategoricalMechanism, Channel, RandomizedResponse, parse_mechanism

probabilities = st.fractions(min_value=0, max_value=1, max_denominator=1000)


@given(symbols=st.integers(2, 7), flip=probabilities)
def test_exact_symmetric_rows_sum_to_one_and_the_worst_ratio_is_the_closed_form(
    symbols: int, flip: Fraction
) -> None:
    """Every row sums to 1, and the enumerated worst ratio is that of keeping against moving."""
    channel = Channel.symmetric(symbols=symbols, flip_probability=flip)
    assert all(sum(row) == 1 for row in channel.table)
    keep, other = 1 - flip, flip / (symbols - 1)
    high, low = max(keep, other), min(keep, other)
    assert channel.worst_ratio() == (high / low if low else math.inf)


def test_a_table_without_symmetry_is_searched_column_by_column() -> None:
    """The worst ratio is the largest within any column, wherever it stands."""
    table = (
        (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)),
        (Fraction(2, 5), Fraction(1, 5), Fraction(2, 5)),
        (Fraction(1, 2), Fraction(2, 5), Fraction(1, 10)),
    )
    assert Channel(table).worst_ratio() == 4
    assert Channel(table).epsilon() == Micro.of_ratio(Fraction(4))


def test_a_report_that_only_some_answers_give_costs_infinitely_much() -> None:
    """A zero beside a positive probability is an infinite loss; a column of zeros is none."""
    half, none = Fraction(1, 2), Fraction(0)
    assert Channel(((half, half), (Fraction(1), none))).epsilon() == INFINITE_LOSS
    assert Channel(((half, half, none), (half, half, none))).epsilon() == NO_LOSS


@pytest.mark.parametrize(
    ("flip", "epsilon"),
    [(Fraction(0), INFINITE_LOSS), (Fraction(1), INFINITE_LOSS), (Fraction(1, 2), NO_LOSS)],
)
def test_the_ends_of_two_symbols(flip: Fraction, epsilon: Micro) -> None:
    """Never or always flipping hides nothing, flipping half the time hides everything."""
    assert Channel.symmetric(symbols=2, flip_probability=flip).epsilon() == epsilon


def test_the_matrix_is_the_table_in_floats() -> None:
    """Inference gets the same numbers, rows for answers and columns for reports."""
    matrix = Channel.symmetric(symbols=3, flip_probability=Fraction(1, 2)).matrix()
    assert matrix.tolist() == [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    assert matrix.dtype == np.float64


def test_a_table_too_large_to_write_down_is_refused() -> None:
    """The table of 100,000 symbols is an error and not an exhausted memory."""
    with pytest.raises(ParameterError, match=r"has more than 2..22 entries"):
        Channel.symmetric(symbols=100_000, flip_probability=Fraction(1, 2))


@pytest.mark.parametrize(
    "text",
    [
        "randomized-response:options=3,epsilon=1",
        "randomized-response:options=4,flip_probability=0.9,null=true",
        "two-layer:options=3,low=0.1,high=0.7",
        "two-layer:options=2,low=0.25,high=0.25",
    ],
)
def test_exact_probabilities_of_one_report_are_those_of_the_table(text: str) -> None:
    """A mechanism's account of one report without its table agrees with the table."""
    mechanism = parse_mechanism(text)
    assert isinstance(mechanism, CategoricalMechanism)
    keep, other = mechanism.channel().table[0][:2]
    assert (mechanism.keep_probability, mechanism.other_probability) == (keep, other)
    assert mechanism.mean_flip_probability == 1 - keep
    assert mechanism.signal == keep - other


def test_many_options_need_no_table() -> None:
    """Variance and words of a mechanism with a million options need no table of a million rows."""
    mechanism = RandomizedResponse(1_000_000, epsilon=3)
    assert 50 < mechanism.variance() / 1_000_000 < 60_000
