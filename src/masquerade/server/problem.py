"""One shape for every error: problem+json for programs, a plain page for people."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import Response

from masquerade.errors import (
    AlreadyParticipated,
    ClearDisclosureRefused,
    CommitmentMismatch,
    ConfirmationNeeded,
    IdempotencyConflict,
    InsufficientBudget,
    InvalidReport,
    LevelNotAllowed,
    MasqueradeError,
    NotFound,
    SurveyHashMismatch,
    Unauthenticated,
    WrongState,
)
from masquerade.server.padding import padded

_STATUS: dict[type[MasqueradeError], tuple[int, str]] = {
    Unauthenticated: (401, "unauthenticated"),
    NotFound: (404, "not-found"),
    WrongState: (409, "wrong-state"),
    AlreadyParticipated: (409, "already-participated"),
    InvalidReport: (422, "invalid-report"),
    LevelNotAllowed: (422, "level-not-allowed"),
    SurveyHashMismatch: (409, "survey-hash-mismatch"),
    CommitmentMismatch: (409, "commitment-mismatch"),
    IdempotencyConflict: (409, "idempotency-conflict"),
    ConfirmationNeeded: (409, "confirmation-needed"),
    InsufficientBudget: (409, "privacy-cap-exceeded"),
    ClearDisclosureRefused: (409, "clear-cap-exceeded"),
}


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
    if isinstance(error, WrongState) and error.state is not None:
        return problem(status, slug, str(error), state=error.state)
    return problem(status, slug, str(error))
