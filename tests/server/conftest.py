"""Surveys, devices that answer them, and everything that a database holds."""

from __future__ import annotations

import functools
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
import pytest
from sqlalchemy import MetaData, select

from masquerade.answers import Choice, Question, Rating
from masquerade.server import Store
from masquerade.server.definition import KEEP_PER_ANSWER, Definition
from masquerade.server.store import Bill, Survey

if TYPE_CHECKING:
    from tests.conftest import LiveServer, LiveServers

T = TypeVar("T")

QUESTIONS: tuple[Question, ...] = (
    Choice("ill", "Have you worked while ill?", ("Yes", "No")),
    Rating("stress", "How stressful is your work?"),
)


@functools.cache
def define(
    *questions: Question,
    title: str = "Work",
    description: str = "",
    template: str = "pick",
    level: str = "medium",
    masking: str = KEEP_PER_ANSWER,
) -> Definition:
    """Return a survey of a choice and a rating, or of `questions`."""
    return Definition.at_level(
        title=title,
        description=description,
        template=template,
        level=level,
        questions=questions or QUESTIONS,
        masking=masking,
    )


@dataclass(frozen=True)
class Device:
    """A participant's device, as the store meets it."""

    participant: str = field(default_factory=lambda: secrets.token_hex(16))

    def send(
        self,
        store: Store,
        survey: Survey,
        reports: Sequence[int] | None = None,
        *,
        response_id: str | None = None,
        survey_hash: str | None = None,
    ) -> tuple[Bill, bool]:
        """Send reports, by default the first symbol for every question."""
        return store.submit(
            survey.token,
            participant=self.participant,
            response_id=response_id or secrets.token_hex(16),
            survey_hash=survey_hash or survey.hash,
            reports=[0] * len(survey.definition.questions) if reports is None else reports,
        )


def everything(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables, each table in a fixed order."""
    metadata = MetaData()
    with store.engine.begin() as connection:
        metadata.reflect(connection)
        return {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for table in metadata.sorted_tables
        }


def all_at_once(*works: Callable[[], T]) -> list[T | Exception]:
    """Run all works in threads that start together; return what each gave or raised."""
    outcomes: list[T | Exception] = [AssertionError("did not end")] * len(works)
    start = threading.Barrier(len(works))

    def run(place: int) -> None:
        start.wait()
        try:
            outcomes[place] = works[place]()
        except Exception as error:
            outcomes[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return outcomes


def body(survey: Survey, **changes: Any) -> dict[str, Any]:
    """Return what a device sends, but for `changes`."""
    return {
        "participant": secrets.token_hex(16),
        "response_id": secrets.token_hex(16),
        "survey_hash": survey.hash,
        "reports": [0] * len(survey.definition.questions),
        **changes,
    }


class Kit:
    """The functions above, for test modules, which cannot import this one."""

    define = staticmethod(define)
    device = Device
    body = staticmethod(body)
    everything = staticmethod(everything)
    all_at_once: Callable[..., list[Any]] = staticmethod(all_at_once)


@pytest.fixture
def kit() -> Kit:
    """Return what tests of the server share."""
    return Kit()


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """An empty store, on each kind of database; its today is a fixed day."""
    opened = Store(database_url, today=lambda: "2026-03-14")
    yield opened
    opened.close()


@pytest.fixture
def sqlite_store(tmp_path: Any) -> Iterator[Store]:
    """An empty store on SQLite, where the kind of database does not matter."""
    opened = Store(f"sqlite:///{tmp_path / 'store.sqlite3'}", today=lambda: "2026-03-14")
    yield opened
    opened.close()


class Site:
    """A running server, a visitor without a session and the owner."""

    def __init__(self, server: LiveServer, visitor: httpx.Client, owner: httpx.Client) -> None:
        self.server, self.store = server, server.store
        self.visitor, self.owner = visitor, owner

    def post(self, survey: Survey, **changes: Any) -> httpx.Response:
        """Send a response that is right but for `changes`."""
        return self.visitor.post(
            f"/api/v1/surveys/{survey.token}/responses", json=body(survey, **changes)
        )


@pytest.fixture
def site(live_server: LiveServers) -> Iterator[Site]:
    """A running server on an empty database, with its owner signed in."""
    server = live_server()
    html = {"Accept": "text/html"}
    with (
        httpx.Client(base_url=server.url, trust_env=False) as visitor,
        httpx.Client(
            base_url=server.url, trust_env=False, headers=html, follow_redirects=True
        ) as owner,
    ):
        assert owner.get(server.owner_link).url.path == "/surveys"
        yield Site(server, visitor, owner)
