"""The physical order of rows in PostgreSQL, which must not tell the order of arrival.

Each row names the transaction that wrote it, and lies where there was room at that time.
``VACUUM``, also with ``FULL`` and ``FREEZE``, changes neither the one nor, for the most part, the
other. So parts of tables are replaced by copies that were written in one transaction, in the order
of their keys (see `partitions`). A part holds the responses to some surveys, or the entries of
some people, whose random names are in a range: that tells nothing of when they came.

Between two rewritings ``xmin`` tells everything; and so do PostgreSQL's own log, archives of it,
replicas and backups of its files.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from masquerade.server.db.partitions import PARTITIONED, PartitionCopy, parts_of
from masquerade.server.db.tables import METADATA
from masquerade.server.http.logs import fields

_LOGGER = logging.getLogger(__name__)

# Rows of these change and stay, so that what lies by key has no traces of others in its pages.
_NEVER_DELETED = frozenset({"participation", "completion_code", "ledger_entry", "ledger_balance"})

#: Names the setting that holds the day of the last rewriting.
REWRITTEN = "rewritten"

#: For how long a rewriting that was asked for may fail before ``/readyz`` tells.
OVERDUE_SECONDS = 3600

# Seconds between attempts, while one was asked for and could not be done.
_AGAIN_SECONDS = 60.0
# For what neither readers nor writers wait for.
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
    Who reads or writes waits some hundredths of a second for each part, whatever its size. A part
    takes about as long as its rows to be written again: some seconds for 1,000,000 rows. At the end
    of a survey that is the part with its responses, of 16.
    """

    def __init__(self, engine: Engine, *, clock: Callable[[], float] = time.monotonic) -> None:
        # Each statement a transaction of its own, but where one is begun.
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._clock = clock
        self._jobs: queue.SimpleQueue[tuple[Future[bool], str | None] | None] = queue.SimpleQueue()
        # Surveys whose end has to be rewritten still; None: everything.
        self._wanted: set[str | None] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._since: float | None = None
        self._obstacle = ""
        #: Seconds that the last rewriting took.
        self.took = 0.0

    def rewrite(self, survey: str | None = None) -> Future[bool]:
        """Have all rows, or those of one survey and its neighbours, rewritten.

        The future tells whether they are; otherwise it is tried again every minute.
        """
        done: Future[bool] = Future()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="order", daemon=True)
                self._thread.start()
            # Under the lock, so that no job comes behind the mark with which `close` ends the
            # thread.
            self._jobs.put((done, survey))
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
            done, survey = job
            self._wanted.add(survey)
            done.set_result(self._attempt())

    def _attempt(self) -> bool:
        # From the first attempt that fails; later failures do not begin the hour anew.
        begin = self._clock()
        if self._since is None:
            self._since = begin
        try:
            left = self._rewrite_wanted()
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

    def _rewrite_wanted(self) -> str:
        """Rewrite the parts asked for; return the rest of the order of arrival."""
        wanted = [None] if None in self._wanted else sorted(filter(None, self._wanted))
        left = [rewrite_tables(self._engine, survey) for survey in wanted]
        if not any(left):
            self._wanted.clear()
        return next(filter(None, left), "")


def rewrite_tables(engine: Engine, survey: str | None = None) -> str:
    """Write rows anew by parts, each in one transaction and by its primary key.

    Returned is why there is something left of the order of arrival, or an empty text. With a
    `survey`, only the parts with its rows and the small tables are rewritten.
    """
    with engine.connect() as connection:
        for setting in (
            f"lock_timeout = '{_LOCK_SECONDS}s'",
            # Rows and indexes are sorted in memory.
            "work_mem = '128MB'",
            "maintenance_work_mem = '256MB'",
            # Else a scan of a large table may begin where another one is.
            "synchronize_seqscans = off",
        ):
            _run(connection, f"SET {setting}")
        try:
            # A lock of the session, because each step below is a transaction of its own.
            _run(connection, f"SELECT pg_advisory_lock({_REWRITING})")
            try:
                for copy in _copies(connection, survey):
                    # What stands in the way of one would make others wait, too.
                    if _is_worth_it(copy) and (left := copy.replace()):
                        return left
                _new_log(connection)
                # Only a rewriting of all counts as one.
                if survey is None:
                    _run(connection, _KEEP_DAY)
            finally:
                _run(connection, f"SELECT pg_advisory_unlock({_REWRITING})")
        finally:
            _run(connection, "RESET ALL")
    return ""


def tables_tell_order(connection: Connection) -> bool:
    """Return whether the order of arrival can be told from any part."""
    return any(copy.tells_order() for copy in _copies(connection, None))


def _copies(connection: Connection, survey: str | None) -> Iterator[PartitionCopy]:
    for name in PARTITIONED:
        for part in parts_of(connection, name, survey):
            yield PartitionCopy(connection, METADATA.tables[name], part)


def _is_worth_it(copy: PartitionCopy) -> bool:
    # Parts of surveys that ended long ago stay as they are, at any size.
    if copy.table.name in _NEVER_DELETED:
        return copy.tells_order()
    return not copy.is_empty()


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
