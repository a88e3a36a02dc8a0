"""Every route, asked by everybody: let through, refused, or not found.

Each route of the application has one row in ``NEEDS``. A new route without a row fails here.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.server.accounts.casts import Cast
from tests.serving import serving
from tests.surveys.small_surveys import define

from masquerade.server import Services, Settings, create_app
from masquerade.server.accounts.teams import RIGHTS, ROLES
from masquerade.server.operations.run import address

if TYPE_CHECKING:
    from fastapi import FastAPI
    from tests.server.accounts.casts import Cast

    from masquerade.server.surveys.survey_records import SurveyRecord

EVERYBODY, PARTICIPANT, MEMBER = "everybody", "participant", "member"
"""Beside rights: what needs no name, a participant's secret, a session of any member."""

NEEDS: dict[tuple[str, str], str | int] = {
    # Anybody; a number is what everybody gets for a request that proves nothing.
    ("GET", "/"): EVERYBODY,
    ("GET", "/api/v1/levels"): EVERYBODY,
    ("GET", "/api/v1/openapi.json"): EVERYBODY,
    ("HEAD", "/api/v1/openapi.json"): EVERYBODY,
    ("GET", "/api/v1/surveys/{token}/invitation"): EVERYBODY,
    ("POST", "/api/v1/surveys/{token}/ticket"): 422,
    ("POST", "/api/v1/surveys/{token}/panel"): 422,
    ("GET", "/app/{build_hash}/{name:path}"): EVERYBODY,
    ("GET", "/healthz"): EVERYBODY,
    ("GET", "/readyz"): EVERYBODY,
    ("GET", "/manifest.webmanifest"): EVERYBODY,
    # Where the setting `public_url` says which it is.
    ("GET", "/.well-known/masquerade-address"): 404,
    # Where the setting `security_contact` says where to report.
    ("GET", "/.well-known/security.txt"): 404,
    ("GET", "/me"): EVERYBODY,
    ("GET", "/me/about"): EVERYBODY,
    ("GET", "/me/ledger"): EVERYBODY,
    ("GET", "/me/plain"): EVERYBODY,
    ("GET", "/me/settings"): EVERYBODY,
    ("GET", "/s/{token}"): EVERYBODY,
    ("GET", "/sw.js"): EVERYBODY,
    ("GET", "/language"): EVERYBODY,
    ("GET", "/sign-in"): EVERYBODY,
    ("GET", "/owner"): 401,
    ("GET", "/sign-in/openid"): 404,
    ("GET", "/sign-in/openid/return"): 401,
    ("POST", "/sign-in"): 401,
    ("POST", "/sign-in/passkey"): 422,
    ("POST", "/sign-in/passkey/begin"): EVERYBODY,
    ("GET", "/join/{token}"): 404,
    ("GET", "/r/{token}"): 404,
    ("GET", "/r/{token}/embed"): 404,
    ("GET", "/r/{token}/look.css"): 404,
    ("GET", "/r/{token}/{fingerprint}"): 404,
    ("POST", "/join/{token}"): 404,
    ("POST", "/join/{token}/sign-in"): 404,
    # Participants' devices.
    ("GET", "/api/v1/invitations"): PARTICIPANT,
    ("GET", "/api/v1/me"): PARTICIPANT,
    ("DELETE", "/api/v1/me"): PARTICIPANT,
    ("PATCH", "/api/v1/me/caps"): PARTICIPANT,
    ("GET", "/api/v1/me/export"): PARTICIPANT,
    ("GET", "/api/v1/me/ledger"): PARTICIPANT,
    ("POST", "/api/v1/me/move"): PARTICIPANT,
    ("POST", "/api/v1/participations"): PARTICIPANT,
    ("POST", "/api/v1/participations/{participation}/abandon"): PARTICIPANT,
    ("POST", "/api/v1/participations/{participation}/open"): PARTICIPANT,
    ("PUT", "/api/v1/participations/{participation}/response"): PARTICIPANT,
    ("PUT", "/api/v1/participations/{participation}/sealed-report"): PARTICIPANT,
    ("POST", "/api/v1/participations/{participation}/seal"): PARTICIPANT,
    ("POST", "/api/v1/participations/{participation}/withdraw"): PARTICIPANT,
    # Members in person: no token.
    ("GET", "/account"): MEMBER,
    ("GET", "/account/codes"): MEMBER,
    ("POST", "/account/codes"): MEMBER,
    ("POST", "/account/codes/remove"): MEMBER,
    ("POST", "/account/name"): MEMBER,
    ("POST", "/account/openid"): MEMBER,
    ("GET", "/account/openid/return"): MEMBER,
    ("POST", "/account/openid/{digest}/remove"): MEMBER,
    ("POST", "/account/passkeys"): MEMBER,
    ("POST", "/account/passkeys/begin"): MEMBER,
    ("POST", "/account/passkeys/{credential}/remove"): MEMBER,
    ("POST", "/account/password"): MEMBER,
    ("POST", "/account/sessions/end"): MEMBER,
    ("POST", "/join/{token}/me"): MEMBER,
    ("POST", "/sign-out"): MEMBER,
    ("GET", "/team"): MEMBER,
    ("POST", "/team/leave"): MEMBER,
    ("POST", "/team/switch"): MEMBER,
    ("GET", "/tokens"): MEMBER,
    ("POST", "/tokens"): MEMBER,
    ("POST", "/tokens/{token}/revoke"): MEMBER,
    # The team.
    ("POST", "/team/invitations"): "team:manage",
    ("POST", "/team/invitations/{invitation}/withdraw"): "team:manage",
    ("POST", "/team/members/{account}/remove"): "team:manage",
    ("POST", "/team/members/{account}/role"): "team:manage",
    ("POST", "/team/name"): "team:manage",
    # Surveys.
    ("GET", "/api/v1/surveys"): "survey:read",
    ("POST", "/api/v1/surveys"): "survey:write",
    ("GET", "/api/v1/surveys/{token}"): "survey:read",
    ("PATCH", "/api/v1/surveys/{token}"): "survey:write",
    ("DELETE", "/api/v1/surveys/{token}"): "survey:write",
    ("POST", "/api/v1/surveys/{token}/cancel"): "survey:write",
    ("POST", "/api/v1/surveys/{token}/close"): "survey:write",
    ("POST", "/api/v1/surveys/{token}/curve"): "survey:read",
    ("GET", "/api/v1/surveys/{token}/document"): "survey:read",
    ("GET", "/api/v1/surveys/{token}/dossier"): "survey:read",
    ("POST", "/api/v1/surveys/{token}/open"): "survey:write",
    ("POST", "/api/v1/surveys/{token}/preview"): "survey:read",
    ("GET", "/api/v1/surveys/{token}/progress"): "survey:read",
    ("POST", "/api/v1/surveys/{token}/publish"): "survey:write",
    ("POST", "/api/v1/surveys/{token}/unpublish"): "survey:write",
    ("POST", "/api/v1/surveys/{token}/selection-runs"): "survey:write",
    ("GET", "/api/v1/surveys/{token}/selection-runs"): "survey:read",
    ("GET", "/api/v1/surveys/{token}/selection-runs/{run}"): "survey:read",
    ("POST", "/api/v1/surveys/{token}/validate"): "survey:read",
    # Between two parties.
    ("GET", "/api/v1/helpers"): "survey:read",
    ("POST", "/api/v1/helpers"): "team:manage",
    ("DELETE", "/api/v1/helpers/{helper}"): "team:manage",
    ("GET", "/api/v1/surveys/{token}/helper"): "survey:read",
    ("POST", "/api/v1/surveys/{token}/helper"): "survey:write",
    ("GET", "/api/v1/surveys/{token}/aggregation"): "survey:read",
    ("GET", "/leaderboard"): "survey:read",
    ("POST", "/leaderboard"): "survey:read",
    ("GET", "/surveys"): "survey:read",
    ("POST", "/surveys/import"): "survey:write",
    ("GET", "/surveys/new"): "survey:write",
    ("POST", "/surveys/new"): "survey:write",
    ("GET", "/surveys/{token}"): "survey:read",
    ("GET", "/surveys/{token}/audience"): "survey:write",
    ("POST", "/surveys/{token}/cancel"): "survey:write",
    ("POST", "/surveys/{token}/close"): "survey:write",
    ("POST", "/surveys/{token}/copy"): "survey:write",
    ("POST", "/surveys/{token}/template"): "survey:write",
    ("POST", "/surveys/{token}/delete"): "survey:write",
    ("GET", "/surveys/{token}/edit"): "survey:write",
    ("POST", "/surveys/{token}/extend"): "survey:write",
    ("GET", "/surveys/{token}/languages"): "survey:write",
    ("POST", "/surveys/{token}/languages"): "survey:write",
    ("POST", "/surveys/{token}/languages/list"): "survey:write",
    ("POST", "/surveys/{token}/languages/file"): "survey:write",
    ("GET", "/surveys/{token}/languages.csv"): "survey:write",
    ("GET", "/surveys/{token}/languages/{code}.po"): "survey:write",
    ("POST", "/surveys/{token}/open"): "survey:write",
    ("POST", "/surveys/{token}/publish"): "survey:write",
    ("POST", "/surveys/{token}/unpublish"): "survey:write",
    ("GET", "/surveys/{token}/review"): "survey:write",
    ("GET", "/surveys/{token}/preview"): "survey:read",
    ("POST", "/surveys/{token}/seats"): "survey:write",
    ("POST", "/surveys/{token}/waves"): "survey:write",
    # Results and reports.
    ("GET", "/api/v1/surveys/{token}/results"): "results:read",
    ("GET", "/api/v1/surveys/{token}/results.csv"): "results:read",
    ("GET", "/api/v1/surveys/{token}/codebook"): "reports:read",
    ("GET", "/api/v1/surveys/{token}/cross-table"): "results:read",
    ("GET", "/api/v1/surveys/{token}/relations"): "results:read",
    ("GET", "/api/v1/surveys/{token}/relations.csv"): "results:read",
    ("GET", "/surveys/{token}/relations"): "results:read",
    ("GET", "/api/v1/surveys/{token}/groups"): "results:read",
    ("GET", "/api/v1/surveys/{token}/weighted"): "results:read",
    ("POST", "/surveys/{token}/weights"): "results:read",
    ("GET", "/surveys/{token}/over-time"): "results:read",
    ("GET", "/api/v1/surveys/{token}/workbook.xlsx"): "results:read",
    ("GET", "/api/v1/surveys/{token}/results.xlsx"): "results:read",
    ("GET", "/api/v1/surveys/{token}/results.sav"): "results:read",
    ("GET", "/api/v1/surveys/{token}/report.pdf"): "results:read",
    ("GET", "/api/v1/surveys/{token}/chart.{picture}"): "results:read",
    ("GET", "/api/v1/surveys/{token}/persons.sav"): "reports:read",
    ("GET", "/api/v1/surveys/{token}/notebook"): "reports:read",
    ("GET", "/api/v1/surveys/{token}/reports.{kind}"): "reports:read",
    # The desk.
    ("GET", "/api/v1/webhooks"): "team:manage",
    ("POST", "/api/v1/webhooks"): "team:manage",
    ("DELETE", "/api/v1/webhooks/{webhook}"): "team:manage",
    ("POST", "/api/v1/webhooks/{webhook}/test"): "team:manage",
    ("GET", "/api/v1/webhooks/{webhook}/deliveries"): "team:manage",
    ("GET", "/webhooks"): "team:manage",
    ("POST", "/webhooks"): "team:manage",
    ("POST", "/webhooks/{webhook}/remove"): "team:manage",
    ("POST", "/webhooks/{webhook}/test"): "team:manage",
    ("GET", "/api/v1/audit"): "audit:read",
    ("GET", "/api/v1/audit/integrity"): "audit:read",
    ("GET", "/audit"): "audit:read",
    ("GET", "/api/v1/surveys/{token}/codes"): "survey:write",
    ("POST", "/api/v1/surveys/{token}/codes/check"): "survey:write",
    ("GET", "/api/v1/surveys/{token}/tickets"): "survey:write",
    ("POST", "/api/v1/surveys/{token}/tickets"): "survey:write",
    ("GET", "/surveys/{token}/invitations"): "survey:write",
    ("POST", "/surveys/{token}/invitations/tickets"): "survey:write",
    ("POST", "/surveys/{token}/invitations/merge"): "survey:write",
    ("POST", "/surveys/{token}/invitations/check"): "survey:write",
    ("POST", "/surveys/{token}/invitations/send"): "survey:write",
    ("POST", "/surveys/{token}/invitations/try"): "survey:write",
    ("POST", "/surveys/{token}/invitations/remind"): "survey:write",
    ("POST", "/surveys/{token}/invitations/returned"): "survey:write",
    ("GET", "/surveys/{token}/qr.svg"): "survey:write",
    ("GET", "/surveys/{token}/qr.png"): "survey:write",
    ("GET", "/surveys/{token}/codes"): "survey:write",
    ("GET", "/surveys/{token}/codes.csv"): "survey:write",
    ("POST", "/surveys/{token}/codes"): "survey:write",
}
REFUSED = (401, 403)


