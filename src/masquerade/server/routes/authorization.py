"""Authorization: the check of each surveyor's request against roles and rights."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.concurrency import run_in_threadpool
from fastapi.security import APIKeyCookie, HTTPBearer
from starlette.responses import Response

from masquerade.errors import Forbidden, MasqueradeError, Unauthenticated
from masquerade.server.accounts.accounts import Account
from masquerade.server.accounts.teams import Team
from masquerade.server.http.pages import render, translation
from masquerade.server.http.security import (
    COOKIE,
    csrf_token,
    is_https,
    same_origin,
    session_secret,
)
from masquerade.server.services import Services
from masquerade.server.surveys.drafts import Draft
from masquerade.server.surveys.survey_records import SurveyRecord

CSRF_FIELD, CSRF_HEADER = "csrf", "X-CSRF-Token"
_READING = ("GET", "HEAD", "OPTIONS")
_BEARER = "bearer "
#: The form is read here, once for all: that of a survey's translations has a field for each text.
MOST_FIELDS = 20_000
#: Names of this computer. Any other can be made to lead here by whoever owns it, and a page of that
#: name would be of one origin with the demonstration (DNS rebinding).
_THIS_COMPUTER = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE)

# For the interface's description alone: who asks is decided below.
_TOKEN = Security(
    HTTPBearer(
        scheme_name="token",
        bearerFormat="mq_…",
        description="A surveyor's token, as the page of tokens shows it once",
        auto_error=False,
    )
)
_SESSION = Security(
    APIKeyCookie(
        name=COOKIE,
        scheme_name="session",
        description=f"A signed-in browser; what changes something also needs {CSRF_HEADER}",
        auto_error=False,
    )
)
#: What the description says of a route that asks who it is for some objects only.
SOMETIMES: dict[str, Any] = {"security": [{}, {"token": []}, {"session": []}]}


@dataclass(frozen=True, slots=True)
class Actor:
    """The author of a request, with team, role and rights."""

    request: Request
    account: Account
    team: Team  # the one that this session or token is about
    role: str
    rights: frozenset[str]
    csrf: str  # what forms carry; empty for a token
    session: str | None  # digest of the session; null for a token and in the demonstration
    services: Services

    def say(self, text: object) -> str:
        """Return a service's text for them: on pages in the reader's language."""
        return translation(self.request)(text) if self.csrf else str(text)

    def may(self, right: str) -> bool:
        """Return whether they have a right."""
        return right in self.rights

    def page(
        self,
        name: str,
        context: Mapping[str, object],
        *,
        error: MasqueradeError | None = None,
        status: int | None = None,
    ) -> Response:
        """Return a page for them; with `error` it says why its form was refused."""
        status = status or (error.status if error else 200)
        return render(self.request, name, {**context, "error": error}, status=status)

    def survey(self, token: str) -> SurveyRecord:
        """Return a survey of their team; that of another team is `NotFound`."""
        return self.services.surveys.record(token, team=self.team.id)

    def draft(self, token: str) -> Draft | None:
        """Return a draft of their team, or None."""
        return self.services.drafts.find(token, team=self.team.id)

    def surveys(self) -> list[SurveyRecord]:
        """Return the surveys of their team, open ones first."""
        return self.services.surveys.records(team=self.team.id)


Dependency = Callable[..., Coroutine[Any, Any, Actor]]


def require(*rights: str) -> Dependency:
    """Return a dependency that lets through members with all of `rights`; none: every member.

    It raises `Unauthenticated` (pages: sign in first) and `Forbidden`.
    """

    async def actor(request: Request, _token: Any = _TOKEN, _session: Any = _SESSION) -> Actor:
        return await admit(request, *rights)

    return actor


def in_session(request: Request) -> bool:
    """Return whether a request was admitted as one of a member who is signed in."""
    actor: Actor | None = getattr(request.state, "actor", None)
    return actor is not None and actor.csrf != ""


async def admit(request: Request, *rights: str) -> Actor:
    """Return the author of a request, if they have all of `rights`; see `require`."""
    actor = await run_in_threadpool(actor_of, request)
    if actor is None:
        raise Unauthenticated("sign in first, or send a token: Authorization: Bearer mq_….")
    # Tokens need no such field: no browser sends one by itself.
    if actor.csrf and request.method not in _READING:
        await _check_form(request, actor.csrf)
    # Before the rights are looked at, as the page of a refusal knows its reader too.
    request.state.actor = actor
    missing = [right for right in rights if right not in actor.rights]
    if missing:
        raise Forbidden(
            f"this needs the right {missing[0]!r}, which your role ({actor.role}) or your "
            "token does not have; ask an owner of your team."
        )
    return actor


async def _in_person(request: Request) -> Actor:
    actor = await admit(request)
    if actor.session is None and not request.app.state.settings.demo:
        raise Forbidden("no token can do this; sign in.")
    return actor


#: A member who is signed in; no token can do what needs one.
Member = Annotated[Actor, Depends(_in_person)]


def actor_of(request: Request) -> Actor | None:
    """Return the author of a request of any kind; None for a stranger."""
    services: Services = request.app.state.services
    authorization = request.headers.get("authorization", "")
    secret = session_secret(request, https=is_https(request))
    if authorization.lower().startswith(_BEARER):
        # A token that does not hold is not helped by a cookie beside it.
        known = services.credentials.by_token(authorization[len(_BEARER) :].strip())
        csrf = ""
    else:
        known = services.credentials.by_session(secret) if secret else None
        csrf = csrf_token(secret)
    # With a header that does not hold nobody is the owner, not even here.
    host = request.headers.get("host", "")
    shown = request.app.state.settings.demo and _THIS_COMPUTER.fullmatch(host)
    if known is None and shown and not authorization:
        owner = services.teams.first_owner()
        known = None if owner is None else services.credentials.by_account(owner)
        csrf = csrf_token(services.values.secret("demo_key"))
    if known is None:
        return None
    return Actor(
        request,
        known.account,
        known.team,
        known.role,
        known.rights,
        csrf,
        known.session,
        services,
    )


def base_address(request: Request) -> str:
    """Return the beginning of links to this server."""
    public: str | None = request.app.state.settings.public_url
    # Behind a proxy only the setting knows the address that people type.
    return public or str(request.base_url).rstrip("/")


def require_own_page(request: Request) -> None:
    """Refuse a change that a page of somebody else asks for, by `Forbidden`."""
    if not same_origin(request):
        raise Forbidden("this form was not filled in on a page of this server; open it here.")


async def _check_form(request: Request, expected: str) -> None:
    """Refuse a change that was not asked for on one of our own pages."""
    # Scripts of our pages send the header, forms the field.
    token = request.headers.get(CSRF_HEADER)
    if token is None:
        field = (await request.form(max_fields=MOST_FIELDS)).get(CSRF_FIELD)
        token = field if isinstance(field, str) else ""
    right = hmac.compare_digest(token.encode(), expected.encode())
    # The origin is checked first, because its refusal says more to who was led here.
    require_own_page(request)
    if not right:
        raise Forbidden(
            "this form was open since before you signed in; go back, reload the page and try again."
        )
