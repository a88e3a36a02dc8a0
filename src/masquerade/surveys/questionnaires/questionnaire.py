"""A questionnaire of another tool in neutral form, and the report of its import."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from masquerade.accounting import Caps
from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.errors import MasqueradeError
from masquerade.surveys.conditions import questions_from_json
from masquerade.surveys.offered_levels import ALL_LEVELS, too_dear
from masquerade.surveys.pair_votes import parts_of
from masquerade.surveys.questionnaires.logic import Logic
from masquerade.surveys.survey import Survey

#: A text by language.
Words = dict[str, str]

KEPT, CHANGED, LEFT_OUT = OUTCOMES = "kept", "changed", "left out"

#: Shapes of elements.
CHOICE, SEVERAL, RATING, NUMBER, MATRIX, RANKING, NPS, TEXT, CONSENT = (
    *("choice", "several", "rating", "number", "matrix", "ranking", "nps", "text", "consent"),
)
FREE_TEXT: Final = (
    "a free text has no finite set of answers, so no mask can protect it; ask for it elsewhere, "
    "behind a link"
)
OTHER: Final[Words] = {"en": "Other", "de": "Anderes", "fr": "Autre", "es": "Otro", "ar": "غير ذلك"}
OTHER_NOTE: Final = f"“Other” is an option without a field to type in: {FREE_TEXT}"
NO_RANKING: Final = "a ranking is not offered here; ask for the best with a choice, or by pairs"

_TAG = re.compile(r"([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_]([a-z]{2}|\d{3}))?", re.IGNORECASE)


@dataclass(slots=True)
class Option:
    """An option or a row, with its code in the file."""

    code: str
    words: Words


@dataclass(slots=True)
class Element:
    """A question or a text of a questionnaire.

    `name`: in the file; `what`: its type there, in words; `key`: its name in conditions, where that
    is another; `notes`: changes, each with its reason.
    """

    name: str
    what: str
    shape: str
    words: Words
    options: list[Option] = field(default_factory=list)
    rows: list[Option] = field(default_factory=list)
    low: float = 0
    high: float = 10
    step: float = 1
    ends: tuple[Words, Words] = field(default_factory=lambda: ({}, {}))
    most: int | None = None
    required: bool = False
    shuffle: bool = False
    condition: Logic | None = None
    key: str = ""
    origin: float = 0  # the number in the file that the point 0 stands for
    point: float = 1  # how much a point stands for
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Screen:
    """A screen: a heading, and elements that are shown at once."""

    name: str
    heading: Words = field(default_factory=dict)
    elements: list[Element] = field(default_factory=list)
    shuffle: bool = False
    moves: bool = False
    condition: Logic | None = None
    ends: Logic | None = None  # after which answers the survey ends


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the report: an element, its type, its outcome, and the reasons of that."""

    name: str
    what: str
    outcome: str
    reasons: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """All reasons in one text."""
        return "; ".join(self.reasons)


@dataclass(slots=True)
class Questionnaire:
    """A questionnaire of another tool."""

    format: str
    languages: list[str] = field(default_factory=lambda: ["en"])
    title: Words = field(default_factory=dict)
    description: Words = field(default_factory=dict)
    thanks: Words = field(default_factory=dict)
    return_address: str = ""
    screens: list[Screen] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def leave_out(self, name: str, what: str, why: str) -> None:
        """Report an element that is left out."""
        self.lines.append(Line(name, what, LEFT_OUT, (why,)))


@dataclass(frozen=True, slots=True)
class Imported:
    """A survey document made of a questionnaire, with a report line for each of its elements."""

    format: str
    document: Mapping[str, Any]
    lines: tuple[Line, ...]

    def count(self, outcome: str) -> int:
        """Return the number of elements that were kept, changed or left out."""
        return sum(line.outcome == outcome for line in self.lines)

    def too_dear(self, caps: Caps | None = None) -> list[str]:
        """Return a sentence for each level at which nobody can take part; of the usual caps.

        Nothing where the document is not finished, or where two parties add up.
        """
        document = self.document
        levels = document.get("levels") or ALL_LEVELS
        if document.get("trust") == TWO_PARTIES or isinstance(levels, Mapping):
            return []
        try:
            questions, _ = parts_of(*questions_from_json(document.get("questions")))
            survey = Survey.at_levels(
                title="-", questions=questions, levels=levels, asked=document.get("asked")
            )
        except MasqueradeError:
            return []
        return too_dear(survey.levels, caps or Caps())

    def report(self) -> Mapping[str, object]:
        """Return the report as JSON."""
        lines = [
            {"element": one.name, "type": one.what, "outcome": one.outcome, "why": one.why}
            for one in self.lines
        ]
        counts = {name.replace(" ", "_"): self.count(name) for name in OUTCOMES}
        return {
            "format": self.format,
            **counts,
            "elements": lines,
            "warnings": self.too_dear(),
        }


def language_tag(name: str) -> str | None:
    """Return a language as a tag of ours; None where it is not recognised.

    Examples
    --------
    >>> language_tag("EN"), language_tag("pt-br"), language_tag("French (fr)"), language_tag("?")
    ('en', 'pt-BR', 'fr', None)
    """
    inner = re.search(r"\(([\w-]+)\)\s*$", name)
    found = _TAG.match((inner[1] if inner else name).strip())
    if found is None or (
        not inner and found.end() < len(name.strip()) and name.strip()[3:].isalpha()
    ):
        return _NAMES.get(name.strip().casefold())
    language, script, region = found.groups()
    parts = [language.lower(), script and script.title(), region and region.upper()]
    return "-".join(part for part in parts if part)


_NAMES = {
    "english": "en",
    "german": "de",
    "deutsch": "de",
    "french": "fr",
    "français": "fr",
    "francais": "fr",
    "spanish": "es",
    "español": "es",
    "espanol": "es",
    "arabic": "ar",
    "portuguese": "pt",
    "português": "pt",
    "italian": "it",
    "italiano": "it",
    "dutch": "nl",
    "swahili": "sw",
    "hindi": "hi",
    "russian": "ru",
    "chinese": "zh",
    "japanese": "ja",
}
