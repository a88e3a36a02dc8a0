"""Requests of a survey's page that its second party served from an address of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# What a participant's device asks for, with a secret of its own that no browser adds by itself.
# Nothing that a surveyor's cookie opens is among it.
_PARTICIPANTS: Final = re.compile(
    r"/api/v1/(participations|invitations|me)(/.*)?|/api/v1/surveys/[0-9a-f]{1,32}/invitation"
)
_ORIGIN: Final = re.compile(r"https?://[a-z0-9.:\[\]-]{1,300}")
_PREFLIGHT: Final = {
    "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers": "content-type, idempotency-key, masquerade-participant",
    "access-control-max-age": "3600",
}


class SecondPartyPages:
    """Lets pages of a survey's second party ask what a participant's device asks.

    No credentials are allowed: a browser adds no cookie of this site to such a request, and the
    secret of a participant is known to the page on which it was drawn and to no other. So a page
    that is let in can do nothing that a program without a browser cannot do.

    `allowed`: whether an origin is that of a second party of a survey here; it may wait.
    """

    def __init__(self, app: ASGIApp, *, allowed: Callable[[str], bool]) -> None:
        self.app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what a browser asks beforehand, or pass on and say who may read the answer."""
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
