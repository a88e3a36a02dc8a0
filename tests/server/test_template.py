"""A few lines of text become questions, or an error that says which line is wrong."""

from __future__ import annotations

import pytest

from masquerade.answers import Choice, Rating
from masquerade.errors import ParameterError
from masquerade.server.template import TEMPLATES, questions_from_text


def test_rating_items() -> None:
    """Each line that is not blank becomes a rating from 1 to 5."""
    questions = questions_from_text("rate", items=" The food \r\n\n The room\n", options="x")
    assert [(q.id, q.text) for q in questions] == [("q1", "The food"), ("q2", "The room")]
    for question in questions:
        assert isinstance(question, Rating)
        assert question.labels == ("1", "2", "3", "4", "5")
        assert (question.low_label, question.high_label) == ("not at all", "very")
        assert not question.allow_skip


def test_picking_one() -> None:
    """All lines of the question are one question, each line of the options an option."""
    [question] = questions_from_text("pick", items="Is it\nso?", options=" Yes \nNo\n\nMaybe")
    assert isinstance(question, Choice)
    assert (question.text, question.options) == ("Is it so?", ("Yes", "No", "Maybe"))
    assert question.truth is None


def test_labelling_items() -> None:
    """A line "item = label" has that right label where it is one, else it is all item."""
    items = "one = Cat\ntwo\nx = y = Dog\n1 + 1 = 2\nthree=Cat"
    questions = questions_from_text("label", items=items, options="Cat\nDog")
    found = [(q.text, q.truth) for q in questions if isinstance(q, Choice)]
    assert found == [
        ("one", "Cat"),
        ("two", None),
        ("x = y", "Dog"),
        ("1 + 1 = 2", None),
        ("three", "Cat"),
    ]
    assert len({q.id for q in questions}) == 5


@pytest.mark.parametrize("template", list(TEMPLATES))
def test_skipping_is_offered_by_all_or_none(template: str) -> None:
    """Where skipping is allowed, every question of every template offers it."""
    for allow in (False, True):
        questions = questions_from_text(template, items="a\nb", options="x\ny", allow_skip=allow)
        assert {question.allow_skip for question in questions} == {allow}


@pytest.mark.parametrize("template", list(TEMPLATES))
def test_examples_can_be_used_as_they_are(template: str) -> None:
    """The example that fills each form is a survey, and boxes without a hint are not needed."""
    chosen = TEMPLATES[template]
    assert chosen.name == template
    assert questions_from_text(template, items=chosen.example_items, options=chosen.example_options)
    assert bool(chosen.options_hint) == bool(chosen.example_options)


@pytest.mark.parametrize(
    ("template", "items", "options", "says"),
    [
        ("rate", "", "", "nothing to ask"),
        ("pick", " \n\t", "A\nB", "nothing to ask"),
        ("pick", "?", "", "0 options"),
        ("pick", "?", "A", "1 options"),
        ("label", "?", "A\n A ", "stands twice"),
        ("label", "= A", "A\nB", "text is empty"),
        ("rate", "ok\n" + "x" * 501, "", "'q2'.*501 characters"),
        ("nothing", "?", "A\nB", "template is 'nothing'"),
    ],
)
def test_text_that_cannot_be_used(template: str, items: str, options: str, says: str) -> None:
    """Missing, doubled or overlong text is refused with the reason."""
    with pytest.raises(ParameterError, match=says):
        questions_from_text(template, items=items, options=options)


def test_a_label_written_almost_right_is_refused() -> None:
    """An item whose known label has a typing error is not shown to participants as it stands."""
    with pytest.raises(ParameterError, match=r"'positive' is not one of the labels"):
        questions_from_text("label", items="Fine. = positive", options="Positive\nNegative")
    [question] = questions_from_text("label", items="2 + 2 = 4", options="True\nFalse")
    assert question.text == "2 + 2 = 4"
