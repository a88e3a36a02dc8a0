"""The first step: how many people, how many questions, how exact; and the way that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, Self

from masquerade.accounting import Caps
from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.server.surveys.document import Document, changed
from masquerade.surveys.offered_levels import ALL_LEVELS
from masquerade.surveys.survey import MOST_QUESTIONS

if TYPE_CHECKING:
    from masquerade.results.learnable import Way

MOST_PEOPLE: Final = 100_000
#: How exact a share can be wished to be, in points of 100.
EXACT: Final = (5, 10, 20)


class KnownHelper(Protocol):
    """A helper that a team works with."""

    @property
    def address(self) -> str:
        """Where it is reached."""

    @property
    def operator(self) -> str:
        """The organisation that runs it."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its key."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A plan as it was typed, and its faults."""

    people: str
    questions: str
    exact: str
    people_fault: str = ""
    questions_fault: str = ""

    @classmethod
    def of(cls, people: str, questions: str, exact: str) -> Self:
        """Return a wish as it was typed; nothing is wrong while nothing was typed."""
        typed = bool(people or questions)
        return cls(
            people,
            questions,
            exact if exact in map(str, EXACT) else "10",
            _fault(people, MOST_PEOPLE) if typed else "",
            _fault(questions, MOST_QUESTIONS) if typed else "",
        )

    def planned(self, *, caps: Caps, helper: bool) -> list[Way]:
        """Return the ways to do it, the recommended one first; none where it is not complete."""
        from masquerade.results.learnable import ways

        if not self.people or self.people_fault or self.questions_fault:
            return []
        exact = int(self.exact) / 100
        return ways(int(self.people), int(self.questions), exact, caps=caps, helper=helper)


def as_planned(
    document: Document, *, people: int | None, way: str, helpers: Sequence[KnownHelper]
) -> Document:
    """Return a document for so many people, who are asked in the way that was recommended."""
    changes: dict[str, object] = {}
    if people is not None:
        changes["plan"] = {"people": people}
    if way == TWO_PARTIES:
        changes["trust"] = TWO_PARTIES
        if len(helpers) == 1:
            [one] = helpers
            terms = {
                "helper": one.address,
                "operator": one.operator,
                "fingerprint": one.fingerprint,
            }
            changes["two_parties"] = {**document.two_parties.model_dump(), **terms}
    elif way in ALL_LEVELS:
        changes["levels"] = [way]
    return changed(document, changes) if changes else document


def _fault(text: str, most: int) -> str:
    """Return the fault of a number as it was typed; empty where there is none."""
    if text.isascii() and text.isdigit() and 1 <= int(text) <= most:
        return ""
    said = f"; “{text[:20]}” is none" if text.strip() else ""
    return f"Give a whole number from 1 to {most:,}{said}."
