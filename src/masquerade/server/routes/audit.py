"""The interface and the page of the audit log, and whether everything that is kept still holds."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from masquerade.errors import BrokenChain
from masquerade.server.audit.audit_log import AuditEntry
from masquerade.server.http.pages import render
from masquerade.server.operations.content_checks import integrity_of
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.dependencies import InServices
from masquerade.server.services import Services

Before = Annotated[int | None, Query(ge=0, le=2**31 - 1)]
_A_PAGE = 50


routes = APIRouter(tags=["audit"])
Auditor = Annotated[Actor, Depends(require("audit:read"))]


@routes.get("/api/v1/audit", summary="Who did what, newest first")
def read(
    services: InServices,
    actor: Auditor,
    before: Before = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> dict[str, Any]:
    # One more than is shown tells whether there is a further page.
    found = services.audit_log.page(actor.team.id, before=before, limit=limit + 1)
    return {
        "entries": [audit_entry_json(one) for one in found[:limit]],
        "chain": _chain(services, actor),
        "next_before": found[limit - 1].sequence if len(found) > limit else None,
    }


@routes.get("/api/v1/audit/integrity", summary="Whether ledger, book and log still hold")
def integrity(services: InServices, _: Auditor) -> dict[str, Any]:
    return integrity_of(services.engine)


@routes.get("/audit", include_in_schema=False)
def show(
    services: InServices, request: Request, actor: Auditor, before: Before = None, check: str = ""
) -> Response:
    found = services.audit_log.page(actor.team.id, before=before, limit=_A_PAGE + 1)
    listed = services.surveys.listed(team=actor.team.id)
    names = {one.token: one.title or "Untitled" for one in listed}
    members = services.teams.members(actor.team.id)
    names |= {one.account.id: one.account.login for one in members}
    names |= {one.id: one.url for one in services.webhooks.of_team(actor.team.id)}
    context = {
        "entries": found[:_A_PAGE],
        "older": found[_A_PAGE - 1].sequence if len(found) > _A_PAGE else None,
        "first": before is None,
        "chain": _chain(services, actor),
        "names": names,
        "integrity": integrity_of(services.engine) if check else None,
    }
    return render(request, "surveyor/audit.html", context)


def _chain(services: Services, actor: Actor) -> dict[str, Any]:
    try:
        count, head = services.audit_log.verify(actor.team.id)
    except BrokenChain as error:
        return {"holds": False, "reason": str(error), "entries": None, "head": None}
    return {"holds": True, "reason": None, "entries": count, "head": head}


def audit_entry_json(entry: AuditEntry) -> dict[str, Any]:
    """Return an entry as the interface shows it."""
    return {
        "sequence": entry.sequence,
        "account": entry.account,
        "login": entry.login,
        "action": entry.action,
        "object": entry.object,
        "day": entry.day,
        "hash": entry.hash,
    }
