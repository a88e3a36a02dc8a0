"""A survey as it is asked: title, level, questions and the mechanism of each."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from masquerade.accounting import compose
from masquerade.answers import Question, question_from_json
from masquerade.errors import ParameterError
from masquerade.mechanisms import (
    INFINITE_LOSS,
    CategoricalMechanism,
    Guarantee,
    TwoLayer,
    level_named,
    parse_mechanism,
)

MOST_QUESTIONS = 200
KEEP_PER_ANSWER, KEEP_PER_PERSON = "per-answer", "per-person"


@dataclass(frozen=True, slots=True)
class Definition:
    """A survey as it is asked; nothing of it changes once it is open.

    Attributes
    ----------
    title, description : str
    template : str
        Which template it came from; decides how results are shown.
    level : str
        Name of the privacy level, the same for everybody.
    questions : tuple of Question
    mechanisms : tuple of CategoricalMechanism
        One for each question.
    """

    title: str
    description: str
    template: str
    level: str
    questions: tuple[Question, ...]
    mechanisms: tuple[CategoricalMechanism, ...]

    def __post_init__(self) -> None:
        if not self.title.strip() or len(self.title) > 200:
            raise ParameterError("the title is empty or longer than 200 characters.")
        if "\0" in self.title:  # which databases cannot keep
            raise ParameterError("the title holds a NUL character; leave it out.")
        if len(self.description) > 2000:
            raise ParameterError(
                f"the description has {len(self.description)} characters; shorten it to 2000."
            )
        if not 1 <= len(self.questions) <= MOST_QUESTIONS:
            raise ParameterError(
                f"the survey has {len(self.questions)} questions; give 1 to {MOST_QUESTIONS}."
            )
        ids = [question.id for question in self.questions]
        if len(set(ids)) < len(ids):
            raise ParameterError("two questions have the same id; give each its own.")
        for question, mechanism in zip(self.questions, self.mechanisms, strict=True):
            if mechanism.symbols != len(question.labels) + question.allow_skip:
                raise ParameterError(
                    f"question {question.id!r} has {len(question.labels)} options and {mechanism} "
                    f"masks {mechanism.options}; they must agree."
                )
        if self.guarantee().epsilon_user == INFINITE_LOSS:
            raise ParameterError(
                "a mechanism of this survey gives no privacy at all; a live survey needs one that "
                "does. Choose a level, or a flip probability above 0."
            )

    @classmethod
    def at_level(
        cls,
        *,
        title: str,
        description: str,
        template: str,
        level: str,
        questions: tuple[Question, ...],
        masking: str = KEEP_PER_ANSWER,
    ) -> Definition:
        """Return the survey with each question's mechanism chosen by the level.

        `masking` is ``"per-answer"`` (randomized response) or ``"per-person"`` (two-layer, whose
        one-report loss is the level's).
        """
        masked = functools.cache(level_named(level).randomized_response)
        mechanisms: list[CategoricalMechanism] = []
        for question in questions:
            one = masked(len(question.labels), null=question.allow_skip)
            if masking == KEEP_PER_ANSWER:
                mechanisms.append(one)
            elif masking != KEEP_PER_PERSON:
                raise ParameterError(
                    f"masking is {masking!r}, expected {KEEP_PER_ANSWER!r} or {KEEP_PER_PERSON!r}."
                )
            elif question.allow_skip:
                raise ParameterError(
                    f"question {question.id!r} can be skipped, which one flip probability a person "
                    f"does not protect; use masking {KEEP_PER_ANSWER!r}."
                )
            else:
                mean = one.flip_probability.limit_denominator(10**9)
                width = min(mean, 1 - mean)
                mechanisms.append(TwoLayer(one.options, low=mean - width, high=mean + width))
        return cls(title, description, template, level, questions, tuple(mechanisms))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Definition:
        """Return the survey that a JSON object describes."""
        return cls(
            title=data["title"],
            description=data["description"],
            template=data["template"],
            level=data["level"],
            questions=tuple(question_from_json(q) for q in data["questions"]),
            mechanisms=tuple(_for_survey(m) for m in data["mechanisms"]),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the survey as a JSON object."""
        return {
            "title": self.title,
            "description": self.description,
            "template": self.template,
            "level": self.level,
            "questions": [question.to_json() for question in self.questions],
            "mechanisms": [str(mechanism) for mechanism in self.mechanisms],
        }

    def guarantee(self) -> Guarantee:
        """Return what one response promises the person who sends it."""
        return _composed(self.mechanisms)

    def content_hash(self) -> str:
        """Return the SHA-256 of the canonical JSON form, which responses must name.

        Right answers are left out: as all else is public, the hash would give them away.
        """
        shown = self.to_json()
        for question in shown["questions"]:
            question.pop("truth", None)
        text = json.dumps(shown, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


# Both are asked for with every response and never change.
@lru_cache(maxsize=1024)
def _composed(mechanisms: tuple[CategoricalMechanism, ...]) -> Guarantee:
    return compose(mechanisms)


@lru_cache(maxsize=4096)
def _for_survey(text: str) -> CategoricalMechanism:
    mechanism = parse_mechanism(text)
    if not isinstance(mechanism, CategoricalMechanism):
        raise ParameterError(f"{mechanism} cannot mask the questions that surveys ask.")
    return mechanism
