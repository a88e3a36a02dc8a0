"""The cookie of a signed-in browser, and what its forms carry against forgery."""

from __future__ import annotations

import hmac

from fastapi import Request
from starlette.responses import Response

COOKIE = "masquerade"
# By this prefix browsers take the cookie only over https, for this host alone and for all paths.
SECURE_COOKIE = "__Host-masquerade"
SESSION_DAYS = 30


def csrf_token(secret: str) -> str:
    """Return what forms of a session carry; says nothing about the cookie."""
    return hmac.digest(secret.encode(), b"csrf", "sha256").hex()


def session_secret(request: Request, *, https: bool) -> str:
    """Return what the session cookie of a request holds, or an empty text."""
    return request.cookies.get(SECURE_COOKIE if https else COOKIE, "")


def set_cookie(response: Response, secret: str, *, https: bool) -> None:
    """Let `response` sign its reader in."""
    response.set_cookie(
        SECURE_COOKIE if https else COOKIE,
        secret,
        max_age=SESSION_DAYS * 24 * 3600,
        httponly=True,
        # A link from another site leads to a page that knows its reader; a form from there carries
        # no cookie.
        samesite="lax",
        secure=https,
        path="/",
    )


def forget_cookie(response: Response, *, https: bool) -> None:
    """Let `response` take the cookie back."""
    response.delete_cookie(
        SECURE_COOKIE if https else COOKIE, httponly=True, samesite="lax", secure=https, path="/"
    )
