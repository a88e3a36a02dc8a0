"""A survey or draft as the surveyors' interface and pages show it, in JSON objects."""

from __future__ import annotations

from typing import Any

from masquerade.server.surveys.document import Document
from masquerade.server.surveys.drafts import Draft
from masquerade.server.surveys.frozen_surveys import SurveyRecord
from masquerade.server.surveys.lifecycle import Lifecycle, Listed


def draft_json(draft: Draft, lifecycle: Lifecycle) -> dict[str, Any]:
    """Return a draft with what is missing in it, and what it can be expected to tell."""
    return {
        "token": draft.token,
        "state": draft.state,
        "version": draft.version,
        "changed": draft.day,
        "document": draft.document.to_json(),
        **verdict(draft.document, lifecycle),
    }


def verdict(document: Document, lifecycle: Lifecycle) -> dict[str, Any]:
    """Return whether a document can be opened, why not, and its forecast where it is finished."""
    review = lifecycle.drafts.review(document)
    return {
        "valid": not review.issues,
        "errors": [{"pointer": pointer, "detail": detail} for pointer, detail in review.issues],
        "forecast": review.forecast,
    }


def survey_json(survey: SurveyRecord, lifecycle: Lifecycle, *, link: str) -> dict[str, Any]:
    """Return a survey that is open or was."""
    return {
        "token": survey.token,
        "state": survey.state,
        "hash": survey.hash,
        "link": link,
        "opened": survey.opened,
        "closes": survey.closes,
        "closed": survey.closed,
        "responses": survey.responses,
        "seats": survey.seats,
        "document": lifecycle.document(survey).to_json(),
    }


def listed_json(one: Listed) -> dict[str, Any]:
    """Return a survey or draft as a list shows it."""
    return {
        "token": one.token,
        "title": one.title,
        "state": one.state,
        "template": one.template,
        "day": one.day,
        "questions": one.questions,
        "responses": one.responses,
    }
