"""Skip logic: the questions shown to each person, and the conditions for hiding the way."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest

from masquerade.errors import ParameterError
from masquerade.mechanisms import CategoricalMechanism
from masquerade.surveys import (
    Choice,
    Comparison,
    DateQuestion,
    Number,
    PairVote,
    Placed,
    PromoterScore,
    Question,
    Ranking,
    Rating,
    ShowIf,
    Within,
    visibility,
)
from masquerade.surveys.condition_tree import Condition
from masquerade.surveys.conditions import check_conditions, questions_from_json
from masquerade.surveys.linked_questions import linked
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.survey import Survey

FIRST = Choice("a", "?", ("Yes", "No"))
SECOND = Rating("b", "?", 1, 3, allow_skip=True)
THIRD = Comparison("c", "?", "x", "y", allow_skip=True)
QUESTIONS: tuple[Question, ...] = (FIRST, SECOND, THIRD)
CONDITIONS = (None, ShowIf("a", ("Yes",)), ShowIf("b", ("2", "3")))


@pytest.mark.parametrize(
    ("codes", "flags"),
    [
        ([0, 2, 0], [True, True, True]),
        ([0, 0, 0], [True, True, False]),
        ([0, 3, 0], [True, True, False]),  # "no answer" shows nothing
        ([1, 2, 0], [True, False, False]),  # nor does an answer to what was not shown
        ([None, None, None], [True, False, False]),
    ],
)
def test_who_is_shown_what(codes: list[int | None], flags: list[bool]) -> None:
    """A question is shown after one of the answers named, to all with that question shown."""
    assert visibility(QUESTIONS, CONDITIONS, codes) == flags
    assert visibility(QUESTIONS, (), codes) == [True, True, True]


def test_conditions_survive_json() -> None:
    """They are written where their question is, and read again."""
    definition = Survey.at_levels(
        title="T", questions=QUESTIONS, levels=("high",), conditions=CONDITIONS
    )
    again = Survey.from_json(definition.to_json())
    assert again == definition
    assert again.conditions == CONDITIONS
    without = Survey.at_levels(title="T", questions=QUESTIONS, levels=("high",))
    assert without.content_hash() != definition.content_hash()
    assert "show_if" not in str(without.to_json())


@pytest.mark.parametrize(
    ("question", "condition", "says"),
    [
        (SECOND, ShowIf("z", ("Yes",)), "no question before it"),
        (SECOND, ShowIf("b", ("1",)), "no question before it"),
        (SECOND, ShowIf("n", ("1",)), "a number"),
        (Rating("b", "?"), ShowIf("a", ("Yes",)), "no allow_skip"),
        (Number("b", "?", 0, 9, "h"), ShowIf("a", ("Yes",)), "the answers of a number"),
        (SECOND, ShowIf("a", ("Perhaps",)), "'Perhaps'"),
        (SECOND, ShowIf("a", ()), "at least one"),
        (SECOND, ShowIf("a", ("Yes", "No")), "not all"),
        (SECOND, ShowIf("p", ("the first",)), "drawn for each person"),
        (SECOND, ShowIf("d", ("2025-01",)), "give a range"),
        (SECOND, Within("d", "2025-01", "2025-13"), "a month from 2025-01 to 2025-06"),
        (SECOND, Within("d", 1, 2), "a month from 2025-01"),
        (SECOND, Within("d", "2025-01", "2025-06"), "leave some out"),
        (SECOND, Within("n", "1", "2"), "takes 0 to 9"),
        (SECOND, Within("s", 0, 11), "takes 0 to 10"),
        (SECOND, Within("s", 0, 6.5), "takes 0 to 10"),
        (SECOND, Within("s", 0, 10), "leave some out"),
        (SECOND, ShowIf("r", ("x",)), "say too among how many"),
        (SECOND, Placed("r", ("w",), 1), "item 'w'"),
        (SECOND, Placed("r", (), 1), "at least one"),
        (SECOND, Placed("r", ("x",), 0), "which ranks 3"),
        (SECOND, Placed("r", ("x",), 4), "which ranks 3"),
        (SECOND, Placed("r", ("x", "y"), 2), "every ranking has"),
        (SECOND, Placed("a", ("Yes",), 1), "places of 'a'"),
        (SECOND, Within("a", 1, 2), "a range of 'a'"),
        (PairVote("v", "?", ("x", "y"), votes=1), ShowIf("a", ("Yes",)), "no allow_skip"),
    ],
)
def test_conditions_that_cannot_be_masked(
    question: Question, condition: Condition, says: str
) -> None:
    """A condition is on answers that an earlier question has, and has a masked "no answer"."""
    before = (
        FIRST,
        Number("n", "?", 0, 9, "h"),
        PairVote("p", "?", ("x", "y"), votes=1),
        DateQuestion("d", "?", first="2025-01", last="2025-06"),
        PromoterScore("s", "?"),
        Ranking("r", "?", ("x", "y", "z")),
    )
    with pytest.raises(ParameterError, match=says):
        check_conditions((*before, question), (*[None] * len(before), condition))


@pytest.mark.parametrize(
    ("question", "condition", "given"),
    [
        (
            DateQuestion("q", "?", first="2025-01", last="2025-12", bins=2, allow_skip=True),
            Within("q", "2025-02", "2025-03"),
            {"2025-01": False, "2025-02": True, "2025-03": True, "2025-04": False},
        ),
        (
            DateQuestion("q", "?", ("2026-05-17", "2026-06-01"), allow_skip=True),
            ShowIf("q", ("2026-06-01",)),
            {"2026-05-17": False, "2026-06-01": True},
        ),
        (PromoterScore("q", "?", allow_skip=True), Within("q", 0, 4), {4: True, 5: False}),
        (PromoterScore("q", "?", allow_skip=True), ShowIf("q", ("0–6",)), {5: True, 7: False}),
        (
            Number("q", "?", 0, 80, "h", allow_skip=True),
            Within("q", 40, 80),
            {39: False, 40: True, 80: True},
        ),
        (
            Ranking("q", "?", ("x", "y", "z"), 2, allow_skip=True),
            Placed("q", ("x",), 1),
            {("x", "y"): True, ("y", "x"): False, ("y", "z"): False},
        ),
        (
            Ranking("q", "?", ("x", "y", "z"), allow_skip=True),
            Placed("q", ("x", "y"), 2),
            {("z", "x", "y"): True},
        ),
    ],
)
def test_conditions_on_every_kind(
    question: Question, condition: Condition, given: dict[Any, bool]
) -> None:
    """An answer decides exactly where it is named, no answer decides nothing; JSON keeps it."""
    asked = (question, THIRD)
    conditions = (None, condition)
    check_conditions(asked, conditions)
    for answer, expected in given.items():
        code = question.code(answer)
        assert visibility(asked, conditions, [code, None]) == [True, expected]
    assert visibility(asked, conditions, [question.no_answer_code, None]) == [True, False]
    [data, other] = [one.to_json() for one in asked]
    again = questions_from_json([data, other | {"show_if": condition.to_json()}])
    assert again == (asked, conditions)


@pytest.mark.parametrize("data", [5, {}, {"question": "a"}, {"question": "a", "answers": "Yes"}])
def test_conditions_that_cannot_be_read(data: Any) -> None:
    """The message names the question."""
    question = {"kind": "choice", "id": "b", "text": "?", "options": ["x", "y"], "show_if": data}
    with pytest.raises(ParameterError, match="question 'b': show_if is"):
        questions_from_json([question])


def test_exact_one_changed_answer_costs_no_more_than_promised() -> None:
    """For all pairs of answers to the deciding question the whole table is within the promise.

    A change of that answer changes what else is answered; every report of the linked questions is
    enumerated in fractions.
    """
    definition = Survey.at_levels(
        title="T", questions=QUESTIONS, levels=("low",), conditions=CONDITIONS
    )
    [level] = definition.levels
    assert level.linked == linked(QUESTIONS, CONDITIONS).groups == ((0, 1, 2),)
    promised = level.guarantee()
    plain = OfferedLevel("low", level.mechanisms).guarantee()
    assert plain.epsilon_event < promised.epsilon_event
    assert promised.epsilon_event <= promised.epsilon_user == plain.epsilon_user
    tables = [m.channel().table for m in level.mechanisms if isinstance(m, CategoricalMechanism)]
    worst = Fraction(1)
    for first, other in itertools.permutations(_sent_by_people(), 2):
        for report in itertools.product(*(range(len(table)) for table in tables)):
            ratio = Fraction(1)
            for table, one, two, sent in zip(tables, first, other, report, strict=True):
                ratio *= Fraction(table[one][sent]) / Fraction(table[two][sent])
            worst = max(worst, ratio)
    assert math.log(worst) <= promised.epsilon_event.micro / 1e6


def _sent_by_people() -> list[tuple[int, ...]]:
    """Return the masks of people's devices: hidden questions hold "no answer"."""
    found = set()
    for codes in itertools.product(range(2), range(4), range(3)):
        flags = visibility(QUESTIONS, CONDITIONS, list(codes))
        nothing = [len(question.labels) for question in QUESTIONS]
        found.add(tuple(c if f else n for c, f, n in zip(codes, flags, nothing, strict=True)))
    return sorted(found)
