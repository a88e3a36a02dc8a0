"""A survey as it is written: what an editor changes, and a file keeps.

A document can be unfinished; `places_of` says what is missing, and where. `definition_of` makes of
a finished one the `Survey` that is opened, whose hash freezes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from masquerade.errors import InvalidDocument, MasqueradeError, ParameterError
from masquerade.server.http.request_body import StrictBody
from masquerade.surveys import questions_from_json
from masquerade.surveys.levels import ALL_LEVELS, CLEAR, LEVEL_PATTERN, OfferedLevel, parse_mask
from masquerade.surveys.survey import AFTER_SEND, BEFORE_SEND, MOST_QUESTIONS, Survey

FORMAT = 1
"""Version of the format; a file of another one is refused."""

Place = tuple[str, str]
"""Where something is wrong (a JSON pointer), and what."""

Amount = Annotated[int, Field(ge=0, le=10**9)]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
LevelName = Annotated[str, Field(pattern=f"^{LEVEL_PATTERN}$")]

_POLICIES = Literal["precision", "stratified-random", "random"]
_FIELDS = (
    "show_if", "truth", "options", "option", "item_a", "item_b", "tie", "low_label", "high_label",
    "unit", "allow_skip", "text", "step", "low", "high", "scale", "id",
)  # fmt: skip


class Plan(StrictBody):
    """Whom to ask, and what it may cost; nothing of it is part of what participants are told."""

    people: Annotated[int, Field(ge=1, le=100_000)] = 400
    shares: dict[LevelName, Annotated[int | float, Field(ge=0, le=1)]] = Field(default_factory=dict)
    prices: dict[LevelName, Amount] = Field(default_factory=dict)
    currency: Annotated[str, Field(min_length=1, max_length=16)] = "credits"
    budget: Amount | None = None
    alpha: Annotated[int | float, Field(ge=0, le=1)] = 0
    policy: _POLICIES = "precision"
    # What people get through this server: nothing, an amount in a wallet, or a panel's code.
    reward: Literal["none", "wallet", "codes"] = "none"
    quotas: bool = False
    closes: Day | None = None


def plan_fields_schema() -> dict[str, Any]:
    """Return the JSON schema of some fields of a plan."""
    schema = Plan.model_json_schema()
    return {"properties": schema["properties"], "additionalProperties": False}


class Document(StrictBody):
    """A survey as it is written."""

    masquerade: Literal[1] = 1
    title: Annotated[str, Field(max_length=200)] = ""
    description: Annotated[str, Field(max_length=2000)] = ""
    template: Annotated[str, Field(max_length=32)] = "blank"
    topic: Literal["everyday", "personal", "sensitive"] = "everyday"
    reveal: Literal["before_send", "after_send"] | None = None
    levels: list[LevelName] | dict[LevelName, list[str]] = Field(
        default_factory=lambda: list(ALL_LEVELS)
    )
    masking: Literal["per-answer", "per-person"] = "per-answer"
    rating_mask: Literal["randomized-response", "gaussian"] = "randomized-response"
    estimator: Literal["eb", "respondent", "ivw"] = "eb"
    listed: bool = False
    questions: Annotated[list[dict[str, Any]], Field(max_length=MOST_QUESTIONS)] = Field(
        default_factory=list
    )
    plan: Plan = Field(default_factory=Plan)

    def to_json(self) -> dict[str, Any]:
        """Return the document as a JSON object, every field in its place."""
        return self.model_dump()

    def text(self) -> str:
        """Return the document as the text of a file."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"


def read_document(data: Any) -> Document:
    """Return the document that a JSON object describes, finished or not.

    Raises
    ------
    InvalidDocument
        Naming each place that has not the form it must have.
    """
    if not isinstance(data, dict):
        raise InvalidDocument([("", "a survey is a JSON object with title and questions.")])
    if data.get("masquerade", FORMAT) != FORMAT:
        raise InvalidDocument(
            [("/masquerade", f"this version reads format {FORMAT}; export the file anew.")]
        )
    try:
        return Document.model_validate(data)
    except ValidationError as error:
        places = [(_pointer(one["loc"]), f"{one['msg']}.") for one in error.errors()]
        raise InvalidDocument(places) from None


