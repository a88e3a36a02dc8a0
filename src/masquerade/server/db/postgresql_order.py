"""The physical order of rows in PostgreSQL, which must not tell the order of arrival.

Each row names the transaction that wrote it (``xmin``), and lies where there was room at that time.
``VACUUM``, also with ``FULL`` and ``FREEZE``, changes neither the one nor, for the most part, the
other. So all rows are written anew in one transaction, which gives them one ``xmin``, and then each
table is laid out by its primary key (``CLUSTER``). ``TRUNCATE`` and a new insertion would do too,
but whoever reads at that moment would then find the tables empty. Values that are too long for a
page lie in a table of their own under rising numbers, which ``CLUSTER`` keeps; they are written
anew by key once the table lies by key.

Between two rewritings ``xmin`` tells everything; and so do PostgreSQL's own log, archives of it,
replicas and backups of its files.
"""

from __future__ import annotations

import logging
import queue
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from sqlalchemy import JSON, Connection, Engine, Table, Text, cast, text, update
from sqlalchemy.exc import DBAPIError

from masquerade.server.db.tables import METADATA
from masquerade.server.http.logs import fields

_LOGGER = logging.getLogger(__name__)

#: Tables with rows of participants, in the order in which they are locked.
TABLES = (
    *("participation", "ledger_entry", "ledger_balance", "caps_to_come", "completion_code"),
    "quota_count",
    *("split_report", "withdrawn_report"),
    *("ticket", "spent_ticket", "recipient"),
)

#: Names the setting that holds the day of the last rewriting.
REWRITTEN = "rewritten"

#: For how long a rewriting that was asked for may fail before ``/readyz`` tells.
OVERDUE_SECONDS = 3600

# Seconds between attempts, while one was asked for and could not be done.
_AGAIN_SECONDS = 60.0
# Short: requests for a lock queue, so readers wait behind a rewriting that itself waits.
_LOCK_SECONDS = 5
_REWRITING = 0x6F726465  # names the lock that processes rewriting together take in turn
# SQLSTATE insufficient_privilege.
_DENIED = "42501"
# The day alone; no finer time is kept of anything.
_KEEP_DAY = f"""
INSERT INTO setting (key, value) VALUES ('{REWRITTEN}', (now() AT TIME ZONE 'UTC')::date::text)
ON CONFLICT (key) DO UPDATE SET value = excluded.value
"""


