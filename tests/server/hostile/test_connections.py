"""A client that opens connections without end loses the silent ones, and shuts nobody else out."""

from __future__ import annotations

import contextlib
import inspect
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serving import serving
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from masquerade.server import Settings, create_app
from masquerade.server.http import connections
from masquerade.server.http.connections import DeadlineProtocol, OpenConnections, most_connections
from masquerade.server.operations.run import address

PATIENCE = 60
MOST, FROM_ONE, MANY = 60, 20, 300


class Line:
    """A connection as it is counted."""

    def __init__(self, *, silent: bool = True) -> None:
        self.ended, self._silent = False, silent

    def silent(self) -> bool:
        """Return whether nothing is being answered."""
        return self._silent

    def end(self) -> None:
        """Note that it was ended."""
        self.ended = True


def entered(
    open_connections: OpenConnections, *addresses: str, silent: bool = True
) -> list[tuple[Line, bool]]:
    """Let a connection from each address in turn come."""
    lines = [Line(silent=silent) for _ in addresses]
    return [
        (line, open_connections.enter(line, address))
        for line, address in zip(lines, addresses, strict=True)
    ]


def test_one_address_has_so_many() -> None:
    """One more ends the oldest silent one from there, and no other's; a /64 counts as one."""
    lines = OpenConnections(most=100, from_address=3, proxies="")
    other = entered(lines, "192.0.2.9")
    mine = entered(lines, *(f"2001:db8::{n}" for n in range(5)))
    assert [(line.ended, stays) for line, stays in mine] == [
        (True, True),
        (True, True),
        (False, True),
        (False, True),
        (False, True),
    ]
    assert not other[0][0].ended
    assert all(stays for _, stays in entered(lines, *(f"2001:db8:0:{n}::1" for n in range(1, 9))))


def test_what_is_being_answered_is_not_ended() -> None:
    """Where all connections of an address are busy the newest has to go."""
    lines = OpenConnections(most=100, from_address=3, proxies="")
    busy = entered(lines, *["192.0.2.1"] * 3, silent=False)
    [(newest, stays)] = entered(lines, "192.0.2.1")
    assert not stays
    lines.leave(newest, "192.0.2.1")
    lines.leave(busy[0][0], "192.0.2.1")
    assert [stays for _, stays in entered(lines, "192.0.2.1")] == [True]
    assert not any(line.ended for line, _ in busy)


def test_the_largest_holder_makes_room() -> None:
    """Where all are taken, a newcomer gets the place of the address that holds most."""
    lines = OpenConnections(most=10, from_address=5, proxies="")
    large, small = entered(lines, *["192.0.2.1"] * 5), entered(lines, *["192.0.2.2"] * 4)
    entered(lines, "192.0.2.3")
    for number in range(4, 7):
        assert [stays for _, stays in entered(lines, f"192.0.2.{number}")] == [True]
    # The second of both to shrink is whichever holds most at that moment.
    assert [line.ended for line, _ in large] == [True, True, False, False, False]
    assert sum(line.ended for line, _ in small) == 1
    for line, _ in large + small:
        lines.leave(line, "192.0.2.1")
        lines.leave(line, "192.0.2.2")
        lines.leave(line, "192.0.2.2")
    assert lines._count == 4


def test_one_address_never_has_more_than_half() -> None:
    """With every setting, half of all connections is left for others."""
    assert OpenConnections(most=10, from_address=200, proxies="").from_address == 5
    assert OpenConnections(most=10, from_address=0, proxies="").from_address == 0
    assert OpenConnections(most=None, from_address=200, proxies="").from_address == 200


def test_a_proxy_connects_for_many() -> None:
    """Connections of a trusted proxy are limited in all, and not by their address."""
    written = "127.0.0.1, 10.0.0.0/8, a-name"
    for proxy in ("127.0.0.1", "10.1.2.3", "::ffff:10.1.2.3", "a-name", ""):
        lines = OpenConnections(most=10, from_address=2, proxies=written)
        assert not any(line.ended for line, _ in entered(lines, *[proxy] * 10)), proxy
        assert sum(line.ended for line, _ in entered(lines, *[proxy] * 2)) == 0
    for asker in ("127.0.0.2", "11.1.2.3", "::1", "another"):
        lines = OpenConnections(most=10, from_address=2, proxies=written)
        found = entered(lines, *[asker] * 10)
        assert sum(line.ended for line, _ in found) == 8, asker
    lines = OpenConnections(most=10, from_address=2, proxies="*")
    assert not any(line.ended for line, _ in entered(lines, *["192.0.2.1"] * 10))


