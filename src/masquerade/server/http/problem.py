"""One shape for every error: problem+json for programs, a plain page for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from masquerade.errors import (
    AlreadyParticipated,
    ClearDisclosureRefused,
    CommitmentMismatch,
    ConfirmationNeeded,
    Forbidden,
    IdempotencyConflict,
    InsufficientBudget,
    InsufficientFunds,
    InvalidDocument,
    InvalidReport,
    LevelNotAllowed,
    MasqueradeError,
    NotFound,
    QuotaFull,
    StaleVersion,
    SurveyHashMismatch,
    TooManyAttempts,
    TooManyReservations,
    Unauthenticated,
    WrongState,
)
from masquerade.server.http.bodies import padded

#: How many places of a wrong request are told; whoever puts them right is told of further ones.
MOST_PLACES = 20

_LONGEST_POINTER, _LONGEST_DETAIL = 200, 2000

# Searched in this order, so a subclass stands before its base.
_STATUS: dict[type[MasqueradeError], tuple[int, str]] = {
    Unauthenticated: (401, "unauthenticated"),
    Forbidden: (403, "forbidden"),
    TooManyAttempts: (429, "too-many-attempts"),
    # 409 and not 429: waiting a moment does not help, opening a survey does.
    TooManyReservations: (409, "too-many-reservations"),
    NotFound: (404, "not-found"),
    StaleVersion: (412, "stale-version"),
    QuotaFull: (409, "budget-exhausted"),
    InsufficientFunds: (409, "insufficient-funds"),
    WrongState: (409, "wrong-state"),
    AlreadyParticipated: (409, "already-participated"),
    # 422: well formed, and refused for what it says.
    InvalidReport: (422, "invalid-report"),
    LevelNotAllowed: (422, "level-not-allowed"),
    SurveyHashMismatch: (409, "survey-hash-mismatch"),
    CommitmentMismatch: (409, "commitment-mismatch"),
    IdempotencyConflict: (409, "idempotency-conflict"),
    ConfirmationNeeded: (409, "confirmation-needed"),
    InsufficientBudget: (409, "privacy-cap-exceeded"),
    ClearDisclosureRefused: (409, "clear-cap-exceeded"),
}


class Problem(BaseModel):
    """Problem details (RFC 9457); some types have further members."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str


#: What every operation of the interface may answer, for its OpenAPI document.
PROBLEM_ANSWER: dict[str, Any] = {
    "description": "A problem; its type says which",
    "content": {"application/problem+json": {"schema": Problem.model_json_schema()}},
}


def file_answer(*types: str) -> dict[str, Any]:
    """Return what a route says of itself that answers with a file and not with a JSON object."""
    content: dict[str, Any] = {one: {} for one in types}
    answer: dict[str, Any] = {"description": "A file", "content": content}
    return {"response_class": Response, "responses": {200: answer}}


def describe_problems(document: dict[str, Any]) -> dict[str, Any]:
    """Complete an OpenAPI document: whatever an operation refuses, it does by a problem."""
    for operations in document["paths"].values():
        for operation in operations.values():
            for status, answer in operation["responses"].items():
                if status.startswith(("4", "5")):
                    answer.setdefault("content", PROBLEM_ANSWER["content"])
    return document


def problem(status: int, slug: str, detail: str, **members: Any) -> Response:
    """Return an error as RFC 9457 problem details, padded like any answer."""
    return padded(
        {
            "type": f"/problems/{slug}",
            "title": slug.replace("-", " ").capitalize(),
            "status": status,
            "detail": detail,
            **members,
        },
        status,
        media_type="application/problem+json",
    )


def wrong_places(slug: str, detail: str, places: Sequence[tuple[str, str]]) -> Response:
    """Return where a request is wrong, as problem details: the first places, and how many more."""
    errors = [
        {"pointer": pointer[:_LONGEST_POINTER], "detail": what[:_LONGEST_DETAIL]}
        for pointer, what in places[:MOST_PLACES]
    ]
    members: dict[str, Any] = {"errors": errors}
    if len(places) > MOST_PLACES:
        members["more"] = len(places) - MOST_PLACES
    return problem(422, slug, detail[:_LONGEST_DETAIL], **members)


def status_of(error: MasqueradeError) -> tuple[int, str]:
    """Return the HTTP status and the slug of an error."""
    for kind, answer in _STATUS.items():
        if isinstance(error, kind):
            return answer
    return 422, "validation-error"


def wants_json(request: Request) -> bool:
    """Return whether an error should be problem+json."""
    return request.url.path.startswith("/api/") or "text/html" not in request.headers.get(
        "accept", ""
    )


def masquerade_problem(error: MasqueradeError) -> Response:
    """Return one of the project's own errors as problem details."""
    status, slug = status_of(error)
    if isinstance(error, InsufficientBudget):
        detail = (
            f"This level costs {error.unit} {error.needed:g} and you have {error.residual:g} left. "
            "Choose a level that protects more, or raise your cap."
        )
        members = {"needed": error.needed, "residual": error.residual, "unit": error.unit}
        return problem(status, slug, detail, **members)
    if isinstance(error, ClearDisclosureRefused):
        detail = (
            f"This level sends {error.needed} answers as they are and your cap leaves "
            f"{error.residual}. Choose a level that masks them."
        )
        return problem(status, slug, detail, needed=error.needed, residual=error.residual)
    if isinstance(error, InvalidDocument):
        return wrong_places(slug, str(error), error.issues)
    if isinstance(error, TooManyAttempts):
        refusal = problem(status, slug, str(error), seconds=error.seconds)
        refusal.headers["retry-after"] = str(error.seconds)
        return refusal
    if isinstance(error, InsufficientFunds):
        members = {"needed": error.needed, "there": error.there, "currency": error.currency}
        return problem(status, slug, str(error), **members)
    if isinstance(error, WrongState) and error.state is not None:
        return problem(status, slug, str(error), state=error.state)
    return problem(status, slug, str(error))
