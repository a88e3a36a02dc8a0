"""Requests of other sites: with a surveyor's cookie they change nothing, and open no door."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.accounts.casts import Cast
from tests.server.accounts.test_authorization import EVERYBODY, NEEDS, PARTICIPANT
from tests.server.devices import everything
from tests.serving import serving
from tests.surveys.small_surveys import define

from masquerade.server import Services, Settings, create_app
from masquerade.server.operations.run import address


@dataclass(frozen=True)
class Site:
    """A running server, and its askers."""

    services: Services
    client: httpx.Client


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Iterator[Site]:
    """A running server on one SQLite database for all tests of this module."""
    file = shutil.copy(migrated_file, tmp_path_factory.mktemp("sites") / "store.sqlite3")
    app = create_app(Settings(f"sqlite:///{file}", rate_participant=0, rate_address=0))
    with (
        serving(app) as (bound, _),
        httpx.Client(base_url=address(bound), trust_env=False) as client,
    ):
        yield Site(app.state.services, client)


def changing() -> list[tuple[str, str]]:
    """Return every route that changes something and may be used with a session."""
    return sorted(
        (method, path)
        for (method, path), need in NEEDS.items()
        if method not in ("GET", "HEAD") and need not in (EVERYBODY, PARTICIPANT)
        if not isinstance(need, int)
    )


def test_other_sites_can_change_nothing(site: Site) -> None:
    """With the owner's cookie, neither another site's form nor one without our token is taken."""
    services, client = site.services, site.client
    cast = Cast(services)
    survey = services.surveys.open_survey(define(), team=cast.team)
    signed_in = cast.session(cast.members["owner"])
    without, csrf = {"Cookie": signed_in["Cookie"]}, {"csrf": signed_in["X-CSRF-Token"]}
    anothers = cast.session(cast.outsider)["X-CSRF-Token"]
    attempts: list[tuple[dict[str, str], dict[str, str]]] = [
        (without, {}),
        (without, {"csrf": anothers}),
        ({**without, "X-CSRF-Token": ""}, csrf),
        ({**signed_in, "Origin": "https://elsewhere.example"}, csrf),
        ({**signed_in, "Sec-Fetch-Site": "cross-site"}, csrf),
    ]
    services.daily_jobs.run()  # the application's own run at its start then changes nothing more
    before = everything(services)
    values = dict.fromkeys(
        ("invitation", "credential", "digest", "run", "kind", "webhook", "helper", "payout"), "0"
    )
    for number, (method, path) in enumerate(changing()):
        token = survey.token if "surveys" in path else "0"
        where = path.format(token=token, account=cast.members["viewer"], **values)
        # Each route without our token, and with one of the other attempts in turn.
        for headers, form in (attempts[0], attempts[1 + number % (len(attempts) - 1)]):
            body: dict[str, Any] = {"json": {}} if path.startswith("/api/") else {"data": form}
            answer = client.request(method, where, headers=headers, **body)
            assert answer.status_code == 403, (path, headers, answer.text)
    assert everything(services) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://127.0.0.1.elsewhere.example"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_what_is_not_our_own_page(site: Site, headers: dict[str, str]) -> None:
    """A page without an origin, of another port or of a neighbouring host is another site."""
    cast = Cast(site.services)
    signed_in = cast.session(cast.members["owner"])
    answer = site.client.post("/team/name", data={"name": "x"}, headers={**signed_in, **headers})
    assert answer.status_code == 403


def test_our_own_pages_may_change_things(site: Site) -> None:
    """A form of our own page is taken, with its token in a field or in a header."""
    cast = Cast(site.services)
    signed_in = cast.session(cast.members["owner"])
    own = {"Origin": str(site.client.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    field = {"name": "By field", "csrf": signed_in["X-CSRF-Token"]}
    cookie = {"Cookie": signed_in["Cookie"]}
    for headers, data in (
        ({**cookie, **own}, field),
        ({**signed_in, **own}, {"name": "By header"}),
    ):
        answer = site.client.post("/team/name", data=data, headers=headers)
        assert answer.status_code == 303
        (known, *_) = site.services.teams.of_account(cast.members["owner"])
        assert known.team.name == data["name"]


def test_the_doors_are_closed_to_other_sites(site: Site) -> None:
    """Nobody is signed in, or joined, by a form on another site."""
    paths = [
        p for (m, p), need in NEEDS.items() if m == "POST" and p.startswith(("/sign-in", "/join"))
    ]
    assert len(paths) >= 5
    for path in paths:
        for origin in ("https://elsewhere.example", "null"):
            answer = site.client.post(
                path.format(token="0" * 32),
                headers={"Origin": origin},
                json={"challenge": "", "credential": {}} if "passkey" in path else None,
            )
            assert answer.status_code == (401 if path.endswith("/me") else 403), path
