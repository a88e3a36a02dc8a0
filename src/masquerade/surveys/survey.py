"""A survey as it is asked: title, questions, and for each privacy level a mechanism a question."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from masquerade.accounting import Cost, compose_linked
from masquerade.errors import LevelNotAllowed, ParameterError
from masquerade.exact import INFINITE_LOSS, Guarantee
from masquerade.mechanisms import (
    LEVELS,
    CategoricalMechanism,
    DiscreteGaussian,
    Lattice,
    Mechanism,
    RandomizedResponse,
    TwoLayer,
    level_named,
    parse_mechanism,
)
from masquerade.surveys.conditions import ShowIf, check_conditions, linked, questions_from_json
from masquerade.surveys.questions import Number, Question, Rating

MOST_QUESTIONS = 200
KEEP_PER_ANSWER, KEEP_PER_PERSON = "per-answer", "per-person"
RESPONSE_MASK, GAUSSIAN_MASK = "randomized-response", "gaussian"
TOPICS = ("everyday", "personal", "sensitive")
BEFORE_SEND, AFTER_SEND = "before_send", "after_send"
ESTIMATORS = ("eb", "respondent", "ivw")
"""How results over several levels can be estimated; the first where nothing is said."""
CLEAR = "none"
"""Name of the level at which answers are sent as they are."""
ALL_LEVELS = tuple(level.name for level in LEVELS)

_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")


@dataclass(frozen=True, slots=True)
class OfferedLevel:
    """A privacy level that a survey offers.

    Attributes
    ----------
    name : str
    mechanisms : tuple of CategoricalMechanism or DiscreteGaussian
        One for each question.
    linked : tuple of tuple of int
        Places of questions whose reports can change with one answer, where some are shown only
        after certain answers.
    """

    name: str
    mechanisms: tuple[Mechanism, ...]
    linked: tuple[tuple[int, ...], ...] = ()
    # Asked for with every response, and never changes.
    _costs: dict[str, Cost] = field(default_factory=dict, init=False, repr=False, compare=False)
    _promise: list[Guarantee] = field(default_factory=list, init=False, repr=False, compare=False)

    def guarantee(self) -> Guarantee:
        """Return what one response at this level promises the person who sends it."""
        if not self._promise:
            self._promise.append(_composed(self.mechanisms, self.linked))
        return self._promise[0]

    def cost(self, survey: str) -> Cost:
        """Return what one response at this level costs, in the ledger's units."""
        found = self._costs.get(survey)
        if found is None:
            found = self._costs[survey] = Cost.of(survey, self.mechanisms)
        return found


