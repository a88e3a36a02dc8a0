"""A survey opened at its second party's address: the app from the helper's own disk.

The survey's server can change nothing of this page; it is asked by the page as it is by its own.
Nothing that a person answers or is known by comes here: the page asks the helper for its files and
for what it approved.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from masquerade.errors import NotFound
from masquerade.server.http.problem import wants_json
from masquerade.server.routes.app_shell import shell
from masquerade.server.routes.helper_party import InHelper

routes = APIRouter(include_in_schema=False)


@routes.get("/s/{token}")
def survey_page(services: InHelper, request: Request, token: str) -> Response:
    # Whoever has a survey's link learns that it was approved here; no page lists surveys.
    leader = services.tasks.leader_of(token) if token else None
    if leader is None:
        if wants_json(request):
            raise NotFound("there is no such survey here; its second party has not approved it.")
        return shell(request, status=404)
    return shell(request, leader=leader, fingerprint=services.fingerprint)


@routes.get("/me")
@routes.get("/me/ledger")
@routes.get("/me/settings")
@routes.get("/me/plain")
@routes.get("/me/about")
def own_page(services: InHelper, request: Request) -> Response:
    # A helper works for one server, so that the person's account is where all its surveys are.
    leader = services.tasks.leader_of("")
    if leader is None:
        raise NotFound("nothing is answered here: no survey was approved yet.")
    return shell(request, leader=leader, fingerprint=services.fingerprint)
