"""A running server with surveys, and clients of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serving import CERTIFICATES, serving

from masquerade.accounting import Caps
from masquerade.client import Client, Identity
from masquerade.exact import Loss
from masquerade.server import Settings, Store, create_app
from masquerade.server.operations.run import address
from masquerade.server.store import SurveyRecord
from masquerade.surveys import Choice, Comparison, Number, Question, Rating
from masquerade.surveys.levels import ALL_LEVELS
from masquerade.surveys.survey import Survey

EVERY_KIND: tuple[Question, ...] = (
    Choice("ill", "Have you worked while ill?", ("Yes", "No", "Cannot say"), allow_skip=True),
    Rating("stress", "How stressful is your work?", 1, 5, "not at all", "very"),
    Number("hours", "How many hours do you sleep?", 0, 12, "hours", 0.5),
    Comparison("pay", "Which would you rather have?", "More pay", "More time", "No preference"),
)
ANSWERS: dict[str, Any] = {"ill": "No", "stress": 4, "hours": 7.5, "pay": "More time"}


def define(*questions: Question, **asked: Any) -> Survey:
    """Return a survey of every kind of question at every level, or of `questions`."""
    return Survey.at_levels(
        title="Work", questions=questions or EVERY_KIND, **{"levels": ALL_LEVELS, **asked}
    )


@dataclass
class Wire(httpx.BaseTransport):
    """Carries requests on and keeps every byte of them.

    Attributes
    ----------
    sent : list of bytes
        Method, address, headers and body of each request.
    sizes : list of (str, int, int)
        Last part of each address, and lengths of the body sent and of the one received.
    """

    carrier: httpx.BaseTransport = field(
        default_factory=lambda: httpx.HTTPTransport(verify=CERTIFICATES, trust_env=False)
    )
    sent: list[bytes] = field(default_factory=list)
    sizes: list[tuple[str, int, int]] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Carry one request."""
        body = request.read()
        head = f"{request.method} {request.url}\n".encode()
        fields = b"".join(name + b": " + value + b"\n" for name, value in request.headers.raw)
        self.sent.append(head + fields + body)
        answer = self.carrier.handle_request(request)
        length = len(answer.read())
        self.sizes.append((request.url.path.rpartition("/")[2], len(body), length))
        return answer

    def close(self) -> None:
        """Close all connections."""
        self.carrier.close()


class Place:
    """A running server, with clients whose homes are folders of the test."""

    def __init__(self, store: Store, url: str, folder: Path) -> None:
        self.store, self.url = store, url
        self._folder = folder
        self._clients: list[Client] = []

    def survey(self, *questions: Question, **asked: Any) -> SurveyRecord:
        """Open a survey."""
        return self.store.open_survey(define(*questions, **asked))

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
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One server on SQLite for all tests, each of which opens surveys of its own."""
    database = f"sqlite:///{tmp_path_factory.mktemp('client') / 'server.sqlite3'}"
    caps = Caps(Loss(100_000_000))
    app = create_app(Settings(database, caps=caps, rate_participant=0, rate_address=0))
    with serving(app) as (bound, _):
        app.state.url = address(bound)
        yield app.state


@pytest.fixture
def place(shared_server: Any, tmp_path: Path) -> Iterator[Place]:
    """A running server, and clients of it."""
    opened = Place(shared_server.store, shared_server.url, tmp_path)
    yield opened
    opened.close()


class Kit:
    """What the test modules, which cannot import this one, share."""

    every_kind = EVERY_KIND
    answers = ANSWERS
    define: Callable[..., Survey] = staticmethod(define)
    wire = Wire


@pytest.fixture
def kit() -> Kit:
    """Return what tests of the client share."""
    return Kit()
