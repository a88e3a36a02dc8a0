"""While the database takes no changes, everything that only reads is answered."""

from __future__ import annotations

import secrets
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import httpx
import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import OperationalError
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.server.devices import Device
from tests.server.running import run
from tests.surveys.small_surveys import define

from masquerade.server.http.logs import Repeats
from masquerade.server.http.write_slots import SLOTS, WriteQueue, is_quick

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from tests.conftest import LiveServers, PostgresServer

PEOPLE, OTHERS = 60, 40


def locked(holder: Connection) -> bool:
    """Lock the tables of participants if nobody uses them: to wait for each could be a deadlock."""
    try:
        with holder.begin_nested():
            holder.execute(text("LOCK TABLE participation, ledger_balance, ledger_entry NOWAIT"))
    except OperationalError:
        return False
    return True


def test_reading_goes_on_while_nothing_can_be_written(live_server: LiveServers) -> None:
    """With the write lock held and sixty people beginning, pages and liveness answer at once.

    Readiness says that writes wait; who cannot be served is told to come again, and the rest is
    done once the lock ends.
    """
    server = live_server(rate_participant=0, rate_address=0, rate_survey=0)
    survey = server.services.surveys.open_survey(define())
    file = make_url(server.services.engine.url).database
    assert file is not None

    def begin(_: int) -> httpx.Response:
        headers = {
            "Masquerade-Participant": secrets.token_hex(16),
            "Idempotency-Key": secrets.token_hex(16),
        }
        body = {"survey": survey.token, "level": "medium"}
        with httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE_SECONDS) as client:
            return client.post("/api/v1/participations", json=body, headers=headers)

    def leave(_: int) -> httpx.Response:
        headers = {"Masquerade-Participant": "w" + secrets.token_hex(16)}
        with httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE_SECONDS) as client:
            return client.delete("/api/v1/me", headers=headers)

    with (
        closing(sqlite3.connect(file, isolation_level=None)) as holder,
        ThreadPoolExecutor(PEOPLE + OTHERS) as crowd,
        httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE_SECONDS) as reader,
    ):
        holder.execute("BEGIN IMMEDIATE")
        people = [crowd.submit(begin, number) for number in range(PEOPLE)]
        # Forty more change what is written by other routes, which hold threads.
        others = [crowd.submit(leave, number) for number in range(OTHERS)]
        queue: WriteQueue = server.app.state.writes
        transactions = server.services.transactions
        until = time.monotonic() + PATIENCE_SECONDS
        # All turns are taken, more wait for one, and steps wait beside them.
        while (not queue.waiting or transactions.waiting <= SLOTS) and time.monotonic() < until:
            time.sleep(0.01)
        assert queue.waiting
        assert transactions.waiting > SLOTS
        for path in ("/healthz", f"/s/{survey.token}", "/static/tokens.css"):
            assert reader.get(path).status_code == 200, path
        assert reader.get(f"/api/v1/surveys/{survey.token}/invitation").status_code == 200
        # None of these was answered because the lock had ended: nobody has begun meanwhile.
        assert not any(one.done() and one.result().status_code == 201 for one in people)
        while (state := reader.get("/readyz")).status_code == 200 and time.monotonic() < until:
            time.sleep(0.1)
        assert "writes wait" in state.json()["reason"]
        holder.execute("ROLLBACK")
        answers = [one.result() for one in (*people, *others)]
        assert {one.status_code for one in answers} <= {200, 201, 503}
        assert all("retry-after" in one.headers for one in answers if one.status_code == 503)
        assert begin(0).status_code == 201
        assert reader.get("/readyz").status_code == 200


@pytest.mark.postgres
def test_pages_need_no_table_of_participants(
    live_server: LiveServers, postgres_server: PostgresServer, migrated_template: str
) -> None:
    """With PostgreSQL's tables of participants locked and thirty people beginning, pages are read.

    All people's steps are done once the lock ends, or they were told to come again.
    """
    postgres_server.execute(f"CREATE DATABASE locked TEMPLATE {migrated_template}")
    server = live_server(
        database=postgres_server.url("locked"), rate_participant=0, rate_address=0, rate_survey=0
    )
    survey = server.services.surveys.open_survey(define()).token
    client = httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE_SECONDS)

    def begin(_: int) -> int:
        headers = {
            "Masquerade-Participant": secrets.token_hex(16),
            "Idempotency-Key": secrets.token_hex(16),
        }
        body = {"survey": survey, "level": "medium"}
        return client.post("/api/v1/participations", json=body, headers=headers).status_code

    with ThreadPoolExecutor(30) as crowd, client, server.services.engine.connect() as holder:
        with holder.begin() as lock:
            wait_until("the tables are in use", lambda: locked(holder))
            people = [crowd.submit(begin, number) for number in range(30)]
            until = time.monotonic() + PATIENCE_SECONDS
            while server.services.transactions.waiting < 2 and time.monotonic() < until:
                time.sleep(0.01)
            assert server.services.transactions.waiting
            for path in ("/healthz", "/static/tokens.css", f"/s/{survey}", "/me"):
                assert client.get(path).status_code == 200, path
            assert client.get(f"/api/v1/surveys/{survey}/invitation").status_code == 200
            assert not any(one.done() and one.result() == 201 for one in people)
            lock.rollback()
        assert {one.result() for one in people} <= {201, 503}
        assert begin(0) == 201


