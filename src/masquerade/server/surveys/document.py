"""The document of a survey that is being written: an editor changes it, and a file holds it.

A document can be unfinished; `masquerade.server.surveys.document_survey` has the survey that it
opens as.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from masquerade.errors import InvalidDocument
from masquerade.mechanisms.privacy_level import LEVEL_PATTERN
from masquerade.server.http.bodies import StrictBody
from masquerade.server.surveys.ways import (
    PanelFields,
    TicketFields,
    Ways,
    ways_of,
)
from masquerade.surveys.characters import composed
from masquerade.surveys.languages import MOST_LANGUAGES
from masquerade.surveys.look import MOST_LOGO
from masquerade.surveys.offered_levels import ALL_LEVELS
from masquerade.surveys.pages import MOST_PAGES
from masquerade.surveys.survey import (
    MOST_QUESTIONS,
)
from masquerade.surveys.translations import carried
from masquerade.surveys.two_parties import DEFAULT_MINIMUM
from masquerade.surveys.two_party_encoding import MOST_CROSSED

#: Version of the format; a file of another one is refused.
FORMAT = 1

#: A JSON pointer to a field, and what is wrong there.
Issue = tuple[str, str]

_MOST_KEPT = 20_000
_Text = Annotated[str, Field(max_length=_MOST_KEPT)]
_Address = Annotated[str, Field(max_length=1500)]

Amount = Annotated[int, Field(ge=0, le=10**9)]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
LevelName = Annotated[str, Field(pattern=f"^{LEVEL_PATTERN}$")]

_POLICIES = Literal["precision", "stratified-random", "random"]


class Plan(StrictBody):
    """The plan of a survey: people, prices and budget. Participants are not told of it."""

    people: Annotated[int, Field(ge=1, le=100_000)] = 400
    # Of 100 people, how many are shown a question, by its id; else as its condition says.
    shown: Annotated[dict[str, Annotated[int, Field(ge=1, le=100)]], Field(max_length=200)] = Field(
        default_factory=dict
    )
    shares: dict[LevelName, Annotated[int | float, Field(ge=0, le=1)]] = Field(default_factory=dict)
    prices: dict[LevelName, Amount] = Field(default_factory=dict)
    currency: Annotated[str, Field(min_length=1, max_length=16)] = "credits"
    budget: Amount | None = None
    alpha: Annotated[int | float, Field(ge=0, le=1)] = 0
    policy: _POLICIES = "precision"
    # What people get through this server: nothing, or a completion code.
    reward: Literal["none", "codes"] = "none"
    quotas: bool = False
    closes: Day | None = None


def plan_fields_schema() -> dict[str, Any]:
    """Return the JSON schema of some fields of a plan."""
    schema = Plan.model_json_schema()
    return {"properties": schema["properties"], "additionalProperties": False}


class TwoPartyTerms(StrictBody):
    """The terms on which two parties add up the answers."""

    helper: Annotated[str, Field(max_length=500)] = ""
    operator: Annotated[str, Field(max_length=200)] = ""
    fingerprint: Annotated[str, Field(max_length=100)] = ""
    rho: Annotated[str, Field(pattern=r"^\d{1,2}(\.\d{1,6})?$")] = "0.5"
    minimum: Annotated[int, Field(ge=2, le=10**6)] = DEFAULT_MINIMUM
    bins: Annotated[int, Field(ge=2, le=64)] = 20
    cross: Annotated[
        list[Annotated[list[str], Field(min_length=2, max_length=MOST_CROSSED)]],
        Field(max_length=20),
    ] = Field(default_factory=list)
    sums: Annotated[list[str], Field(max_length=MOST_QUESTIONS)] = Field(default_factory=list)


class LookFields(StrictBody):
    """The survey's own colour and logo."""

    colour: Annotated[str, Field(max_length=40)] = ""
    logo: Annotated[str, Field(max_length=MOST_LOGO)] = ""
    logo_text: _Text = ""


class SpokenIn(StrictBody):
    """The languages of a survey that is being written, and its translations by address.

    Translations of texts that are gone are kept while it is written, and left out when it opens.
    """

    languages: Annotated[
        list[Annotated[str, Field(max_length=20)]], Field(max_length=MOST_LANGUAGES)
    ] = Field(default_factory=list)
    texts: dict[
        str,
        dict[_Address, _Text],
    ] = Field(default_factory=dict)