def read_document_text(text: str) -> Document:
    """Return the document of a file.

    Raises
    ------
    InvalidDocument
        It is no JSON (the message names line and column), or no document.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"line {error.lineno}, column {error.colno}: {error.msg}."
        raise InvalidDocument([("", f"the file is no JSON: {reason}")]) from None
    except RecursionError:
        raise InvalidDocument([("", "the file is nested too deeply.")]) from None
    return read_document(data)


def changed(document: Document, changes: Any) -> Document:
    """Return a document with some fields, or some of its plan's, set anew.

    Raises
    ------
    InvalidDocument
    """
    if not isinstance(changes, dict):
        raise InvalidDocument([("", "a change is a JSON object of fields.")])
    whole = document.to_json()
    plan = changes.get("plan")
    merged = {**whole, **changes}
    if isinstance(plan, dict):
        merged["plan"] = {**whole["plan"], **plan}
    return read_document(merged)


def definition_of(document: Document) -> Survey:
    """Return what is opened.

    Raises
    ------
    MasqueradeError
        The document is not finished; `places_of` names all that is wrong.
    """
    questions, conditions = questions_from_json(document.questions)
    asked: dict[str, Any] = {
        "title": document.title.strip(),
        "description": document.description.strip(),
        "template": document.template,
        "questions": questions,
        "topic": document.topic,
        "conditions": conditions,
        "estimator": document.estimator,
    }
    if isinstance(document.levels, dict):
        default = AFTER_SEND if document.topic == "sensitive" else BEFORE_SEND
        levels = tuple(
            OfferedLevel(name, tuple(parse_mask(one) for one in masks))
            for name, masks in document.levels.items()
        )
        return Survey(**asked, levels=levels, reveal=document.reveal or default)
    return Survey.at_levels(
        **asked,
        levels=document.levels,
        masking=document.masking,
        rating_mask=document.rating_mask,
        reveal=document.reveal,
    )


def document_of(definition: Survey, *, listed: bool) -> Document:
    """Return the document of a survey that was opened without one."""
    shown = definition.to_json()
    return read_document(
        {
            **{name: shown[name] for name in ("title", "description", "template", "topic")},
            "reveal": definition.reveal,
            "estimator": definition.estimator,
            "levels": shown["levels"],
            "listed": listed,
            "questions": shown["questions"],
        }
    )


def places_of(document: Document, *, allow_clear: bool, today: str) -> list[Place]:
    """Return all that keeps a document from being opened: where it is, and what."""
    found = _places_of_questions(document.questions)
    if not document.title.strip():
        found.append(("/title", "Give the survey a title."))
    if "\0" in document.title:
        found.append(("/title", "The title holds a NUL character; leave it out."))
    if not document.questions:
        found.append(("/questions", "Add a question."))
    if not document.levels:
        found.append(("/levels", "Offer at least one level."))
    if isinstance(document.levels, list):
        unknown = [name for name in document.levels if name not in (*ALL_LEVELS, CLEAR)]
        found += [
            ("/levels", f"There is no level {name!r}; there are {', '.join(ALL_LEVELS)}.")
            for name in unknown
        ]
    if CLEAR in document.levels and not allow_clear:
        found.append(("/levels", "This server does not let anybody send answers as they are."))
    if document.plan.closes is not None and document.plan.closes < today:
        found.append(("/plan/closes", "This day is over."))
    found += _places_of_plan(document)
    if not found:
        try:
            definition_of(document)
        except (MasqueradeError, ValueError) as error:
            found.append((_place_named(document.questions, str(error)), _said(error)))
    return found


def _places_of_plan(document: Document) -> list[Place]:
    plan = document.plan
    found = [
        (f"/plan/{name}/{level}", "The survey does not offer this level.")
        for name in ("shares", "prices")
        for level in getattr(plan, name)
        if level not in document.levels
    ]
    if plan.reward == "wallet" and not any(plan.prices.values()):
        found.append(("/plan/prices", "Say what people get, or let nothing be paid here."))
    if plan.shares and not any(plan.shares.values()):
        found.append(("/plan/shares", "At least one level needs people."))
    return found


def _places_of_questions(questions: Sequence[dict[str, Any]]) -> list[Place]:
    found: list[Place] = []
    seen: set[Any] = set()
    for number, data in enumerate(questions):
        here = f"/questions/{number}"
        try:
            [question], _ = questions_from_json([data])
        except ParameterError as error:
            found.append((here + _field_named(data, str(error)), _said(error)))
            continue
        if question.id in seen:
            found.append((f"{here}/id", "Another question has this id."))
        seen.add(question.id)
    if found:
        return found
    from masquerade.surveys.conditions import check_conditions

    try:
        check_conditions(*questions_from_json(list(questions)))
    except ParameterError as error:
        found.append((_place_named(questions, str(error)) + "/show_if", _said(error)))
    return found


def _field_named(data: dict[str, Any], message: str) -> str:
    """Return the pointer of the field of a question that a message is about."""
    words = re.sub(r"^question '[^']*'", "", message)
    if words.startswith("question kind"):
        return "/kind"
    if "is no scale" in words:
        step = data.get("step", 1)
        return "/high" if isinstance(step, int | float) and step > 0 else "/step"
    name = next((f for f in _FIELDS if re.search(rf"\b{f}\b", words)), None)
    if name == "option":
        options = data.get("options")
        empty = [i for i, o in enumerate(options or []) if not (isinstance(o, str) and o.strip())]
        return f"/options/{empty[0]}" if "empty" in words and empty else "/options"
    if name == "scale":
        return "/high"
    return f"/{name}" if name else ""


def _place_named(questions: Sequence[dict[str, Any]], message: str) -> str:
    named = re.search(r"question '([^']*)'", message)
    for number, data in enumerate(questions):
        if named and data.get("id") == named[1]:
            return f"/questions/{number}"
    return ""


def _said(error: Exception) -> str:
    """Return a message without the name of the question beside which it stands."""
    text = re.sub(r"^question '[^']*'(: | )?", "", str(error))
    return text[:1].upper() + text[1:]


def _pointer(location: tuple[int | str, ...]) -> str:
    # The names of union members are no places.
    union = re.compile(r"[\[\]]|constrained")
    parts = [part for part in location if isinstance(part, int) or not union.search(part)]
    text = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    return text.encode(errors="replace").decode()
