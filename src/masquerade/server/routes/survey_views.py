"""Surveys and drafts as surveyors see them: in the interface's answers, and on pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from masquerade.server.routes.authorization import Actor, base_address
from masquerade.server.surveys.document import Document
from masquerade.server.surveys.drafts import Draft
from masquerade.server.surveys.frozen_surveys import SurveyRecord


@dataclass(frozen=True, slots=True)
class Issue:
    """Something that keeps a draft from being opened, and where it is."""

    pointer: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a draft can be opened, and why not."""

    valid: bool
    errors: list[Issue]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftResponse(Verdict):
    """A draft with what is missing in it, and its forecast where it is finished."""

    token: str
    state: str
    version: int
    changed: str
    document: dict[str, Any]
    forecast: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyResponse:
    """A survey that is open or was."""

    token: str
    state: str
    hash: str
    link: str
    opened: str
    closes: str | None
    closed: str | None
    responses: int
    seats: dict[str, int] | None
    document: dict[str, Any]


def draft_response(actor: Actor, draft: Draft) -> DraftResponse:
    """Return a draft as it is told."""
    review = actor.services.surveys.drafts.review(draft.document)
    return DraftResponse(
        token=draft.token,
        state=draft.state,
        version=draft.version,
        changed=draft.day,
        document=draft.document.to_json(),
        forecast=review.forecast,
        valid=not review.issues,
        errors=[Issue(pointer, detail) for pointer, detail in review.issues],
    )


def survey_response(actor: Actor, token: str) -> SurveyResponse:
    """Return an actor's survey as it is told."""
    survey = actor.survey(token)
    return SurveyResponse(
        token=survey.token,
        state=survey.state,
        hash=survey.hash,
        link=share_link(actor, token),
        opened=survey.opened,
        closes=survey.closes,
        closed=survey.closed,
        responses=survey.responses,
        seats=survey.seats,
        document=actor.services.surveys.document(survey).to_json(),
    )


def document_of(actor: Actor, token: str) -> Document:
    """Return the document of an actor's draft or survey."""
    if is_draft(actor, token):
        return draft_of(actor, token).document
    return actor.services.surveys.document(actor.survey(token))


def is_draft(actor: Actor, token: str) -> bool:
    """Return whether there is such a draft of an actor's team."""
    return actor.services.surveys.drafts.is_draft(token, team=actor.team.id)


def draft_of(actor: Actor, token: str) -> Draft:
    """Return a draft of an actor's team."""
    return actor.services.surveys.drafts.draft(token, team=actor.team.id)


def share_link(actor: Actor, token: str) -> str:
    """Return the address at which people take part."""
    return f"{base_address(actor.request)}/s/{token}"


def summary(survey: SurveyRecord) -> dict[str, Any]:
    """Return what pages say of a survey; without right answers and counts."""
    definition = survey.definition
    return {
        "token": survey.token,
        "title": definition.title,
        "answers": len(definition.questions),
        "levels": [level.to_json() for level in definition.levels],
        "questions": [
            {"text": question.text, "labels": _labels(question)}
            for question in definition.questions
        ],
    }


def _labels(question: Any) -> list[str]:
    return list(question.labels) or [f"{question.low} to {question.high} {question.unit}"]
