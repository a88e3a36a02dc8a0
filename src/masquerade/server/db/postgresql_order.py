"""The physical order of rows in PostgreSQL, which must not tell the order of arrival.

Each row names the transaction that wrote it (``xmin``), and lies where there was room at that time.
``VACUUM``, also with ``FULL`` and ``FREEZE``, changes neither the one nor, for the most part, the
other. So the rows of a part of a table are written anew in one transaction, which gives them one
``xmin``, and then the part is laid out by its primary key (``CLUSTER``), with all indexes. A part
holds the responses to some surveys, or the entries of some people, which a hash chose: that tells
nothing of when they came. ``TRUNCATE`` and a new insertion, or another table in place of the part,
would do too, but whoever reads at that moment would then find them empty. Values that are too long
for a page lie in a table of their own under rising numbers, which ``CLUSTER`` keeps; they are
written anew by key once the table lies by key.

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

from sqlalchemy import JSON, Connection, Engine, Table, Text, text
from sqlalchemy.exc import DBAPIError

from masquerade.server.db.partitions import PARTITIONED, parts_of
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

# Rows of these change and stay, so that what lies by key has no traces of others in its pages.
_NEVER_DELETED = frozenset({"participation", "completion_code", "ledger_entry", "ledger_balance"})

#: Names the setting that holds the day of the last rewriting.
REWRITTEN = "rewritten"

#: For how long a rewriting that was asked for may fail before ``/readyz`` tells.
OVERDUE_SECONDS = 3600

# Seconds between attempts, while one was asked for and could not be done.
_AGAIN_SECONDS = 60.0
# Short: requests for a lock queue, so readers wait behind a rewriting that itself waits.
_LOCK_SECONDS = 5
_READERS_SECONDS = 2.0
# Bytes of a part, from which on it is worth the time to lay it out twice.
_LARGE = 4 * 10**6
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
    Nobody writes to one part meanwhile, nor reads it while it is laid out: about 1 second for
    100,000 rows. At the end of a survey that is the part with its responses, of 16.
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
    """Write rows anew by parts, each in one transaction and then laid out by its primary key.

    Returned is what is left of the order of arrival, or an empty text. With a `survey`, only the
    parts with its responses and the small tables are rewritten.
    """
    with engine.connect() as connection:
        _run(connection, f"SET lock_timeout = '{_LOCK_SECONDS}s'")
        # Indexes are sorted in memory.
        _run(connection, "SET maintenance_work_mem = '256MB'")
        try:
            # A lock of the session, because each step below is a transaction of its own.
            _run(connection, f"SELECT pg_advisory_lock({_REWRITING})")
            try:
                kept = 0
                for name in TABLES:
                    table = METADATA.tables[name]
                    for part in parts_of(connection, name, survey):
                        kept += _rewrite_part(connection, part, table)
                _new_log(connection)
                # Only a rewriting of all that left nothing counts as one.
                if not kept and survey is None:
                    _run(connection, _KEEP_DAY)
            finally:
                # The connection goes back to the pool, and would keep the lock there.
                _run(connection, f"SELECT pg_advisory_unlock({_REWRITING})")
        finally:
            _run(connection, "SET lock_timeout = DEFAULT")
            _run(connection, "SET maintenance_work_mem = DEFAULT")
    return f"{kept} earlier versions of rows are still seen by somebody who reads" if kept else ""


def tells_order(connection: Connection, part: str, table: Table) -> bool:
    """Return whether rows of a part differ in their transactions, or do not lie by key."""
    keys = ", ".join(column.name for column in table.primary_key.columns)
    query = f"""
    SELECT 1 FROM (
        SELECT ROW({keys}) AS key, lag(ROW({keys})) OVER lying AS before, xmin AS one,
        lag(xmin) OVER lying AS other FROM {part} WINDOW lying AS (ORDER BY ctid)
    ) AS rows WHERE before > key OR one <> other LIMIT 1"""
    return connection.scalar(text(query)) is not None


def _rewrite_part(connection: Connection, part: str, table: Table) -> int:
    """Rewrite one part where need be; return how many old versions had to stay in it."""
    # Parts of surveys that ended long ago stay as they are, at any size.
    if table.name in _NEVER_DELETED and not tells_order(connection, part, table):
        return 0
    size = connection.scalar(text(f"SELECT pg_relation_size('{part}')")) or 0
    if size == 0:
        return 0
    # Pages then have room for the new versions: otherwise each index is written to for each row.
    if size > _LARGE and table.name in PARTITIONED:
        _lay_out(connection, part)
    # First, so that `CLUSTER` copies rows that already have the one xmin.
    _touch(connection, part, table)
    _await_readers(connection)
    # Old versions stay while somebody reads them, and with them their xmin.
    kept = _lay_out(connection, part)
    if _has_long_values(connection, part):
        _number_anew(connection, part, table)
        kept += _lay_out(connection, part)
    return kept


def _touch(connection: Connection, part: str, table: Table) -> None:
    """Write every row of a part anew, as it is, in one transaction."""
    # A column set to itself, no key where there is one: PostgreSQL writes a new version of the
    # row, with this transaction's xmin.
    name = min(table.columns, key=lambda column: column.primary_key).name
    _in_one(connection, part, f"UPDATE {part} SET {name} = {name}")


def _await_readers(connection: Connection) -> None:
    """Wait a little for those who may still see rows as they were: `CLUSTER` would keep these."""
    now = connection.scalar(text("SELECT pg_current_xact_id()::text"))
    older = text(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
        "pg_backend_pid() AND greatest(age(backend_xmin), age(backend_xid)) >= "
        "age((mod(CAST(:now AS numeric), 4294967296)::text)::xid) LIMIT 1"
    )
    end = time.monotonic() + _READERS_SECONDS
    while connection.scalar(older, {"now": now}) is not None and time.monotonic() < end:
        time.sleep(0.01)


def _in_one(connection: Connection, part: str, statement: str) -> None:
    """Run a statement on a part in a transaction, while who writes to it waits."""
    _run(connection, "BEGIN")
    try:
        _run(connection, f"LOCK TABLE {part} IN EXCLUSIVE MODE")
        # Else a scan of a large table may begin where another one is.
        _run(connection, "SET LOCAL synchronize_seqscans = off")
        _run(connection, statement)
        _run(connection, "COMMIT")
    except BaseException:
        _run(connection, "ROLLBACK")
        raise


def _lay_out(connection: Connection, part: str) -> int:
    """Lay a part out by its primary key; return how many old versions had to stay in it."""
    raw = connection.connection.driver_connection
    assert raw is not None
    counts: list[int] = []

    def told(diagnostic: object) -> None:
        # "N dead row versions cannot be removed yet", in the language of the database.
        found = re.match(r"\d+", getattr(diagnostic, "message_detail", None) or "")
        counts.append(int(found.group()) if found else 0)

    key = f"""SELECT quote_ident(relname) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE indrelid = '{part}'::regclass AND indisprimary"""
    index = connection.scalar(text(key))
    # The count comes in a notice only; the statement itself returns nothing.
    raw.add_notice_handler(told)
    try:
        _run(connection, f"CLUSTER VERBOSE {part} USING {index}")
    finally:
        raw.remove_notice_handler(told)
    return sum(counts)


def _has_long_values(connection: Connection, part: str) -> bool:
    query = f"SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = '{part}'::regclass"
    return bool(connection.scalar(text(query)))


def _number_anew(connection: Connection, part: str, table: Table) -> None:
    """Write the long values of a part that lies by key anew, in its order."""
    # As it was written, but another value for PostgreSQL, which otherwise keeps number and place.
    long = [
        *(f"{c.name} = {c.name}::text::json" for c in table.columns if isinstance(c.type, JSON)),
        *(f"{c.name} = {c.name} || ''" for c in table.columns if isinstance(c.type, Text)),
    ]
    if long:
        _in_one(connection, part, f"UPDATE {part} SET {', '.join(long)}")


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
