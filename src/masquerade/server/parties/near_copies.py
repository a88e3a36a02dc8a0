"""Surveys nearly equal to approved ones, and the differences, for a helper's operator.

Whoever answers one of two such surveys is in its sum alone: a leader that opens several can ask
groups of people apart. A space, an invisible letter or another minimum makes another survey for a
hash, and none for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from masquerade.surveys.characters import skeleton
from masquerade.surveys.survey import Survey

#: The part of the questions of the smaller survey that makes the other one a near copy.
_SHARED: Final = 0.5
_MOST: Final = 8


@dataclass(frozen=True, slots=True)
class NearCopy:
    """A survey that was approved before, and how the proposed one differs from it, in words."""

    title: str
    differences: tuple[str, ...]


def near_copies(survey: Survey, approved: Iterable[Survey]) -> list[NearCopy]:
    """Return the approved surveys of which half of the questions or more are asked again."""
    asked = _questions(survey)
    copies = []
    for other in approved:
        before = _questions(other)
        least = min(len(asked), len(before))
        if len(asked.keys() & before.keys()) >= _SHARED * least:
            found = tuple(_differences(survey.to_json(), other.to_json()))
            more = len(found) - _MOST
            rest = (f"and {more} more",) if more > 0 else ()
            copies.append(NearCopy(other.title, (*found[:_MOST], *rest)))
    return copies


def _questions(survey: Survey) -> dict[str, str]:
    return {skeleton(question.text): question.text for question in survey.questions}


def _differences(new: Any, old: Any, at: str = "") -> Iterator[str]:
    """Yield the differences of two JSON texts of surveys, in words."""
    if new == old:
        return
    if isinstance(new, dict) and isinstance(old, dict):
        for key in sorted(new.keys() | old.keys()):
            yield from _differences(new.get(key), old.get(key), f"{at} {key}".strip())
    elif isinstance(new, list) and isinstance(old, list):
        for place in range(max(len(new), len(old))):
            one, other = (side[place] if place < len(side) else None for side in (new, old))
            yield from _differences(one, other, f"{at} {place + 1}".strip())
    elif isinstance(new, str) and isinstance(old, str) and skeleton(new) == skeleton(old):
        yield f"{at}: the same but for spaces, case or invisible characters"
    elif new is None or old is None:
        yield f"{at}: {'left out' if new is None else 'added'}"
    else:
        yield f"{at}: {_short(new)}, and {_short(old)} before"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
