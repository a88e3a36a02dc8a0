"""A running server with surveys, and clients of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.client.surveys import define
from tests.serving import CERTIFICATES, serving

from masquerade.accounting import Caps
from masquerade.client import Client, Identity
from masquerade.exact import Micro
from masquerade.server import Services, Settings, create_app
from masquerade.server.operations.run import address
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Question


class Place:
    """A running server, and clients with homes in folders of the test."""

    def __init__(self, services: Services, url: str, folder: Path) -> None:
        self.services, self.url = services, url
        self._folder = folder
        self._clients: list[Client] = []

    def survey(self, *questions: Question, **asked: Any) -> SurveyRecord:
        """Open a survey."""
        return self.services.surveys.open_survey(define(*questions, **asked))

    def client(
        self,
        identity: Identity | None = None,
        home: str = "home",
        transport: httpx.BaseTransport | None = None,
    ) -> Client:
        """Return a client; clients of one home are one person."""
        carrier = transport or httpx.HTTPTransport(verify=CERTIFICATES, trust_env=False)
        made = Client(self.url, identity, self._folder / home, transport=carrier)
        self._clients.append(made)
        # As much as the server's, so that a test may take part in many surveys.
        made.device.set_caps(epsilon=100, clear=0, confirm=True)
        return made

    def close(self) -> None:
        """Close all clients."""
        for client in self._clients:
            client.close()


@pytest.fixture(scope="session")
def shared_server(
    tmp_path_factory: pytest.TempPathFactory, waiting_for_the_disk: Any
) -> Iterator[Any]:
    """One server on SQLite for all tests, each of which opens surveys of its own."""
    database = f"sqlite:///{tmp_path_factory.mktemp('client') / 'server.sqlite3'}"
    caps = Caps(Micro(100_000_000))
    app = create_app(Settings(database, caps=caps, rate_participant=0, rate_address=0))
    with serving(app) as (bound, _):
        app.state.url = address(bound)
        yield app.state


@pytest.fixture
def place(shared_server: Any, tmp_path: Path) -> Iterator[Place]:
    """A running server, and clients of it."""
    opened = Place(shared_server.services, shared_server.url, tmp_path)
    yield opened
    opened.close()
