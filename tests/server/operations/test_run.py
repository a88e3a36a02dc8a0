"""CheckResult a port, telling its address, and serving until told to end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import webbrowser
from pathlib import Path

import httpx
import pytest
from tests.server.running import run

from masquerade.errors import ParameterError
from masquerade.server.operations.run import address, listen, open_browser


def test_a_free_port() -> None:
    """Port 0 takes a free port of this computer, and the address names it."""
    with listen("127.0.0.1", 0) as one, listen("127.0.0.1", 0) as other:
        assert one.getsockname()[1] != other.getsockname()[1]
        assert address(one) == f"http://127.0.0.1:{one.getsockname()[1]}"


def test_a_taken_port_is_refused() -> None:
    """A port that is taken, even if nothing is served yet, is an error that gives advice."""
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ParameterError, match=f"127.0.0.1:{port}.*--port"):
            listen("127.0.0.1", port)
    listen("127.0.0.1", port).close()


def test_an_address_that_is_not_ours_is_refused() -> None:
    """An address of another computer, or a name of none, is an error."""
    for host in ("192.0.2.1", "no-such-host.invalid"):
        with pytest.raises(ParameterError, match="cannot listen"):
            listen(host, 0)


def test_the_address_of_all_interfaces() -> None:
    """A socket on all interfaces is shown as an address that a browser here can open."""
    with listen("0.0.0.0", 0) as bound:
        assert address(bound) == f"http://127.0.0.1:{bound.getsockname()[1]}"


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_the_address_of_ipv6() -> None:
    """An IPv6 address stands in brackets."""
    try:
        bound = listen("::1", 0)
    except ParameterError as error:
        pytest.skip(str(error))
    with bound:
        assert address(bound) == f"http://[::1]:{bound.getsockname()[1]}"


def test_without_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no browser can be opened, nothing happens."""

    def fail(*_: object, **__: object) -> bool:
        raise webbrowser.Error("none here")

    monkeypatch.setattr(webbrowser, "open", fail)
    open_browser("http://127.0.0.1")


PROGRAM = """
import gc, sys
from masquerade.server import Settings, create_app
from masquerade.server.operations.run import address, listen, serve
bound = listen("127.0.0.1", 0)
app = create_app(Settings(sys.argv[1]))
serve(app, bound, ready=lambda: print(address(bound), gc.get_freeze_count(), flush=True))
print("ended", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of this kind are POSIX's")
@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.exhaustive), signal.SIGTERM]
)
def test_serving_until_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    """A server answers once it says so, freezes its modules, ends cleanly, and logs nothing."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, f"sqlite:///{tmp_path / 'run.sqlite3'}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url, kept = process.stdout.readline().split()
        assert int(kept) > 50_000
        found = httpx.get(f"{url}/healthz", trust_env=False)
        assert found.status_code == 200
        assert "uvicorn" not in found.headers.get("server", "")
        process.send_signal(number)
        output, errors = process.stdout.read(), process.stderr.read()
    assert process.returncode == 0
    assert errors == ""
    assert output in ("ended\n", "")


def test_answers_are_sent_at_once() -> None:
    """Bytes for a connection are not held back until the piece before is acknowledged."""
    found: list[int] = []

    class Told(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            kept = transport.get_extra_info("socket")
            found.append(kept.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            transport.close()

    async def serve_one() -> None:
        server = await asyncio.get_running_loop().create_server(Told, sock=bound)
        _, writer = await asyncio.open_connection(*bound.getsockname())
        writer.close()
        for _ in range(500):
            if found:
                break
            await asyncio.sleep(0.01)
        server.close()

    with listen("127.0.0.1", 0) as bound:
        run(serve_one())
    assert found == [1]
