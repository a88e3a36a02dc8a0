"""Following an invitation to a team."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from masquerade.errors import MasqueradeError, NotFound, ParameterError, WrongState
from masquerade.server.accounts.passwords import SHORTEST
from masquerade.server.accounts.roles import ROLE_WORDS
from masquerade.server.http.pages import render
from masquerade.server.http.problem import status_of
from masquerade.server.routes.authorization import Actor, Guard, require_own_page
from masquerade.server.routes.sign_in import HOME, Door
from masquerade.server.store import Store


def joining_routes(store: Store, guard: Guard, door: Door) -> APIRouter:
    """Return the routes of an invitation's link."""
    routes = APIRouter(include_in_schema=False, prefix="/join")
    invitations = store.surveyors.invitations
    person = Depends(guard.in_person())

    @routes.get("/{token}")
    def ask(request: Request, token: str) -> Response:
        return page(request, token)

    @routes.post("/{token}")
    def join_new(
        request: Request,
        token: str,
        login: Annotated[str, Form()] = "",
        name: Annotated[str, Form()] = "",
        password: Annotated[str, Form()] = "",
    ) -> Response:
        require_own_page(request)
        door.try_it(request, token)  # each tells whether a login is taken
        try:
            member = invitations.join_new(token, login=login, name=name or login, password=password)
        except ParameterError as error:
            return page(request, token, error=error, login=login, name=name)
        request.state.member = member
        response = RedirectResponse(HOME, 303)
        door.let_in(request, response, member.account, team=member.team.id)
        return response

    @routes.post("/{token}/sign-in")
    def join_known(
        request: Request,
        token: str,
        login: Annotated[str, Form()] = "",
        password: Annotated[str, Form()] = "",
        code: Annotated[str, Form()] = "",
    ) -> Response:
        require_own_page(request)
        account = door.recognise(request, login, password, code)
        if account is None:
            wrong = ParameterError("Login, password or code is wrong.")
            return page(request, token, error=wrong, login=login, known=True, status=401)
        try:
            member = invitations.join(token, account.id)
        except WrongState as error:
            return page(request, token, error=error, login=login, known=True)
        request.state.member = member
        response = RedirectResponse(HOME, 303)
        door.let_in(request, response, account, team=member.team.id)
        return response

    @routes.post("/{token}/me")
    def join_myself(request: Request, token: str, actor: Actor = person) -> Response:
        try:
            member = invitations.join(token, actor.account.id)
        except WrongState as error:
            return page(request, token, error=error)
        request.state.member = member
        response = RedirectResponse(HOME, 303)
        door.let_in(request, response, actor.account, team=member.team.id)
        return response

    def page(
        request: Request,
        token: str,
        *,
        error: MasqueradeError | None = None,
        login: str = "",
        name: str = "",
        known: bool = False,
        status: int | None = None,
    ) -> Response:
        try:
            invited = invitations.read(token)
        except NotFound as gone:
            context = {"status": 404, "detail": gone}
            return render(request, "error.html", context, status=404)
        request.state.actor = guard.actor(request)
        context = {
            "token": token,
            "invited": invited,
            "means": ROLE_WORDS[invited.role],
            "error": error,
            "login": login,
            "name": name,
            "known": known,
            "shortest": SHORTEST,
        }
        found = status_of(error)[0] if error else 200
        return render(request, "join.html", context, status=status or found)

    return routes
