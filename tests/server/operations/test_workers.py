"""Several processes serve as one; each may die, and all end without cutting anybody off."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.server.devices import Phone
from tests.surveys.small_surveys import define

from masquerade.errors import OperationError
from masquerade.server import Services, Settings
from masquerade.server.keys import make_server_key
from masquerade.server.operations.run import listen
from masquerade.server.operations.workers import Workers
from masquerade.server.settings import sqlite_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.operations.conftest import Serve, Served

    from masquerade.server.surveys.survey_records import SurveyRecord

pytestmark = [
    pytest.mark.slow,  # each test starts processes
    pytest.mark.skipif(
        not Path("/proc/self/stat").exists(), reason="processes are watched through /proc"
    ),
]


def wait_for_workers(server: Served, count: int, *, without: int = 0) -> list[int]:
    """Wait until a server has that many workers, none of them `without`."""
    found: list[int] = []

    def all_there() -> bool:
        found[:] = server.workers()
        return len(found) == count and without not in found

    wait_until(f"there are not {count} workers", all_there)
    return found


def gone(process: int) -> bool:
    """Return whether a process has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def ask_while_it_ends(server: Served, token: str, participant: str) -> bytes:
    """Begin to ask for a place, tell the server to end, ask the rest; return the answer.

    Before the rest is sent nobody listens any more, and the server is still there.
    """
    address = urlsplit(server.url)
    assert address.hostname is not None
    body = json.dumps({"survey": token, "level": "medium"}).encode()
    head = (
        "POST /api/v1/participations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Masquerade-Participant: {participant}\r\nIdempotency-Key: {secrets.token_hex(16)}\r\n"
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    ).encode()
    place = (address.hostname, address.port)

    def nobody_listens() -> bool:
        try:
            socket.create_connection(place, PATIENCE_SECONDS).close()
        except OSError:
            return True
        return False

    with socket.create_connection(place, PATIENCE_SECONDS) as connection:
        connection.sendall(head + body[:10])
        going_on = connection.recv(65536)  # so the head has been read, and the rest is waited for
        assert going_on == b"HTTP/1.1 100 Continue\r\n\r\n"
        server.process.send_signal(signal.SIGTERM)
        wait_until("the server still listens", nobody_listens)
        assert server.process.poll() is None
        connection.sendall(body[10:])
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return answer


@pytest.fixture
def prepared(tmp_path: Path) -> Iterator[tuple[Services, SurveyRecord]]:
    """The store of the servers to come, with a survey."""
    (tmp_path / "data").mkdir()
    key = make_server_key(tmp_path / "data" / "server.key")
    services = Services.open(sqlite_url(tmp_path / "data" / "masquerade.sqlite3"), server_key=key)
    yield services, services.surveys.open_survey(define())
    services.close()


def test_two_workers(serve: Serve, prepared: tuple[Services, SurveyRecord]) -> None:
    """Two processes answer and sweep once; one that is killed is replaced; all end in order.

    A request that is under way when they are told to end is answered.
    """
    services, survey = prepared
    server = serve("--workers", "2", MASQUERADE_METRICS="local", MASQUERADE_LOG_FORMAT="json")
    first = wait_for_workers(server, 2)
    for _ in range(8):
        assert httpx.get(f"{server.url}/readyz").json()["status"] == "ready"
    counts = httpx.get(f"{server.url}/metrics").text
    assert 'masquerade_requests_total{method="GET",route="/readyz",status="200"} 8.0' in counts

    def swept() -> bool:
        return "masquerade_sweeps_total{" in httpx.get(f"{server.url}/metrics").text

    wait_until("no sweep is counted", swept)
    counts = httpx.get(f"{server.url}/metrics").text
    assert 'masquerade_sweeps_total{outcome="done"} 1.0' in counts
    os.kill(first[0], signal.SIGKILL)
    now = wait_for_workers(server, 2, without=first[0])
    assert first[1] in now
    assert httpx.get(f"{server.url}/readyz").status_code == 200
    participant = secrets.token_hex(16)
    assert ask_while_it_ends(server, survey.token, participant).startswith(b"HTTP/1.1 201")
    _, log = server.process.communicate(timeout=PATIENCE_SECONDS)
    assert server.process.returncode == 0, log
    assert [
        entry.charge.kind
        for entry in services.ledger.entries(services.identity(participant).person)
    ] == ["reserve"]
    assert all(gone(process) for process in now)
    lines = [json.loads(line) for line in log.splitlines()]
    died = [line for line in lines if "died" in line["message"]]
    assert [(line["exit_code"], line["worker"] in (0, 1)) for line in died] == [(-9, True)]
    assert sum("sweep is done" in line["message"] for line in lines) <= 2


