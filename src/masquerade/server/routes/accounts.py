"""A surveyor's own account: name, password, codes, passkeys, sessions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Path, Request
from fastapi.responses import JSONResponse, RedirectResponse
from itsdangerous import BadSignature, URLSafeTimedSerializer
from pydantic import ConfigDict, Field
from starlette.responses import Response

from masquerade.errors import Forbidden, MasqueradeError, ParameterError
from masquerade.server.accounts import totp
from masquerade.server.accounts.passkeys import CREDENTIAL, installed
from masquerade.server.accounts.passwords import SHORTEST
from masquerade.server.http.pages import qr_code, render
from masquerade.server.http.problem import status_of
from masquerade.server.http.request_body import StrictBody
from masquerade.server.routes.authorization import Actor, Member
from masquerade.server.routes.dependencies import InServices
from masquerade.server.routes.sign_in import begin_session, count_attempt, passkey_site
from masquerade.server.services import Services

HERE = "/account"
_CODES_SECONDS = 900
Credential = Annotated[str, Path(pattern=f"^{CREDENTIAL}$")]
_WRONG = "the current password is wrong."


class Beginning(StrictBody):
    """The request for a new passkey: the password, where there is one."""

    model_config = ConfigDict(strict=False)

    password: Annotated[str, Field(max_length=1000)] = ""


class NewPasskey(StrictBody):
    """A browser's answer to a challenge, and the name of the new passkey."""

    model_config = ConfigDict(strict=False)

    challenge: Annotated[str, Field(max_length=1000)]
    credential: dict[str, Any]
    name: Annotated[str, Field(max_length=200)]


routes = APIRouter(include_in_schema=False, prefix=HERE)


def _confirm(services: Services, request: Request, actor: Actor, password: str) -> None:
    """Raise unless `password` is the account's, so that an open browser is not enough."""
    if actor.session is None:
        raise Forbidden("the demonstration has no accounts.")
    # Who signs in by the link or a passkey has no password to confirm by.
    if not actor.account.has_password:
        return
    # Counted like a sign-in, so that an open browser is no place to guess at.
    count_attempt(request, actor.account.login)
    if not services.accounts.has_password(actor.account.id, password):
        raise ParameterError(_WRONG)


@routes.get("")
def show(services: InServices, request: Request, actor: Member) -> Response:
    return _page(services, request, actor)


@routes.post("/name")
def rename(
    services: InServices,
    request: Request,
    actor: Member,
    login: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
) -> Response:
    try:
        services.accounts.rename(actor.account.id, login=login, name=name)
    except ParameterError as error:
        return _page(services, request, actor, error=error, part="name")
    # 303: the browser goes on by GET, so that reloading does not send the form again.
    return RedirectResponse(HERE, 303)


@routes.post("/password")
def set_password(
    services: InServices,
    request: Request,
    actor: Member,
    current: Annotated[str, Form()] = "",
    new: Annotated[str, Form()] = "",
) -> Response:
    try:
        _confirm(services, request, actor, current)
        services.accounts.set_password(actor.account.id, new)
    except ParameterError as error:
        return _page(services, request, actor, error=error, part="password")
    # Whoever else was signed in as this account is not any more, and this browser anew.
    services.sessions.end_others(actor.account.id)
    response = RedirectResponse(f"{HERE}?done=password", 303)
    begin_session(request, response, actor.account, team=actor.team.id)
    return response


@routes.get("/codes")
def ask_for_codes(services: InServices, request: Request, actor: Member) -> Response:
    return _codes_page(services, request, actor, totp.new_secret())


@routes.post("/codes")
def set_codes(
    services: InServices,
    request: Request,
    actor: Member,
    signed: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
    code: Annotated[str, Form()] = "",
) -> Response:
    try:
        # Signed and not kept: the secret is the account's only once a code made of it was typed.
        secret, account = URLSafeTimedSerializer(
            services.values.secret("challenge_key"), salt="codes"
        ).loads(signed, max_age=_CODES_SECONDS)
    except BadSignature:
        secret, account = totp.new_secret(), ""
    if account != actor.account.id:
        late = ParameterError("this took too long; scan the new code below.")
        return _codes_page(services, request, actor, totp.new_secret(), error=late)
    try:
        if not actor.account.has_password:
            raise ParameterError("choose a password first; a code is asked for beside it.")
        _confirm(services, request, actor, password)
        if not services.accounts.ask_for_codes(actor.account.id, secret, code):
            raise ParameterError(
                "the code is wrong; type the one that is shown now. If it stays wrong, compare "
                "the clocks of phone and server."
            )
    except ParameterError as error:
        return _codes_page(services, request, actor, secret, error=error)
    return RedirectResponse(f"{HERE}?done=codes", 303)


@routes.post("/codes/remove")
def remove_codes(
    services: InServices, request: Request, actor: Member, password: Annotated[str, Form()] = ""
) -> Response:
    try:
        _confirm(services, request, actor, password)
    except ParameterError as error:
        return _page(services, request, actor, error=error, part="codes")
    services.accounts.ask_for_no_codes(actor.account.id)
    return RedirectResponse(HERE, 303)


@routes.post("/passkeys/begin")
def begin(services: InServices, request: Request, actor: Member, beginning: Beginning) -> Response:
    _confirm(services, request, actor, beginning.password)
    found = services.passkeys.begin_registration(actor.account, passkey_site(request))
    return JSONResponse(found)


@routes.post("/passkeys")
def add_passkey(
    services: InServices, request: Request, actor: Member, made: NewPasskey
) -> Response:
    services.passkeys.finish_registration(
        actor.account,
        passkey_site(request),
        challenge=made.challenge,
        credential=made.credential,
        name=made.name,
    )
    return JSONResponse({"next": f"{HERE}?done=passkey"}, 201)


@routes.post("/passkeys/{credential}/remove")
def remove_passkey(services: InServices, actor: Member, credential: Credential) -> Response:
    services.passkeys.remove(actor.account.id, credential)
    return RedirectResponse(HERE, 303)


@routes.post("/sessions/end")
def end_sessions(services: InServices, actor: Member) -> Response:
    services.sessions.end_others(actor.account.id, actor.session)
    return RedirectResponse(f"{HERE}?done=sessions", 303)


def _page(
    services: Services,
    request: Request,
    actor: Actor,
    *,
    error: MasqueradeError | None = None,
    part: str = "",
) -> Response:
    sessions = services.sessions.of_account(actor.account.id)
    context = {
        "account": actor.account,
        "passkeys": services.passkeys.of_account(actor.account.id),
        "passkeys_possible": installed(),
        "others": [day for digest, day in sessions if digest != actor.session],
        "shortest": SHORTEST,
        "error": error,
        "part": part,
        "done": request.query_params.get("done", ""),
    }
    status = status_of(error)[0] if error else 200
    return render(request, "surveyor/account.html", context, status=status)


def _codes_page(
    services: Services,
    request: Request,
    actor: Actor,
    secret: str,
    *,
    error: MasqueradeError | None = None,
) -> Response:
    context = {
        "account": actor.account,
        "secret": secret,
        "signed": URLSafeTimedSerializer(
            services.values.secret("challenge_key"), salt="codes"
        ).dumps([secret, actor.account.id]),
        "qr": qr_code(totp.link(secret, login=actor.account.login)),
        "error": error,
    }
    status = status_of(error)[0] if error else 200
    return render(request, "surveyor/one_time_codes.html", context, status=status)
