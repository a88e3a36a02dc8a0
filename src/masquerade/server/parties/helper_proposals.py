"""Proposals of leaders to a helper, and the checks before its operator is asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from masquerade.aggregate.dap_messages import HpkeConfig
from masquerade.errors import ParameterError
from masquerade.surveys.characters import skeleton, wrong_texts
from masquerade.surveys.split_task import COLLECTOR_KEY, LEADER_KEY
from masquerade.surveys.survey import Survey

#: Days that a task may last at most, from its proposal on.
MOST_DAYS = 400
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Proposal:
    """A survey that a leader asks a helper to approve, with its keys and times."""

    text: str  # the survey's canonical text
    token: str  # of the survey
    leader: str  # address of the leader
    people: int  # expected
    opening: int  # seconds since 1970
    expires: int  # seconds since 1970
    leader_key: HpkeConfig
    collector_key: HpkeConfig

    def digest(self, leader: str) -> str:
        """Return the SHA-256 of leader and proposal; equal proposals of a leader give one task."""
        keys = [self.leader_key.encode().hex(), self.collector_key.encode().hex()]
        facts = [self.text, self.token, self.leader, self.people, self.opening, self.expires]
        return hashlib.sha256(json.dumps([leader, *facts, *keys]).encode()).hexdigest()


def names(survey: Survey, identity: Mapping[str, str]) -> bool:
    """Return whether a survey's second party is the helper of this identity."""
    terms = survey.two_parties
    assert terms is not None
    # All three, as devices compare them: what is approved here is not refused there.
    own = (identity["address"], identity["fingerprint"], identity["operator"])
    return (terms.helper, terms.fingerprint, terms.operator) == own


def checked_survey(proposal: Proposal, identity: Mapping[str, str], *, now: float) -> Survey:
    """Return the survey of a proposal that the operator may be asked about.

    `identity`: address, operator and fingerprint of this helper.
    `now`: seconds since 1970.

    Raises `ParameterError`.
    """
    survey = Survey.from_text(proposal.text)
    for pointer, fault in wrong_texts(survey.to_json()):
        raise ParameterError(f"the survey's text at {pointer}: {fault}")
    terms = survey.two_parties
    if terms is None:
        raise ParameterError("this survey is not between two parties; there is nothing to add.")
    if not names(survey, identity):
        raise ParameterError(
            f"this survey names the helper {terms.helper} of {terms.operator!r} with the "
            f"fingerprint {terms.fingerprint}; this one is {identity['address']} of "
            f"{identity['operator']!r} with {identity['fingerprint']}. Enter the helper again, and "
            "choose it in the survey."
        )
    lasts = proposal.expires - now
    if not 3600 <= lasts <= MOST_DAYS * _DAY_SECONDS or proposal.opening >= proposal.expires:
        raise ParameterError(
            f"the task ends in {lasts / _DAY_SECONDS:.1f} days, expected an hour to {MOST_DAYS} "
            "days; set the survey's last day."
        )
    if not 1 <= proposal.people <= 10**7:
        raise ParameterError(f"{proposal.people} people are expected, expected 1 to 10 million.")
    for key, number in ((proposal.leader_key, LEADER_KEY), (proposal.collector_key, COLLECTOR_KEY)):
        if key.id != number:
            raise ParameterError(f"a key of the leader has id {key.id}, expected {number}.")
    return survey


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