def test_what_any_worker_wrote_is_rewritten(serve: Serve, tmp_path: Path) -> None:
    """The first of two processes empties SQLite's log of both; at the end it is gone."""
    file = tmp_path / "data" / "masquerade.sqlite3"
    file.parent.mkdir()
    key = make_server_key(file.with_name("server.key"))
    services = Services.open(sqlite_url(file), rewrites=False, server_key=key)
    survey = services.surveys.open_survey(define())
    server = serve("--workers", "2")
    log = file.with_name(f"{file.name}-wal")
    for _ in range(6):
        # A new connection each time, which either process may take.
        with httpx.Client(base_url=server.url, trust_env=False) as client:
            Phone(client).take_part(survey)
    wait_until("the log is not emptied", lambda: log.stat().st_size == 0)
    assert len(services.profiles.persons()) == 6
    services.close()
    assert server.end()[0] == 0
    assert not log.exists()
    with closing(sqlite3.connect(file)) as connection:
        after = connection.serialize()
        connection.execute("VACUUM")
        again = connection.serialize()
    # But for the header, which counts rewritings.
    assert after[100:] == again[100:]


def test_workers_end_with_their_parent(serve: Serve) -> None:
    """Where the process that watches them is killed, no worker goes on alone."""
    server = serve("--workers", "2")
    workers = wait_for_workers(server, 2)
    server.process.kill()
    wait_until("workers go on alone", lambda: all(gone(process) for process in workers))


@pytest.mark.exhaustive
def test_a_request_under_way_is_answered(
    serve: Serve, prepared: tuple[Services, SurveyRecord]
) -> None:
    """Told to end in the middle of a request, the server answers it and takes no more."""
    services, survey = prepared
    server, participant = serve("--workers", "1"), secrets.token_hex(16)
    assert ask_while_it_ends(server, survey.token, participant).startswith(b"HTTP/1.1 201")
    _, log = server.process.communicate(timeout=PATIENCE_SECONDS)
    assert server.process.returncode == 0, log
    assert [
        entry.charge.kind
        for entry in services.ledger.entries(services.identity(participant).person)
    ] == ["reserve"]


RACE = """
import secrets, sys, threading
from masquerade.accounting import Caps
from masquerade.errors import InsufficientBudget
from masquerade.exact import Micro
from masquerade.server import Services
url, cost, one, other = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
services = Services.open(url, caps=Caps(Micro(cost), Caps().delta))
print("ready", flush=True)
for secret in sys.stdin.read().split():
    who, won = services.identity(secret), []
    def attempt(token):
        try:
            key = secrets.token_hex(16)
            steps = services.participations
            won.append(steps.reserve(who, token, "medium", idempotency_key=key)[1])
        except InsufficientBudget:
            won.append(False)
    threads = [threading.Thread(target=attempt, args=(t,)) for t in (one, other) * 4]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert len(won) == 8, won
    print(sum(won), flush=True)
services.close()
"""


@pytest.mark.both_databases
def test_the_race_for_a_budget_between_processes(database_url: str) -> None:
    """Two processes reserve two surveys for the same people: each person pays for one, once."""
    services = Services.open(database_url)
    surveys = [services.surveys.open_survey(define(title=title)) for title in ("One", "Other")]
    cost = surveys[0].survey.levels[0].cost("").pure
    people = [secrets.token_hex(16) for _ in range(12)]
    words = [sys.executable, "-c", RACE, database_url, str(cost), *(s.token for s in surveys)]
    processes = [
        subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n".join(people))
        process.stdin.flush()
        process.stdin.close()
        process.stdin = None
    won = []
    for process in processes:
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0, errors
        won.append([int(line) for line in output.split()])
    assert [sum(column) for column in zip(*won, strict=True)] == [1] * len(people)
    for person in people:
        balance = services.ledger.balance(services.identity(person).person)
        assert (balance.entries, balance.open, balance.reserved_epsilon) == (1, 1, cost)
    assert services.ledger.verify() == len(people)
    services.close()


def test_workers_that_cannot_begin(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Where a worker ends before it serves, the server ends too and says where to look."""
    bound = listen("127.0.0.1", 0)
    workers = Workers(Settings(f"sqlite:///{tmp_path}/no/folder.sqlite3", workers=2), bound)
    with pytest.raises(OperationError, match="before it had begun"):
        workers.run(ready=lambda: pytest.fail("it is not ready"))
    assert bound.fileno() == -1
    told = capfd.readouterr().err
    assert "OperationError" in told
    assert "Traceback" not in told


def test_two_workers_admit_what_one_admits(
    serve: Serve, prepared: tuple[Services, SurveyRecord]
) -> None:
    """Beginnings and sign-ins that spread over two processes are limited as if there were one.

    One of each more than the limit comes back after ten minutes, and after one and a half.
    """
    _, survey = prepared
    server = serve("--workers", "2", MASQUERADE_RATE_SURVEY="6")
    wait_for_workers(server, 2)
    # Each on a connection of its own, so that both processes get some.
    begun = [
        httpx.post(
            f"{server.url}/api/v1/participations",
            json={"survey": survey.token, "level": "medium"},
            headers={
                "Masquerade-Participant": secrets.token_hex(16),
                "Idempotency-Key": secrets.token_hex(16),
            },
            timeout=60,
        ).status_code
        for _ in range(16)
    ]
    assert set(begun) == {201, 429}
    assert 6 <= begun.count(201) <= 7
    tried = [
        httpx.post(
            f"{server.url}/sign-in", data={"login": "ann", "password": "wrong"}, timeout=60
        ).status_code
        for _ in range(24)
    ]
    assert 10 <= len(tried) - tried.count(429) <= 14