def routes_of(routes: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield method and path of every route, also of those that a router brought."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from routes_of(inner.routes)
        elif hasattr(route, "methods"):
            yield from ((method, route.path) for method in route.methods)


@dataclass(frozen=True)
class Served:
    """The application on one SQLite database for all tests of this module, and its askers."""

    app: FastAPI
    client: httpx.Client
    scenes: dict[str | int, Scene] = field(default_factory=dict)

    @property
    def services(self) -> Services:
        """Its contents."""
        services: Services = self.app.state.services
        return services


@dataclass(frozen=True)
class Scene:
    """A team's survey, a spare member, and everybody that may ask."""

    survey: SurveyRecord
    extra: str
    everybody: dict[str, dict[str, str]]

    @classmethod
    def of(cls, cast: Cast, need: str | int) -> Scene:
        """Return one in which nothing has happened yet."""
        extra = cast.another("viewer")
        survey = cast.services.surveys.open_survey(define(), team=cast.team)
        return cls(survey, extra, everybody(cast, need))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A running server."""
    file = tmp_path_factory.mktemp("authorization") / "store.sqlite3"
    app = create_app(Settings(f"sqlite:///{file}", rate_participant=0, rate_address=0))
    with (
        serving(app) as (bound, _),
        httpx.Client(base_url=address(bound), trust_env=False) as client,
    ):
        yield Served(app, client)


def test_every_route_has_a_row(served: Served) -> None:
    """The rows are exactly the routes of the application: a new one must name its users."""
    routes = set(routes_of(served.app.routes))
    assert len(routes) > 50
    assert routes - set(NEEDS) == set(), "no row says who may use these"
    assert set(NEEDS) - routes == set(), "these are no routes any more"


def expected(need: str | int, who: str, *, other: bool) -> str | int:
    """Return the status that somebody gets, or "allowed".

    Parameters
    ----------
    need : str or int
        The row.
    who : str
    other : bool
        Whether the address names something that is the first team's.
    """
    if isinstance(need, int):
        return need
    if need == EVERYBODY:
        return "allowed"
    if need == PARTICIPANT:
        return "allowed" if who == "participant" else 401
    if who in ("participant", "stranger", "forged session", "forged token"):
        return 401
    if who == "other team's owner":
        return 404 if other else "allowed"
    if need == MEMBER:
        return 403 if who.endswith("token") else "allowed"
    if who == "narrow token":
        return 403
    role = "owner" if who == "token" else "editor" if who == "editor's token" else who
    return "allowed" if need in ROLES[role] else 403


def everybody(cast: Cast, need: str | int) -> dict[str, dict[str, str]]:
    """Return the headers of each kind of asker."""
    narrow = next(right for right in RIGHTS if right != need)
    works: dict[str, Callable[[], dict[str, str]]] = {
        "token": partial(cast.token, "owner"),
        "editor's token": partial(cast.token, "editor"),
        "narrow token": partial(cast.token, "owner", narrow),
        **{role: partial(cast.session, account) for role, account in cast.members.items()},
        "other team's owner": partial(cast.session, cast.outsider),
    }
    with ThreadPoolExecutor(len(works)) as all_at_once:  # what waits for the disk waits together
        found = all_at_once.map(lambda work: work(), works.values())
    return {
        **dict(zip(works, found, strict=True)),
        "participant": {"Masquerade-Participant": secrets.token_hex(16)},
        "stranger": {},
        "forged session": {"Cookie": f"masquerade={secrets.token_urlsafe(32)}"},
        "forged token": {"Authorization": f"Bearer mq_{secrets.token_urlsafe(32)}"},
    }


@pytest.mark.parametrize(("method", "path"), sorted(NEEDS), ids=lambda part: str(part))
def test_who_may_use_a_route(served: Served, method: str, path: str) -> None:
    """Each asker gets the row's answer: let through, 401, 403, or 404 for another team's."""
    services, client = served.services, served.client
    need = NEEDS[method, path]
    # These do not change who anybody is: the same people can ask for the next one too.
    if method in ("GET", "HEAD") or path.startswith(("/api/", "/surveys", "/webhooks")):
        scene = served.scenes.get(need) or Scene.of(Cast(services), need)
        served.scenes[need] = scene
    else:
        scene = Scene.of(Cast(services), need)
    survey, extra = scene.survey, scene.extra
    for who, headers in scene.everybody.items():
        values = {
            "token": survey.token if "survey" in path or path[:3] in ("/s/", "/r/") else "0" * 32,
            "account": extra,
            "invitation": "0" * 64,
            "credential": "AAAA",
            "digest": "0" * 64,
            "participation": "0" * 32,
            "run": "0" * 32,
            "webhook": "0" * 32,
            "helper": "0" * 32,
            "payout": "0" * 32,
            "kind": "csv",
            "code": "de",
            "picture": "svg",
            "fingerprint": "0" * 64,
            "build_hash": "0" * 16,
            "name": "app/main.js",
        }
        if path.startswith("/join"):
            values["token"] = secrets.token_urlsafe(24)
        body: dict[str, Any] = {} if method in ("GET", "HEAD") else {"json": {}}
        if body and not path.startswith("/api/"):
            body = {"data": {"login": secrets.token_hex(4)}}
        answer = client.request(
            method,
            path.replace(":path", "").format(**values),
            headers={"Accept": "application/json", **headers},
            **body,
        )
        wanted = expected(need, who, other="{" in path and "/join/" not in path)
        if path == "/owner" and who in (*ROLES, "other team's owner", "token", "editor's token"):
            wanted = 303  # who is signed in needs no link
        if path == "/owner" and who == "narrow token":
            wanted = 303
        found = f"{who} gets {answer.status_code} {answer.text[:200]}"
        if wanted == "allowed":
            assert answer.status_code not in REFUSED, found
            assert answer.status_code < 500, found
        elif wanted == 404 and need != 404:
            # Its form may be refused before it is looked for; that tells nothing of it.
            assert answer.status_code in (404, 422), found
        else:
            assert answer.status_code == wanted, found


def test_pages_lead_strangers_to_the_sign_in(served: Served) -> None:
    """In a browser, every page that needs a session leads to the sign-in and back."""
    pages = [
        path
        for (method, path), need in NEEDS.items()
        if method == "GET"
        and need not in (EVERYBODY, PARTICIPANT)
        and not isinstance(need, int)
        and not path.startswith("/api/")
        and "{" not in path
    ]
    assert len(pages) >= 5
    for page in pages:
        answer = served.client.get(page, headers={"Accept": "text/html"})
        assert answer.status_code == 303
        assert answer.headers["location"] == f"/sign-in?next={page}"


def test_a_bad_token_is_not_helped_by_a_cookie(served: Served) -> None:
    """A request with a token that does not hold is refused, with every session beside it."""
    client, cast = served.client, Cast(served.services)
    signed_in = cast.session(cast.members["owner"])
    for value in ("Bearer mq_nothing", "bearer mq_", "Bearer"):
        headers = {**signed_in, "Authorization": value, "Accept": "application/json"}
        status = client.get("/surveys", headers=headers).status_code
        assert status == (200 if value == "Bearer" else 401), value


def test_an_open_route_is_not_opened_by_its_method(served: Served) -> None:
    """No method but those of the rows is answered with anything but a refusal."""
    for path in ("/team/members/0/remove", "/tokens/0/revoke", "/sign-out", "/team/leave"):
        for method in ("GET", "PUT", "DELETE", "PATCH"):
            assert served.client.request(method, path).status_code == 405, (method, path)


def test_the_description_says_who_may_ask(served: Served) -> None:
    """For programs: each route of the interface names the header that it wants, as its row does."""
    document = served.app.openapi()
    schemes = document["components"]["securitySchemes"]
    assert schemes["token"]["scheme"] == "bearer"
    assert schemes["participant"]["name"] == "Masquerade-Participant"
    surveyor: list[dict[str, list[str]]] = [{"token": []}, {"session": []}]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            need = NEEDS[method.upper(), path]
            found = operation.get("security")
            if need == EVERYBODY or path.endswith(("/ticket", "/panel")):
                assert found is None, path
            elif need == PARTICIPANT:
                assert found == [{"participant": []}], path
            elif re.search(r"/(results(\.\w+)?|report\.pdf|chart\.\{picture\})$", path):
                assert found == [{}, *surveyor], path  # everybody's, once it is published
            else:
                assert found == surveyor, path
