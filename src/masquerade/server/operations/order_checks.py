"""Checks of the order of rows on the disk, which must not tell when they came."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from masquerade.server.db.postgresql_order import REWRITTEN, TABLES
from masquerade.server.db.sqlite_order import LARGE, OVERDUE_SECONDS
from masquerade.server.operations.check_result import CheckResult, ok, problem, skipped, warning

CHECK = "order"
_MOST_COMPARED = 64 * 10**6
# How it is logged, changes, rewritings, and the version that wrote last.
_COUNTERS = (slice(18, 20), slice(24, 28), slice(40, 44), slice(92, 100))
_HOW = "whoever copies it can tell which participation belongs to which account of the ledger"
_CURE = "serve rewrites it when it starts and when it ends."


def file_order_findings(
    connection: Connection, file: Path, now: datetime, *, sealed: bool = False
) -> Iterator[CheckResult]:
    """Yield the traces of the order of arrival in an SQLite file and its log."""
    log = file.with_name(f"{file.name}-wal")
    size = file.stat().st_size
    latest = max(path.stat().st_mtime for path in (file, log) if path.exists())
    fresh = now.timestamp() - latest < OVERDUE_SECONDS
    if log.exists() and log.stat().st_size and not fresh:
        yield problem(
            CHECK,
            f"{log.name} has held the latest changes, in the order of arrival, for more than a "
            "minute: a program reads the database for long, or no server has run since. End that "
            f"program; {_CURE}",
        )
        return
    if size > LARGE:
        yield warning(
            CHECK,
            f"the database has {size / 10**6:,.0f} MB: it is rewritten when a survey ends and once "
            f"a day only, and until then {_HOW}. Use the extra sealed.",
        )
    elif fresh:
        yield skipped(CHECK, "the database was written to within the last minute; look again.")
    elif sealed:
        yield skipped(CHECK, "a sealed file cannot be compared with a rewritten one.")
    elif size > _MOST_COMPARED:
        yield skipped(CHECK, "the file is too large to be compared with a rewritten one.")
    elif _by_key(connection):
        yield ok(CHECK, "rows lie in the order of their keys, as after a rewriting.")
    else:
        yield problem(CHECK, f"rows lie in the order of arrival, and {_HOW}; {_CURE}")


def _by_key(connection: Connection) -> bool:
    """Return whether an SQLite file is as a rewriting would leave it; compared in memory."""
    raw: Any = connection.connection.driver_connection
    copy = type(raw)(":memory:", isolation_level=None)
    try:
        # Page by page, as they lie in the file.
        raw.backup(copy)
        before = bytearray(copy.serialize())
        copy.execute("VACUUM")
        after = bytearray(copy.serialize())
    finally:
        copy.close()
    for content in (before, after):
        for counter in _COUNTERS:
            content[counter] = bytes(counter.stop - counter.start)
    return before == after


def table_order_findings(connection: Connection, now: datetime) -> Iterator[CheckResult]:
    """Yield the traces of the order of arrival in a PostgreSQL database."""
    found = [*_rows(connection, now), *_settings(connection), *_rights(connection)]
    yield from found or [ok(CHECK, "rows were rewritten within a day.")]


def _rows(connection: Connection, now: datetime) -> Iterator[CheckResult]:
    day = connection.scalar(text("SELECT value FROM setting WHERE key = :key"), {"key": REWRITTEN})
    if day is not None and day >= (now.date() - timedelta(days=1)).isoformat():
        return
    query = "SELECT count(DISTINCT xmin::text) FROM {}"
    # Where each table was written by one transaction at most, no order can be told.
    if all((connection.scalar(text(query.format(name))) or 0) < 2 for name in TABLES):
        return
    yield problem(
        CHECK,
        f"rows were last rewritten {'never' if day is None else f'on {day}'}, and tell by xmin in "
        "which order they came; let a server run at night, as an account that owns the tables.",
    )


def _settings(connection: Connection) -> Iterator[CheckResult]:
    for name, why in (
        ("wal_recycle", "parts of its log are used again with their old content"),
        ("track_commit_timestamp", "the time of every transaction is kept"),
        ("archive_mode", "its log, with the order of arrival, is kept"),
        ("log_statement", "statements are logged, with their times"),
        ("log_min_duration_statement", "slow statements are logged, with their times"),
    ):
        value = connection.scalar(text(f"SHOW {name}"))
        if value not in ("off", "none", "ddl", "-1"):
            yield warning(
                CHECK, f"PostgreSQL's {name} is {value}: {why}. Set it to off, or guard it."
            )
    replicas = connection.scalar(text("SELECT count(*) FROM pg_replication_slots"))
    if replicas:
        yield warning(CHECK, "there are replication slots: replicas receive the order of arrival.")


def _rights(connection: Connection) -> Iterator[CheckResult]:
    mine = connection.scalar(
        text(
            "SELECT has_function_privilege('pg_switch_wal()', 'EXECUTE') AND (rolsuper OR EXISTS ("
            "SELECT FROM pg_roles WHERE rolname = 'pg_checkpoint' AND "
            "pg_has_role(current_user, oid, 'MEMBER'))) FROM pg_roles WHERE rolname = current_user"
        )
    )
    if not mine:
        yield warning(
            CHECK,
            "this account may not begin a new log of PostgreSQL: what was rewritten stays in the "
            "old one until it is written over. GRANT pg_checkpoint, and EXECUTE on pg_switch_wal.",
        )
