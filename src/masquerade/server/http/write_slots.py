"""So many requests that may take long run at once; others wait a while, and are then refused.

A request that writes holds a thread until its change is durable, and one that computes a result
until it is there, or until whoever computes it has written it. Threads are shared: without these
bounds, one slow write would keep all of them, and nobody could open a page or ask whether the
server runs.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import Final, Protocol

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from masquerade.server.http.problem import problem

#: Of the threads that a process has for requests: for those that write, and for readings that may
#: take long. The others are for what participants read.
SLOTS, READING_SLOTS, THREADS = 24, 16, 64
MOST_WAITING: Final = 2000
#: How long a request waits for its turn, and after which time without progress writes are stuck.
PATIENCE_SECONDS: Final = 5.0
RETRY_SECONDS: Final = 2
#: How long a reading waits: results of large surveys take seconds, and waiting holds no thread.
READING_PATIENCE_SECONDS: Final = 30.0
_READING: Final = frozenset(("GET", "HEAD", "OPTIONS"))
#: What participants and machines read, which neither writes nor computes.
_QUICK: Final = re.compile(
    r"/(healthz|readyz|metrics|sw\.js|manifest\.webmanifest|\.well-known/.*|static/.*|app/.*"
    r"|s/[^/]*|me(/.*)?)?"
    r"|/api/v1/(levels|openapi\.json|invitations|me(/.*)?|surveys/[^/]+/invitation)"
)


def is_quick(method: str, path: str) -> bool:
    """Return whether a request neither writes nor computes, so that it needs no turn."""
    return method in _READING and _QUICK.fullmatch(path) is not None


class Waiting(Protocol):
    """Changes that wait to be written."""

    @property
    def waiting(self) -> int:
        """How many there are."""

    def oldest_wait(self) -> float:
        """Return for how many seconds the first of them has waited."""


def is_full(changes: Waiting) -> bool:
    """Return whether so much waits, or for so long, that more is refused."""
    return changes.waiting >= MOST_WAITING or changes.oldest_wait() > PATIENCE_SECONDS


def busy() -> Response:
    """Return the response that asks a client to come again."""
    refusal = problem(
        503, "busy", "The server has too much to write now; try again in some seconds."
    )
    refusal.headers["retry-after"] = str(RETRY_SECONDS)
    return refusal


class WriteQueue:
    """The turns of requests of one kind, in one process."""

    def __init__(
        self,
        *,
        slots: int = SLOTS,
        patience: float = PATIENCE_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._turns = asyncio.Semaphore(slots)
        self._patience = patience
        self._now = now
        self._progress = now()
        # When each that waits began, oldest first.
        self._waiting: dict[object, float] = {}

    async def enter(self) -> bool:
        """Wait for a turn; return False where none comes in time, or too many wait."""
        if self.waiting >= MOST_WAITING:
            return False
        mark = object()
        self._waiting[mark] = self._now()
        try:
            await asyncio.wait_for(self._turns.acquire(), self._patience)
        except TimeoutError:
            return False
        finally:
            del self._waiting[mark]
        self._progress = self._now()
        return True

    def leave(self) -> None:
        """End a turn."""
        self._progress = self._now()
        self._turns.release()

    @property
    def waiting(self) -> int:
        """Number of requests that wait for a turn."""
        return len(self._waiting)

    def oldest_wait(self) -> float:
        """Return for how long the first of them has waited, or all turns are stuck."""
        first = next(iter(self._waiting.values()), None)
        waited = 0.0 if first is None else self._now() - first
        return max(waited, self.stuck_seconds())

    def stuck_seconds(self) -> float:
        """Return for how long all turns were taken without a change; 0 where one is free."""
        return self._now() - self._progress if self._turns.locked() else 0.0


class WriteSlots:
    """Middleware that gives requests their turns, once their bodies have been read.

    So a slow sender holds no turn. `queue`: of what writes; `reading`: of all else but what is
    quick.
    """

    def __init__(self, app: ASGIApp, *, queue: WriteQueue, reading: WriteQueue) -> None:
        self.app = app
        self._queue = queue
        self._reading_queue = reading

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on in its turn, or answer that the server is busy."""
        if scope["type"] != "http" or is_quick(scope["method"], scope["path"]):
            await self.app(scope, receive, send)
            return
        queue = self._reading_queue if scope["method"] in _READING else self._queue
        if not await queue.enter():
            await busy()(scope, receive, send)
            return
        try:
            await self.app(scope, receive, send)
        finally:
            queue.leave()
