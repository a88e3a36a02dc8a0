"""The page of API tokens."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from masquerade.errors import ParameterError
from masquerade.server.accounts.roles import RIGHTS
from masquerade.server.http.pages import render
from masquerade.server.routes.authorization import Actor, Member, base_address
from masquerade.server.routes.dependencies import HexId, InServices
from masquerade.server.services import Services

HERE = "/tokens"


routes = APIRouter(include_in_schema=False, prefix=HERE)


@routes.get("")
def show(services: InServices, request: Request, actor: Member) -> Response:
    return _page(services, request, actor)


@routes.post("")
def create(
    services: InServices,
    request: Request,
    actor: Member,
    name: Annotated[str, Form()] = "",
    scopes: Annotated[list[str] | None, Form()] = None,
    until: Annotated[str, Form()] = "",
) -> Response:
    wanted = scopes or []
    try:
        # Nobody gives a token more than they have; later it is cut to their role of the day as
        # well.
        beyond = [scope for scope in wanted if scope in RIGHTS and not actor.may(scope)]
        if beyond:
            raise ParameterError(f"your role, {actor.role}, does not have {beyond[0]!r}.")
        token = services.tokens.create(
            actor.account.id, actor.team.id, name=name, scopes=wanted, until=until or None
        )
    except ParameterError as error:
        return _page(services, request, actor, error=error, name=name, chosen=wanted, until=until)
    # Shown once and here only, as only a hash of it is kept.
    return _page(services, request, actor, token=token, name=name)


@routes.post("/{token}/revoke")
def revoke(services: InServices, actor: Member, token: HexId) -> Response:
    anybodys = actor.may("team:manage")
    services.tokens.revoke(actor.team.id, token, account=None if anybodys else actor.account.id)
    return RedirectResponse(HERE, 303)


def _page(
    services: Services,
    request: Request,
    actor: Actor,
    *,
    error: ParameterError | None = None,
    token: str = "",
    name: str = "",
    chosen: list[str] | None = None,
    until: str = "",
) -> Response:
    everybodys = actor.may("team:manage")
    context = {
        "tokens": [
            t
            for t in services.tokens.of_team(actor.team.id)
            if everybodys or t.account == actor.account.id
        ],
        "everybodys": everybodys,
        "rights": {right: words for right, words in RIGHTS.items() if actor.may(right)},
        "token": token,
        "name": name,
        "chosen": chosen if chosen is not None else ["survey:read", "results:read"],
        "until": until,
        "error": error,
        "base": base_address(request),
    }
    return render(request, "surveyor/tokens.html", context, status=422 if error else 200)
