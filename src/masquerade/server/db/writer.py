"""One thread that writes for many callers: waiting changes are in one commit, and then told.

Changes of one kind that can be made together are given to their function as a list, so that many
of them take few statements. A change that fails takes back itself and nothing else: where the
database refuses a list, each of it is made alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Engine

#: Changes in one commit: bounds how long the first of them waits for the disk.
MOST_AT_ONCE: Final = 64

#: A value, or the exception in its place.
Outcome = tuple[Any, BaseException | None]
#: Makes changes of many callers in one transaction; returns the outcome of each, in order. What it
#: raises concerns all of them, and nothing of them is kept.
Together = Callable[[Connection, Sequence[Any]], Sequence[Outcome]]
Waiting = Future[Any] | asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class Job:
    """A change that waits to be made, and its caller."""

    apply: Together
    item: Any
    caller: Waiting


Done = Iterable[tuple[Job, Outcome]]


class Order(Protocol):
    """Work that the thread does beside writing, such as rewriting a file."""

    def seconds(self) -> float | None:
        """Return for how long the thread may wait before `attempt`; None: for ever."""
        ...

    def changed(self) -> None:
        """Note that something was committed."""
        ...

    def ask(self) -> None:
        """Have the work done as soon as possible."""
        ...

    def attempt(self) -> bool:
        """Do the work if it is due; return whether nothing is left to do."""
        ...

    def finish(self) -> None:
        """Do it a last time."""
        ...


class Writer:
    """The thread that writes.

    `commit`: makes some changes durable and returns their outcomes; what it raises is all of
    theirs. `order`: done after each commit, and when it is due.
    """

    def __init__(self, commit: Callable[[list[Job]], Done], order: Order | None = None) -> None:
        self._commit = commit
        self._order = order
        # Work, a wish for what is done beside it, or the end.
        self._jobs: queue.SimpleQueue[Job | Future[bool] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        # When each that waits came, and when the first of those under way did.
        self._since: deque[float] = deque()
        self._under_way: float | None = None
        self._size = 0

    def put(self, job: Job | Future[bool]) -> None:
        """Let a change, or work beside it, wait for its turn."""
        # Under the lock, so that no job comes behind the mark with which `close` ends the thread,
        # where nobody would ever answer it.
        with self._lock:
            if self._thread is None:
                # A daemon: what waits here was not promised to anybody, so a dying process need not
                # wait for it.
                self._thread = threading.Thread(target=self._serve, name="writer", daemon=True)
                self._thread.start()
            if isinstance(job, Job):
                self._since.append(time.monotonic())
            self._jobs.put(job)

    @property
    def waiting(self) -> int:
        """Number of changes that are not durable yet, those under way too."""
        return len(self._since) + self._size

    def oldest_wait(self) -> float:
        """Return for how long the first of them has waited, those under way too."""
        first = self._under_way
        if first is None:
            try:
                first = self._since[0]
            except IndexError:
                return 0.0
        return time.monotonic() - first

    def close(self) -> None:
        """Make the waiting changes, and end the thread."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._jobs.put(None)
        if thread is not None:
            thread.join()

    def _serve(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=self._order.seconds() if self._order else None)
            except queue.Empty:
                assert self._order is not None
                self._order.attempt()
                continue
            jobs: list[Job] = []
            while isinstance(job, Job):
                jobs.append(job)
                if len(jobs) == MOST_AT_ONCE:
                    # After either break `job` is the last one taken, which is in `jobs` already.
                    break
                try:
                    job = self._jobs.get_nowait()
                except queue.Empty:
                    break
            if jobs:
                self._make(jobs)
            if isinstance(job, Future):
                assert self._order is not None
                self._order.ask()
                job.set_result(self._order.attempt())
            elif job is None:
                if self._order is not None:
                    self._order.finish()
                return

    def _make(self, jobs: list[Job]) -> None:
        self._under_way, self._size = self._since[0], len(jobs)
        for _ in jobs:
            self._since.popleft()
        try:
            done = list(self._commit(jobs))
        except BaseException as error:  # nothing of all was kept
            done = [(job, (None, error)) for job in jobs]
        # After the commit only: what a caller is told survives a crash. Callers hear of it first;
        # only those who want to write wait for the rewriting.
        _tell(done)
        self._under_way, self._size = None, 0
        if self._order is not None:
            self._order.changed()
            self._order.attempt()


def _tell(done: Iterable[tuple[Job, Outcome]]) -> None:
    """Give callers their outcomes; an event loop is woken once for all of its."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[Waiting, Outcome]]] = {}
    for job, outcome in done:
        if isinstance(job.caller, Future):
            _settle([(job.caller, outcome)])
        else:
            loops.setdefault(job.caller.get_loop(), []).append((job.caller, outcome))
    for loop, told in loops.items():
        with contextlib.suppress(RuntimeError):  # it has ended, and nobody waits any more
            loop.call_soon_threadsafe(_settle, told)


def _settle(told: list[tuple[Waiting, Outcome]]) -> None:
    for caller, (value, failure) in told:
        if caller.done():  # it was given up
            continue
        if failure is None:
            caller.set_result(value)
        else:
            caller.set_exception(failure)


def in_savepoints(engine: Engine, jobs: list[Job]) -> list[tuple[Job, Outcome]]:
    """Make changes in one transaction, each kind of them behind a savepoint of its own."""
    with engine.begin() as connection:
        done: list[tuple[Job, Outcome]] = []
        for kind in kinds(jobs):
            done += _behind_savepoint(connection, kind)
    return done


def _behind_savepoint(connection: Connection, jobs: list[Job]) -> list[tuple[Job, Outcome]]:
    # One name is enough, as each savepoint ends before the next begins.
    connection.exec_driver_sql("SAVEPOINT change")
    try:
        outcomes = jobs[0].apply(connection, [job.item for job in jobs])
    except BaseException as error:
        try:
            connection.exec_driver_sql("ROLLBACK TO change")
            connection.exec_driver_sql("RELEASE change")
        except Exception:  # SQLite has taken back the whole transaction, as its disk is full
            raise error from None
        if len(jobs) == 1:
            return [(jobs[0], (None, error))]
        return [one for job in jobs for one in _behind_savepoint(connection, [job])]
    connection.exec_driver_sql("RELEASE change")
    return list(zip(jobs, outcomes, strict=True))


def kinds(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    """Yield jobs that can be made together, each kind in its order of arrival."""
    found: dict[Together, list[Job]] = {}
    for job in jobs:
        if job.apply is alone:
            yield [job]
        else:
            found.setdefault(job.apply, []).append(job)
    yield from found.values()


def alone(connection: Connection, works: Sequence[Callable[[Connection], Any]]) -> list[Outcome]:
    """Make one change that shares no statement with others."""
    (work,) = works
    return [(work(connection), None)]
