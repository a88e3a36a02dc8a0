"""Invitations to surveys, without a question's text, and the masks of surveys that are begun."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from masquerade.server.http.bodies import encoded
from masquerade.server.payments.rewards import Reward
from masquerade.server.surveys.survey_records import FrozenSurvey
from masquerade.surveys.survey import Survey


def invitation(frozen: FrozenSurvey, *, state: str) -> dict[str, Any]:
    """Return what everybody may know of a survey."""
    return {**_fixed(frozen), "state": state}


# By identity of the frozen survey, which never changes; the state does, and is added outside.
@lru_cache(maxsize=1024)
def _fixed(frozen: FrozenSurvey) -> dict[str, Any]:
    return introduction(
        frozen.survey,
        token=frozen.token,
        hash_=frozen.hash,
        simulated=frozen.simulated,
        reward=frozen.reward,
        approval=frozen.approval,
    )


def introduction(
    survey: Survey,
    *,
    token: str,
    hash_: str,
    simulated: bool = False,
    reward: Reward | None = None,
    approval: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Return what everybody may know of a survey whatever its state, open or to be opened."""
    return {
        "token": token,
        "title": survey.title,
        "description": survey.description,
        "topic": survey.topic,
        "hash": hash_,
        "reveal": survey.reveal,
        "simulated": simulated,
        "questions": len(survey.questions),
        "kinds": survey.kinds,
        "template": survey.template,
        "estimator": survey.estimator,
        "levels": [level.to_json() for level in survey.levels],
        "masks": masks_json(survey),
        "linked": [list(group) for group in survey.levels[0].linked],
        "fixed_level": survey.fixed_level,
        "reward": _reward(reward),
        "trust": survey.trust,
        "two_parties": _parties(survey, approval),
    }


def _parties(survey: Survey, approval: dict[str, str] | None) -> dict[str, Any] | None:
    """Return who the two parties are, and what shows that the helper agreed; None for masks."""
    terms = survey.two_parties
    if terms is None:
        return None
    return {
        "helper": terms.helper,
        "operator": terms.operator,
        "fingerprint": terms.fingerprint,
        "minimum": terms.minimum,
        "assumptions": list(survey.levels[0].guarantee().assumptions),
        "approval": approval,
    }


def masks_json(survey: Survey) -> dict[str, dict[str, Any]]:
    """Return the device form of each mechanism of any level, by its text form.

    All levels together, so that nothing about the level that was chosen shows.
    """
    used = {str(m): m for level in survey.levels for m in level.mechanisms}
    return {text: mechanism.device_form() for text, mechanism in used.items()}


def _reward(reward: Reward | None) -> dict[str, Any] | None:
    if reward is None:
        return None
    amounts = {name: reward.paid(name) for name in reward.prices} if reward.pays else {}
    return {"kind": reward.kind, "currency": reward.currency, "amounts": amounts}


@lru_cache(maxsize=1024)
def masks_of(frozen: FrozenSurvey) -> dict[str, dict[str, Any]]:
    """Return the device form of each mechanism of a survey; see `masks_json`."""
    return masks_json(frozen.survey)


@lru_cache(maxsize=1024)
def longest_mechanisms(frozen: FrozenSurvey) -> int:
    """Return the length in bytes of the mechanisms' names at the level where they are longest."""
    # Answers are padded to this length, so that their size does not tell the level.
    return max(len(encoded([str(m) for m in one.mechanisms])) for one in frozen.survey.levels)
