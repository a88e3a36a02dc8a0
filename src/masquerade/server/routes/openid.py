"""Signing in by an OpenID provider, and joining one's account to somebody there."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from masquerade.errors import (
    Forbidden,
    MasqueradeError,
    ParameterError,
    ServerUnavailable,
    TooManyAttempts,
    Unauthenticated,
)
from masquerade.server.accounts.openid import RETURN_PATH, TICKET_SECONDS
from masquerade.server.http.security import is_https
from masquerade.server.routes.accounts import HERE, account_page, confirm
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Member, actor_of, base_address
from masquerade.server.routes.dependencies import InServices
from masquerade.server.routes.forms import Text, form
from masquerade.server.routes.sign_in import (
    HOME,
    begin_session,
    count_attempt,
    safe_path,
    sign_in_page,
)

_JOINED_PATH = f"{HERE}/openid/return"
_COOKIE, _SECURE_COOKIE = "masquerade-openid", "__Host-masquerade-openid"
Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]

routes = APIRouter(include_in_schema=False)


@routes.get("/sign-in/openid")
def begin(services: InServices, request: Request, next: str = HOME) -> Response:
    try:
        begun = services.identities.begin(base_address(request), next=safe_path(next))
    except ServerUnavailable as error:
        return sign_in_page(request, path=next, error=str(error), status=503)
    if actor_of(request) is not None:
        return RedirectResponse(safe_path(next), 303)
    response = RedirectResponse(begun.address, 303)
    _keep(request, response, begun.ticket)
    return response


# GETs that change something: the provider sends the browser here.
@routes.get(RETURN_PATH)
@audited("signed in by the OpenID provider")
def come_back(services: InServices, request: Request, state: str = "") -> Response:
    path = HOME
    response: Response
    try:
        ticket = services.identities.ticket(_ticket(request), state)
        path = safe_path(ticket.next)
        if ticket.account:
            return RedirectResponse(f"{_JOINED_PATH}?{request.url.query}", 303)
        # Each asks the provider; by the address alone, for nobody has said a login.
        count_attempt(request, ticket.state)
        site, answer = base_address(request), dict(request.query_params)
        account = services.identities.sign_in(site, ticket, answer)
        response = RedirectResponse(path, 303)
        begin_session(request, response, account)
    except (Unauthenticated, Forbidden, TooManyAttempts) as error:
        response = sign_in_page(request, path=path, error=str(error), status=error.status)
    except ServerUnavailable as error:
        response = sign_in_page(request, path=path, error=str(error), status=503)
    _forget(request, response)
    return response


@routes.get(_JOINED_PATH)
@audited("joined an OpenID sign-in to their account")
def join(actor: Member, state: str = "") -> Response:
    request, identities = actor.request, actor.services.identities
    response: Response = RedirectResponse(f"{HERE}?done=openid", 303)
    try:
        ticket = identities.ticket(_ticket(request), state)
        answer = dict(request.query_params)
        identities.join(actor.account.id, base_address(request), ticket, answer)
    except Unauthenticated as error:  # of the provider's word; who is signed in stays it
        response = account_page(actor, error=ParameterError(str(error)), part="openid")
    except (ParameterError, ServerUnavailable) as error:
        response = account_page(actor, error=error, part="openid")
    _forget(request, response)
    return response


def _refused(actor: Member, *, error: MasqueradeError | None = None, **_: object) -> Response:
    return account_page(actor, error=error, part="openid")


@form(routes, f"{HERE}/openid", then=HERE, refused=_refused)
@audited(None)
def begin_joining(actor: Member, password: Text = "") -> Response:
    confirm(actor, password)
    begun = actor.services.identities.begin(base_address(actor.request), account=actor.account.id)
    # A link and no redirect: the policy of our pages lets no form lead to another site.
    context = {"address": begun.address, "provider": actor.services.identities.provider_name}
    response = actor.page("surveyor/openid.html", context)
    _keep(actor.request, response, begun.ticket)
    return response


@form(routes, HERE + "/openid/{digest}/remove", then=HERE)
@audited("removed an OpenID sign-in of their account")
def remove(actor: Member, digest: Digest) -> None:
    actor.services.identities.remove(actor.account.id, digest)


def _cookie(request: Request) -> str:
    return _SECURE_COOKIE if is_https(request) else _COOKIE


def _ticket(request: Request) -> str:
    return request.cookies.get(_cookie(request), "")


def _forget(request: Request, response: Response) -> None:
    response.delete_cookie(
        _cookie(request), httponly=True, samesite="lax", secure=is_https(request), path="/"
    )


def _keep(request: Request, response: Response, ticket: str) -> None:
    response.set_cookie(
        _cookie(request),
        ticket,
        max_age=TICKET_SECONDS,
        httponly=True,
        samesite="lax",  # it comes along when the provider leads back
        secure=is_https(request),
        path="/",
    )
