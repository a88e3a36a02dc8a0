"""A surveyor's own account: name, password, codes, passkeys, sessions."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse, RedirectResponse
from itsdangerous import BadSignature, URLSafeTimedSerializer
from pydantic import ConfigDict, Field
from starlette.responses import Response

from masquerade.errors import Forbidden, MasqueradeError, ParameterError
from masquerade.server.accounts import totp
from masquerade.server.accounts.passkeys import CREDENTIAL, installed
from masquerade.server.accounts.passwords import SHORTEST
from masquerade.server.http.bodies import StrictBody
from masquerade.server.http.pages import qr_code
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Actor, Member
from masquerade.server.routes.forms import Text, form, page
from masquerade.server.routes.sign_in import begin_session, count_attempt, passkey_site

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


@page(routes, "")
def account_page(
    actor: Member, *, error: MasqueradeError | None = None, part: str = "", **_: Any
) -> Response:
    services, account = actor.services, actor.account
    sessions = services.sessions.of_account(account.id)
    context = {
        "account": account,
        "passkeys": services.passkeys.of_account(account.id),
        "passkeys_possible": installed(),
        "identities": services.identities.of_account(account.id),
        "provider": services.identities.provider_name,
        "others": [day for digest, day in sessions if digest != actor.session],
        "shortest": SHORTEST,
        "part": part,
        "demo": actor.session is None,
        "done": actor.request.query_params.get("done", ""),
    }
    return actor.page("surveyor/account.html", context, error=error)


def confirm(actor: Actor, password: str) -> None:
    """Raise unless `password` is the account's, so that an open browser is not enough."""
    if actor.session is None:
        raise Forbidden(
            "The demonstration has no accounts. A server of your own has them: start it with "
            "masquerade serve."
        )
    # Who signs in by the link or a passkey has no password to confirm by.
    if not actor.account.has_password:
        return
    # Counted like a sign-in, so that an open browser is no place to guess at.
    count_attempt(actor.request, actor.account.login)
    if not actor.services.accounts.has_password(actor.account.id, password):
        raise ParameterError(_WRONG)


@form(routes, "/name", then=HERE, refused=partial(account_page, part="name"))
@audited("renamed their account")
def rename(actor: Member, login: Text = "", name: Text = "") -> None:
    actor.services.accounts.rename(actor.account.id, login=login, name=name)


@form(routes, "/password", then=HERE, refused=partial(account_page, part="password"))
@audited("changed their password")
def set_password(actor: Member, current: Text = "", new: Text = "") -> Response:
    confirm(actor, current)
    actor.services.accounts.set_password(actor.account.id, new)
    # Whoever else was signed in as this account is not any more, and this browser anew.
    actor.services.sessions.end_others(actor.account.id)
    response = RedirectResponse(f"{HERE}?done=password", 303)
    begin_session(actor.request, response, actor.account, team=actor.team.id)
    return response


@routes.get("/codes")
def codes_page(actor: Member) -> Response:
    return _codes_page(actor, totp.new_secret())


def _codes_page(actor: Actor, secret: str, *, error: MasqueradeError | None = None) -> Response:
    context = {
        "account": actor.account,
        "secret": secret,
        "signed": _signer(actor).dumps([secret, actor.account.id]),
        "qr": qr_code(totp.link(secret, login=actor.account.login)),
    }
    return actor.page("surveyor/one_time_codes.html", context, error=error)


def _signer(actor: Actor) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(actor.services.values.secret("challenge_key"), salt="codes")


@form(routes, "/codes", then=f"{HERE}?done=codes")
@audited("turned codes on for their account")
def set_codes(
    actor: Member, signed: Text = "", password: Text = "", code: Text = ""
) -> Response | None:
    try:
        # Signed and not kept: the secret is the account's only once a code made of it was typed.
        secret, account = _signer(actor).loads(signed, max_age=_CODES_SECONDS)
    except BadSignature:
        secret, account = totp.new_secret(), ""
    if account != actor.account.id:
        late = ParameterError("this took too long; scan the new code below.")
        return _codes_page(actor, totp.new_secret(), error=late)
    try:
        if not actor.account.has_password:
            raise ParameterError("choose a password first; a code is asked for beside it.")
        confirm(actor, password)
        if not actor.services.accounts.ask_for_codes(actor.account.id, secret, code):
            raise ParameterError(
                "the code is wrong; type the one that is shown now. If it stays wrong, compare "
                "the clocks of phone and server."
            )
    except ParameterError as error:
        return _codes_page(actor, secret, error=error)
    return None


@form(routes, "/codes/remove", then=HERE, refused=partial(account_page, part="codes"))
@audited("turned codes off for their account")
def remove_codes(actor: Member, password: Text = "") -> None:
    confirm(actor, password)
    actor.services.accounts.ask_for_no_codes(actor.account.id)


@routes.post("/passkeys/begin")
@audited(None)
def begin(actor: Member, beginning: Beginning) -> Response:
    confirm(actor, beginning.password)
    site = passkey_site(actor.request)
    return JSONResponse(actor.services.passkeys.begin_registration(actor.account, site))


@routes.post("/passkeys")
@audited("added a passkey to their account")
def add_passkey(actor: Member, passkey: NewPasskey) -> Response:
    actor.services.passkeys.finish_registration(
        actor.account,
        passkey_site(actor.request),
        challenge=passkey.challenge,
        credential=passkey.credential,
        name=passkey.name,
    )
    return JSONResponse({"next": f"{HERE}?done=passkey"}, 201)


@form(routes, "/passkeys/{credential}/remove", then=HERE)
@audited("removed a passkey of their account")
def remove_passkey(actor: Member, credential: Credential) -> None:
    actor.services.passkeys.remove(actor.account.id, credential)


@form(routes, "/sessions/end", then=f"{HERE}?done=sessions")
@audited("ended their other sessions")
def end_sessions(actor: Member) -> None:
    actor.services.sessions.end_others(actor.account.id, actor.session)
