"""The team's page: members, roles, invitations."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.server.accounts.invitations import INVITATION_DAYS
from masquerade.server.accounts.roles import EDITOR, ROLE_WORDS
from masquerade.server.accounts.sessions import Hex
from masquerade.server.http.pages import qr_code, render
from masquerade.server.http.problem import status_of
from masquerade.server.routes.authorization import Actor, Guard
from masquerade.server.store import Store

HERE = "/team"


def team_pages(store: Store, guard: Guard) -> APIRouter:
    """Return the routes by which a team is seen and changed."""
    routes = APIRouter(include_in_schema=False, prefix=HERE)
    teams, invitations = store.surveyors.teams, store.surveyors.invitations
    person = Depends(guard.in_person())
    manager = Depends(guard.right("team:manage"))

    @routes.get("")
    def show(request: Request, actor: Actor = person) -> Response:
        return page(request, actor)

    @routes.post("/name")
    def rename(
        request: Request, name: Annotated[str, Form()] = "", actor: Actor = manager
    ) -> Response:
        try:
            teams.rename(actor.team.id, name)
        except ParameterError as error:
            return page(request, actor, error=error)
        return RedirectResponse(HERE, 303)

    @routes.post("/invitations")
    def invite(
        request: Request,
        note: Annotated[str, Form()] = "",
        role: Annotated[str, Form()] = EDITOR,
        actor: Actor = manager,
    ) -> Response:
        try:
            token = invitations.create(actor.team.id, role=role, note=note)
        except ParameterError as error:
            return page(request, actor, error=error)
        link = f"{guard.base(request)}/join/{token}"
        # Shown once and here only, as only a hash of it is kept.
        return page(request, actor, link=link, qr=qr_code(link), note=note.strip(), role=role)

    @routes.post("/invitations/{invitation}/withdraw")
    def withdraw(invitation: Hex, actor: Actor = manager) -> Response:
        invitations.withdraw(actor.team.id, invitation)
        return RedirectResponse(HERE, 303)

    @routes.post("/members/{account}/role")
    def set_role(
        request: Request,
        account: Hex,
        role: Annotated[str, Form()] = "",
        actor: Actor = manager,
    ) -> Response:
        try:
            teams.set_role(actor.team.id, account, role)
        except (ParameterError, WrongState) as error:
            return page(request, actor, error=error)
        return RedirectResponse(HERE, 303)

    @routes.post("/members/{account}/remove")
    def remove(request: Request, account: Hex, actor: Actor = manager) -> Response:
        try:
            teams.remove(actor.team.id, account)
        except WrongState as error:
            return page(request, actor, error=error)
        return RedirectResponse(HERE, 303)

    @routes.post("/leave")
    def leave(request: Request, actor: Actor = person) -> Response:
        try:
            teams.remove(actor.team.id, actor.account.id)
        except WrongState as error:
            return page(request, actor, error=error)
        return RedirectResponse("/sign-in", 303)

    @routes.post("/switch")
    def switch(team: Annotated[str, Form()] = "", actor: Actor = person) -> Response:
        mine = {member.team.id for member in teams.of_account(actor.account.id)}
        if team not in mine or actor.session is None:
            raise NotFound("you are in no such team.")
        store.surveyors.sessions.switch(actor.session, team)
        return RedirectResponse("/surveys", 303)

    def page(
        request: Request, actor: Actor, *, error: Exception | None = None, **more: Any
    ) -> Response:
        manages = actor.may("team:manage")
        context = {
            "members": teams.members(actor.team.id),
            "invitations": invitations.of_team(actor.team.id) if manages else [],
            "others": [
                m.team for m in teams.of_account(actor.account.id) if m.team.id != actor.team.id
            ],
            "roles": ROLE_WORDS,
            "role": EDITOR,
            "days": INVITATION_DAYS,
            "error": error,
            **more,
        }
        status = status_of(error)[0] if isinstance(error, ParameterError | WrongState) else 200
        return render(request, "team.html", context, status=status)

    return routes
