"""One shape for every error: problem+json for programs, a plain page for people."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse
from starlette.responses import Response

from masquerade.errors import (
    AlreadyParticipated,
    InvalidReport,
    MasqueradeError,
    NotFound,
    WrongState,
)

_STATUS: dict[type[MasqueradeError], tuple[int, str]] = {
    NotFound: (404, "not-found"),
    WrongState: (409, "wrong-state"),
    AlreadyParticipated: (409, "already-participated"),
    InvalidReport: (422, "invalid-report"),
}


def problem(status: int, slug: str, detail: str, **members: Any) -> JSONResponse:
    """Return an error as RFC 9457 problem details."""
    return JSONResponse(
        {
            "type": f"/problems/{slug}",
            "title": slug.replace("-", " ").capitalize(),
            "status": status,
            "detail": detail,
            **members,
        },
        status_code=status,
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
    return problem(status, slug, str(error))