def test_connections_leave_files_for_the_database() -> None:
    """The most connections, and those that wait to be taken, are fewer than the process's files."""
    resource = pytest.importorskip("resource")
    most, (soft, _) = most_connections(), resource.getrlimit(resource.RLIMIT_NOFILE)
    assert most is None or 0 < most < soft
    assert most is None or soft < 300 or most + connections.BACKLOG < soft


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server with few connections, for which nobody is a proxy, on all addresses of loopback."""
    monkeypatch.setattr("masquerade.server.operations.run.most_connections", lambda: MOST)
    settings = Settings(
        f"sqlite:///{tmp_path / 'many.sqlite3'}",
        rate_address=0,
        trusted_proxies="",
        connections_address=FROM_ONE,
    )
    with serving(create_app(settings), settings, host="0.0.0.0") as (bound, server):
        server.port = bound.getsockname()[1]  # type: ignore[attr-defined]
        server.url = address(bound)  # type: ignore[attr-defined]
        yield server


def silent_lines(port: int, source: str, count: int) -> list[socket.socket]:
    """Open connections from an address, and say nothing."""
    found = []
    for _ in range(count):
        found.append(socket.create_connection(("127.0.0.1", port), PATIENCE, (source, 0)))
    return found


def asked(server: Any, source: str) -> int:
    """Return the status that a request from an address gets."""
    transport = httpx.HTTPTransport(local_address=source, retries=0)
    with httpx.Client(transport=transport, timeout=PATIENCE, trust_env=False) as client:
        status: int = client.get(f"http://127.0.0.1:{server.port}/api/v1/levels").status_code
        return status


def test_hundreds_of_silent_connections_shut_nobody_out(served: Any) -> None:
    """While one address holds all it can get, another is answered, and so is the first itself."""
    lines = silent_lines(served.port, "127.0.0.1", MANY)
    try:
        assert asked(served, "127.0.0.2") == 200
        assert asked(served, "127.0.0.1") == 200
        # All but as many as one address may have were ended, the oldest first.
        for line in lines[: MANY - FROM_ONE]:
            line.settimeout(PATIENCE)
            with contextlib.suppress(ConnectionError):
                assert line.recv(1) == b""
        assert len(served.server_state.connections) <= FROM_ONE + 1
    finally:
        for line in lines:
            line.close()


def test_many_addresses_with_silent_connections_shut_nobody_out(served: Any) -> None:
    """Where many addresses together hold all there are, one more is answered all the same."""
    lines = [
        line
        for number in range(2, 12)
        for line in silent_lines(served.port, f"127.0.0.{number}", FROM_ONE)
    ]
    try:
        assert asked(served, "127.0.1.1") == 200
        assert len(served.server_state.connections) <= MOST + 1
    finally:
        for line in lines:
            line.close()


def test_uvicorn_is_as_the_deadlines_need_it() -> None:
    """The parts of uvicorn's protocol, no public interface, that `DeadlineProtocol` uses are there.

    Where this fails after an upgrade: read uvicorn's `httptools_impl.py` beside `deadline.py`, put
    right what changed, run the tests of this folder, and only then raise the bound of uvicorn in
    pyproject.toml.
    """
    overridden = {
        "connection_made": ["self", "transport"],
        "connection_lost": ["self", "exc"],
        "data_received": ["self", "data"],
        "on_message_begin": ["self"],
        "on_header": ["self", "name", "value"],
        "on_headers_complete": ["self"],
        "on_body": ["self", "body"],
        "on_message_complete": ["self"],
        "send_400_response": ["self", "msg"],
        "pause_writing": None,
        "resume_writing": None,
    }
    own = {
        name
        for name, value in vars(DeadlineProtocol).items()
        if inspect.isfunction(value) and hasattr(HttpToolsProtocol, name)
    } - {"__init__"}
    assert own == set(overridden)
    for name, parameters in overridden.items():
        found = list(inspect.signature(getattr(HttpToolsProtocol, name)).parameters)
        assert parameters is None or found == parameters, name
    source = inspect.getsource(inspect.getmodule(HttpToolsProtocol))  # type: ignore[arg-type]
    for word in (
        "self.cycle: RequestResponseCycle = None",
        "self.client = get_remote_addr(transport)",
        "self.response_complete = ",
        "self.response_started = ",
        "self.more_body = ",
        "self.loop = ",
    ):
        assert word in source, word
