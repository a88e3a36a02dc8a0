"""Writes every change by a surveyor into the audit log, whichever route made it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from masquerade.server.audit.audit_log import AuditLog
from masquerade.server.http.metrics import route_of

READING = ("GET", "HEAD", "OPTIONS")

#: What is written of each handler that has words of its own; None: it changes nothing of a team's.
PHRASES: dict[Callable[..., Any], str | None] = {}

Handler = TypeVar("Handler", bound=Callable[..., Any])


def audited(phrase: str | None) -> Callable[[Handler], Handler]:
    """Say on a handler what the audit log tells of it; None: nothing, as it changes nothing."""

    def register(handler: Handler) -> Handler:
        PHRASES[handler] = phrase
        return handler

    return register


_OBJECTS = ("token", "account", "webhook", "helper")
_NOT_OBJECTS = ("/join/", "/tokens/")  # there it is a secret, or its hash


class AuditTrail:
    """Adds an entry for each change that a surveyor's request made.

    The entry is written when the change is done and before its answer is sent: nobody is told of a
    change that is not in the log.
    """

    def __init__(self, app: ASGIApp, *, log: AuditLog) -> None:
        self.app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and log what it did."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def watch(message: Message) -> None:
            # What was refused changed nothing.
            if message["type"] == "http.response.start" and message["status"] < 400:
                await self._write(scope)
            await send(message)

        await self.app(scope, receive, watch)

    async def _write(self, scope: Scope) -> None:
        state = scope.get("state", {})
        # Who signs in, or joins by an invitation, is nobody's actor yet.
        actor = state.get("member") or state.get("actor")
        action = action_of(scope["method"], route_of(scope), scope.get("endpoint"))
        if actor is None or action is None:
            return
        await run_in_threadpool(
            self._log.add,
            actor.team.id,
            account=actor.account.id,
            login=actor.account.login,
            action=action,
            object=_object(scope),
        )


def action_of(method: str, route: str, handler: Any) -> str | None:
    """Return what is written of a request that was answered; None where nothing is.

    A change whose handler has no words is logged by its method and address.
    """
    default = None if method in READING else f"{method} {route}"
    return PHRASES.get(handler, default)


def _object(scope: Scope) -> str:
    if scope["path"].startswith(_NOT_OBJECTS):
        return ""
    names = scope.get("path_params", {})
    return next((str(names[one]) for one in _OBJECTS if one in names), "")
