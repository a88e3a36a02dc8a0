"""Servers in a thread of the tests' own process."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.patience import PATIENCE_SECONDS

from masquerade.server import Settings
from masquerade.server.operations.run import listen, server_of

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

CERTIFICATES = ssl.create_default_context()
"""For the `verify` of httpx: to read all certificates for each client takes longer than a test."""


@contextmanager
def serving(
    app: FastAPI,
    settings: Settings | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
) -> Iterator[tuple[socket.socket, uvicorn.Server]]:
    """Serve as `masquerade serve` does, by default on a free port, until the block ends.

    Yields
    ------
    socket, uvicorn.Server
    """
    bound, ready = listen(host, port), threading.Event()
    server = server_of(app, settings or Settings(""), ready=ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    with bound:
        thread.start()
        assert ready.wait(PATIENCE_SECONDS), "the server did not start"
        try:
            yield bound, server
        finally:
            server.should_exit = True
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive(), "the server did not stop"
