"""Headers, body limits and sessions: what every page and request gets."""

from __future__ import annotations

import logging
import traceback
from typing import Final

from fastapi import Request
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from masquerade.server.problem import problem

SESSION_COOKIE = "masquerade_owner"
DEMO_COOKIE = "masquerade_demo"  # browsers share cookies between the ports of a host
SESSION_SECONDS = 30 * 24 * 3600
LARGEST_BODY = 256 * 1024
_LOGGER = logging.getLogger(__name__)

# Observable Plot puts one constant <style> into each chart; its hash admits it and nothing else.
PLOT_STYLE_HASH = "'sha256-jSYQUrW7J0b3jPqhZP9C2Xh1PyJKHKXd4s0fpGGKrww='"

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' {styles}; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)

_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"cross-origin-opener-policy": b"same-origin",
    b"permissions-policy": b"geolocation=(), camera=(), microphone=()",
}


class SecurityHeaders:
    """Adds the content security policy and its companions to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and complete the headers of its response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        static = scope["path"].startswith("/static/")
        participants = scope["path"].startswith(("/s/", "/me"))
        charts = scope["path"].startswith(("/surveys/", "/demo")) or scope["path"] == "/"
        # Forms of the owner's pages must carry their origin, which `same_origin` checks; a browser
        # that may send no referrer sends no origin with them either.
        referrer = b"no-referrer" if participants else b"same-origin"
        policy = POLICY.format(styles=PLOT_STYLE_HASH if charts else "").replace(" ;", ";")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message["headers"])
                headers += list(_HEADERS.items())
                headers.append((b"referrer-policy", referrer))
                headers.append((b"content-security-policy", policy.encode()))
                # What never changes, as it is named by its hash, says so itself.
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", b"no-cache" if static else b"no-store"))
                message["headers"] = headers
            await send(message)

        await self.app(scope, receive, send_with_headers)


class LastResort:
    """Answers an unexpected error, and logs where it happened but not its text.

    The text of a database's error can hold what somebody sent.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; answer with status 500 where that raises."""
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except Exception as error:
            if started:
                raise
            where = "".join(traceback.format_tb(error.__traceback__))
            _LOGGER.error("%s, at\n%s", type(error).__qualname__, where)
            answer = problem(500, "server-error", "Something went wrong here; try again later.")
            await answer(scope, receive, send)


class BodyLimit:
    """Refuses request bodies above 256 KiB, whether or not they announce their length."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body up to the limit, then pass the request on."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        body = b""
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > LARGEST_BODY:
                refusal = problem(
                    413, "body-too-large", f"The body is above {LARGEST_BODY} bytes; send less."
                )
                await refusal(scope, receive, send)
                return
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)


class OwnerSessions:
    """The owner's signed session cookie.

    Parameters
    ----------
    secret : str
        Signs the cookies; kept in the database, so sessions outlive a restart.
    cookie : str
        Name of the cookie.
    """

    def __init__(self, secret: str, *, cookie: str = SESSION_COOKIE) -> None:
        self._cookie = cookie
        self._serializer = URLSafeTimedSerializer(secret, salt="owner")

    def start(self, response: Response, *, https: bool) -> None:
        """Let `response` make its reader the owner, on this browser."""
        response.set_cookie(
            self._cookie,
            self._serializer.dumps("owner"),
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="lax",
            secure=https,
        )

    def holds(self, request: Request) -> bool:
        """Return whether the request comes from the owner's browser."""
        cookie = request.cookies.get(self._cookie, "")
        try:
            return bool(self._serializer.loads(cookie, max_age=SESSION_SECONDS) == "owner")
        except BadSignature:
            return False


def same_origin(request: Request) -> bool:
    """Return whether a request that changes something was made by one of our own pages.

    Browsers name the page's origin in such requests; one that names none is no browser form.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") in (None, "same-origin", "none")
    return origin.partition("://")[2] == request.headers.get("host")
