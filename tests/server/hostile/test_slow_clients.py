"""Clients that dribble, or never read, lose their connection; everybody else is served."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.serving import serving

from masquerade.server import Settings, create_app
from masquerade.server.http.connections import MOST_WAITING, DeadlineProtocol
from masquerade.server.operations.run import address

PATIENCE = 0.6
MANY = 150
HEAD = b"POST /api/v1/participations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
BODY_TO_COME = HEAD + b"Content-Length: 1000\r\n\r\n"
CHUNKS_TO_COME = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server as `masquerade serve` runs it, with less patience."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeadlineProtocol, "patience", PATIENCE)
        yield from running(tmp_path_factory.mktemp("slow"))


def running(folder: Path) -> Iterator[Any]:
    """Run a server until it is not needed any more."""
    settings = Settings(f"sqlite:///{folder / 'slow.sqlite3'}", rate_address=0)
    app = create_app(settings)

    filled = threading.Event()

    @app.get("/large")
    def large() -> Any:
        from starlette.responses import Response

        filled.set()
        return Response(b"x" * 30_000_000)

    asked = threading.Event()

    @app.get("/slow")
    async def slow(request: Request) -> None:
        asked.set()
        while not await request.is_disconnected():
            await asyncio.sleep(0.01)

    with serving(app, settings) as (bound, server):
        server.asked, server.filled = asked, filled  # type: ignore[attr-defined]
        server.url = address(bound)  # type: ignore[attr-defined]
        server.port = bound.getsockname()[1]  # type: ignore[attr-defined]
        yield server


def ended(line: socket.socket, dribble: bytes = b"") -> bool:
    """Send a byte now and then until the other end closes; return whether it ever does."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    line.settimeout(0.05)  # meant to pass
    while time.monotonic() < deadline:
        try:
            if dribble:
                line.sendall(dribble)
            if line.recv(65536) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


@pytest.mark.parametrize(
    ("beginning", "dribble"),
    [
        (b"", b""),
        (b"GET /api/v1/levels HTTP/1.1\r\nHost: x\r\nX: ", b"a"),
        (BODY_TO_COME, b" "),
        (CHUNKS_TO_COME, b"1\r\n \r\n"),
        (b"GET /api/v1/levels HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nX: ", b"a"),
    ],
    ids=["nothing", "head", "body", "chunks", "second head"],
)
def test_a_slow_request_is_ended(served: Any, beginning: bytes, dribble: bytes) -> None:
    """However a request dribbles in, its connection ends though bytes keep coming."""
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        line.sendall(beginning)
        assert ended(line, dribble)


@pytest.mark.parametrize(
    "beginning",
    [
        b"GET /api/v1/levels?",
        b"GET /api/v1/levels HTTP/1.1\r\nHost: x\r\nX: ",
        CHUNKS_TO_COME + b"1\r\n \r\n1;",
        CHUNKS_TO_COME + b"1\r\n \r\n0\r\nX: ",
    ],
    ids=["address", "header", "chunk", "trailer"],
)
def test_what_is_held_until_it_is_whole_is_short(
    served: Any, beginning: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address, a header or the like that does not end is refused, not kept in memory."""
    monkeypatch.setattr(DeadlineProtocol, "patience", 600)  # so it is not the deadline that ends it
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_SECONDS) as line:
        line.sendall(beginning)
        with contextlib.suppress(ConnectionError):  # where it closes before all has been sent
            for _ in range(40):
                line.sendall(b"a" * 65536)
        answer = b""
        with contextlib.suppress(ConnectionError):
            answer = line.recv(65536)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
        assert ended(line)
    assert not served.server_state.connections


def test_requests_ahead_of_their_turn_are_few(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100,000 requests on one connection so many wait at once; then it ends, others are served.

    Who sends as many as may wait is given each answer.
    """
    monkeypatch.setattr(DeadlineProtocol, "patience", 600)
    most, begin = 0, DeadlineProtocol.on_message_begin

    def counted(line: DeadlineProtocol) -> None:
        nonlocal most
        most = max(most, len(line.pipeline))
        begin(line)

    monkeypatch.setattr(DeadlineProtocol, "on_message_begin", counted)
    one = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_SECONDS) as line:
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                line.sendall(one * 1000)
        assert ended(line)
    assert most == MOST_WAITING
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_SECONDS) as line:
        line.sendall(one * MOST_WAITING)
        answers = b""
        while answers.count(b"HTTP/1.1 ") < MOST_WAITING:
            part = line.recv(65536)
            assert part
            answers += part


@pytest.mark.parametrize("further", [b"GET /?", b"no request "], ids=["long", "wrong"])
def test_no_refusal_is_taken_for_the_answer_before(
    served: Any, further: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A further request that is refused while one is answered ends the connection, unanswered."""
    monkeypatch.setattr(DeadlineProtocol, "patience", 600)
    served.asked.clear()
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_SECONDS) as line:
        line.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        assert served.asked.wait(PATIENCE_SECONDS)
        answer = b""
        with contextlib.suppress(ConnectionError):
            line.sendall(further)
            for _ in range(40):
                line.sendall(b"a" * 65536)
        with contextlib.suppress(ConnectionError):
            answer = line.recv(65536)
    assert answer == b""


def test_others_are_served_meanwhile(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """While many connections dribble, others are answered; the slow ones are all ended."""
    monkeypatch.setattr(DeadlineProtocol, "patience", 5)
    lines = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(MANY)]
    try:
        wait_until(
            "the server has not taken them", lambda: len(served.server_state.connections) == MANY
        )
        monkeypatch.setattr(DeadlineProtocol, "patience", 600)
        for number, line in enumerate(lines):
            line.sendall((BODY_TO_COME, HEAD, b"")[number % 3])
        with httpx.Client(base_url=served.url, trust_env=False) as client:
            for _ in range(5):
                assert client.get("/api/v1/levels").status_code == 200
        assert all(ended(line) for line in lines)
    finally:
        for line in lines:
            line.close()
    wait_until("connections are left", lambda: not served.server_state.connections)


def test_who_does_not_read_is_ended(served: Any) -> None:
    """An answer that nobody takes does not keep a connection for ever."""
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        line.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until("nothing is answered", lambda: served.filled.is_set())
        wait_until("the connection is still there", lambda: not served.server_state.connections)


def test_who_is_quick_enough_is_not_ended(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline is of one request: between requests none is running, so a connection lasts."""
    monkeypatch.setattr(DeadlineProtocol, "patience", 600)
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        connections = set()
        for _ in range(3):
            answer = client.get("/api/v1/levels")
            assert answer.status_code == 200
            connections.add(answer.extensions["network_stream"].get_extra_info("client_addr"))
            (kept,) = served.server_state.connections
            assert kept._arriving is None
    assert len(connections) == 1
