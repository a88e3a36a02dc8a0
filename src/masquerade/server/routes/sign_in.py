"""Signing in and out."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import ConfigDict, Field
from starlette.responses import Response

from masquerade.errors import Forbidden, TooManyAttempts
from masquerade.server.accounts.accounts import Account
from masquerade.server.accounts.passkeys import Site, installed
from masquerade.server.http.bodies import StrictBody
from masquerade.server.http.pages import render
from masquerade.server.http.rate_limit import Attempts
from masquerade.server.http.security import forget_cookie, is_https, session_secret, set_cookie
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import (
    Member,
    actor_of,
    base_address,
    require_own_page,
)
from masquerade.server.routes.dependencies import InServices
from masquerade.server.routes.forms import Text
from masquerade.server.services import Services

HOME = "/surveys"
_WRONG = "Login, password or code is wrong."
_NO_TEAM = (
    "this account is in no team any more; ask an owner of one for an invitation, open its link and "
    "sign in there."
)


class PasskeyAnswer(StrictBody):
    """A browser's answer to a challenge."""

    model_config = ConfigDict(strict=False)

    challenge: Annotated[str, Field(max_length=1000)]
    credential: dict[str, Any]
    next: Annotated[str, Field(max_length=2000)] = HOME


def safe_path(path: str) -> str:
    """Return `path` where it leads to a page of ours, the first page otherwise.

    Browsers read a backslash as a slash and skip control characters, so neither is let through.
    """
    if not path.isprintable() or "\\" in path or not path.startswith("/"):
        return HOME
    # Each further slash at the beginning would make a host of what follows.
    return HOME if path.startswith("//") else path


def sign_in_address(request: Request) -> str:
    """Return where to sign in, and come back to the page of a request."""
    # A form cannot be sent again after signing in.
    if request.method != "GET":
        return "/sign-in"
    query = f"?{request.url.query}" if request.url.query else ""
    return f"/sign-in?next={quote(request.url.path + query, safe='/')}"


def count_attempt(request: Request, login: str) -> None:
    """Count an attempt to sign in; too many raise `TooManyAttempts`."""
    attempts: Attempts = request.app.state.attempts
    attempts.take(login=login, address=request.client.host if request.client else "")


def recognise(request: Request, login: str, password: str, code: str) -> Account | None:
    """Return the account of a login, password and code; see `Accounts.recognise`."""
    count_attempt(request, login)
    services: Services = request.app.state.services
    return services.accounts.recognise(login, password, code)


def begin_session(
    request: Request, response: Response, account: Account, *, team: str | None = None
) -> None:
    """Let `response` begin a session, in the account's first team by default."""
    services: Services = request.app.state.services
    if team is None:
        known = services.credentials.by_account(account)
        if known is None:
            raise Forbidden(_NO_TEAM)
        team = known.team.id
        request.state.member = known  # for the audit log
    https = is_https(request)
    before = session_secret(request, https=https)
    secret = services.sessions.start(account.id, team, instead_of=before)
    set_cookie(response, secret, https=https)


def passkey_site(request: Request) -> Site:
    """Return the host and origin that passkeys are bound to."""
    parts = urlsplit(base_address(request))
    return Site(parts.hostname or "", f"{parts.scheme}://{parts.netloc}")


routes = APIRouter(include_in_schema=False)


# A GET that changes something: it signs in.
@routes.get("/owner")
@audited("signed in by the owner's link")
def enter(services: InServices, request: Request, token: str = "") -> Response:
    if not token and actor_of(request) is not None:
        return RedirectResponse(HOME, 303)
    # Spent by the first use whatever follows: a link in a history or a log is worth nothing.
    if not token or not services.values.spend_owner_token(token):
        return render(request, "surveyor/owner_needed.html", status=401)
    owner = services.teams.first_owner()
    if owner is None:
        raise Forbidden("the owner has a password or passkey by now: sign in with that.")
    response = RedirectResponse(HOME, 303)
    begin_session(request, response, owner)
    return response


@routes.get("/sign-in")
def ask(request: Request, next: str = HOME) -> Response:
    if actor_of(request) is not None:
        return RedirectResponse(safe_path(next), 303)
    return sign_in_page(request, path=next)


@routes.post("/sign-in")
@audited("signed in")
def sign_in(
    request: Request,
    login: Text = "",
    password: Text = "",
    code: Text = "",
    next: Text = HOME,
) -> Response:
    # There is no session yet to make a field from, so only the origin tells a forged form.
    require_own_page(request)
    response: Response = RedirectResponse(safe_path(next), 303)
    try:
        account = recognise(request, login, password, code)
        if account is None:
            return sign_in_page(request, path=next, login=login, error=_WRONG, status=401)
        begin_session(request, response, account)
    except (TooManyAttempts, Forbidden) as error:
        response = sign_in_page(
            request, path=next, login=login, error=str(error), status=error.status
        )
        if isinstance(error, TooManyAttempts):
            response.headers["Retry-After"] = str(error.seconds)
    return response


@routes.post("/sign-in/passkey/begin")
def begin(services: InServices, request: Request) -> Response:
    require_own_page(request)
    return JSONResponse(services.passkeys.begin_sign_in(passkey_site(request)))


@routes.post("/sign-in/passkey")
@audited("signed in")
def finish(services: InServices, request: Request, answer: PasskeyAnswer) -> Response:
    require_own_page(request)
    account = services.passkeys.finish_sign_in(
        passkey_site(request), challenge=answer.challenge, credential=answer.credential
    )
    response = JSONResponse({"next": safe_path(answer.next)})
    begin_session(request, response, account)
    return response


@routes.post("/sign-out")
@audited(None)
def sign_out(actor: Member) -> Response:
    if actor.session is not None:
        actor.services.sessions.end(actor.session)
    response = RedirectResponse("/sign-in", 303)
    forget_cookie(response, https=is_https(actor.request))
    return response


def sign_in_page(
    request: Request, *, path: str, login: str = "", error: str = "", status: int = 200
) -> Response:
    """Return the page on which somebody signs in; `path` is where they go on."""
    services: Services = request.app.state.services
    context = {
        "next": safe_path(path),
        "login": login,
        "error": error,
        "passkeys": installed(),
        "provider": services.identities.provider_name,
    }
    return render(request, "surveyor/sign_in.html", context, status=status)
