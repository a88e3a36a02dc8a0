"""The team's page: members, roles, invitations."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.server.accounts.invitations import INVITATION_DAYS
from masquerade.server.accounts.roles import EDITOR, ROLE_WORDS
from masquerade.server.http.pages import qr_code, render
from masquerade.server.http.problem import status_of
from masquerade.server.routes.authorization import Actor, Member, base_address, require
from masquerade.server.routes.dependencies import HexId, InServices
from masquerade.server.services import Services

HERE = "/team"


routes = APIRouter(include_in_schema=False, prefix=HERE)
Manager = Annotated[Actor, Depends(require("team:manage"))]


@routes.get("")
def show(services: InServices, request: Request, actor: Member) -> Response:
    return _page(services, request, actor)


@routes.post("/name")
def rename(
    services: InServices, request: Request, actor: Manager, name: Annotated[str, Form()] = ""
) -> Response:
    try:
        services.teams.rename(actor.team.id, name)
    except ParameterError as error:
        return _page(services, request, actor, error=error)
    return RedirectResponse(HERE, 303)


@routes.post("/invitations")
def invite(
    services: InServices,
    request: Request,
    actor: Manager,
    note: Annotated[str, Form()] = "",
    role: Annotated[str, Form()] = EDITOR,
) -> Response:
    try:
        token = services.invitations.create(actor.team.id, role=role, note=note)
    except ParameterError as error:
        return _page(services, request, actor, error=error)
    link = f"{base_address(request)}/join/{token}"
    # Shown once and here only, as only a hash of it is kept.
    return _page(
        services, request, actor, link=link, qr=qr_code(link), note=note.strip(), role=role
    )


@routes.post("/invitations/{invitation}/withdraw")
def withdraw(services: InServices, actor: Manager, invitation: HexId) -> Response:
    services.invitations.withdraw(actor.team.id, invitation)
    return RedirectResponse(HERE, 303)


@routes.post("/members/{account}/role")
def set_role(
    services: InServices,
    request: Request,
    actor: Manager,
    account: HexId,
    role: Annotated[str, Form()] = "",
) -> Response:
    try:
        services.teams.set_role(actor.team.id, account, role)
    except (ParameterError, WrongState) as error:
        return _page(services, request, actor, error=error)
    return RedirectResponse(HERE, 303)


@routes.post("/members/{account}/remove")
def remove(services: InServices, request: Request, actor: Manager, account: HexId) -> Response:
    try:
        services.teams.remove(actor.team.id, account)
    except WrongState as error:
        return _page(services, request, actor, error=error)
    return RedirectResponse(HERE, 303)


@routes.post("/leave")
def leave(services: InServices, request: Request, actor: Member) -> Response:
    try:
        services.teams.remove(actor.team.id, actor.account.id)
    except WrongState as error:
        return _page(services, request, actor, error=error)
    return RedirectResponse("/sign-in", 303)


@routes.post("/switch")
def switch(services: InServices, actor: Member, team: Annotated[str, Form()] = "") -> Response:
    mine = {member.team.id for member in services.teams.of_account(actor.account.id)}
    if team not in mine or actor.session is None:
        raise NotFound("you are in no such team.")
    services.sessions.switch(actor.session, team)
    return RedirectResponse("/surveys", 303)


def _page(
    services: Services,
    request: Request,
    actor: Actor,
    *,
    error: Exception | None = None,
    **more: Any,
) -> Response:
    manages = actor.may("team:manage")
    context = {
        "members": services.teams.members(actor.team.id),
        "invitations": services.invitations.of_team(actor.team.id) if manages else [],
        "others": [
            m.team
            for m in services.teams.of_account(actor.account.id)
            if m.team.id != actor.team.id
        ],
        "roles": ROLE_WORDS,
        "role": EDITOR,
        "days": INVITATION_DAYS,
        "error": error,
        **more,
    }
    status = status_of(error)[0] if isinstance(error, ParameterError | WrongState) else 200
    return render(request, "surveyor/team.html", context, status=status)
