"""Skip logic: a question that is shown only after certain answers to an earlier one.

It runs where the answers are, on the device. Whoever is not shown a question answers it with "no
answer", which is masked like every other answer, so that nobody can tell who was asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from masquerade.errors import ParameterError
from masquerade.surveys.kinds import kinds, question_from_json
from masquerade.surveys.question import Question


@dataclass(frozen=True, slots=True)
class ShowIf:
    """When a question is shown.

    Attributes
    ----------
    question : str
        Id of an earlier question with labels.
    answers : tuple of str
        Labels of that question; any of them shows this one.

    Examples
    --------
    >>> ShowIf("ill", ("Yes",)).to_json()
    {'question': 'ill', 'answers': ['Yes']}
    """

    question: str
    answers: tuple[str, ...]

    def met_by(self, question: Question, code: int) -> bool:
        """Return whether an answer to the earlier question shows this one.

        "No answer" is the code after the last label, and shows nothing.
        """
        return 0 <= code < len(question.labels) and question.labels[code] in self.answers

    def to_json(self) -> dict[str, Any]:
        """Return the condition as a JSON object."""
        return {"question": self.question, "answers": list(self.answers)}

    @classmethod
    def from_json(cls, data: Any, *, of: str) -> ShowIf:
        """Return the condition that a JSON object describes.

        `of` is the id of the question that it belongs to, for messages.
        """
        keys = {"question", "answers"}
        if not isinstance(data, dict) or set(data) != keys or not isinstance(data["answers"], list):
            raise _error(
                of,
                f': show_if is {data!r}, expected {{"question": an earlier id, "answers": [its '
                "labels]}.",
            )
        return cls(data["question"], tuple(data["answers"]))


Conditions = tuple[ShowIf | None, ...]


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
    conditions: list[ShowIf | None] = []
    for one in data:
        fields = dict(one) if isinstance(one, dict) else one
        given = fields.pop("show_if", None) if isinstance(fields, dict) else None
        question = question_from_json(fields)
        questions.append(question)
        conditions.append(None if given is None else ShowIf.from_json(given, of=question.id))
    return tuple(questions), tuple(conditions) if any(conditions) else ()


def check_conditions(questions: Sequence[Question], conditions: Conditions) -> None:
    """Raise, naming the question, unless each condition is on earlier labels and can be masked."""
    if not conditions:
        return
    earlier: dict[str, Question] = {}
    for question, condition in zip(questions, conditions, strict=True):
        if condition is not None:
            _check(question, condition, earlier)
        earlier[question.id] = question


def _check(question: Question, condition: ShowIf, earlier: Mapping[str, Question]) -> None:
    before = earlier.get(condition.question)
    if before is None:
        raise _error(
            question.id, f": show_if names {condition.question!r}, which is no question before it."
        )
    if not before.decides:
        deciding = [kind.called for kind in kinds().values() if kind.decides]
        raise _error(
            question.id,
            f": show_if names {before.id!r}, {before.called}; only {' or '.join(deciding)} can "
            "decide what is shown.",
        )
    if not question.allow_skip:
        raise _error(
            question.id,
            ' has show_if and no allow_skip; who is not shown it sends a masked "no answer", so '
            f"it must be among the answers of {question.called}.",
        )
    labels = before.labels
    unknown = next((a for a in condition.answers if a not in labels), None)
    if unknown is not None:
        raise _error(
            question.id,
            f": show_if names the answer {unknown!r}, and {before.id!r} has {list(labels)}.",
        )
    # All labels may be named where "no answer" is left to hide the question.
    if not 1 <= len(set(condition.answers)) < len(labels) + before.allow_skip:
        raise _error(
            question.id,
            f": show_if names {len(condition.answers)} answers of {before.id!r}; name at least "
            "one, and not all.",
        )


def _error(question: str, wrong: str) -> ParameterError:
    return ParameterError(f"question {question!r}{wrong}", field="show_if", question=question)


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
    >>> from masquerade.surveys import Choice
    >>> first = Choice("a", "Do you commute?", ("Yes", "No"))
    >>> second = Choice("b", "By train?", ("Yes", "No"), allow_skip=True)
    >>> visibility((first, second), (None, ShowIf("a", ("Yes",))), [1, None])
    [True, False]
    """
    flags: dict[str, bool] = {}
    places = {question.id: place for place, question in enumerate(questions)}
    for place, question in enumerate(questions):
        condition = conditions[place] if conditions else None
        if condition is None:
            flags[question.id] = True
            continue
        before = places[condition.question]
        code = codes[before]
        flags[question.id] = (
            # A question below one that was not shown is not shown either.
            flags[condition.question]
            and code is not None
            and condition.met_by(questions[before], code)
        )
    return list(flags.values())


def linked(questions: Sequence[Question], conditions: Conditions) -> tuple[tuple[int, ...], ...]:
    """Return for each question that decides over others its place and theirs, however far.

    A change of that one answer can change the reports of all of them.
    """
    if not conditions:
        return ()
    places = {question.id: place for place, question in enumerate(questions)}
    below: dict[int, set[int]] = {place: {place} for place in places.values()}
    # From the last one: a group is whole before it joins that of the question above.
    for place in reversed(range(len(questions))):
        condition = conditions[place]
        if condition is not None:
            below[places[condition.question]] |= below[place]
    return tuple(tuple(sorted(group)) for group in below.values() if len(group) > 1)
