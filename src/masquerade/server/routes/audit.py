"""The interface and the page of the audit log, and whether everything that is kept still holds."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from masquerade.errors import BrokenChain
from masquerade.server.audit.audit_log import Deed
from masquerade.server.http.pages import render
from masquerade.server.payments.integrity import integrity_of
from masquerade.server.routes.authorization import Actor, Guard
from masquerade.server.store import Store

Before = Annotated[int | None, Query(ge=0, le=2**31 - 1)]
_A_PAGE = 50


def audit_routes(store: Store, guard: Guard) -> APIRouter:
    """Return the routes for owners and auditors."""
    routes = APIRouter(tags=["audit"])
    log = store.desk.audit
    auditor = Depends(guard.right("audit:read"))

    @routes.get("/api/v1/audit", summary="Who did what, newest first")
    def read(
        before: Before = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
        actor: Actor = auditor,
    ) -> dict[str, Any]:
        found = log.page(actor.team.id, before=before, limit=limit + 1)
        return {
            "entries": [deed_json(one) for one in found[:limit]],
            "chain": _chain(actor),
            "next_before": found[limit - 1].sequence if len(found) > limit else None,
        }

    @routes.get("/api/v1/audit/integrity", summary="Whether ledger, book and log still hold")
    def integrity(_: Actor = auditor) -> dict[str, Any]:
        return integrity_of(store.engine)

    @routes.get("/audit", include_in_schema=False)
    def show(
        request: Request, before: Before = None, check: str = "", actor: Actor = auditor
    ) -> Response:
        found = log.page(actor.team.id, before=before, limit=_A_PAGE + 1)
        listed = store.workshop.listed(team=actor.team.id)
        names = {one.token: one.title or "Untitled" for one in listed}
        members = store.surveyors.teams.members(actor.team.id)
        names |= {one.account.id: one.account.login for one in members}
        names |= {one.id: one.url for one in store.desk.webhooks.of_team(actor.team.id)}
        context = {
            "deeds": found[:_A_PAGE],
            "older": found[_A_PAGE - 1].sequence if len(found) > _A_PAGE else None,
            "first": before is None,
            "chain": _chain(actor),
            "names": names,
            "integrity": integrity_of(store.engine) if check else None,
        }
        return render(request, "audit.html", context)

    def _chain(actor: Actor) -> dict[str, Any]:
        try:
            count, head = log.verify(actor.team.id)
        except BrokenChain as error:
            return {"holds": False, "reason": str(error), "entries": None, "head": None}
        return {"holds": True, "reason": None, "entries": count, "head": head}

    return routes


def deed_json(deed: Deed) -> dict[str, Any]:
    """Return an entry as the interface shows it."""
    return {
        "sequence": deed.sequence,
        "account": deed.account,
        "login": deed.login,
        "action": deed.action,
        "object": deed.object,
        "day": deed.day,
        "hash": deed.hash,
    }
