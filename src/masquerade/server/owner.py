"""Results of a closed survey as files, for its page."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from starlette.responses import Response

from masquerade.server.findings import Findings
from masquerade.server.store import Store
from masquerade.server.team import Actor, Guard


def owner_routes(store: Store, guard: Guard) -> APIRouter:
    """Return the routes of results that are taken away."""
    routes = APIRouter(include_in_schema=False)
    analyst = Depends(guard.right("results:read"))
    findings = Findings(store)

    @routes.get("/surveys/{token}/results.json")
    def results_json(token: str, actor: Actor = analyst) -> Response:
        text = findings.result_text(actor.survey(token))
        return Response(text, media_type="application/json")

    @routes.get("/surveys/{token}/results.csv")
    def results_csv(token: str, actor: Actor = analyst) -> Response:
        return Response(
            findings.table(actor.survey(token)),
            media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="results-{token}.csv"'},
        )

    return routes
