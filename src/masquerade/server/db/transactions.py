"""Reading and writing in transactions; a change is durable before anybody is told of it.

SQLite has one writer and waits for the disk at every commit. So one thread here writes for all:
it takes whatever changes wait, puts them into one transaction, each behind a savepoint of its own,
commits once, and only then tells each caller. What fails takes back itself and nothing else. Soon
after a commit the same thread rewrites the file, so that it does not tell the order of arrival.
PostgreSQL does the same inside, so there each change is a transaction of its own; only so many are
under way at once as keep a processor busy, for more threads would take it from each other. Changes
of one kind that come by the thousand, the steps of participants, are made together on both: as many
as wait in few statements and one commit.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from sqlalchemy import Connection, Engine, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from masquerade.server.db.partitions import lock_for_reading
from masquerade.server.db.postgresql_order import PostgresqlOrder
from masquerade.server.db.row_sets import always_by_index
from masquerade.server.db.sqlite_order import SqliteOrder
from masquerade.server.db.writer import Job, Outcome, Together, Writer, alone, in_savepoints, kinds

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[[Connection], T]

# How often a transaction of PostgreSQL is run before its error comes out.
_ATTEMPTS = 8
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
        self._turns = threading.BoundedSemaphore(_UNDER_WAY)
        self._order: SqliteOrder | PostgresqlOrder
        if engine.dialect.name == "sqlite":
            self._sqlite, order = True, SqliteOrder(engine, by_itself=rewrites)
            self._order = order
            self._writer = Writer(partial(in_savepoints, self._writing), order)
        else:
            self._sqlite = False
            # All statements of one reading see one moment.
            self._reading = engine.execution_options(isolation_level="REPEATABLE READ")
            self._order = PostgresqlOrder(engine)
            self._writer = Writer(self._commit)
        # Of the thread that writes: always the same, as PostgreSQL plans a statement once for each.
        self._batches: Connection | None = None

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
            lock_for_reading(connection)
            return work(connection)

    def write(self, work: Work[T]) -> T:
        """Return the result of `work`, once its changes are durable.

        Where it raises, nothing of it is kept and the exception comes out. It may be run several
        times before it is kept (and again where the connection was lost, so that nobody knows), so
        it must change nothing but the database, be safe to repeat, and not call `write` itself.
        """
        if self._sqlite:
            return cast(T, self._wait(alone, work))
        return self._repeated(work)

    def together(self, apply: Together, item: Any) -> Any:
        """Return the outcome of one of many changes that `apply` makes together, once durable.

        As for `write`, it may be made several times before it is kept.
        """
        return self._wait(apply, item)

    async def awaited(self, apply: Together, item: Any) -> Any:
        """Return the result of `together`, without holding a thread.

        Whoever is cancelled meanwhile hears nothing; the change is made.
        """
        caller = asyncio.get_running_loop().create_future()
        self._writer.put(Job(apply, item, caller))
        return await caller

    @property
    def waiting(self) -> int:
        """Number of changes that wait for the thread that writes, those under way too."""
        return self._writer.waiting

    def oldest_wait(self) -> float:
        """Return for how many seconds the first of them has waited."""
        return self._writer.oldest_wait()

    def _wait(self, apply: Together, item: Any) -> Any:
        caller: Future[Any] = Future()
        self._writer.put(Job(apply, item, caller))
        return caller.result()

    def _commit(self, jobs: list[Job]) -> list[tuple[Job, Outcome]]:
        """Make changes in one transaction of PostgreSQL, or each alone where it refuses them."""
        done: list[tuple[Job, Outcome]] = []
        for kind in kinds(jobs):
            try:
                outcomes = self._batch(kind)
                done += zip(kind, outcomes, strict=True)
            except Exception:  # of one of them, perhaps
                done += [(job, self._alone(job)) for job in kind]
        return done

    def _batch(self, jobs: Sequence[Job]) -> Sequence[Outcome]:
        if self._batches is None:
            self._batches = self._writing.connect()
        connection = self._batches
        try:
            with connection.begin():
                always_by_index(connection)
                return jobs[0].apply(connection, [job.item for job in jobs])
        except BaseException:
            # Ended, so that no lock is left whatever has failed, also a commit.
            self._batches = None
            connection.invalidate()
            connection.close()
            raise

    def _alone(self, job: Job) -> Outcome:
        try:
            return self._repeated(lambda c: job.apply(c, [job.item])[0])
        except Exception as error:
            return None, error

    def _repeated(self, work: Work[T]) -> T:
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

    def rewrite(self, survey: str | None = None, *, patience: float = _REWRITING_SECONDS) -> bool:
        """Have rows rewritten by key; return whether they are within `patience` seconds.

        Otherwise it goes on by itself until they are. SQLite rewrites all rows; PostgreSQL all, or
        the parts of its tables that hold the responses to a `survey`.
        """
        try:
            if isinstance(self._order, PostgresqlOrder):
                return self._order.rewrite(survey).result(patience)
            wish: Future[bool] = Future()
            self._writer.put(wish)
            return wish.result(patience)
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
        self._writer.close()
        if self._batches is not None:
            self._batches.close()
        if isinstance(self._order, PostgresqlOrder):
            self._order.close()
        self._engine.dispose()


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
