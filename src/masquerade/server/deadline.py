"""Connections whose other end is too slow are ended, so that nobody can hold all of them."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE_SECONDS: Final = 30.0
"""How long a whole request may take to arrive, and how long an answer may wait to be read on."""

_FILES_OF_OTHERS = 128  # of the files that a process may open: database, log, static files


class DeadlineProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for the whole of each request, head and body.

    It counts from the connection or from the first byte of a further request; between requests the
    server's own, shorter one holds. Bytes that dribble in do not begin it anew.
    """

    patience = PATIENCE_SECONDS

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._arriving: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._arriving = self.loop.call_later(self.patience, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        self._forget_arriving()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Begin the deadline with a request's first byte; end it with its last."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._forget_arriving()
        elif self._arriving is None and not self.transport.is_closing():
            self._arriving = self.loop.call_later(self.patience, self.transport.abort)

    def pause_writing(self) -> None:
        """Wait for the other end to read on."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on, as the other end has read."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def _forget_arriving(self) -> None:
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None


def most_connections() -> int | None:
    """Return how many connections leave this process enough files; None where that is unknown."""
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        None if soft == resource.RLIM_INFINITY else max(_FILES_OF_OTHERS, soft - _FILES_OF_OTHERS)
    )
