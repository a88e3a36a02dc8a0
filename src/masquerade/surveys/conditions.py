"""Skip logic: questions that are shown only after certain answers to earlier ones.

It runs where the answers are, on the device. Whoever is not shown a question answers it with "no
answer", which is masked like every other answer, so that nobody can tell who was asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from masquerade.errors import ParameterError
from masquerade.surveys.condition_tree import (
    Condition,
    Conditions,
    Leaf,
    condition_error,
    condition_from_json,
)
from masquerade.surveys.kinds import question_from_json
from masquerade.surveys.question import Question


def questions_from_json(data: Any) -> tuple[tuple[Question, ...], Conditions]:
    """Return the questions of a JSON list, and when each is shown; empty where all always are.

    Examples
    --------
    >>> from masquerade.surveys import Choice
    >>> asked = [Choice("ill", "Have you worked while ill?", ("Yes", "No")).to_json()]
    >>> questions, conditions = questions_from_json(asked)
    >>> len(questions), conditions
    (1, ())
    """
    if not isinstance(data, list):
        raise ParameterError(f"questions is {data!r}, expected a list.", field="questions")
    questions: list[Question] = []
    conditions: list[Condition | None] = []
    for one in data:
        fields = dict(one) if isinstance(one, dict) else one
        given = fields.pop("show_if", None) if isinstance(fields, dict) else None
        question = question_from_json(fields)
        questions.append(question)
        conditions.append(None if given is None else condition_from_json(given, of=question.id))
    return tuple(questions), tuple(conditions) if any(conditions) else ()


def check_conditions(questions: Sequence[Question], conditions: Conditions) -> None:
    """Raise, naming the question, unless each condition is on earlier answers and can be masked."""
    if not conditions:
        return
    earlier: dict[str, Question] = {}
    for question, condition in zip(questions, conditions, strict=True):
        if condition is not None:
            if not question.allow_skip:
                raise condition_error(
                    question.id,
                    ' has show_if and no allow_skip; who is not shown it sends a masked "no '
                    f'answer", so it must be among the answers of {question.called}.',
                )
            for leaf in condition.leaves():
                check_leaf(question.id, leaf, earlier)
        earlier[question.id] = question


def check_leaf(of: str, leaf: Leaf, earlier: Mapping[str, Question]) -> None:
    """Raise unless a condition is on answers that an earlier question has.

    `of`: id of the question that it belongs to.
    """
    before = earlier.get(leaf.question)
    if before is None:
        raise condition_error(
            of, f": show_if names {leaf.question!r}, which is no question before it."
        )
    fault = before.fault_of(leaf)
    if fault is not None:
        raise condition_error(of, f": show_if names {fault}")


def visibility(
    questions: Sequence[Question], conditions: Conditions, codes: Sequence[int | None]
) -> list[bool]:
    """Return which questions are shown after these answers.

    Parameters
    ----------
    questions : sequence of Question
    conditions : tuple
        One for each question, or empty.
    codes : sequence of int or None
        Of the answers so far; None where there is none yet, which shows nothing.

    Examples
    --------
    >>> from masquerade.surveys import Choice, ShowIf
    >>> first = Choice("a", "Do you commute?", ("Yes", "No"))
    >>> second = Choice("b", "By train?", ("Yes", "No"), allow_skip=True)
    >>> visibility((first, second), (None, ShowIf("a", ("Yes",))), [1, None])
    [True, False]
    """
    flags: list[bool] = []
    places = {question.id: place for place, question in enumerate(questions)}

    def met(leaf: Leaf) -> bool:
        before = places[leaf.question]
        code = codes[before]
        # An answer to what was not shown is none.
        return flags[before] and code is not None and questions[before].meets(code, leaf)

    for place in range(len(questions)):
        condition = conditions[place] if conditions else None
        flags.append(condition is None or condition.holds(met))
    return flags
