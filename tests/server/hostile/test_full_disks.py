"""A database that cannot be written says why, loses nothing that it accepted, and goes on later."""

from __future__ import annotations

import errno
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError, OperationalError
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.surveys.small_surveys import define

from masquerade.server import Services
from masquerade.server.db.writer import Job, alone
from masquerade.server.http.database_faults import database_cause, fault_of

if TYPE_CHECKING:
    from tests.conftest import LiveServer, LiveServers, PostgresServer

Broken = Callable[[Services], Any]


@contextmanager
def full(services: Services) -> Iterator[None]:
    """Leave no page of SQLite's file for anything new."""
    # SQLite takes the least that is possible: as many as there are.
    most = [1]

    def limit(connection: Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {most[0]}")

    event.listen(services.engine, "begin", limit)
    try:
        yield
    finally:
        most[0] = 2**30


@contextmanager
def refusing(services: Services, refusal: Exception) -> Iterator[None]:
    """Let a database refuse each new participation for a reason of its own."""

    def refuse(_cursor: Any, statement: str, _values: Any, _context: Any) -> None:
        if "INSERT INTO participation" in statement:
            raise refusal

    event.listen(services.engine, "do_execute", refuse)
    try:
        yield
    finally:
        event.remove(services.engine, "do_execute", refuse)


def read_only(services: Services) -> Any:
    """Refuse as SQLite does on a disk that was mounted to be read."""
    refusal = sqlite3.OperationalError("attempt to write a readonly database: wink wink")
    refusal.sqlite_errorname = "SQLITE_READONLY"
    return refusing(services, refusal)


def begin(client: httpx.Client, survey: str, secret: str) -> httpx.Response:
    """Begin a survey; the same person asks by the same key."""
    headers = {"Masquerade-Participant": secret, "Idempotency-Key": secret[1:]}
    body = {"survey": survey, "level": "medium"}
    return client.post("/api/v1/participations", json=body, headers=headers)


def refused_for_a_while(server: LiveServer, broken: Broken, words: str) -> None:
    """Let people begin before, while and after a database is broken; nobody is lost or doubled."""
    survey = server.services.surveys.open_survey(define()).token
    accepted: dict[str, str] = {}
    people = ["w" + secrets.token_hex(16) for _ in range(400)]
    with httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE_SECONDS) as client:
        accepted[people[0]] = begin(client, survey, people[0]).json()["id"]
        with broken(server.services):
            # Some may fit into pages that are there already.
            for person in people[1:]:
                answer = begin(client, survey, person)
                if answer.status_code != 201:
                    break
                accepted[person] = answer.json()["id"]
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) > 0
            problem = answer.json()
            assert problem["type"] == "/problems/database-unavailable"
            assert words in problem["detail"]
            assert "wink" not in answer.text
            # What only reads goes on.
            for path in ("/healthz", f"/s/{survey}"):
                assert client.get(path).status_code == 200
        again = begin(client, survey, person)
        assert again.status_code == 201, again.text
        accepted[person] = again.json()["id"]
        assert begin(client, survey, people[0]).json()["id"] == accepted[people[0]]
    stored = server.services.transactions.read(
        lambda c: c.exec_driver_sql("SELECT id FROM participation").scalars().all()
    )
    assert sorted(stored) == sorted(accepted.values())
    assert server.services.ledger.verify() == len(accepted)


@pytest.mark.parametrize(
    ("broken", "words"), [(full, "its disk is full"), (read_only, "it is read-only")]
)
def test_a_full_or_read_only_disk_loses_nothing(
    live_server: LiveServers, broken: Broken, words: str
) -> None:
    """A person who cannot begin is told why and to come again, and can once there is room."""
    server = live_server(rate_participant=0, rate_address=0, rate_survey=0)
    refused_for_a_while(server, broken, words)


@pytest.mark.postgres
def test_a_full_or_read_only_postgresql_loses_nothing(
    live_server: LiveServers, postgres_server: PostgresServer, migrated_template: str
) -> None:
    """The same where PostgreSQL's disk is full or fails, or it is a standby that only reads."""
    postgres_server.execute(f"CREATE DATABASE full_disks TEMPLATE {migrated_template}")
    errors = pytest.importorskip("psycopg.errors")
    url = postgres_server.url("full_disks")
    server = live_server(database=url, rate_participant=0, rate_address=0, rate_survey=0)
    for sqlstate, words in (
        ("53100", "its disk is full"),
        ("25006", "it is read-only"),
        ("58030", "its disk fails"),
    ):
        with httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE_SECONDS) as client:
            survey = server.services.surveys.open_survey(define()).token
            person = "w" + secrets.token_hex(16)
            refusal = errors.lookup(sqlstate)("could not extend file: wink wink")
            with refusing(server.services, refusal):
                answer = begin(client, survey, person)
                assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
                assert words in answer.json()["detail"]
                assert "wink" not in answer.text
            assert begin(client, survey, person).status_code == 201
    assert server.services.ledger.verify() == 3


