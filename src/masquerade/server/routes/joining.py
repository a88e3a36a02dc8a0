"""Following an invitation to a team."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from masquerade.errors import MasqueradeError, NotFound, ParameterError
from masquerade.server.accounts.passwords import SHORTEST
from masquerade.server.accounts.teams import ROLE_WORDS
from masquerade.server.accounts.teams import Member as TeamMember
from masquerade.server.http.pages import render
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Member, actor_of, require_own_page
from masquerade.server.routes.dependencies import InServices
from masquerade.server.routes.forms import Text, form, page
from masquerade.server.routes.sign_in import HOME, begin_session, count_attempt, recognise

routes = APIRouter(include_in_schema=False, prefix="/join")


@page(routes, "/{token}")
def join_page(
    services: InServices,
    request: Request,
    token: str,
    *,
    error: MasqueradeError | None = None,
    login: str = "",
    name: str = "",
    known: bool = False,
    status: int | None = None,
    **_: Any,
) -> Response:
    try:
        invitation = services.invitations.read(token)
    except NotFound as gone:
        context = {"status": 404, "detail": gone}
        return render(request, "error.html", context, status=404)
    request.state.actor = actor_of(request)
    context = {
        "token": token,
        "invitation": invitation,
        "means": ROLE_WORDS[invitation.role],
        "error": error,
        "login": login,
        "name": name,
        "known": known,
        "shortest": SHORTEST,
    }
    status = status or (error.status if error else 200)
    return render(request, "surveyor/join.html", context, status=status)


def _joined(request: Request, member: TeamMember) -> Response:
    # For the audit log, as nobody was signed in when the request came.
    request.state.member = member
    response = RedirectResponse(HOME, 303)
    begin_session(request, response, member.account, team=member.team.id)
    return response


@form(routes, "/{token}", then=HOME, refused=join_page)
@audited("joined the team")
def join_new(
    services: InServices,
    request: Request,
    token: str,
    login: Text = "",
    name: Text = "",
    password: Text = "",
) -> Response:
    require_own_page(request)
    count_attempt(request, token)  # each tells whether a login is taken
    member = services.invitations.join_new(
        token, login=login, name=name or login, password=password
    )
    return _joined(request, member)


@form(routes, "/{token}/sign-in", then=HOME, refused=partial(join_page, known=True))
@audited("joined the team")
def join_known(
    services: InServices,
    request: Request,
    token: str,
    login: Text = "",
    password: Text = "",
    code: Text = "",
) -> Response:
    require_own_page(request)
    account = recognise(request, login, password, code)
    if account is None:
        wrong = ParameterError("Login, password or code is wrong.")
        return join_page(services, request, token, error=wrong, login=login, known=True, status=401)
    return _joined(request, services.invitations.join(token, account.id))


@form(routes, "/{token}/me", then=HOME, refused=join_page)
@audited("joined the team")
def join_myself(services: InServices, request: Request, actor: Member, token: str) -> Response:
    return _joined(request, services.invitations.join(token, actor.account.id))