@dataclass(frozen=True, slots=True)
class Survey:
    """A survey as it is asked; nothing of it changes once it is open.

    Attributes
    ----------
    title, description : str
    template : str
        Which template it came from; decides how results are shown.
    questions : tuple of Question
    levels : tuple of OfferedLevel
        What a participant can choose from, before seeing a question; a single one is fixed.
    topic : str
        One of `TOPICS`.
    reveal : str
        Whether people see their reports before they send them (``"before_send"``) or once they
        are sent (``"after_send"``).
    conditions : tuple of ShowIf or None
        When each question is shown; empty where all always are.
    estimator : str
        One of `ESTIMATORS`: whose figures stand first in the result, decided before anybody
        answers.
    """

    title: str
    description: str
    template: str
    questions: tuple[Question, ...]
    levels: tuple[OfferedLevel, ...]
    topic: str = "everyday"
    reveal: str = BEFORE_SEND
    conditions: tuple[ShowIf | None, ...] = ()
    estimator: str = ESTIMATORS[0]

    def __post_init__(self) -> None:
        _check_words(self)
        if not 1 <= len(self.questions) <= MOST_QUESTIONS:
            raise ParameterError(
                f"the survey has {len(self.questions)} questions; give 1 to {MOST_QUESTIONS}."
            )
        ids = [question.id for question in self.questions]
        if len(set(ids)) < len(ids):
            raise ParameterError("two questions have the same id; give each its own.")
        names = [level.name for level in self.levels]
        if not names or len(set(names)) < len(names):
            raise ParameterError(
                f"the levels are {names}; give at least one, each with a name of its own."
            )
        check_conditions(self.questions, self.conditions)
        if self.conditions:
            groups = linked(self.questions, self.conditions)
            levels = tuple(replace(level, linked=groups) for level in self.levels)
            object.__setattr__(self, "levels", levels)
        for level in self.levels:
            _check_level(level, self.questions)

    @property
    def fixed_level(self) -> str | None:
        """Name of the level where everybody has the same."""
        return self.levels[0].name if len(self.levels) == 1 else None

    def level(self, name: str) -> OfferedLevel:
        """Return one of the levels.

        Raises
        ------
        LevelNotAllowed
            The survey does not offer it.
        """
        for level in self.levels:
            if level.name == name:
                return level
        names = ", ".join(level.name for level in self.levels)
        raise LevelNotAllowed(f"this survey does not offer that level; choose one of {names}.")

    @classmethod
    def at_level(cls, *, level: str, **asked: Any) -> Survey:
        """Return a survey with one level for everybody; see `at_levels`."""
        return cls.at_levels(levels=(level,), **asked)

    @classmethod
    def at_levels(
        cls,
        *,
        title: str,
        description: str = "",
        template: str = "pick",
        questions: tuple[Question, ...],
        levels: Sequence[str] = ALL_LEVELS,
        masking: str = KEEP_PER_ANSWER,
        rating_mask: str = RESPONSE_MASK,
        topic: str = "everyday",
        reveal: str | None = None,
        conditions: tuple[ShowIf | None, ...] = (),
        estimator: str = ESTIMATORS[0],
    ) -> Survey:
        """Return a survey whose mechanisms follow from the levels.

        Parameters
        ----------
        title, description, template, questions
            As in `Survey`.
        levels : sequence of str
            Names of levels, or ``"none"``.
        masking : str
            ``"per-answer"`` (randomized response) or ``"per-person"`` (two-layer, whose one-report
            loss is the level's).
        rating_mask : str
            ``"randomized-response"``, or ``"gaussian"`` for noise on the rating's scale.
        topic : str
        reveal : str, optional
            Default: ``"after_send"`` for sensitive topics, else ``"before_send"``.
        conditions : tuple of ShowIf or None
        estimator : str
            One of `ESTIMATORS`.
        """
        if masking not in (KEEP_PER_ANSWER, KEEP_PER_PERSON):
            raise ParameterError(
                f"masking is {masking!r}, expected {KEEP_PER_ANSWER!r} or {KEEP_PER_PERSON!r}."
            )
        if rating_mask not in (RESPONSE_MASK, GAUSSIAN_MASK):
            raise ParameterError(
                f"rating_mask is {rating_mask!r}, expected {RESPONSE_MASK!r} or {GAUSSIAN_MASK!r}."
            )
        return cls(
            title,
            description,
            template,
            questions,
            tuple(
                OfferedLevel(
                    name, tuple(_mechanism(q, name, masking, rating_mask) for q in questions)
                )
                for name in levels
            ),
            topic,
            reveal or (AFTER_SEND if topic == "sensitive" else BEFORE_SEND),
            conditions,
            estimator,
        )

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Survey:
        """Return the survey that a JSON object describes.

        The older form, with ``level`` and ``mechanisms``, is a survey of one fixed level.
        """
        levels = data.get("levels")
        if levels is None:
            levels = {data["level"]: data["mechanisms"]}
        questions, conditions = questions_from_json(data["questions"])
        return cls(
            title=data["title"],
            description=data["description"],
            template=data["template"],
            questions=questions,
            levels=tuple(
                OfferedLevel(name, tuple(parse_cached(m) for m in mechanisms))
                for name, mechanisms in levels.items()
            ),
            topic=data.get("topic", "everyday"),
            reveal=data.get("reveal", BEFORE_SEND),
            conditions=conditions,
            estimator=data.get("estimator", ESTIMATORS[0]),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the survey as a JSON object."""
        shown = {
            "title": self.title,
            "description": self.description,
            "template": self.template,
            "topic": self.topic,
            "reveal": self.reveal,
            "questions": self.questions_json(),
            "levels": {level.name: [str(m) for m in level.mechanisms] for level in self.levels},
        }
        # Left out where it is the default, so that hashes of older surveys stay as they are.
        return shown if self.estimator == ESTIMATORS[0] else shown | {"estimator": self.estimator}

    def questions_json(self) -> list[dict[str, Any]]:
        """Return the questions as JSON objects, each with its condition where it has one."""
        found = [question.to_json() for question in self.questions]
        for question, condition in zip(found, self.conditions, strict=False):
            if condition is not None:
                question["show_if"] = condition.to_json()
        return found

    def text(self) -> str:
        """Return the canonical JSON form: the text that is hashed, and that devices show.

        ASCII, keys sorted, no spaces. Right answers are left out: as all else is public, the hash
        would give them away.
        """
        shown = self.to_json()
        for question in shown["questions"]:
            question.pop("truth", None)
        return json.dumps(shown, sort_keys=True, separators=(",", ":"), allow_nan=False)

    def content_hash(self) -> str:
        """Return the SHA-256 of the canonical JSON form, which responses must name."""
        return hashlib.sha256(self.text().encode()).hexdigest()


@lru_cache(maxsize=1024)
def _composed(mechanisms: tuple[Mechanism, ...], linked: tuple[tuple[int, ...], ...]) -> Guarantee:
    return compose_linked(mechanisms, linked)


parse_cached = lru_cache(maxsize=4096)(parse_mechanism)


def answers_of(question: Question) -> int:
    """Return how many different answers a question has, "no answer" not counted."""
    return question.points if isinstance(question, Number) else len(question.labels)


def _mechanism(question: Question, name: str, masking: str, rating_mask: str) -> Mechanism:
    count = answers_of(question)
    if name == CLEAR:
        return RandomizedResponse(count, flip_probability=0, null=question.allow_skip)
    mu = level_named(name).mu
    if isinstance(question, Number):
        lattice = Lattice(question.low, question.high, question.step)
    elif isinstance(question, Rating) and rating_mask == GAUSSIAN_MASK:
        lattice = Lattice(question.low, question.high)
    else:
        return _response(question, name, masking)
    sigma = (lattice.high - lattice.low) / mu
    return DiscreteGaussian(lattice.low, lattice.high, lattice.step, sigma=sigma)


def _response(question: Question, name: str, masking: str) -> CategoricalMechanism:
    one = _randomized(name, len(question.labels), question.allow_skip)
    if masking == KEEP_PER_ANSWER:
        return one
    if question.allow_skip:
        raise ParameterError(
            f"question {question.id!r} can be skipped, which one flip probability a person does "
            f"not protect; use masking {KEEP_PER_ANSWER!r}."
        )
    mean = one.flip_probability.limit_denominator(10**9)
    width = min(mean, 1 - mean)
    return TwoLayer(one.options, low=mean - width, high=mean + width)


@functools.cache
def _randomized(name: str, options: int, null: bool) -> RandomizedResponse:
    return level_named(name).randomized_response(options, null=null)


def _check_words(definition: Survey) -> None:
    if not definition.title.strip() or len(definition.title) > 200:
        raise ParameterError("the title is empty or longer than 200 characters.")
    if "\0" in definition.title:  # which databases cannot keep
        raise ParameterError("the title holds a NUL character; leave it out.")
    if len(definition.description) > 2000:
        raise ParameterError(
            f"the description has {len(definition.description)} characters; shorten it to 2000."
        )
    if definition.topic not in TOPICS:
        raise ParameterError(
            f"the topic is {definition.topic!r}, expected one of {', '.join(TOPICS)}."
        )
    if definition.reveal not in (BEFORE_SEND, AFTER_SEND):
        raise ParameterError(
            f"reveal is {definition.reveal!r}, expected {BEFORE_SEND!r} or {AFTER_SEND!r}."
        )
    if definition.estimator not in ESTIMATORS:
        raise ParameterError(
            f"the estimator is {definition.estimator!r}, expected one of {', '.join(ESTIMATORS)}."
        )


def _check_level(level: OfferedLevel, questions: tuple[Question, ...]) -> None:
    if not _NAME.fullmatch(level.name):
        raise ParameterError(
            f"a level is named {level.name!r}; use lower-case letters, digits and hyphens."
        )
    for question, mechanism in zip(questions, level.mechanisms, strict=True):
        count = answers_of(question)
        if isinstance(mechanism, CategoricalMechanism):
            fits = mechanism.symbols == count + question.allow_skip
            fits &= not isinstance(question, Number) or level.name == CLEAR
        else:
            lattice = _lattice_of(question)
            fits = isinstance(mechanism, DiscreteGaussian) and mechanism.lattice == lattice
        if not fits:
            raise ParameterError(
                f"question {question.id!r} has {count} answers and {mechanism} does not mask "
                "exactly these; they must agree."
            )
    clear = level.guarantee().epsilon_user == INFINITE_LOSS
    if clear and level.name != CLEAR:
        raise ParameterError(
            "a mechanism of this survey gives no privacy at all; a live survey needs one that "
            "does. Choose a level, or a flip probability above 0."
        )
    if level.name == CLEAR and not all(
        one.guarantee().epsilon_user == INFINITE_LOSS for one in level.mechanisms
    ):
        raise ParameterError("level 'none' masks some answers; give such a level another name.")


def _lattice_of(question: Question) -> Lattice | None:
    if isinstance(question, Number):
        return Lattice(question.low, question.high, question.step)
    if isinstance(question, Rating) and not question.allow_skip:
        return Lattice(question.low, question.high)
    return None
