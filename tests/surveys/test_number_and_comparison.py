"""Questions for numbers and for comparisons have closed domains that are right by construction."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade.surveys import Comparison, Number, question_from_json


@given(
    low=st.integers(-1000, 1000),
    points=st.integers(2, 1000),
    step=st.sampled_from([1, 2, 0.5, 0.1, 0.01, 0.25]),
)
def test_prop_a_number_survives_json(low: int, points: int, step: float) -> None:
    """A scale of so many points has so many, and comes back from JSON as it was."""
    high = round(low + step * (points - 1), 6)
    question = Number("n", "How long?", low, high, "hours", step)
    assert question.answer_count == points
    assert question_from_json(json.loads(json.dumps(question.to_json()))) == question


@given(tie=st.sampled_from(["", "Neither"]), skip=st.booleans())
def test_prop_a_comparison_survives_json(tie: str, skip: bool) -> None:
    """A comparison comes back from JSON as it was, with two answers or three."""
    question = Comparison("p", "Which?", "Tea", "Coffee", tie, allow_skip=skip)
    assert question.labels == ("Tea", "Coffee", "Neither")[: 2 + bool(tie)]
    assert question_from_json(json.loads(json.dumps(question.to_json()))) == question


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"low": 5, "high": 5}, "5 is not above 5"),
        ({"low": 5, "high": 1}, "1 is not above 5"),
        ({"step": 0}, "lead nowhere"),
        ({"step": -1}, "lead nowhere"),
        ({"step": 0.3}, "do not lead to 10"),
        ({"high": 10**6}, "give larger steps"),
        ({"low": float("nan")}, "low is nan"),
        ({"high": float("inf")}, "high is inf"),
        ({"low": True}, "low is True"),
        ({"step": "1"}, "step is '1'"),
        ({"unit": " "}, "unit is empty"),
        ({"text": ""}, "text is empty"),
        ({"allow_skip": 1}, "allow_skip is 1"),
    ],
)
def test_what_is_no_scale_is_refused(changes: dict[str, Any], says: str) -> None:
    """A scale that does not come out even, is empty or endless, or has no unit is an error."""
    fields = {"kind": "number", "id": "n", "text": "?", "low": 0, "high": 10, "unit": "h"}
    assert question_from_json(fields).labels == ()
    with pytest.raises(ParameterError, match=says):
        question_from_json({**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"item_a": ""}, "item_a is empty"),
        ({"item_b": "Tea"}, "not all different"),
        ({"tie": "Tea"}, "not all different"),
        ({"tie": " "}, "tie is empty"),
        ({"allow_skip": 1}, "allow_skip is 1"),
        ({"item_c": "Milk"}, "cannot be read"),
    ],
)
def test_what_is_no_comparison_is_refused(changes: dict[str, Any], says: str) -> None:
    """Two items that are one, or none, are an error."""
    fields = {"kind": "comparison", "id": "p", "text": "?", "item_a": "Tea", "item_b": "Coffee"}
    assert question_from_json(fields).scores is None
    with pytest.raises(ParameterError, match=says):
        question_from_json({**fields, **changes})
