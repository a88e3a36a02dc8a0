"""Stores and sites on empty databases."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.server.devices import Phone
from tests.serving import CERTIFICATES

from masquerade.server import Services
from masquerade.server.http.security import COOKIE, csrf_token

if TYPE_CHECKING:
    from tests.conftest import LiveServer, LiveServers


@pytest.fixture
def services(database_url: str) -> Iterator[Services]:
    """An empty store, on each kind of database; its today is a fixed day."""
    opened = Services.open(database_url, today=lambda: "2026-03-14")
    yield opened
    opened.close()


@pytest.fixture
def sqlite_services(tmp_path: Any, migrated_file: Path) -> Iterator[Services]:
    """An empty store on SQLite, where the kind of database does not matter."""
    file = shutil.copy(migrated_file, tmp_path / "store.sqlite3")
    opened = Services.open(f"sqlite:///{file}", today=lambda: "2026-03-14")
    yield opened
    opened.close()


class Site:
    """A running server, a visitor without a session and the owner."""

    def __init__(self, server: LiveServer, visitor: httpx.Client, owner: httpx.Client) -> None:
        self.server, self.services = server, server.services
        self.visitor, self.owner = visitor, owner

    def phone(self, participant: str | None = None) -> Phone:
        """Return a device, a new one by default."""
        return Phone(self.visitor, participant)


@pytest.fixture
def site(live_server: LiveServers) -> Iterator[Site]:
    """A running server on an empty database, with its owner signed in."""
    server = live_server()
    html = {"Accept": "text/html"}
    with (
        httpx.Client(base_url=server.url, verify=CERTIFICATES, trust_env=False) as visitor,
        httpx.Client(
            base_url=server.url,
            verify=CERTIFICATES,
            trust_env=False,
            headers=html,
            follow_redirects=True,
        ) as owner,
    ):
        assert owner.get(server.owner_link).url.path == "/surveys"
        owner.headers["X-CSRF-Token"] = csrf_token(owner.cookies[COOKIE])
        yield Site(server, visitor, owner)
