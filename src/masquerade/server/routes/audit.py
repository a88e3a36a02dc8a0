"""The interface and the page of the audit log, and whether everything that is kept still holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from masquerade.errors import BrokenChain
from masquerade.server.audit.audit_log import AuditEntry
from masquerade.server.operations.content_checks import integrity_of
from masquerade.server.routes.authorization import Actor, require

Before = Annotated[int | None, Query(ge=0, le=2**31 - 1)]
_A_PAGE = 50


@dataclass(frozen=True, slots=True)
class Chain:
    """Whether a team's log still holds, and where it ends."""

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
def integrity(actor: Auditor) -> dict[str, Any]:
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