class PostgresqlOrder:
    """Rewrites the tables of participants when asked to, in a thread of its own.

    `clock`: gives seconds; replaced in tests.

    Privacy
    -------
    Protects everybody who took part before a rewriting from whoever gets a copy of the tables'
    files, or may query them, after it. Not covered: what came since, PostgreSQL's log where rights
    do not allow to change to a new one, its archives, replicas and copies of earlier days.

    Cost
    ----
    Nobody writes to these tables meanwhile, nor reads the one that is laid out: 0.8 seconds at
    10,000 responses, 7 at 100,000, with a log of 60 and 700 MB.
    """

    def __init__(self, engine: Engine, *, clock: Callable[[], float] = time.monotonic) -> None:
        # Each statement a transaction of its own, but where one is begun.
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._clock = clock
        self._jobs: queue.SimpleQueue[Future[bool] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._since: float | None = None
        self._obstacle = ""
        #: Seconds that the last rewriting took.
        self.took = 0.0

    def rewrite(self) -> Future[bool]:
        """Have all rows rewritten; tell whether they are, else it is tried again every minute."""
        done: Future[bool] = Future()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="order", daemon=True)
                self._thread.start()
            # Under the lock, so that no job comes behind the mark with which `close` ends the
            # thread.
            self._jobs.put(done)
        return done

    def late_seconds(self) -> float:
        """Return for how long a rewriting that was asked for could not be done; 0 where none is."""
        since = self._since
        return 0.0 if since is None or not self._obstacle else self._clock() - since

    def overdue(self) -> str | None:
        """Return why a rewriting that was asked for is not done for long; None where not."""
        if self.late_seconds() < OVERDUE_SECONDS:
            return None
        return f"rows have lain in the order of arrival for long: {self._obstacle}"

    def close(self) -> None:
        """End the thread, after its present job."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._jobs.put(None)
        if thread is not None:
            thread.join()

    def _serve(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=None if self._since is None else _AGAIN_SECONDS)
            except queue.Empty:
                self._attempt()
                continue
            if job is None:
                return
            job.set_result(self._attempt())

    def _attempt(self) -> bool:
        # From the first attempt that fails; later failures do not begin the hour anew.
        begin = self._clock()
        if self._since is None:
            self._since = begin
        try:
            left = rewrite_tables(self._engine)
        except Exception as error:  # also where no connection is free; this thread must live on
            # The SQLSTATE alone: the text of an error can quote a row.
            state = getattr(getattr(error, "orig", None), "sqlstate", None)
            state = state or type(error).__qualname__
            left = f"it could not be rewritten ({state})"
        if left:
            # Once for each obstacle, not every minute.
            if left != self._obstacle:
                _LOGGER.warning("the database is not rewritten", extra=fields(reason=left))
            self._obstacle = left
            return False
        if self._obstacle:
            _LOGGER.warning("the database is rewritten again")
        self._since, self._obstacle, self.took = None, "", self._clock() - begin
        return True


def rewrite_tables(engine: Engine) -> str:
    """Write all rows anew in one transaction, then lay out each table by its primary key.

    Returned is what is left of the order of arrival, or an empty text.
    """
    tables = [METADATA.tables[name] for name in TABLES]
    with engine.connect() as connection:
        _run(connection, f"SET lock_timeout = '{_LOCK_SECONDS}s'")
        try:
            # A lock of the session, because each step below is a transaction of its own.
            _run(connection, f"SELECT pg_advisory_lock({_REWRITING})")
            try:
                # First of all, so that `CLUSTER` copies rows that already have the one xmin.
                _touch(connection, tables)
                # Old versions stay while somebody reads them, and with them their xmin.
                kept = sum(_lay_out(connection, table) for table in tables)
                for table in tables:
                    if _has_long_values(connection, table):
                        _number_anew(connection, table)
                        kept += _lay_out(connection, table)
                _new_log(connection)
                # Only a rewriting that left nothing counts as one.
                if not kept:
                    _run(connection, _KEEP_DAY)
            finally:
                # The connection goes back to the pool, and would keep the lock there.
                _run(connection, f"SELECT pg_advisory_unlock({_REWRITING})")
        finally:
            _run(connection, "SET lock_timeout = DEFAULT")
    return f"{kept} earlier versions of rows are still seen by somebody who reads" if kept else ""


def _touch(connection: Connection, tables: list[Table]) -> None:
    """Write every row anew, as it is, all in one transaction."""
    _run(connection, "BEGIN")
    try:
        names = ", ".join(table.name for table in tables)
        # First all locks, in a fixed order: who writes, or means to, waits; who reads does not.
        _run(connection, f"LOCK TABLE {names} IN EXCLUSIVE MODE")
        for table in tables:
            # A column set to itself: PostgreSQL writes a new version of the row, with this
            # transaction's xmin.
            columns = sorted(table.columns, key=lambda column: column.primary_key)
            column = columns[0]  # one that is no key, where there is one
            connection.execute(update(table).values({column.name: column}))
        _run(connection, "COMMIT")
    except BaseException:
        _run(connection, "ROLLBACK")
        raise


def _lay_out(connection: Connection, table: Table) -> int:
    """Lay a table out by its primary key; return how many old versions had to stay in it."""
    raw = connection.connection.driver_connection
    assert raw is not None
    counts: list[int] = []

    def told(diagnostic: object) -> None:
        # "N dead row versions cannot be removed yet", in the language of the database.
        found = re.match(r"\d+", getattr(diagnostic, "message_detail", None) or "")
        counts.append(int(found.group()) if found else 0)

    # The count comes in a notice only; the statement itself returns nothing.
    raw.add_notice_handler(told)
    try:
        _run(connection, f"CLUSTER VERBOSE {table.name} USING {table.name}_pkey")
    finally:
        raw.remove_notice_handler(told)
    return sum(counts)


def _has_long_values(connection: Connection, table: Table) -> bool:
    query = "SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = '{}'::regclass"
    return bool(connection.scalar(text(query.format(table.name))))


def _number_anew(connection: Connection, table: Table) -> None:
    """Write the long values of a table that lies by key anew, in its order."""
    # As it was written, but another value for PostgreSQL, which otherwise keeps number and place.
    long: dict[str, object] = {
        c.name: cast(cast(c, Text), JSON) for c in table.columns if isinstance(c.type, JSON)
    }
    long |= {c.name: c.concat("") for c in table.columns if isinstance(c.type, Text)}
    _run(connection, "BEGIN")
    try:
        _run(connection, f"LOCK TABLE {table.name} IN EXCLUSIVE MODE")
        # Else a scan of a large table may begin where another one is.
        _run(connection, "SET LOCAL synchronize_seqscans = off")
        if long:
            connection.execute(update(table).values(long))
        _run(connection, "COMMIT")
    except BaseException:
        _run(connection, "ROLLBACK")
        raise


def _new_log(connection: Connection) -> None:
    """Have PostgreSQL begin a new log and let go of the old, where rights allow it."""
    # The first checkpoint makes the old log unneeded, the switch ends its file, and the second lets
    # PostgreSQL recycle it.
    for statement in ("CHECKPOINT", "SELECT pg_switch_wal()", "CHECKPOINT"):
        try:
            _run(connection, statement)
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != _DENIED:
                raise
            return  # doctor says so


def _run(connection: Connection, statement: str) -> None:
    connection.execute(text(statement))
