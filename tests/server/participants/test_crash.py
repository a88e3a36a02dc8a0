"""A server that is killed in the middle of its work keeps all that it acknowledged, once."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.surveys.small_surveys import define

from masquerade.server import Services
from masquerade.surveys.survey import commitment_of

if TYPE_CHECKING:
    from masquerade.server.surveys.survey_records import SurveyRecord

CLIENTS, ACKNOWLEDGED_BEFORE_THE_KILL = 16, 120
LEVELS = ("high", "medium", "low")

PROGRAM = """
import sys
from masquerade.server import Settings, create_app
from masquerade.server.operations.run import address, listen, serve
bound = listen("127.0.0.1", 0)
app = create_app(Settings(sys.argv[1], rate_participant=0, rate_address=0))
serve(app, bound, ready=lambda: print(bound.getsockname()[1], flush=True))
"""

#: Dies once responses are durable, before anybody is told.
DIES = """
import os
from masquerade.server.db import writer
from masquerade.server.participants.steps import Respond

tell = writer._tell

def die_or_tell(done):
    if any(isinstance(job.item, Respond) for job, _ in done):
        os._exit(9)
    tell(done)

writer._tell = die_or_tell
"""


@contextmanager
def running(database: str, before: str = "") -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a server as a process of its own; give it and its port."""
    with subprocess.Popen(
        [sys.executable, "-c", before + PROGRAM, database], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


@dataclass
class Person:
    """A participant that goes on until the response is acknowledged."""

    level: str
    participant: str = field(default_factory=lambda: secrets.token_hex(16))
    key: str = field(default_factory=lambda: secrets.token_hex(16))
    salt: str = field(default_factory=lambda: secrets.token_hex(16))
    reports: list[int] = field(default_factory=lambda: [secrets.randbelow(2), secrets.randbelow(5)])
    id: str = ""
    acknowledged: list[str] = field(default_factory=list)

    def go_on(
        self,
        connection: http.client.HTTPConnection,
        survey: SurveyRecord,
        *,
        pause: Callable[[], object] = lambda: None,
    ) -> None:
        """Take the steps that are not acknowledged yet; those that are repeat safely.

        `pause`: called before the last step.
        """
        if "reserved" not in self.acknowledged:
            body = {"survey": survey.token, "level": self.level}
            self.id = self._ask(connection, "POST", "", body, "reserved")["id"]
        if "opened" not in self.acknowledged:
            self._ask(connection, "POST", f"/{self.id}/open", None, "opened")
        if "sealed" not in self.acknowledged:
            body = {"commitment": commitment_of(self.id, self.reports, self.salt)}
            self._ask(connection, "POST", f"/{self.id}/seal", body, "sealed")
        if "submitted" not in self.acknowledged:
            pause()
            sent = {
                "reports": self.reports,
                "salt": self.salt,
                "level": self.level,
                "survey_hash": survey.hash,
            }
            self._ask(connection, "PUT", f"/{self.id}/response", sent, "submitted")

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Any, state: str
    ) -> dict[str, Any]:
        headers = {
            "Masquerade-Participant": self.participant,
            "Idempotency-Key": self.key,
            "Content-Type": "application/json",
        }
        content = None if body is None else json.dumps(body)
        connection.request(method, f"/api/v1/participations{path}", content, headers)
        answer = connection.getresponse()
        found: dict[str, Any] = json.loads(answer.read())
        assert answer.status in (200, 201), found
        assert found["state"] == state
        self.acknowledged.append(state)
        return found


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of this kind are POSIX's")
def test_killed_under_load(database_url: str) -> None:
    """After ``kill -9`` under load every acknowledged step is there, and everybody paid once."""
    services = Services.open(database_url)
    survey = services.surveys.open_survey(define(levels=LEVELS))
    services.close()
    people: list[Person] = []
    count, end = threading.Lock(), threading.Event()

    def load(port: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        try:
            while not end.is_set():
                person = Person(secrets.choice(LEVELS))
                with count:
                    people.append(person)
                person.go_on(connection, survey)
        except (OSError, http.client.HTTPException):
            return  # the server is gone
        finally:
            connection.close()

    def acknowledged() -> int:
        with count:
            return sum(len(person.acknowledged) for person in people)

    with running(database_url) as (process, port):
        clients = [threading.Thread(target=load, args=(port,)) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        wait_until("too little came", lambda: acknowledged() >= ACKNOWLEDGED_BEFORE_THE_KILL)
        process.send_signal(signal.SIGKILL)
        end.set()
        for client in clients:
            client.join(PATIENCE_SECONDS)
    assert acknowledged() >= ACKNOWLEDGED_BEFORE_THE_KILL

    services = Services.open(database_url)
    kept = {r.reports for r in services.reports.of_survey(survey.token)}
    for person in people:
        kinds = [
            entry.charge.kind
            for entry in services.ledger.entries(services.identity(person.participant).person)
        ]
        if "opened" in person.acknowledged:
            assert kinds == ["reserve", "commit"]
        elif "reserved" in person.acknowledged:
            assert kinds in (["reserve"], ["reserve", "commit"])
        else:
            assert kinds in ([], ["reserve"])
        if "submitted" in person.acknowledged:
            assert tuple(person.reports) in kept
    sent = sum("submitted" in person.acknowledged for person in people)
    assert sent <= len(services.reports.of_survey(survey.token)) <= sent + CLIENTS
    services.ledger.verify()
    services.close()

    # Everybody whose run was cut short goes on where they were, without a second draw.
    with running(database_url) as (_, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        for person in people:
            person.go_on(connection, survey)
        connection.close()
    services = Services.open(database_url)
    assert services.surveys.record(survey.token).responses == len(people)
    tally = sorted((r.level, r.reports) for r in services.reports.of_survey(survey.token))
    assert tally == sorted((person.level, tuple(person.reports)) for person in people)
    for person in people:
        entries = services.ledger.entries(services.identity(person.participant).person)
        assert [entry.charge.kind for entry in entries] == ["reserve", "commit"]
    assert services.ledger.verify() == 2 * len(people)
    services.close()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of this kind are POSIX's")
def test_killed_between_the_commit_of_a_batch_and_its_answers(database_url: str) -> None:
    """A durable step without an answer is answered as before, and nobody is charged twice."""
    services = Services.open(database_url)
    survey = services.surveys.open_survey(define(levels=LEVELS))
    people = [Person("medium") for _ in range(CLIENTS)]
    ready = threading.Barrier(CLIENTS)

    def go(person: Person, port: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        with contextlib.suppress(OSError, http.client.HTTPException):
            person.go_on(connection, survey, pause=ready.wait)
        connection.close()

    with running(database_url, DIES) as (process, port):
        clients = [threading.Thread(target=go, args=(person, port)) for person in people]
        for client in clients:
            client.start()
        assert process.wait(PATIENCE_SECONDS) == 9
        for client in clients:
            client.join(PATIENCE_SECONDS)
    assert not any("submitted" in person.acknowledged for person in people)
    kept = services.surveys.record(survey.token).responses
    assert 1 <= kept <= CLIENTS
    with running(database_url) as (_, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        for person in people:
            person.go_on(connection, survey)
        connection.close()
    assert services.surveys.record(survey.token).responses == CLIENTS
    tally = sorted(r.reports for r in services.reports.of_survey(survey.token))
    assert tally == sorted(tuple(person.reports) for person in people)
    assert services.ledger.verify() == 2 * CLIENTS
    services.close()
