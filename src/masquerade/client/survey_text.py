"""The canonical text of a survey: what is hashed is what is read, and what is read is shown."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, NoReturn

from masquerade.errors import BrokenPromise, MasqueradeError
from masquerade.surveys import Question, ShowIf, questions_from_json
from masquerade.surveys.conditions import Conditions, check_conditions, linked

MOST_QUESTIONS = 200
REVEALS = ("before_send", "after_send")
TEXTS = ("title", "description", "topic", "template")
_KEYS = {*TEXTS, "reveal", "questions", "levels"}
_USUAL_ESTIMATOR = "eb"


@dataclass(frozen=True, slots=True)
class SurveyText:
    """A survey as its text says.

    Attributes
    ----------
    title, description, topic, template, reveal, estimator : str
    questions : tuple of Question
    conditions : tuple of ShowIf or None
        One for each question, or empty.
    levels : dict of str to list of str
        The text forms of each level's mechanisms, in question order.
    """

    title: str
    description: str
    topic: str
    template: str
    reveal: str
    estimator: str
    questions: tuple[Question, ...]
    conditions: Conditions
    levels: dict[str, list[str]]

    @classmethod
    def read(cls, text: str) -> SurveyText:
        """Return the survey that a canonical text describes.

        Raises
        ------
        BrokenPromise
            It describes none; nothing of it may be shown.
        """
        try:
            found = json.loads(text, parse_constant=_refuse)
            questions, conditions = questions_from_json(found["questions"])
            estimator = found.get("estimator", _USUAL_ESTIMATOR)
            values = {name: found[name] for name in (*TEXTS, "reveal", "levels")}
            if set(found) - {"estimator"} != _KEYS:
                raise ValueError("there is more in it than is shown")
            if not 1 <= len(questions) <= MOST_QUESTIONS:
                raise ValueError(f"{len(questions)} questions")
            if len({question.id for question in questions}) < len(questions):
                raise ValueError("two questions have the same id")
            for question, condition, given in zip(
                questions, conditions or (None,) * len(questions), found["questions"], strict=True
            ):
                # Word by word: nothing is left to a default, and nothing is there unread.
                if given != _canonical(question, condition):
                    raise ValueError(f"question {question.id!r} is not whole")
            check_conditions(questions, conditions)
            _require_texts([*(values[name] for name in TEXTS), estimator])
            _require_levels(values["levels"], len(questions))
            if values["reveal"] not in REVEALS:
                raise ValueError("it does not say when reports are shown")
        except (MasqueradeError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BrokenPromise(
                f"the survey cannot be read ({error}); nothing was answered."
            ) from error
        return cls(**values, estimator=estimator, questions=questions, conditions=conditions)

    @property
    def kinds(self) -> dict[str, int]:
        """How many questions there are of each kind."""
        return dict(Counter(question.kind for question in self.questions))

    @property
    def linked(self) -> list[list[int]]:
        """Places of questions whose reports can all change with one answer."""
        return sorted(list(group) for group in linked(self.questions, self.conditions))


def hash_of(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _canonical(question: Question, condition: ShowIf | None) -> dict[str, Any]:
    whole = {name: value for name, value in question.to_json().items() if name != "truth"}
    return whole if condition is None else whole | {"show_if": condition.to_json()}


def _require_texts(values: list[Any]) -> None:
    if not all(isinstance(value, str) for value in values):
        raise ValueError("a title, or what stands beside it, is no text")


def _require_levels(levels: Any, questions: int) -> None:
    if not isinstance(levels, dict) or not levels:
        raise ValueError("it has no levels")
    for mechanisms in levels.values():
        if not isinstance(mechanisms, list) or len(mechanisms) != questions:
            raise ValueError("a level has not one mask for each question")
        _require_texts(mechanisms)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}, which is no number")
