"""Checks of the database: schema, indexes, files, room and clocks."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, func, select, text, union_all

from masquerade.server.db.conversion import CONVERTED
from masquerade.server.db.engine import VERSION_TABLE, revision, revisions, unwritable
from masquerade.server.db.partitions import postgresql_metadata
from masquerade.server.db.postgresql_order import REWRITTEN, tables_tell_order
from masquerade.server.db.sqlite_order import LARGE, OVERDUE_SECONDS
from masquerade.server.db.tables import ENTRY, METADATA, PARTICIPATION, SURVEY

OK, WARNING, PROBLEM, SKIPPED = "ok", "warning", "problem", "skipped"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A result of one check."""

    check: str  # what was checked
    # ``ok``, ``warning`` (works, and should be known), ``problem`` (must be put right) or
    # ``skipped`` (could not be checked).
    status: str
    detail: str  # what was found and what to do

    def to_json(self) -> dict[str, str]:
        """Return the finding as JSON."""
        return {"check": self.check, "status": self.status, "detail": self.detail}


def ok(check: str, detail: str) -> CheckResult:
    """Return that all is well."""
    return CheckResult(check, OK, detail)


def warning(check: str, detail: str) -> CheckResult:
    """Return that something works, and should be known."""
    return CheckResult(check, WARNING, detail)


def problem(check: str, detail: str) -> CheckResult:
    """Return that something must be put right."""
    return CheckResult(check, PROBLEM, detail)


def skipped(check: str, detail: str) -> CheckResult:
    """Return that something could not be checked."""
    return CheckResult(check, SKIPPED, detail)


LARGEST_SKEW_SECONDS = 60
LEAST_FREE, SCARCE_FREE = 200 * 10**6, 10**9


def schema_finding(connection: Connection) -> CheckResult:
    """Return whether the schema is of this version."""
    found, known = revision(connection), list(revisions())
    if found == known[-1]:
        return ok("schema", f"revision {found}, the newest.")
    if found is None:
        return problem("schema", "the database is empty; masquerade migrate fills it.")
    if found in (*known, CONVERTED):
        return problem(
            "schema",
            f"revision {found} comes before {known[-1]}; make a backup, then run masquerade "
            "migrate.",
        )
    return problem(
        "schema",
        f"revision {found} is ahead of this version, which ends at {known[-1]}; install the "
        "version that made it.",
    )


def structure_findings(connection: Connection) -> Iterator[CheckResult]:
    """Yield the differences between the tables and those of this version."""
    # Loaded here: a server starts without it.
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    context = MigrationContext.configure(connection, opts={"compare_type": True})
    found = False
    there = METADATA if connection.dialect.name == "sqlite" else postgresql_metadata()
    for difference in compare_metadata(context, there):
        for one in difference if isinstance(difference, list) else [difference]:
            found = True
            yield _difference(one)
    if not found:
        yield ok("tables", "all tables, columns, indexes and constraints are there.")


def integrity_findings(connection: Connection) -> Iterator[CheckResult]:
    """Yield the faults that SQLite itself finds in its file."""
    if connection.dialect.name != "sqlite":
        return
    answers = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA quick_check(10)")]
    lost = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    for answer in answers:
        if answer != "ok":
            yield problem("file", f"{answer}. Restore a backup.")
    for table in sorted({str(row[0]) for row in lost}):
        yield problem("file", f"rows of {table} refer to rows that are gone.")
    if answers == ["ok"] and not lost:
        yield ok("file", "SQLite finds it whole.")


