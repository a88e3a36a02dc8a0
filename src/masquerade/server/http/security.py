"""Headers, body limits, other origins, and the cookie of a signed-in browser with its forms."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
from collections.abc import Callable, Iterable
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from masquerade.server.http.database_faults import fault_of
from masquerade.server.http.logs import Repeats, described, fields
from masquerade.server.http.metrics import route_of
from masquerade.server.http.problem import problem

LARGEST_BODY = 256 * 1024

_LOGGER = logging.getLogger(__name__)
# Errors of a database that cannot work now, by the names of SQLAlchemy's classes.
_PASSING: Final = ("OperationalError", "InterfaceError")
_RETRY_SECONDS: Final = 10

# No script but our files: what somebody writes into a title or an answer is never run.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-src 'self'; frame-ancestors 'none'"
)

#: Of the app's files that pages load, where a policy rules only what is opened by itself. It is
#: short because a first visit loads some sixty of them.
FILE_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"

#: Of the page that the builder shows in a frame; no other site may.
PREVIEW_POLICY: Final = POLICY.replace("frame-ancestors 'none'", "frame-ancestors 'self'")

# Characters that would end a source in the policy, or a policy's part, are in no origin.
_ORIGIN = re.compile(r"https?://[a-z0-9.:\[\]-]{1,300}")

_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"cross-origin-opener-policy": b"same-origin",
    b"permissions-policy": b"geolocation=(), camera=(), microphone=()",
}


def policy_with(*origins: str, shown_by: Iterable[str] = (), sends_to: Iterable[str] = ()) -> str:
    """Return the policy of a page that may also ask other servers, those that are origins.

    `shown_by`: origins of pages that may show it within theirs. `sends_to`: origins to which it may
    send a form.
    """

    def written(those: Iterable[str]) -> str:
        return "".join(f" {one}" for one in those if _ORIGIN.fullmatch(one))

    policy = POLICY.replace("connect-src 'self'", f"connect-src 'self'{written(origins)}")
    policy = policy.replace("form-action 'self'", f"form-action 'self'{written(sends_to)}")
    ancestors = written(shown_by).strip() or "'none'"
    return policy.replace("frame-ancestors 'none'", f"frame-ancestors {ancestors}")


class SecurityHeaders:
    """Adds the content security policy and its companions to every response.

    `public_url` (optional): where it begins with https, browsers that ask for its host are told to
        stay with https.
    """

    def __init__(self, app: ASGIApp, *, public_url: str | None = None) -> None:
        self.app = app
        public = urlsplit(public_url or "")
        self._https_host = public.netloc.encode() if public.scheme == "https" else None

    def _over_https(self, scope: Scope) -> bool:
        # The scheme is the proxy's word, where the proxy is trusted.
        return scope["scheme"] == "https" or (b"host", self._https_host) in scope["headers"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and complete the headers of its response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        static = scope["path"].startswith("/static/")
        hashed = scope["path"].startswith("/app/")
        participants = scope["path"].startswith(("/s/", "/me"))
        # Forms of the owner's pages must carry their origin, which `same_origin` checks; a browser
        # that may send no referrer sends no origin with them either.
        referrer = b"no-referrer" if participants else b"same-origin"

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message["headers"])
                headers += list(_HEADERS.items())
                headers.append((b"referrer-policy", referrer))
                if self._over_https(scope):
                    # A year in seconds; not for subdomains, which may be another's.
                    headers.append((b"strict-transport-security", b"max-age=31536000"))
                # A page that others may show within theirs has a policy of its own.
                if not any(name == b"content-security-policy" for name, _ in headers):
                    policy = FILE_POLICY if hashed else POLICY
                    headers.append((b"content-security-policy", policy.encode()))
                # What never changes, as it is named by its hash, says so itself.
                if not any(name == b"cache-control" for name, _ in headers):
                    # Pages show secrets and questions, so no cache may keep them; static files may
                    # be kept and are asked about again.
                    headers.append((b"cache-control", b"no-cache" if static else b"no-store"))
                message["headers"] = headers
            await send(message)

        await self.app(scope, receive, send_with_headers)


class LastResort:
    """Answers an unexpected error, and logs where it happened but not its text.

    The text of a database's error can hold what somebody sent. Where the database cannot work now,
    as it is locked, full, read-only or away, the answer is 503 and says so: the same request may
    succeed later. Of each cause one line a minute is logged, with how many there were and the id of
    the last answer.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._repeats = Repeats()

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
            # The status is sent: the connection ends in the middle, which the client notices.
            if started:
                raise
            id_ = secrets.token_hex(8)
            told = {"method": scope.get("method"), "route": route_of(scope), **described(error)}
            cause = told.get("cause")
            count = self._repeats.due(str(cause or told["place"]))
            if count is not None:
                _LOGGER.error(
                    "unexpected %s at %s\n%s",
                    told["error"],
                    told["place"],
                    "\n".join(told["frames"]),  # for logs that tell more than the first line
                    extra=fields(**told, request=id_, count=count),
                )
            fault = None if cause is None else fault_of(cause)
            if fault is not None or (cause is not None and told["error"] in _PASSING):
                why = "" if fault is None else f": {fault.words}"
                detail = f"The database cannot work now{why}. Nothing is lost; come again later."
                answer = problem(503, "database-unavailable", detail, request=id_)
                answer.headers["retry-after"] = str(_RETRY_SECONDS)
            else:
                detail = "Something went wrong here; try again later."
                answer = problem(500, "server-error", detail, request=id_)
            await answer(scope, receive, send)


