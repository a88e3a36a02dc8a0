"""Reading and writing in transactions; a change is durable before anybody is told of it.

SQLite has one writer and waits for the disk at every commit. So one thread here writes for all:
it takes whatever changes wait, puts them into one transaction, each behind a savepoint of its own,
commits once, and only then tells each caller. What fails takes back itself and nothing else. Soon
after a commit the same thread rewrites the file, so that it does not tell the order of arrival.
PostgreSQL does the same inside, so there each change is a transaction of its own; only so many are
under way at once as keep a processor busy, for more threads would take it from each other.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, Engine, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from masquerade.server.db.postgresql_order import PostgresqlOrder
from masquerade.server.db.sqlite_order import SqliteOrder

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[[Connection], T]

# How often a transaction of PostgreSQL is run before its error comes out.
_ATTEMPTS = 8
# Changes in one commit of SQLite: bounds how long the first of them waits for the disk.
_MOST_AT_ONCE = 64
# Transactions of PostgreSQL under way at once.
_UNDER_WAY = 3
# SQLSTATEs deadlock_detected and serialization_failure: nothing was kept, so it can be run again.
_DEADLOCK = ("40P01", "40001")
_REWRITING_SECONDS = 10.0


class Transactions:
    """Reads and writes of a database.

    `rewrites`: whether an SQLite file is rewritten soon after each change; one process does that.
    """

    def __init__(self, engine: Engine, *, rewrites: bool = True) -> None:
        self._engine = engine
        self._writing = engine.execution_options(write=True)
        self._reading = engine
        self._queue: _Writer | None = None
        self._turns = threading.BoundedSemaphore(_UNDER_WAY)
        self._order: SqliteOrder | PostgresqlOrder
        if engine.dialect.name == "sqlite":
            self._order = SqliteOrder(engine, by_itself=rewrites)
            self._queue = _Writer(self._writing, self._order)
        else:
            # All statements of one reading see one moment.
            self._reading = engine.execution_options(isolation_level="REPEATABLE READ")
            self._order = PostgresqlOrder(engine)

    def read(self, work: Work[T]) -> T:
        """Return the result of `work`; all its statements see one moment."""
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
        """Return the result of `work`, once its changes are durable.

        Where it raises, nothing of it is kept and the exception comes out. It may be run several
        times before it is kept (and again where the connection was lost, so that nobody knows), so
        it must change nothing but the database, be safe to repeat, and not call `write` itself.
        """
        if self._queue is not None:
            return self._queue.run(work)
        for _ in range(_ATTEMPTS):
            try:
                # First a turn and then a connection, so that who waits for a turn holds no
                # connection of the pool.
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

    def rewrite(self, *, patience: float = _REWRITING_SECONDS) -> bool:
        """Have all rows rewritten by key; return whether they are within `patience` seconds.

        Otherwise it goes on by itself until they are.
        """
        try:
            if self._queue is not None:
                return self._queue.rewrite().result(patience)
            assert isinstance(self._order, PostgresqlOrder)
            return self._order.rewrite().result(patience)
        except Late:
            return False

    def overdue(self) -> str | None:
        """Return why rows have lain in the order of arrival for too long; None where not."""
        return self._order.overdue()

    def rewriting_seconds(self) -> float:
        """Return how long the last rewriting took; 0 where there was none."""
        return self._order.took

    def unordered_seconds(self) -> float:
        """Return for how long a rewriting that is due could not be done; 0 where none is late."""
        return self._order.late_seconds()

    def close(self) -> None:
        """Finish the waiting transactions and close all connections."""
        # First what waits is committed, then the other thread ends; only then no one needs the
        # engine.
        if self._queue is not None:
            self._queue.close()
        if isinstance(self._order, PostgresqlOrder):
            self._order.close()
        self._engine.dispose()


_Job = tuple[Work[Any], "Future[Any]"]


class _Writer:
    """The one thread that writes to SQLite, and rewrites its file."""

    def __init__(self, engine: Engine, order: SqliteOrder) -> None:
        self._engine = engine
        self._order = order
        # Work, a wish that the file is rewritten, or the end.
        self._jobs: queue.SimpleQueue[_Job | Future[bool] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def run(self, work: Work[T]) -> T:
        future: Future[T] = Future()
        self._put((work, future))
        return future.result()

    def rewrite(self) -> Future[bool]:
        future: Future[bool] = Future()
        self._put(future)
        return future

    def close(self) -> None:
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._jobs.put(None)
        if thread is not None:
            thread.join()

    def _put(self, job: _Job | Future[bool]) -> None:
        # Under the lock, so that no job comes behind the mark with which `close` ends the thread,
        # where nobody would ever answer it.
        with self._lock:
            if self._thread is None:
                # A daemon: what waits here was not promised to anybody, so a dying process need not
                # wait for it.
                self._thread = threading.Thread(target=self._serve, name="writer", daemon=True)
                self._thread.start()
            self._jobs.put(job)

    def _serve(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=self._order.seconds())
            except queue.Empty:
                self._order.attempt()
                continue
            jobs: list[_Job] = []
            while isinstance(job, tuple):
                jobs.append(job)
                if len(jobs) == _MOST_AT_ONCE:
                    # After either break `job` is the last one taken, which is in `jobs` already.
                    break
                try:
                    job = self._jobs.get_nowait()
                except queue.Empty:
                    break
            if jobs:
                # Callers hear of their commit first; only those who want to write wait for the
                # rewriting.
                self._commit(jobs)
                self._order.changed()
                self._order.attempt()
            if isinstance(job, Future):
                self._order.ask()
                job.set_result(self._order.attempt())
            elif job is None:
                self._order.finish()
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
        # After the commit only: what a caller is told survives a crash.
        for future, (value, failure) in outcomes:
            if failure is None:
                future.set_result(value)
            else:
                future.set_exception(failure)


def _attempt(connection: Connection, work: Work[Any]) -> tuple[Any, BaseException | None]:
    # One name is enough, as each savepoint ends before the next begins.
    connection.exec_driver_sql("SAVEPOINT change")
    try:
        value = work(connection)
    except BaseException as error:
        connection.exec_driver_sql("ROLLBACK TO change")
        connection.exec_driver_sql("RELEASE change")
        return None, error
    connection.exec_driver_sql("RELEASE change")
    return value, None


class Service:
    """A service: methods that are transactions, and the day on which they are."""

    def __init__(self, transactions: Transactions, *, today: Callable[[], str]) -> None:
        self._transactions = transactions
        self._today = today


class _HasTransactions(Protocol):
    _transactions: Transactions


S = TypeVar("S", bound=_HasTransactions)
# A method of a service with the connection, and as it is called: without.
_Inner = Callable[Concatenate[S, Connection, P], T]
_Outer = Callable[Concatenate[S, P], T]


def reads(method: _Inner[S, P, T]) -> _Outer[S, P, T]:
    """Run a method of a service in a transaction that reads, which gives it the connection."""

    @wraps(method)
    def call(self: S, /, *args: P.args, **options: P.kwargs) -> T:
        return self._transactions.read(lambda c: method(self, c, *args, **options))

    return call


def writes(method: _Inner[S, P, T]) -> _Outer[S, P, T]:
    """Run a method of a service in a transaction that writes; see `Transactions.write`."""

    @wraps(method)
    def call(self: S, /, *args: P.args, **options: P.kwargs) -> T:
        return self._transactions.write(lambda c: method(self, c, *args, **options))

    return call


def insert_unless_there(connection: Connection, table: Table, row: Mapping[str, object]) -> None:
    """Insert a row, unless there is one that it would repeat."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(table).on_conflict_do_nothing(), row)
