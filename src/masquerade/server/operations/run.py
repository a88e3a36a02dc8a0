"""Running the application, in this process, until Ctrl-C."""

from __future__ import annotations

import contextlib
import gc
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable
from typing import Any

import uvicorn

from masquerade.errors import ParameterError
from masquerade.server.http.connections import (
    BACKLOG,
    DeadlineProtocol,
    OpenConnections,
    most_connections,
)
from masquerade.server.http.logs import configure
from masquerade.server.settings import Settings


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket (port 0: any free one); early connections wait for the server."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named so that asyncio sends at once: head and body of an answer are two
    # pieces, and the second would wait 40 ms for the first to be acknowledged.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen()  # a port that is only bound can be bound again by others
    except OSError as error:
        bound.close()
        raise ParameterError(
            f"cannot listen on {host}:{port}: {error.strerror}. Choose another port with --port "
            "(0 takes any free one), or another address with --host."
        ) from error
    return bound


def address(bound: socket.socket) -> str:
    """Return the address of a bound socket as people type it into a browser."""
    host, port = bound.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """A server that calls a function once it has started."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def server_of(
    app: Callable[..., Any], settings: Settings, *, ready: Callable[[], None]
) -> uvicorn.Server:
    """Return a server of `app` without an access log, which would tell the times of answers."""

    class Protocol(DeadlineProtocol):
        open_connections = OpenConnections(
            most=most_connections(),
            from_address=settings.connections_address,
            proxies=settings.trusted_proxies,
        )

    config = uvicorn.Config(
        app,
        # The log has one form, which `configure` sets; the server's own would hold addresses.
        log_level="warning",
        log_config=None,
        access_log=False,
        server_header=False,
        http=Protocol,
        ws="none",
        backlog=BACKLOG,
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    return _Server(config, ready)


def keep_loaded() -> None:
    """Leave all objects loaded so far out of every later search for garbage.

    It stays to the end, and a search through all of it would let requests wait for 0.1 seconds.
    What requests leave is searched for as often as usual: bodies may be large.
    """
    gc.freeze()
    gc.set_threshold(700, 10, 10)


def serve(
    app: Callable[..., Any],
    bound: socket.socket,
    *,
    ready: Callable[[], None],
    settings: Settings | None = None,
) -> None:
    """Serve until Ctrl-C or a termination signal; then finish open requests for some time."""
    settings = settings or Settings("")
    configure(settings.log_format)
    server = server_of(app, settings, ready=ready)
    keep_loaded()

    def leave(_signal: int, _frame: Any) -> None:
        sys.exit(0)

    # The server handles signals while it runs, then raises them again for whoever was before it.
    previous = signal.signal(signal.SIGTERM, leave)
    try:
        server.run(sockets=[bound])
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, previous)
        bound.close()


def open_browser(url: str) -> None:
    """Open `url` in a browser, where there is one."""
    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(url, new=2)
