"""Questions have a closed, public domain and tell the faults of their definition."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade.surveys import Choice, Question, Rating, question_from_json

texts = st.text(min_size=1, max_size=500).filter(lambda text: bool(text.strip()))
choices = st.builds(
    Choice,
    id=texts,
    text=texts,
    options=st.lists(texts, min_size=2, max_size=6, unique=True).map(tuple),
    allow_skip=st.booleans(),
)
ratings = st.integers(-1000, 1000).flatmap(
    lambda low: st.builds(
        Rating,
        id=texts,
        text=texts,
        low=st.just(low),
        high=st.integers(low + 1, low + 99),
        low_label=texts | st.just(""),
        high_label=texts | st.just(""),
        allow_skip=st.booleans(),
    )
)


@given(question=choices | ratings)
def test_prop_a_question_survives_json(question: Question) -> None:
    """A question written as JSON and read back is the same question."""
    assert question_from_json(json.loads(json.dumps(question.to_json()))) == question


def test_a_choice_offers_its_options_in_order() -> None:
    """The labels of a choice are its options, and it has no numbers."""
    question = Choice("q", "Which?", ("b", "a"), truth="a")
    assert question.labels == ("b", "a")
    assert question.scores is None
    assert question.kind == "choice"
    assert not question.allow_skip


def test_a_rating_offers_each_whole_step() -> None:
    """The labels of a rating are its points as text, its scores the points."""
    question = Rating("q", "How much?", low=-1, high=2)
    assert question.labels == ("-1", "0", "1", "2")
    assert question.scores == (-1, 0, 1, 2)
    assert question.kind == "rating"
    assert Rating("q", "How much?").scores == (1, 2, 3, 4, 5)


def test_json_may_leave_out_what_has_a_default() -> None:
    """Kind, id, text and options are enough."""
    data = {"kind": "choice", "id": "q", "text": "?", "options": ["a", "b"]}
    before = dict(data)
    assert question_from_json(data) == Choice("q", "?", ("a", "b"))
    assert data == before
    assert question_from_json({"kind": "rating", "id": "q", "text": "?"}) == Rating("q", "?")


CHOICE: dict[str, Any] = {"kind": "choice", "id": "q", "text": "Which?", "options": ["a", "b"]}
RATING: dict[str, Any] = {"kind": "rating", "id": "q", "text": "How much?"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {**CHOICE, "kind": "text"},
            "question kind 'text' is unknown; .*Free text cannot be masked",
        ),
        ({"id": "q"}, "question kind None is unknown"),
        ([], r"a question is \[\], expected a JSON object"),
        ({**CHOICE, "id": 5}, "id is 5, expected a text"),
        ({**CHOICE, "text": "x" * 501}, "has 501 characters; shorten it to 500"),
        ({**CHOICE, "options": ["a"]}, "give 2 to 100 options, not 1"),
        ({**CHOICE, "options": [str(i) for i in range(101)]}, "give 2 to 100 options, not 101"),
        ({**CHOICE, "options": []}, "give 2 to 100 options, not 0"),
        ({**CHOICE, "options": "ab"}, "options is 'ab', expected several texts"),
        ({**CHOICE, "options": None}, "options is None"),
        ({**CHOICE, "options": ["a", ""]}, "option is empty"),
        ({**CHOICE, "options": ["a", 2]}, "option is 2, expected a text"),
        ({**CHOICE, "options": ["a", ["b"]]}, r"option is \['b'\], expected a text"),
        ({**CHOICE, "options": ["a", "b", "a"]}, "option 'a' stands twice"),
        ({**CHOICE, "truth": "c"}, r"truth 'c' is not one of its options \['a', 'b'\]"),
        ({**CHOICE, "allow_skip": "no"}, "allow_skip is 'no', expected true or false"),
        ({"kind": "choice", "id": "q", "text": "?"}, "give 2 to 100 options, not 0"),
        ({**RATING, "low": 3, "high": 3}, "3 is not above 3, where it begins"),
        ({**RATING, "low": 5, "high": 1}, "1 is not above 5"),
        ({**RATING, "low": 0, "high": 100}, "0 to 100 has 101 points; a rating has 100"),
        ({**RATING, "low": 1.5}, "low is 1.5, expected a whole number"),
        ({**RATING, "high": "5"}, "high is '5', expected a whole number"),
        ({**RATING, "high": True}, "high is True, expected a whole number"),
        ({**RATING, "low_label": 3}, "low_label is 3, expected a text"),
        ({**RATING, "high_label": "x" * 501}, "high_label has 501 characters"),
        ({**RATING, "allow_skip": 1}, "allow_skip is 1, expected true or false"),
        ({**RATING, "truth": 3}, "a rating question cannot be read: .*truth"),
    ],
)
def test_a_bad_definition_says_what_is_wrong(data: Any, message: str) -> None:
    """Each fault of a definition is an error that names the question, the field and the value."""
    with pytest.raises(ParameterError, match=message):
        question_from_json(data)


def test_questions_are_frozen() -> None:
    """A question cannot change once it is made."""
    with pytest.raises(AttributeError):
        Choice("q", "?", ("a", "b")).id = "r"  # type: ignore[misc]