class BodyLimit:
    """Refuses request bodies above 256 KiB, whether or not they announce their length.

    `most` (optional): tells for each path how long a body may be. Such bodies are counted while
        they are read and not read in advance, so that a stranger makes the server hold none of it.
    """

    def __init__(self, app: ASGIApp, *, most: Callable[[str], int | None] = lambda _: None) -> None:
        self.app = app
        self.most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body up to the limit, then pass the request on."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        most = self.most(scope["path"])
        if most:
            await self._count(scope, receive, send, most)
            return
        body = bytearray()
        # What announces too much is refused before a byte of it is read.
        more = not _announces_more(scope, LARGEST_BODY)
        too_large = not more
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            too_large = len(body) > LARGEST_BODY
            more = message.get("more_body", False) and not too_large
        if too_large:
            await _too_large(LARGEST_BODY)(scope, receive, send)
            return
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                # Further calls wait for the end of the connection.
                return await receive()
            given = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        await self.app(scope, replay, send)

    async def _count(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        if _announces_more(scope, most):
            await _too_large(most)(scope, receive, send)
            return
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise _TooLargeError
            return message

        try:
            await self.app(scope, counted, send)
        except _TooLargeError:
            await _too_large(most)(scope, receive, send)
        except ClientDisconnect:
            return  # whoever sent it is gone in the middle: nobody is left to be answered


class _TooLargeError(Exception):
    """A body was longer than its address takes; nothing was answered yet."""


def _too_large(most: int) -> Response:
    return problem(413, "body-too-large", f"The body is above {most} bytes; send less.")


def _announces_more(scope: Scope, most: int) -> bool:
    announced = next((v for k, v in scope["headers"] if k == b"content-length"), b"0")
    digits = announced.lstrip(b"0")
    # By length first: `int` refuses thousands of digits, and a stranger chose them.
    return len(digits) > len(str(most)) or int(digits or b"0") > most


def same_origin(request: Request) -> bool:
    """Return whether a request that changes something was made by one of our own pages.

    Browsers name the page's origin in such requests; one that names none is no browser form.
    """
    origin = request.headers.get("origin")
    if origin is None:
        # Browsers send at least one of the two headers; other programs hold no cookies of people.
        return request.headers.get("sec-fetch-site") in (None, "same-origin", "none")
    return origin.partition("://")[2] == request.headers.get("host")


# What a participant's device asks for, with a secret of its own that no browser adds by itself.
# Nothing that a surveyor's cookie opens is among it.
_PARTICIPANTS: Final = re.compile(
    r"/api/v1/(participations|invitations|me)(/.*)?|/api/v1/surveys/[0-9a-f]{1,32}/(invitation|ticket|panel)"
)
_PREFLIGHT: Final = {
    "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers": "content-type, idempotency-key, masquerade-participant",
    "access-control-max-age": "3600",
}


class SecondPartyPages:
    """Lets pages of a survey's second party send the requests of a participant's device.

    No credentials are allowed: a browser adds no cookie of this site to such a request, and the
    secret of a participant is known to the page on which it was drawn and to no other. So a page
    that is let in can do nothing that a program without a browser cannot do.

    `allowed`: whether an origin is that of a second party of a survey here; it may wait.
    """

    def __init__(self, app: ASGIApp, *, allowed: Callable[[str], bool]) -> None:
        self.app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a browser's preflight request, or pass on and let the origin read the answer."""
        if scope["type"] != "http" or not _PARTICIPANTS.fullmatch(scope["path"]):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin", "")
        if not _ORIGIN.fullmatch(origin) or not await run_in_threadpool(self._allowed, origin):
            await self.app(scope, receive, send)
            return
        # Caches must not give one origin's answer to another.
        shared = {"access-control-allow-origin": origin, "vary": "origin"}
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            await Response(status_code=204, headers=shared | _PREFLIGHT)(scope, receive, send)
            return

        async def send_shared(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode()) for name, value in shared.items()]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self.app(scope, receive, send_shared)


COOKIE = "masquerade"
# By this prefix browsers take the cookie only over https, for this host alone and for all paths.
SECURE_COOKIE = "__Host-masquerade"
SESSION_DAYS = 30


def is_https(request: Request) -> bool:
    """Return whether a browser made a request over https, perhaps to a proxy before us."""
    public = urlsplit(request.app.state.settings.public_url or "")
    return request.url.scheme == "https" or (
        public.scheme == "https" and public.netloc == request.headers.get("host")
    )


def csrf_token(secret: str) -> str:
    """Return the token in the forms of a session; it tells nothing about the cookie."""
    return hmac.digest(secret.encode(), b"csrf", "sha256").hex()


def session_secret(request: Request, *, https: bool) -> str:
    """Return the secret in the session cookie of a request, or an empty text."""
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
