"""A surveyor at an application, and people with the real client."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from sqlalchemy import Connection, insert
from tests.serving import serving

from masquerade.server import Services, Settings, create_app
from masquerade.server.accounts.accounts import insert_account
from masquerade.server.accounts.teams import join
from masquerade.server.db.account_tables import TEAM
from masquerade.server.http.security import COOKIE, csrf_token
from masquerade.server.operations.run import address
from masquerade.server.surveys.lifecycle import Lifecycle


@dataclass
class Desk:
    """A signed-in surveyor.

    Attributes
    ----------
    client : httpx.Client
    services : Services
    csrf, team : str
    """

    client: httpx.Client
    services: Services
    csrf: str
    team: str

    @property
    def lifecycle(self) -> Lifecycle:
        """Functions that make and end surveys."""
        return self.services.surveys

    def become(self, role: str) -> None:
        """Sign in as a new member of the team, in another role."""
        with self.services.engine.execution_options(write=True).begin() as connection:
            account = new_member(connection, self.team, role)
        secret = self.services.sessions.start(account, self.team)
        self.client.cookies.set(COOKIE, secret)
        self.csrf = csrf_token(secret)

    def ask(self, method: str, path: str = "", body: Any = None, **headers: str) -> httpx.Response:
        """Send a request to `/api/v1/surveys`."""
        known = {"X-CSRF-Token": self.csrf, **{k.replace("_", "-"): v for k, v in headers.items()}}
        address = f"/api/v1/surveys{path}"
        return self.client.request(method, address, json=body, headers=known)

    def make(self, *, key: str | None = None, **new: Any) -> dict[str, Any]:
        """Make a draft and return it."""
        answer = self.ask("POST", "", new, Idempotency_Key=key or secrets.token_hex(16))
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def change(self, draft: dict[str, Any], **changes: Any) -> dict[str, Any]:
        """Change a draft and return it."""
        answer = self.ask("PATCH", f"/{draft['token']}", changes, If_Match=f'"v{draft["version"]}"')
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def opened(self, **new: Any) -> dict[str, Any]:
        """Make a draft, open it as it is, and return the survey."""
        answer = self.ask("POST", f"/{self.make(**new)['token']}/open")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


def new_member(connection: Connection, team: str, role: str) -> str:
    """Make an account in a team and return its id."""
    login = f"{role}-{secrets.token_hex(4)}"
    account = insert_account(connection, login=login, name=role, password=None, day="2026-03-14")
    join(connection, account, team, role)
    return account


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, waiting_for_the_disk: Any
) -> Iterator[tuple[str, Services]]:
    """A server for the tests of a module, each of which has a team of its own."""
    folder = tmp_path_factory.mktemp("site")
    settings = Settings(f"sqlite:///{folder / 'a.sqlite3'}", rate_participant=0, rate_address=0)
    app = create_app(settings, sweeps=False)
    with serving(app) as (bound, _):
        yield address(bound), app.state.services


@pytest.fixture
def desk(site: tuple[str, Services]) -> Iterator[Desk]:
    """An editor of a new team, at an empty home."""
    url, services = site
    team = secrets.token_hex(16)
    with services.engine.execution_options(write=True).begin() as connection:
        row = {"id": team, "name": "Sociologists", "day": "2026-03-14"}
        connection.execute(insert(TEAM), row)
        account = new_member(connection, team, "editor")
    secret = services.sessions.start(account, team)
    headers = {"Origin": url, "Accept": "text/html"}
    with httpx.Client(base_url=url, follow_redirects=True, headers=headers) as client:
        client.cookies.set(COOKIE, secret)
        yield Desk(client, services, csrf_token(secret), team)