class Document(StrictBody):
    """A survey that is being written."""

    masquerade: Literal[1] = 1
    # Longer than a survey's texts may be: what is typed is kept, and said to be too long.
    title: _Text = ""
    description: _Text = ""
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
    # Whom people have to trust: nobody but their device, or one of two parties.
    trust: Literal["device", "two-parties"] = "device"
    two_parties: TwoPartyTerms = Field(default_factory=TwoPartyTerms)
    questions: Annotated[list[dict[str, Any]], Field(max_length=MOST_QUESTIONS)] = Field(
        default_factory=list
    )
    # Which questions and blocks stand on one screen; none: each question by itself. A page may say
    # after which answers the survey `ends`.
    pages: Annotated[list[dict[str, Any]], Field(max_length=MOST_PAGES)] = Field(
        default_factory=list
    )
    order: Annotated[list[str], Field(max_length=MOST_QUESTIONS)] = Field(default_factory=list)
    images: dict[str, str] = Field(default_factory=dict)
    thanks: Annotated[str, Field(max_length=5000)] = ""
    # How many blocks of questions that hang together each person is asked; none for all.
    asked: Annotated[int, Field(ge=1, le=MOST_QUESTIONS)] | None = None
    # Which questions are drawn in one block, so that tables of them can be made.
    together: Annotated[
        list[Annotated[list[str], Field(min_length=2, max_length=MOST_QUESTIONS)]],
        Field(max_length=MOST_QUESTIONS),
    ] = Field(default_factory=list)
    return_address: Annotated[str, Field(max_length=500)] = ""
    plan: Plan = Field(default_factory=Plan)
    look: LookFields = Field(default_factory=LookFields)
    # What people read before they begin: who asks, where to ask back, what they agree to.
    asked_by: _Text = ""
    contact: _Text = ""
    consent: _Text = ""
    tickets: TicketFields = Field(default_factory=TicketFields)
    panel: PanelFields = Field(default_factory=PanelFields)
    # Of the pages that may show the survey within theirs.
    origins: Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=20)] = Field(
        default_factory=list
    )
    # Kept by the team to begin others with; it is not opened itself.
    own_template: bool = False
    languages: SpokenIn = Field(default_factory=SpokenIn)

    def to_json(self) -> dict[str, Any]:
        """Return the document as a JSON object, every field in its place."""
        return self.model_dump()

    @property
    def ways(self) -> Ways:
        """How people come to it and where they go."""
        return ways_of(self.panel, self.origins)

    def text(self) -> str:
        """Return the document as the text of a file."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"


def read_document(data: Any) -> Document:
    """Return the document that a JSON object describes, finished or not."""
    if not isinstance(data, dict):
        raise InvalidDocument([("", "a survey is a JSON object with title and questions.")])
    if data.get("masquerade", FORMAT) != FORMAT:
        raise InvalidDocument(
            [("/masquerade", f"this version reads format {FORMAT}; export the file anew.")]
        )
    try:
        return Document.model_validate(composed(data))
    except ValidationError as error:
        issues = [(_pointer(one["loc"]), _refusal(one)) for one in error.errors()]
        # Without its cause: pydantic's own error quotes the whole input.
        raise InvalidDocument(issues) from None


#: What is wrong with a value that cannot be kept, by the kind of error of pydantic.
_REFUSALS = {
    "string_too_long": "Shorten this to {max_length:,} characters.",
    "string_too_short": "Give this some words.",
    "string_pattern_mismatch": "This is not in the form that is expected here.",
    "greater_than_equal": "Give {ge:,} or more, not {input}.",
    "less_than_equal": "Give {le:,} or less, not {input}.",
    "int_type": "Give a whole number.",
    "int_from_float": "Give a whole number.",
    "string_type": "Give a text.",
    "bool_type": "Give true or false.",
    "too_long": "Give {max_length:,} at most.",
    "too_short": "Give {min_length:,} or more.",
    "literal_error": "Give one of {expected}.",
    "extra_forbidden": "A survey has no such field.",
}


def _refusal(error: Mapping[str, Any]) -> str:
    """Return the message to a surveyor about a value that cannot be kept."""
    words = _REFUSALS.get(error["type"])
    if words is None:
        return f"{error['msg']}."
    given = error.get("input")
    shown = str(given)[:40] if isinstance(given, int | float) else "this"
    return words.format(**{**error.get("ctx", {}), "input": shown})


def read_document_text(text: str) -> Document:
    """Return the document of a file; `InvalidDocument` names line and column of wrong JSON."""
    return read_document(read_json_text(text))


def read_json_text(text: str) -> Any:
    """Return the value of JSON; `InvalidDocument` names line and column where it is wrong."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"line {error.lineno}, column {error.colno}: {error.msg}."
        raise InvalidDocument([("", f"the file is no JSON: {reason}")]) from None
    except RecursionError:
        # A short text can be nested more deeply than the stack of the interpreter.
        raise InvalidDocument([("", "the file is nested too deeply.")]) from None


def changed(document: Document, changes: Any) -> Document:
    """Return a document with some fields, or some of its plan's, set anew."""
    if not isinstance(changes, dict):
        raise InvalidDocument([("", "a change is a JSON object of fields.")])
    whole = document.to_json()
    plan = changes.get("plan")
    merged = {**whole, **changes}
    if isinstance(plan, dict):
        merged["plan"] = {**whole["plan"], **plan}
    if "languages" not in changes and whole["languages"]["texts"]:
        # Of what is read, in which every text is one.
        found = read_document(merged).to_json()
        merged["languages"] = {**whole["languages"], "texts": carried(whole, found)}
    return read_document(merged)


def _pointer(location: tuple[int | str, ...]) -> str:
    # The names of union members are no places.
    union = re.compile(r"[\[\]]|constrained")
    parts = [part for part in location if isinstance(part, int) or not union.search(part)]
    # JSON Pointer (RFC 6901): first the tilde, or the slash's escape would be escaped again.
    text = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    # Names come from the input, and lone surrogates cannot be sent as UTF-8.
    return text.encode(errors="replace").decode()
