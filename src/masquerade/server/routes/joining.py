"""Following an invitation to a team."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from masquerade.errors import MasqueradeError, NotFound, ParameterError, WrongState
from masquerade.server.accounts.passwords import SHORTEST
from masquerade.server.accounts.roles import ROLE_WORDS
from masquerade.server.http.pages import render
from masquerade.server.http.problem import status_of
from masquerade.server.routes.authorization import Member, actor_of, require_own_page
from masquerade.server.routes.dependencies import InServices
from masquerade.server.routes.sign_in import HOME, begin_session, count_attempt, recognise
from masquerade.server.services import Services

routes = APIRouter(include_in_schema=False, prefix="/join")


@routes.get("/{token}")
def ask(services: InServices, request: Request, token: str) -> Response:
    return _page(services, request, token)


@routes.post("/{token}")
def join_new(
    services: InServices,
    request: Request,
    token: str,
    login: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
) -> Response:
    require_own_page(request)
    count_attempt(request, token)  # each tells whether a login is taken
    try:
        member = services.invitations.join_new(
            token, login=login, name=name or login, password=password
        )
    except ParameterError as error:
        return _page(services, request, token, error=error, login=login, name=name)
    # For the audit log, as nobody was signed in when the request came.
    request.state.member = member
    response = RedirectResponse(HOME, 303)
    begin_session(request, response, member.account, team=member.team.id)
    return response


@routes.post("/{token}/sign-in")
def join_known(
    services: InServices,
    request: Request,
    token: str,
    login: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
    code: Annotated[str, Form()] = "",
) -> Response:
    require_own_page(request)
    account = recognise(request, login, password, code)
    if account is None:
        wrong = ParameterError("Login, password or code is wrong.")
        return _page(services, request, token, error=wrong, login=login, known=True, status=401)
    try:
        member = services.invitations.join(token, account.id)
    except WrongState as error:
        return _page(services, request, token, error=error, login=login, known=True)
    request.state.member = member
    response = RedirectResponse(HOME, 303)
    begin_session(request, response, account, team=member.team.id)
    return response


@routes.post("/{token}/me")
def join_myself(services: InServices, request: Request, actor: Member, token: str) -> Response:
    try:
        member = services.invitations.join(token, actor.account.id)
    except WrongState as error:
        return _page(services, request, token, error=error)
    request.state.member = member
    response = RedirectResponse(HOME, 303)
    begin_session(request, response, actor.account, team=member.team.id)
    return response


def _page(
    services: Services,
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
        invited = services.invitations.read(token)
    except NotFound as gone:
        context = {"status": 404, "detail": gone}
        return render(request, "error.html", context, status=404)
    request.state.actor = actor_of(request)
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
    return render(request, "surveyor/join.html", context, status=status or found)
