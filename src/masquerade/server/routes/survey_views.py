"""Surveys and drafts as surveyors see them: in the interface's answers, and on pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from masquerade.server.routes.authorization import Actor, base_address
from masquerade.server.surveys.document import Document
from masquerade.server.surveys.drafts import Draft, Review
from masquerade.server.surveys.survey_records import SurveyRecord


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
    trusts: dict[str, dict[str, Any] | None]


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


def draft_response(actor: Actor, draft: Draft, review: Review) -> DraftResponse:
    """Return an actor's draft as programs read it."""
    return DraftResponse(
        token=draft.token,
        state=draft.state,
        version=draft.version,
        changed=draft.day,
        document=draft.document.to_json(),
        forecast=review.forecast,
        trusts=actor.services.surveys.drafts.margins_by_trust(draft.document),
        valid=not review.issues,
        errors=verdict(review).errors,
    )


def verdict(review: Review) -> Verdict:
    """Return whether a draft can be opened, and why not."""
    issues = [Issue(pointer, detail) for pointer, detail in review.issues]
    return Verdict(valid=not issues, errors=issues)


def survey_response(actor: Actor, record: SurveyRecord) -> SurveyResponse:
    """Return an actor's survey as programs read it."""
    return SurveyResponse(
        token=record.token,
        state=record.state,
        hash=record.hash,
        link=share_link(actor, record.token),
        opened=record.opened,
        closes=record.closes,
        closed=record.closed,
        responses=record.responses,
        seats=record.quotas,
        document=actor.services.surveys.document(record).to_json(),
    )


def document_of(actor: Actor, token: str) -> Document:
    """Return the document of an actor's draft or survey."""
    draft = find_draft(actor, token)
    return draft.document if draft else actor.services.surveys.document(actor.survey(token))


def find_draft(actor: Actor, token: str) -> Draft | None:
    """Return a draft of an actor's team, or None."""
    return actor.services.surveys.drafts.find(token, team=actor.team.id)


def share_link(actor: Actor, token: str) -> str:
    """Return the address at which people take part."""
    return f"{base_address(actor.request)}/s/{token}"


def summary(record: SurveyRecord) -> dict[str, Any]:
    """Return what pages say of a survey; without right answers and counts."""
    survey = record.survey
    return {
        "token": record.token,
        "title": survey.title,
        "answers": len(survey.questions),
        "levels": [level.to_json() for level in survey.levels],
        "parties": survey.two_parties,
        "questions": [
            {"text": question.text, "labels": _labels(question)} for question in survey.questions
        ],
    }


def _labels(question: Any) -> list[str]:
    return list(question.labels) or [f"{question.low} to {question.high} {question.unit}"]
