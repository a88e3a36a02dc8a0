"""A survey as it is asked: title, questions, and for each privacy level a mechanism a question."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from masquerade.aggregate.noise import TWO_PARTIES, SumNoise
from masquerade.errors import MasqueradeError, ParameterError
from masquerade.mechanisms.privacy_level import LEVEL_PATTERN
from masquerade.mechanisms.registry import parse_mask
from masquerade.surveys.condition_tree import Conditions
from masquerade.surveys.conditions import check_conditions, questions_from_json
from masquerade.surveys.drawn_blocks import Draw
from masquerade.surveys.languages import Languages, texts_of, translated
from masquerade.surveys.linked_questions import hang_together, linked, require_possible
from masquerade.surveys.look import PLAIN, Look
from masquerade.surveys.offered_levels import ALL_LEVELS, OfferedLevel, check_level, offered_level
from masquerade.surveys.pages import AS_THEY_STAND, Layout
from masquerade.surveys.pair_votes import lists_of, parts_of
from masquerade.surveys.question import (
    GAUSSIAN_MASK,
    KEEP_PER_ANSWER,
    KEEP_PER_PERSON,
    RESPONSE_MASK,
    MaskRules,
    Question,
)
from masquerade.surveys.reach import OPEN_TO_ALL, Reach
from masquerade.surveys.two_parties import SplitLevel, TwoParties
from masquerade.surveys.two_party_encoding import Encoding

MOST_QUESTIONS = 200
MOST_TITLE, MOST_DESCRIPTION = 200, 2000
TOPICS = ("everyday", "personal", "sensitive")
BEFORE_SEND, AFTER_SEND = REVEALS = "before_send", "after_send"
RESPONDENT, IVW, EB = "respondent", "ivw", "eb"
#: People at one level differ from everybody by any; not at all; by at most 15 points (default).
ESTIMATORS = (RESPONDENT, IVW, EB)
DEFAULT_ESTIMATOR = EB
#: The same in results, files and on the command line; documents keep their codes, as hashes do.
LEVEL_RULES = {RESPONDENT: "own", IVW: "alike", EB: "within"}
#: Trust: answers are masked on the person's own device, and nobody else has to be trusted.
DEVICE = "device"
_LEVEL_NAME = re.compile(LEVEL_PATTERN)


@dataclass(frozen=True, slots=True)
class Survey:
    """A survey as it is asked; nothing of it changes once it is open."""

    title: str
    description: str
    template: str  # which template it came from; decides how results are shown
    questions: tuple[Question, ...]
    # What a participant can choose from, before seeing a question; a single one is fixed.
    levels: tuple[OfferedLevel, ...]
    topic: str = "everyday"  # one of `TOPICS`
    # Whether people see their reports before they send them (``"before_send"``) or once they are
    # sent (``"after_send"``).
    reveal: str = BEFORE_SEND
    conditions: Conditions = ()  # when each question is shown; empty where all always are
    # One of `ESTIMATORS`: how far levels may differ in the result, decided before anybody answers.
    estimator: str = DEFAULT_ESTIMATOR
    # On which terms two parties add up the answers; None where they are masked on the device.
    two_parties: TwoParties | None = None
    look: Look = PLAIN  # its own colour and logo
    layout: Layout = AS_THEY_STAND  # pages, orders, images and the end
    # In which languages it is asked; None where it does not say.
    languages: Languages | None = None
    reach: Reach = OPEN_TO_ALL  # who asks, for what consent, and who may answer
    # How many blocks of questions that hang together each person is asked; None for all.
    asked: int | None = None
    # Groups of ids of questions that are drawn in one block, so that tables of them can be made.
    together: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        self._check()
        self._check_languages()

    def _check(self) -> None:
        _check_words(self)
        if not 1 <= len(self.questions) <= MOST_QUESTIONS:
            raise ParameterError(
                f"the survey has {len(self.questions)} questions; give 1 to {MOST_QUESTIONS}.",
                field="questions",
            )
        ids = [question.id for question in self.questions]
        if len(set(ids)) < len(ids):
            raise ParameterError(
                "two questions have the same id; give each its own.", field="questions"
            )
        names = [level.name for level in self.levels]
        if not names or len(set(names)) < len(names):
            raise ParameterError(
                f"the levels are {names}; give at least one, each with a name of its own.",
                field="levels",
            )
        if lists_of(self.questions) and self.asked is not None:
            raise ParameterError(
                "votes on pairs of a list are asked of everybody; ask all questions.", field="asked"
            )
        self._check_together()
        # Before levels are checked: linked questions are part of what a level guarantees.
        check_conditions(self.questions, self.conditions)
        require_possible(self.questions, self.conditions)
        self.layout.check(self.questions, self.conditions)
        self._check_levels(names)

    def _check_levels(self, names: list[str]) -> None:
        """Raise unless each level can mask the questions; tell it what hangs together."""
        if self.two_parties is not None:
            if self.asked is not None:
                raise ParameterError(
                    "two parties add up the answers of everybody to all questions, which is more "
                    "exact; ask all questions.",
                    field="asked",
                )
            blocks = self.encoding.blocks
            only = SplitLevel.of(self.two_parties.noise(blocks).terms)
            if [level.name for level in self.levels] != [only.name]:
                raise ParameterError(
                    f"the levels are {names}; a survey between two parties has {only.name!r} "
                    "alone.",
                    field="levels",
                )
            object.__setattr__(self, "levels", (only,))
            return
        if self.conditions:
            masks = zip(*(level.mechanisms for level in self.levels), strict=True)
            groups = linked(self.questions, self.conditions, list(masks)).groups
            levels = tuple(replace(level, linked=groups) for level in self.levels)
            object.__setattr__(self, "levels", levels)
        if draw := self.draw:
            for level in self.levels:
                draw.require_independent(level.mechanisms)
            levels = tuple(replace(level, draw=draw) for level in self.levels)
            object.__setattr__(self, "levels", levels)
        for level in self.levels:
            if not _LEVEL_NAME.fullmatch(level.name):
                raise ParameterError(
                    f"a level is named {level.name!r}; use lower-case letters, digits and hyphens.",
                    field="levels",
                )
            check_level(level, self.questions)

    def _check_languages(self) -> None:
        """Raise unless each translation is of a text, and keeps the rules of its place."""
        if self.languages is None:
            return
        known = texts_of(self.to_json())
        for code, texts in self.languages.texts:
            unknown = next((address for address, _ in texts if address not in known), None)
            if unknown is not None:
                raise ParameterError(
                    f"there is a text in {code!r} for {unknown!r}, which is no text of the "
                    "survey; leave it out.",
                    field="languages",
                )
            try:
                self.in_language(code)
            except ParameterError as error:
                raise ParameterError(f"in {code!r}: {error}", field="languages") from error

    def in_language(self, code: str) -> Survey:
        """Return the survey with its texts in one of its languages, in which codes are the same.

        Raises `ParameterError` where it is not asked in that language.
        """
        if self.languages is None:
            raise ParameterError(
                f"there is no language {code!r}; the survey has one alone, and does not say which.",
                field="language",
            )
        texts = self.languages.of(code)
        return Survey.from_json(translated(json.loads(json.dumps(self.to_json())), texts))

    def _check_together(self) -> None:
        """Raise unless each group of questions that are drawn together names at least two."""
        if self.together and self.asked is None:
            raise ParameterError(
                "everybody is asked all questions, so that all are asked together; name none.",
                field="together",
            )
        known = {question.id for question in self.questions}
        for ids in self.together:
            strange = next((one for one in ids if one not in known), None)
            if strange is not None:
                raise ParameterError(
                    f"{strange!r} is no question that could be asked together with others.",
                    field="together",
                )
            if len(set(ids)) < max(2, len(ids)):
                raise ParameterError(
                    f"{list(ids)} are to be asked together; name two questions or more, each once.",
                    field="together",
                )

    @property
    def draw(self) -> Draw | None:
        """The blocks of which each person is asked some; None where all are asked."""
        if self.asked is None:
            return None
        return Draw(self.asked, hang_together(self.questions, self.conditions, self.together))

    def asked_together(self, *names: str) -> bool:
        """Return whether whoever is asked one of some questions is asked all of them."""
        if self.asked is None:
            return True
        ids = [question.id for question in self.questions]
        places = {ids.index(name) for name in names}
        blocks = hang_together(self.questions, self.conditions, self.together)
        return any(places <= set(block) for block in blocks)

    @property
    def trust(self) -> str:
        """The party that people have to trust: their own device, or one of two parties."""
        return DEVICE if self.two_parties is None else TWO_PARTIES

    @property
    def encoding(self) -> Encoding:
        """How answers become the vector that two parties add up.

        Raises `ParameterError` (the answers are masked on the device).
        """
        if self.two_parties is None:
            raise ParameterError("this survey's answers are masked on the device, and not split.")
        return self.two_parties.encoding(self.questions, self.conditions)

    @property
    def split_noise(self) -> SumNoise:
        """Noise that each of two parties adds; as `encoding`, of a survey between two parties."""
        if self.two_parties is None:
            raise ParameterError("this survey's answers are masked on the device, and not split.")
        return self.two_parties.noise(self.encoding.blocks)

    @property
    def fixed_level(self) -> str | None:
        """Name of the level where everybody has the same."""
        return self.levels[0].name if len(self.levels) == 1 else None

    @property
    def kinds(self) -> dict[str, int]:
        """Number of questions of each kind."""
        return dict(Counter(question.kind for question in self.questions))

    def level(self, name: str) -> OfferedLevel:
        """Return one of the levels; `LevelNotAllowed` where the survey does not offer it."""
        return offered_level(self.levels, name)

    @classmethod
    def at_level(cls, *, level: str, **fields: Any) -> Survey:
        """Return a survey with one level for everybody; see `at_levels`."""
        return cls.at_levels(levels=(level,), **fields)

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
        conditions: Conditions = (),
        estimator: str = DEFAULT_ESTIMATOR,
        look: Look | None = None,
        layout: Layout | None = None,
        asked: int | None = None,
        together: tuple[tuple[str, ...], ...] = (),
        languages: Languages | None = None,
        reach: Reach = OPEN_TO_ALL,
    ) -> Survey:
        """Return a survey with the mechanisms of its levels.

        `title`, `description`, `template`, `questions`, `topic`, `conditions`, `estimator`, `look`,
        `layout`, `asked`, `together`, `languages`, `reach`: as in `Survey`.
        `levels`: names of levels, or ``"none"``.
        `masking`: ``"per-answer"`` (randomized response) or ``"per-person"`` (two-layer, whose
        one-report loss is the level's).
        `rating_mask`: ``"randomized-response"``, or ``"gaussian"`` for noise on the rating's scale.
        `reveal` (optional): default: ``"after_send"`` for sensitive topics, else ``"before_send"``.
        """
        if masking not in (KEEP_PER_ANSWER, KEEP_PER_PERSON):
            raise ParameterError(
                f"masking is {masking!r}, expected {KEEP_PER_ANSWER!r} or {KEEP_PER_PERSON!r}.",
                field="masking",
            )
        if rating_mask not in (RESPONSE_MASK, GAUSSIAN_MASK):
            raise ParameterError(
                f"rating_mask is {rating_mask!r}, expected {RESPONSE_MASK!r} or {GAUSSIAN_MASK!r}.",
                field="rating_mask",
            )
        rules = MaskRules(masking, rating_mask)
        layout = (layout or AS_THEY_STAND).spread(questions)
        questions, conditions = parts_of(questions, conditions)
        masks = {name: tuple(one.mask(name, rules) for one in questions) for name in levels}
        return cls(
            title,
            description,
            template,
            questions,
            tuple(OfferedLevel(name, masks[name]) for name in levels),
            topic,
            reveal or default_reveal(topic),
            conditions,
            estimator,
            look=look or PLAIN,
            layout=layout,
            asked=asked,
            together=together,
            languages=languages,
            reach=reach,
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
        terms, spoken = data.get("two_parties"), data.get("languages")
        if terms is not None:
            # One level that follows from the terms.
            levels = dict.fromkeys(levels, ())
        return cls(
            title=data["title"],
            description=data["description"],
            template=data["template"],
            questions=questions,
            levels=tuple(
                OfferedLevel(name, tuple(parse_mask(text) for text in mechanisms))
                for name, mechanisms in levels.items()
            ),
            topic=data.get("topic", "everyday"),
            reveal=data.get("reveal", BEFORE_SEND),
            conditions=conditions,
            estimator=data.get("estimator", DEFAULT_ESTIMATOR),
            two_parties=None if terms is None else TwoParties.from_json(terms),
            look=Look.from_json(data.get("look", {})),
            layout=Layout.from_json(data),
            asked=data.get("asked"),
            together=tuple(tuple(ids) for ids in data.get("together", [])),
            languages=None if spoken is None else Languages.from_json(spoken),
            reach=Reach.from_json(data),
        )

    @classmethod
    def from_text(cls, text: str) -> Survey:
        """Return the survey of a canonical text; see `text`.

        What is hashed is what is read, and what is read is shown: nothing is left to a default,
        and nothing is there unread.

        Raises `ParameterError` (it is the canonical text of no survey).
        """
        try:
            survey = cls.from_json(json.loads(text))
            # Word by word, so no field can be missing, there twice, or of another type.
            canonical = survey.text() == text
        except (
            *(MasqueradeError, ValueError, ArithmeticError),
            *(LookupError, TypeError, AttributeError),
        ) as error:
            raise ParameterError(f"the text is no survey: {error}") from error
        except RecursionError:
            raise ParameterError("the text is nested too deeply for a survey.") from None
        if not canonical:
            raise ParameterError("the text is not the canonical form of the survey it describes.")
        return survey

    def to_json(self) -> dict[str, Any]:
        """Return the survey as a JSON object."""
        data: dict[str, Any] = {
            "title": self.title,
            "description": self.description,
            "template": self.template,
            "topic": self.topic,
            "reveal": self.reveal,
            "questions": self.questions_json(),
            "levels": {level.name: [str(m) for m in level.mechanisms] for level in self.levels},
        }
        # Left out where they are the default, so that hashes of older surveys stay as they are.
        if self.estimator != DEFAULT_ESTIMATOR:
            data["estimator"] = self.estimator
        if self.two_parties is not None:
            data["trust"], data["two_parties"] = TWO_PARTIES, self.two_parties.to_json()
        if look := self.look.to_json():
            data["look"] = look
        if self.languages is not None:
            data["languages"] = self.languages.to_json()
        if self.asked is not None:
            data["asked"] = self.asked
        if self.together:
            data["together"] = [list(ids) for ids in self.together]
        return data | self.layout.to_json() | self.reach.to_json()

    def questions_json(self) -> list[dict[str, Any]]:
        """Return the questions as JSON objects, each with its condition where it has one."""
        objects = [question.to_json() for question in self.questions]
        for data, condition in zip(objects, self.conditions, strict=False):
            if condition is not None:
                data["show_if"] = condition.to_json()
        return objects

    def text(self) -> str:
        """Return the canonical JSON form: the text that is hashed, and that devices show.

        ASCII, keys sorted, no spaces. Right answers are left out: as all else is public, the hash
        would give them away.
        """
        data = self.to_json()
        for question, fields in zip(self.questions, data["questions"], strict=True):
            for name in question.secret:
                del fields[name]
        return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)

    def content_hash(self) -> str:
        """Return the SHA-256 of the canonical JSON form, which responses must name."""
        return hashlib.sha256(self.text().encode()).hexdigest()


def default_reveal(topic: str) -> str:
    """Return when people see their reports where the survey does not say."""
    return AFTER_SEND if topic == "sensitive" else BEFORE_SEND


def split_commitment(participation: str, report: bytes, salt: str) -> str:
    """Return the hash that binds a device to a sealed report before it sends it.

    Examples
    --------
    >>> split_commitment("0" * 32, b"two shares", "f" * 32)[:16]
    'dd02e905d25d108f'
    """
    digest = hashlib.sha256(report).hexdigest()
    fields = {"participation": participation, "report": digest, "salt": salt}
    return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()


def commitment_of(participation: str, reports: Sequence[int], salt: str) -> str:
    """Return the hash that binds a device to its reports before it shows or sends them.

    Examples
    --------
    >>> commitment_of("0" * 32, [1, -4], "f" * 32)[:16]
    '66fc3097f8497255'
    """
    # The salt is random: without it, the few possible reports could be tried one by one.
    fields = {"participation": participation, "reports": list(reports), "salt": salt}
    return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()


def _check_words(survey: Survey) -> None:
    for field in ("title", "description", "template"):
        if not isinstance(getattr(survey, field), str):
            raise ParameterError(f"the {field} is no text.", field=field)
    if not survey.title.strip() or len(survey.title) > MOST_TITLE:
        raise ParameterError(
            f"the title is empty or longer than {MOST_TITLE} characters.", field="title"
        )
    if "\0" in survey.title:  # which databases cannot keep
        raise ParameterError("the title holds a NUL character; leave it out.", field="title")
    if len(survey.description) > MOST_DESCRIPTION:
        raise ParameterError(
            f"the description has {len(survey.description)} characters; shorten it to "
            f"{MOST_DESCRIPTION}.",
            field="description",
        )
    if survey.topic not in TOPICS:
        raise ParameterError(
            f"the topic is {survey.topic!r}, expected one of {', '.join(TOPICS)}.", field="topic"
        )
    if survey.reveal not in REVEALS:
        raise ParameterError(
            f"reveal is {survey.reveal!r}, expected {BEFORE_SEND!r} or {AFTER_SEND!r}.",
            field="reveal",
        )
    if survey.estimator not in ESTIMATORS:
        raise ParameterError(
            f"the estimator is {survey.estimator!r}, expected one of {', '.join(ESTIMATORS)}.",
            field="estimator",
        )
