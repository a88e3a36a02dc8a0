"""Reading and writing in transactions; a change is durable before anybody is told of it.

SQLite has one writer and waits for the disk at every commit. So one thread here writes for all:
it takes whatever changes wait, puts them into one transaction, each behind a savepoint of its own,
commits once, and only then tells each caller. What fails takes back itself and nothing else.
PostgreSQL does the same inside, so there each change is a transaction of its own; only so many are
under way at once as keep a processor busy, for more threads would take it from each other.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

T = TypeVar("T")
Work = Callable[[Connection], T]

_ATTEMPTS = 8
_MOST_AT_ONCE = 64
_UNDER_WAY = 3
_DEADLOCK = ("40P01", "40001")


class Transactions:
    """Reads and writes of a database.

    Parameters
    ----------
    engine : Engine
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writing = engine.execution_options(write=True)
        self._reading = engine
        self._queue: _Writer | None = None
        self._turns = threading.BoundedSemaphore(_UNDER_WAY)
        if engine.dialect.name == "sqlite":
            self._queue = _Writer(self._writing)
        else:
            # All statements of one reading see one moment.
            self._reading = engine.execution_options(isolation_level="REPEATABLE READ")

    def read(self, work: Work[T]) -> T:
        """Return what `work` reads; all its statements see one moment."""
        try:
            return self._read(work)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
        return self._read(work)  # the database was started again

    def _read(self, work: Work[T]) -> T:
        with self._reading.connect() as connection, connection.begin():
            return work(connection)

    def write(self, work: Work[T]) -> T:
        """Return what `work` gives, once what it changed is durable.

        Where it raises, nothing of it is kept and the exception comes out. It may be run several
        times before it is kept (and again where the connection was lost, so that nobody knows), so
        it must change nothing but the database, be safe to repeat, and not call `write` itself.
        """
        if self._queue is not None:
            return self._queue.run(work)
        for _ in range(_ATTEMPTS):
            try:
                with self._turns, self._writing.begin() as connection:
                    return work(connection)
            except IntegrityError as error:
                # The same came twice at once; the next attempt finds it.
                last: DBAPIError = error
            except OperationalError as error:
                again = getattr(error.orig, "sqlstate", None) in _DEADLOCK
                if not again and not error.connection_invalidated:
                    raise
                last = error
        raise last

    def empty_log(self) -> None:
        """Empty SQLite's write-ahead log, where nobody is reading from it.

        In it stands together what was changed together, in the order of arrival: participations
        beside entries of the ledger, and what has been deleted since.
        """
        if self._queue is not None:
            with self._engine.connect() as connection:
                # Not in a transaction, which the connection itself would begin.
                raw = connection.connection.driver_connection
                assert raw is not None
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Finish what waits and close all connections."""
        if self._queue is not None:
            self._queue.close()
        self._engine.dispose()


_Job = tuple[Work[Any], "Future[Any]"]


class _Writer:
    """The one thread that writes to SQLite."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def run(self, work: Work[T]) -> T:
        future: Future[T] = Future()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="writer", daemon=True)
                self._thread.start()
            self._jobs.put((work, future))
        return future.result()

    def close(self) -> None:
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._jobs.put(None)
        if thread is not None:
            thread.join()

    def _serve(self) -> None:
        while True:
            job = self._jobs.get()
            jobs: list[_Job] = []
            while job is not None:
                jobs.append(job)
                if len(jobs) == _MOST_AT_ONCE:
                    break
                try:
                    job = self._jobs.get_nowait()
                except queue.Empty:
                    break
            if jobs:
                self._commit(jobs)
            if job is None:
                return

    def _commit(self, jobs: list[_Job]) -> None:
        outcomes: list[tuple[Future[Any], Any]] = []
        try:
            with self._engine.begin() as connection:
                outcomes = [(future, _attempt(connection, work)) for work, future in jobs]
        except BaseException as error:  # nothing of all was kept
            for _, future in jobs:
                future.set_exception(error)
            return
        for future, (value, failure) in outcomes:
            if failure is None:
                future.set_result(value)
            else:
                future.set_exception(failure)


def _attempt(connection: Connection, work: Work[Any]) -> tuple[Any, BaseException | None]:
    connection.exec_driver_sql("SAVEPOINT change")
    try:
        value = work(connection)
    except BaseException as error:
        connection.exec_driver_sql("ROLLBACK TO change")
        connection.exec_driver_sql("RELEASE change")
        return None, error
    connection.exec_driver_sql("RELEASE change")
    return value, None
