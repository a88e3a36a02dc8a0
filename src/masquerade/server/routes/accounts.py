"""A surveyor's own account: name, password, codes, passkeys, sessions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Path, Request
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
from masquerade.server.routes.authorization import Actor, Guard
from masquerade.server.routes.sign_in import Door
from masquerade.server.store import Store

HERE = "/account"
_CODES_SECONDS = 900
Credential = Annotated[str, Path(pattern=f"^{CREDENTIAL}$")]
_WRONG = "the current password is wrong."


class Beginning(StrictBody):
    """What a new passkey takes: the password, where there is one."""

    model_config = ConfigDict(strict=False)

    password: Annotated[str, Field(max_length=1000)] = ""


class NewPasskey(StrictBody):
    """What a browser made of a challenge, and what its owner calls it."""

    model_config = ConfigDict(strict=False)

    challenge: Annotated[str, Field(max_length=1000)]
    credential: dict[str, Any]
    name: Annotated[str, Field(max_length=200)]


def account_pages(store: Store, guard: Guard, door: Door) -> APIRouter:
    """Return the routes by which people see and change how they sign in."""
    routes = APIRouter(include_in_schema=False, prefix=HERE)
    surveyors = store.surveyors
    accounts = surveyors.accounts
    person = Depends(guard.in_person())
    signer = URLSafeTimedSerializer(store.setting("challenge_key"), salt="codes")

    def confirm(request: Request, actor: Actor, password: str) -> None:
        """Raise unless `password` is the account's, so that an open browser is not enough."""
        if actor.session is None:
            raise Forbidden("the demonstration has no accounts.")
        if not actor.account.has_password:
            return
        door.try_it(request, actor.account.login)
        if not accounts.has_password(actor.account.id, password):
            raise ParameterError(_WRONG)

    @routes.get("")
    def show(request: Request, actor: Actor = person) -> Response:
        return page(request, actor)

    @routes.post("/name")
    def rename(
        request: Request,
        login: Annotated[str, Form()] = "",
        name: Annotated[str, Form()] = "",
        actor: Actor = person,
    ) -> Response:
        try:
            accounts.rename(actor.account.id, login=login, name=name)
        except ParameterError as error:
            return page(request, actor, error=error, part="name")
        return RedirectResponse(HERE, 303)

    @routes.post("/password")
    def set_password(
        request: Request,
        current: Annotated[str, Form()] = "",
        new: Annotated[str, Form()] = "",
        actor: Actor = person,
    ) -> Response:
        try:
            confirm(request, actor, current)
            accounts.set_password(actor.account.id, new)
        except ParameterError as error:
            return page(request, actor, error=error, part="password")
        # Whoever else was signed in as this account is not any more, and this browser anew.
        surveyors.sessions.end_others(actor.account.id)
        response = RedirectResponse(f"{HERE}?done=password", 303)
        door.let_in(request, response, actor.account, team=actor.team.id)
        return response

    @routes.get("/codes")
    def ask_for_codes(request: Request, actor: Actor = person) -> Response:
        return codes_page(request, actor, totp.new_secret())

    @routes.post("/codes")
    def set_codes(
        request: Request,
        signed: Annotated[str, Form()] = "",
        password: Annotated[str, Form()] = "",
        code: Annotated[str, Form()] = "",
        actor: Actor = person,
    ) -> Response:
        try:
            secret, account = signer.loads(signed, max_age=_CODES_SECONDS)
        except BadSignature:
            secret, account = totp.new_secret(), ""
        if account != actor.account.id:
            late = ParameterError("this took too long; scan the new code below.")
            return codes_page(request, actor, totp.new_secret(), error=late)
        try:
            if not actor.account.has_password:
                raise ParameterError("choose a password first; a code is asked for beside it.")
            confirm(request, actor, password)
            if not accounts.ask_for_codes(actor.account.id, secret, code):
                raise ParameterError(
                    "the code is wrong; type the one that is shown now. If it stays wrong, compare "
                    "the clocks of phone and server."
                )
        except ParameterError as error:
            return codes_page(request, actor, secret, error=error)
        return RedirectResponse(f"{HERE}?done=codes", 303)

    @routes.post("/codes/remove")
    def remove_codes(
        request: Request, password: Annotated[str, Form()] = "", actor: Actor = person
    ) -> Response:
        try:
            confirm(request, actor, password)
        except ParameterError as error:
            return page(request, actor, error=error, part="codes")
        accounts.ask_for_no_codes(actor.account.id)
        return RedirectResponse(HERE, 303)

    @routes.post("/passkeys/begin")
    def begin(request: Request, beginning: Beginning, actor: Actor = person) -> Response:
        confirm(request, actor, beginning.password)
        found = surveyors.passkeys.begin_registration(actor.account, door.site(request))
        return JSONResponse(found)

    @routes.post("/passkeys")
    def add_passkey(request: Request, made: NewPasskey, actor: Actor = person) -> Response:
        surveyors.passkeys.finish_registration(
            actor.account,
            door.site(request),
            challenge=made.challenge,
            credential=made.credential,
            name=made.name,
        )
        return JSONResponse({"next": f"{HERE}?done=passkey"}, 201)

    @routes.post("/passkeys/{credential}/remove")
    def remove_passkey(credential: Credential, actor: Actor = person) -> Response:
        surveyors.passkeys.remove(actor.account.id, credential)
        return RedirectResponse(HERE, 303)

    @routes.post("/sessions/end")
    def end_sessions(actor: Actor = person) -> Response:
        surveyors.sessions.end_others(actor.account.id, actor.session)
        return RedirectResponse(f"{HERE}?done=sessions", 303)

    def page(
        request: Request,
        actor: Actor,
        *,
        error: MasqueradeError | None = None,
        part: str = "",
    ) -> Response:
        sessions = surveyors.sessions.of_account(actor.account.id)
        context = {
            "account": actor.account,
            "passkeys": surveyors.passkeys.of_account(actor.account.id),
            "passkeys_possible": installed(),
            "others": [day for digest, day in sessions if digest != actor.session],
            "shortest": SHORTEST,
            "error": error,
            "part": part,
            "done": request.query_params.get("done", ""),
        }
        status = status_of(error)[0] if error else 200
        return render(request, "account.html", context, status=status)

    def codes_page(
        request: Request, actor: Actor, secret: str, *, error: MasqueradeError | None = None
    ) -> Response:
        context = {
            "account": actor.account,
            "secret": secret,
            "signed": signer.dumps([secret, actor.account.id]),
            "qr": qr_code(totp.link(secret, login=actor.account.login)),
            "error": error,
        }
        status = status_of(error)[0] if error else 200
        return render(request, "codes.html", context, status=status)

    return routes
