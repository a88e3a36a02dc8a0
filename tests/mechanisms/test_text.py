"""One text form of mechanisms, read strictly."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest

from masquerade.errors import MechanismSyntaxError, ParameterError
from masquerade.mechanisms import RandomizedResponse, TwoLayer, parse_mechanism


@pytest.mark.parametrize(
    "text",
    [
        "randomized-response:options=4,epsilon=1",
        "randomized-response:options=5,flip_probability=0.3,null=true",
        "randomized-response:options=2,epsilon=inf",
        "randomized-response:options=3,flip_probability=1/3",
        "two-layer:options=2,low=0,high=0.5379",
        "two-layer:options=3,low=1/3,high=1",
        "discrete-gaussian:low=1,high=5,step=1,sigma=3",
        "discrete-laplace:low=1,high=5,step=1,epsilon=1,null=true,fill=midpoint",
        "quantised-response:low=-100,high=100,step=1,epsilon=2,levels=5,null=true",
    ],
)
def test_a_mechanism_is_read_and_written_back_unchanged(text: str) -> None:
    """The documented texts come back letter for letter."""
    assert str(parse_mechanism(text)) == text


def test_spaces_order_and_a_false_null_do_not_matter() -> None:
    """Spaces around parts, another order of keys and null=false read as the plain form."""
    text = "  randomized-response: null=false , epsilon = 1.0 ,options=4 "
    assert parse_mechanism(text) == RandomizedResponse(4, epsilon=1)
    read = parse_mechanism("two-layer:high=1,options=2,low=0.5")
    assert read == TwoLayer(2, low=Fraction(1, 2), high=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mechanism '' is unknown; expected one of bitwise-response, crosswise, custom, "),
        ("coin:options=2", "mechanism 'coin' is unknown"),
        ("Two-Layer:options=2,low=0,high=1", "mechanism 'Two-Layer' is unknown"),
        ("two-layer:options", "'options' in 'two-layer:options' is not key=value"),
        ("two-layer:options=", "is not key=value"),
        ("two-layer:=2", "two-layer has no parameter ''"),
        ("two-layer:options=2,low=0,high=1,null=true", "no parameter 'null'; it has options, low"),
        ("randomized-response:option=2,epsilon=1", "no parameter 'option'"),
        ("two-layer:options=2,low=0,low=1", "'low' stands twice"),
        ("randomized-response:options=2,epsilon=1,null=yes", "null is 'yes', expected 'true'"),
        ("two-layer:options=2", "'low' and 'high'"),
        ("two-layer", "takes options, low, high"),
        ("randomized-response:epsilon=1", "'options'"),
    ],
)
def test_each_error_of_syntax_says_what_stands_where(text: str, message: str) -> None:
    """Unknown names and keys, missing and doubled keys are syntax errors that quote the text."""
    with pytest.raises(MechanismSyntaxError, match=re.escape(message)):
        parse_mechanism(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("randomized-response:options=1,epsilon=1", "options is 1"),
        ("randomized-response:options=2.5,epsilon=1", "options is '2.5'"),
        ("randomized-response:options=2,epsilon=-1", "epsilon is -1"),
        ("randomized-response:options=2,epsilon=nan", "epsilon is 'nan'"),
        ("randomized-response:options=2,epsilon=1e999999999", "expected a shorter number"),
        ("randomized-response:options=2", "give epsilon or flip_probability"),
        ("two-layer:options=2,low=1,high=0", "low is 1 and high is 0"),
    ],
)
def test_each_value_out_of_range_is_named(text: str, message: str) -> None:
    """A text of the right form with an impossible value names the value."""
    with pytest.raises(ParameterError, match=re.escape(message)):
        parse_mechanism(text)


@pytest.mark.parametrize("given", [None, 3, RandomizedResponse(2, epsilon=1)])
def test_only_a_text_is_read(given: Any) -> None:
    """A text form that is none is an error that shows one."""
    with pytest.raises(MechanismSyntaxError, match=f"not by {type(given).__name__}"):
        parse_mechanism(given)