def clock_findings(
    connection: Connection, now: datetime, *, zone: str = "UTC"
) -> Iterator[CheckResult]:
    """Yield the differences of this computer's clock to the database's, and to stored days."""
    wrong = False
    if connection.dialect.name == "postgresql":
        there: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
        skew = (now - there).total_seconds()
        if abs(skew) > LARGEST_SKEW_SECONDS:
            wrong = True
            yield problem(
                "clock",
                f"this clock is {abs(skew):.0f} seconds {'ahead of' if skew > 0 else 'behind'} the "
                "database's; let both follow a time server.",
            )
    # Days only, as nothing finer is kept.
    days = union_all(
        select(func.max(ENTRY.c.day).label("day")),
        select(func.max(SURVEY.c.opened)),
        select(func.max(SURVEY.c.closed)),
        select(func.max(PARTICIPATION.c.day)),
    ).subquery()
    newest = connection.scalar(select(func.max(days.c.day)))
    today = now.astimezone(ZoneInfo(zone)).date().isoformat()
    if newest is not None and newest > today:
        wrong = True
        yield problem(
            "clock",
            f"something is kept of {newest} and this clock says {today} ({zone}): it is behind "
            "now, or was ahead then. Until then reservations lapse late and raised caps begin "
            "late.",
        )
    if not wrong:
        yield ok("clock", f"{today} ({zone}), in step with what is kept.")


def file_findings(file: Path | None) -> Iterator[CheckResult]:
    """Yield findings on the permissions of an SQLite file, and on the free space around it."""
    if file is None:
        yield skipped("permissions", "PostgreSQL guards its own files.")
        yield skipped("room", "PostgreSQL's disk is not seen from here.")
        return
    yield from _permission_findings(file)
    if (why := unwritable(file.parent)) is not None:
        yield problem("room", f"{why}. Look at the disk, and let this account write to it.")
        return
    free = shutil.disk_usage(file.parent).free
    size = file.stat().st_size
    said = f"{free / 10**6:,.0f} MB are free, the database has {size / 10**6:,.1f} MB"
    if free < LEAST_FREE:
        yield problem("room", f"{said}; soon nothing can be kept. Make room.")
    elif free < 2 * size:
        yield problem(
            "room",
            f"{said}; it needs twice its size to be rewritten, so that rows stay in the order of "
            "arrival. Make room.",
        )
    elif free < SCARCE_FREE:
        yield warning("room", f"{said}; a backup or an upgrade may not fit.")
    else:
        yield ok("room", f"{said}.")


def _permission_findings(file: Path) -> Iterator[CheckResult]:
    if os.name != "posix":
        yield skipped("permissions", "permissions of this kind are POSIX's.")
        return
    wrong = False
    # A folder that others cannot enter protects its files whatever their mode.
    reachable = file.parent.stat().st_mode & 0o011
    for ending in ("", "-wal", "-shm"):
        path = file.with_name(file.name + ending)
        if not path.exists():
            continue
        found = path.stat()
        mode = stat.S_IMODE(found.st_mode)
        if mode & 0o077 and reachable:
            wrong = True
            yield problem(
                "permissions",
                f"other accounts can reach {path} (mode {mode:o}), which holds keys; chmod 600 "
                f"{path}.",
            )
        if found.st_uid != os.geteuid() != 0:
            wrong = True
            yield warning("permissions", f"{path} belongs to another account.")
    if not wrong:
        yield ok("permissions", "only this account can reach the database.")


def _difference(one: tuple[Any, ...]) -> CheckResult:
    kind = one[0]
    what = kind.partition("_")[2]
    if kind == "remove_table" and one[1].name == VERSION_TABLE:
        return ok("tables", "")
    if kind in ("add_column", "remove_column"):
        name, table = one[3].name, one[2]
    elif kind.startswith("modify_"):
        name, table, what = one[3], one[2], f"column's {what}"
    elif what == "table":
        name, table = one[1].name, ""
    else:
        name, table = one[1].name, one[1].table.name
    of = f" of table {table}" if table else ""
    if kind.startswith("add_"):
        return problem("tables", f"the {what} {name}{of} is missing. Restore a backup, or make it.")
    if kind.startswith("remove_"):
        return warning("tables", f"the {what} {name}{of} is none of ours.")
    return problem("tables", f"the {what} {name}{of} is not as it was made.")


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
    # Where each part was written by one transaction at most and lies by key, no order can be told.
    if not tables_tell_order(connection):
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
