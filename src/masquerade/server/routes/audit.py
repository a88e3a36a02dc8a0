"""The audit log: written of every change by a surveyor, whichever route made it, and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Query
from fastapi.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from masquerade.errors import BrokenChain
from masquerade.server.audit.audit_log import AuditEntry, AuditLog
from masquerade.server.http.metrics import route_of
from masquerade.server.operations.content_checks import integrity_of
from masquerade.server.routes.authorization import Actor, require

READING = ("GET", "HEAD", "OPTIONS")

#: What is written of each handler that has words of its own; None: it changes nothing of a team's.
PHRASES: dict[Callable[..., Any], str | None] = {}

Handler = TypeVar("Handler", bound=Callable[..., Any])


def audited(phrase: str | None) -> Callable[[Handler], Handler]:
    """Register the audit log's phrase for a handler; None for one that changes nothing."""

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
        """Pass the request on and log its action, if it was not refused."""
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
    """Return the audit log's phrase for an answered request; None where it has none.

    A change whose handler has no words is logged by its method and address.
    """
    default = None if method in READING else f"{method} {route}"
    return PHRASES.get(handler, default)


def _object(scope: Scope) -> str:
    if scope["path"].startswith(_NOT_OBJECTS):
        return ""
    names = scope.get("path_params", {})
    return next((str(names[one]) for one in _OBJECTS if one in names), "")


Before = Annotated[int | None, Query(ge=0, le=2**31 - 1)]
_A_PAGE = 50


@dataclass(frozen=True, slots=True)
class Chain:
    """The check of the chain of a team's log: result, length and last hash."""

    holds: bool
    reason: str | None = None
    entries: int | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class AuditPage:
    """A page of a team's audit log, newest first."""

    entries: list[AuditEntry]
    chain: Chain
    next_before: int | None


routes = APIRouter(tags=["audit"], prefix="/api/v1/audit")
pages = APIRouter(include_in_schema=False)
Auditor = Annotated[Actor, Depends(require("audit:read"))]


@routes.get("", summary="Who did what, newest first")
def read(
    actor: Auditor, before: Before = None, limit: Annotated[int, Query(ge=1, le=500)] = 100
) -> AuditPage:
    log, team = actor.services.audit_log, actor.team.id
    # One more than is shown tells whether there is a further page.
    entries = log.page(team, before=before, limit=limit + 1)
    try:
        count, head = log.verify(team)
        chain = Chain(holds=True, entries=count, head=head)
    except BrokenChain as error:
        chain = Chain(holds=False, reason=str(error))
    following = entries[limit - 1].sequence if len(entries) > limit else None
    return AuditPage(entries[:limit], chain, following)


@routes.get("/integrity", summary="Whether ledger, book and log still hold")
def integrity(actor: Auditor) -> Mapping[str, object]:
    return integrity_of(actor.services.engine)


@pages.get("/audit")
def show(actor: Auditor, before: Before = None, check: str = "") -> Response:
    services, team = actor.services, actor.team.id
    names = {one.token: one.title or "Untitled" for one in services.surveys.listed(team=team)}
    names |= {one.account.id: one.account.login for one in services.teams.members(team)}
    names |= {one.id: one.url for one in services.webhooks.of_team(team)}
    context = {
        "page": read(actor, before, _A_PAGE),
        "first": before is None,
        "names": names,
        "integrity": integrity(actor) if check else None,
    }
    return actor.page("surveyor/audit.html", context)