def test_viewers_of_a_result_leave_threads_to_participants(live_server: LiveServers) -> None:
    """Sixty first viewers of a result that cannot be written keep nobody from a page.

    All see it once the lock ends.
    """
    server = live_server(rate_participant=0, rate_address=0)
    survey = server.services.surveys.open_survey(define())
    for answer in (0, 1, 1):
        Device().send(server.services, survey, [answer, 0])
    closed = server.services.surveys.close(survey)
    server.services.surveys.publish(closed)
    file = make_url(server.services.engine.url).database
    assert file is not None
    client = httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE_SECONDS)
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as holder,
        ThreadPoolExecutor(PEOPLE) as crowd,
        client as reader,
    ):
        holder.execute("BEGIN IMMEDIATE")
        viewers = [crowd.submit(reader.get, f"/r/{survey.token}") for _ in range(PEOPLE)]
        until = time.monotonic() + PATIENCE_SECONDS
        while not server.services.transactions.waiting and time.monotonic() < until:
            time.sleep(0.01)
        for path in ("/healthz", f"/s/{survey.token}", "/static/tokens.css", "/me"):
            assert reader.get(path).status_code == 200, path
        assert not any(one.done() for one in viewers)
        holder.execute("ROLLBACK")
        assert {one.result().status_code for one in viewers} == {200}


def test_what_needs_no_turn_writes_nothing(live_server: LiveServers) -> None:
    """Every address that is answered without a turn is read while the lock is held."""
    server = live_server(rate_participant=0, rate_address=0)
    survey = server.services.surveys.open_survey(define())
    Device().send(server.services, survey)
    file = make_url(server.services.engine.url).database
    assert file is not None
    quick = {
        path
        for path, methods in server.app.openapi()["paths"].items()
        if "get" in methods and is_quick("GET", path)
    }
    quick |= {"/", "/healthz", "/readyz", "/s/{token}", "/me", "/me/ledger", "/me/about", "/sw.js"}
    assert {"/api/v1/me", "/api/v1/invitations", "/api/v1/surveys/{token}/invitation"} <= quick
    headers = {"Masquerade-Participant": "w" + secrets.token_hex(16)}
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as holder,
        httpx.Client(
            base_url=server.url, headers=headers, trust_env=False, timeout=PATIENCE_SECONDS
        ) as reader,
    ):
        holder.execute("BEGIN IMMEDIATE")
        for path in sorted(quick):
            assert reader.get(path.replace("{token}", survey.token)).status_code == 200, path
        assert server.services.transactions.waiting == 0
        holder.execute("ROLLBACK")


@pytest.mark.parametrize(
    ("method", "path", "quick"),
    [
        ("GET", "/s/0a", True),
        ("HEAD", "/static/x.css", True),
        ("GET", "/me/ledger", True),
        ("GET", "/r/0a", False),
        ("GET", "/surveys/0a", False),
        ("GET", "/owner", False),
        ("GET", "/api/v1/surveys/0a/results", False),
        ("GET", "/s/0a/../../surveys", False),
        ("DELETE", "/api/v1/me", False),
        ("POST", "/s/0a", False),
    ],
)
def test_only_what_participants_read_needs_no_turn(method: str, path: str, quick: bool) -> None:
    """Results, surveyors' pages and everything that changes something take turns."""
    assert is_quick(method, path) is quick


def test_turns_are_given_back_and_counted() -> None:
    """As many as there are turns enter; the next waits in vain, or gets the first that ends."""
    now = [0.0]

    async def use() -> None:
        queue = WriteQueue(slots=2, patience=1.0, now=lambda: now[0])
        assert [await queue.enter() for _ in range(3)] == [True, True, False]
        now[0] = 7.0
        assert queue.stuck_seconds() == 7.0
        queue.leave()
        assert queue.stuck_seconds() == 0
        now[0] = 100.0
        assert await queue.enter()
        assert queue.stuck_seconds() == 0
        assert queue.waiting == 0

    run(use())


@pytest.mark.parametrize("causes", [1, 3])
def test_a_flood_of_one_cause_is_one_line_a_minute(causes: int) -> None:
    """The first error has a line at once; the next line, a minute later, says how many came."""
    now = [0.0]
    repeats = Repeats(now=lambda: now[0])
    first = [repeats.due(f"SQLITE_{n}") for n in range(causes)]
    assert first == [1] * causes
    assert [repeats.due("SQLITE_0") for _ in range(73)] == [None] * 73
    now[0] = 61.0
    assert repeats.due("SQLITE_0") == 74
