"""Skip logic at the participant: hidden questions are masked as "no answer"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from masquerade.client import Answer, Client, MaskedQuestion, is_asked
from masquerade.client.offer import read_survey
from masquerade.client.questions import codes_of, masked_questions
from masquerade.errors import BrokenPromise, MissingValue, ParameterError
from masquerade.surveys import Choice, Question, Rating, ShowIf
from masquerade.surveys.survey import Survey

if TYPE_CHECKING:
    from tests.conftest import LiveServers

QUESTIONS: tuple[Question, ...] = (
    Choice("leave", "Leave?", ("Yes", "No")),
    Rating("why", "How soon?", 1, 3, allow_skip=True),
)
CONDITIONS = (None, ShowIf("leave", ("Yes",)))


def definition() -> Survey:
    """Return a survey with a second question that only some are asked."""
    return Survey.at_levels(title="T", questions=QUESTIONS, levels=("low",), conditions=CONDITIONS)


def sent(**changes: Any) -> tuple[MaskedQuestion, ...]:
    """Return the questions as a server sends them; `changes` are of the second."""
    data = json.loads(definition().text())
    data["questions"][1].update(changes)
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return masked_questions(read_survey(text), "low")


def test_what_is_not_asked_is_no_answer() -> None:
    """Its code is that of "no answer", whether it is left out or None."""
    asked = sent()
    assert codes_of(asked, {"leave": "Yes", "why": 2}) == [0, 1]
    assert codes_of(asked, {"leave": "No"}) == [1, 3]
    assert codes_of(asked, {"leave": "No", "why": None}) == [1, 3]
    assert is_asked(asked, [0])
    assert not is_asked(asked, [1])


def test_answers_that_do_not_fit_are_refused() -> None:
    """An answer to a hidden question, and none to a shown one; no message repeats an answer."""
    asked = sent()
    with pytest.raises(ParameterError, match="'why' is not asked"):
        codes_of(asked, {"leave": "No", "why": 2})
    with pytest.raises(MissingValue, match="'why' has no answer"):
        codes_of(asked, {"leave": "Yes"})


@pytest.mark.parametrize(
    "condition",
    [
        {"question": "later", "answers": ["Yes"]},
        {"question": "leave", "answers": ["Perhaps"]},
        {"question": "leave"},
        5,
    ],
)
def test_a_condition_that_makes_no_sense_is_a_broken_promise(condition: Any) -> None:
    """Nothing is answered where nobody could tell the next question."""
    with pytest.raises(BrokenPromise):
        sent(show_if=condition)


def test_a_survey_with_skip_logic_is_answered(live_server: LiveServers, tmp_path: Path) -> None:
    """People with all questions and people with some send a report to every question."""
    server = live_server()
    survey = server.services.surveys.open_survey(definition())
    given: tuple[dict[str, Answer], ...] = ({"leave": "Yes", "why": 3}, {"leave": "No"})
    for place, answers in enumerate(given):
        with Client(server.url, home=tmp_path / str(place)) as me:
            receipt = me.begin(survey.token).answer(answers)
            assert [one.question.id for one in receipt.reports] == ["leave", "why"]
    assert server.services.surveys.record(survey.token).responses == 2