@pytest.mark.postgres
def test_a_postgresql_that_turns_read_only_loses_nothing(
    live_server: LiveServers, postgres_server: PostgresServer, migrated_template: str
) -> None:
    """Where PostgreSQL takes no changes for a while, the server goes on by itself afterwards."""
    postgres_server.execute(f"CREATE DATABASE turning TEMPLATE {migrated_template}")
    url = postgres_server.url("turning")
    server = live_server(database=url, rate_participant=0, rate_address=0, rate_survey=0)
    surveys = server.services.surveys
    survey = surveys.open_survey(define()).token
    people = ["w" + secrets.token_hex(16) for _ in range(3)]
    words = ("it ends or has not started yet", "it does not answer", "it is read-only")
    with httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE_SECONDS) as client:
        begun = [begin(client, survey, people[0]).json()["id"]]

        def read_only(person: str) -> bool:
            return words[2] in refused_by_name(begin(client, survey, person), *words)

        def accepted(person: str) -> bool:
            answer = begin(client, survey, person)
            if answer.status_code != 201:
                return not refused_by_name(answer, *words)
            begun.append(answer.json()["id"])
            return True

        for person in people[1:]:
            postgres_server.execute("ALTER DATABASE turning SET default_transaction_read_only = on")
            postgres_server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'turning'"
            )
            # The first may find a connection that was ended.
            wait_until("the database did not turn read-only", partial(read_only, person))
            assert client.get("/readyz").json()["reason"] == "the database takes no changes"
            assert client.get(f"/s/{survey}").status_code == 200
            if person == people[1]:
                with pytest.raises(DBAPIError):
                    surveys.open_survey(define())
            # Connections that were opened meanwhile would take no changes for ever.
            postgres_server.execute("ALTER DATABASE turning RESET default_transaction_read_only")
            if person == people[1]:
                surveys.open_survey(define())
            else:  # Nobody is sent to a server that is not ready: it finds out without any change.
                wait_until(
                    "the server was not ready", lambda: client.get("/readyz").status_code == 200
                )
            wait_until("nobody was accepted", partial(accepted, person))
        again = [begin(client, survey, person).json()["id"] for person in people]
        assert again == begun
    assert server.services.ledger.verify() == len(people)


def refused_by_name(answer: httpx.Response, *words: str) -> str:
    """Return why a database refused; the answer says so, and when to come again."""
    assert answer.status_code == 503, answer.text
    assert int(answer.headers["retry-after"]) > 0
    said: str = answer.json()["detail"]
    assert any(one in said for one in words), said
    return said


def test_the_first_of_a_batch_is_lost_with_no_other(tmp_path: Any) -> None:
    """Where SQLite takes back a whole transaction, nothing of it is told as done."""
    services = Services.open(f"sqlite:///{tmp_path / 'a'}", rewrites=False)

    def small(connection: Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE small (x)")

    def fail(connection: Connection) -> None:
        connection.exec_driver_sql("ROLLBACK")  # as SQLite does by itself
        raise OperationalError("INSERT", None, _Full("database or disk is full"))

    jobs = [Job(alone, one, Future()) for one in (small, fail)]
    with pytest.raises(OperationalError, match="disk is full"):
        list(services.transactions._writer._commit(jobs))
    names = "SELECT count(*) FROM sqlite_master WHERE name = 'small'"
    assert services.transactions.read(lambda c: c.exec_driver_sql(names).scalar()) == 0
    services.close()


class _Full(Exception):
    sqlite_errorname = "SQLITE_FULL"


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("SQLITE_READONLY_DBMOVED", "it is read-only"),
        ("SQLITE_IOERR_FSYNC", "its disk fails"),
        ("57P01", "it ends or has not started yet"),
        ("08006", "it does not answer"),
        ("SQLITE_ERROR", None),
        ("23505", None),
        ("OperationalError", None),
    ],
)
def test_faults_by_name(cause: str, words: str | None) -> None:
    """Faults of disks and servers have words; of statements and data they have none."""
    fault = fault_of(cause)
    assert (fault.words if fault else None) == words


def test_a_disk_that_is_full_beside_the_database_is_said_too() -> None:
    """The system's own errors of a disk have names; others of it do not."""
    assert database_cause(OSError(errno.ENOSPC, "x")) == "ENOSPC"
    assert database_cause(OSError(errno.EROFS, "x")) == "EROFS"
    assert database_cause(OSError(errno.ENOENT, "x")) is None
    assert database_cause(ValueError()) is None
