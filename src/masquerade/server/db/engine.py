"""Connections to SQLite or PostgreSQL, and the schema's migrations."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, make_url, text

from masquerade.errors import OperationError, WrongSchema
from masquerade.lazy import install_command
from masquerade.server.db.conversion import CONVERTED, convert

MIGRATIONS = Path(__file__).parent / "migrations"
VERSION_TABLE = "alembic_version"
FIRST_REVISION = "0001"
# The connection that was used last first: it knows its statements and tables already.
_POOL: Mapping[str, Any] = MappingProxyType(
    {"pool_size": 16, "max_overflow": 8, "pool_use_lifo": True}
)
_READ_ONLY = "25006"  # SQLSTATE read_only_sql_transaction
_PROBE_BYTES = 65536
_MIGRATING = 0x6D617371  # names the lock that processes starting together take in turn


def connect(url: str, *, key: str | None = None) -> Engine:
    """Return an engine for `url`.

    SQLite runs in write-ahead mode. A connection with the execution option ``write`` takes the
    write lock at the start of each transaction (``BEGIN IMMEDIATE``), so that what the transaction
    read still holds when it writes; others read beside it. Errors do not show what was written.
    With a `key` the SQLite file is encrypted.
    """
    sqlite = url.startswith("sqlite")
    if sqlite:
        _make_private(make_url(url).database)
    try:
        engine = create_engine(
            url,
            json_serializer=_json,
            # The text of an exception reaches the log, and the values of statements are people's.
            hide_parameters=True,
            **({} if sqlite else _POOL),
            **({} if key is None else {"module": sealed_driver()}),
        )
    except ModuleNotFoundError as error:
        raise OperationError(
            f"the driver {error.name} of this database is missing; {install_command('postgres')}."
        ) from error
    if engine.dialect.name == "sqlite":
        if key is not None:
            # In this order: before the key is given nothing can be read, not even for a PRAGMA.
            event.listen(engine, "connect", _unlock(key))
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin)
    event.listen(engine, "handle_error", _leave_read_only(engine))
    return engine


def unwritable(folder: Path) -> str | None:
    """Return why nothing can be written into a folder; None where it can.

    A page is written into a file without a name, which is gone at once: only so one learns of a
    full disk, a quota, and a disk that turned read-only.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(_PROBE_BYTES))
    except OSError as error:
        return f"nothing can be written beside the database: {error.strerror}"
    return None


def migrate(engine: Engine, *, to: str = "head") -> None:
    """Bring the schema to this version, from an empty database or an earlier version."""
    # The write lock comes first (SQLite), so that two processes cannot both see the old revision.
    with engine.execution_options(write=True).begin() as connection:
        upgrade(connection, to=to)


def upgrade(connection: Connection, *, to: str = "head") -> None:
    """Bring the schema to a revision, within a transaction of the caller; see `migrate`."""
    if connection.dialect.name == "postgresql":
        # PostgreSQL has no such lock. Without this one two processes would create the same tables,
        # and one would fail. It ends with the transaction.
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
    # Read after the lock: a process that waited sees what the first one migrated.
    found = revision(connection)
    if found == CONVERTED:
        convert(connection)
        found = FIRST_REVISION
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '{found}'"))
    if to == "head" and found == newest_revision():
        return  # as at most starts, which need not load Alembic
    require_known(found)

    import alembic.command
    import alembic.config

    config = alembic.config.Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    alembic.command.upgrade(config, to)


@cache
def revisions() -> Mapping[str, str]:
    """Return all revisions of the schema that this version knows, oldest first, in words."""
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory(str(MIGRATIONS)).walk_revisions()
    return MappingProxyType({one.revision: one.doc for one in reversed(list(scripts))})


@cache
def newest_revision() -> str:
    """Return the last of `revisions`, from the names of their files alone."""
    last = max(file.name for file in (MIGRATIONS / "versions").glob("[0-9]*.py"))
    return last.partition("_")[0]


def revision(connection: Connection) -> str | None:
    """Return the revision of a database's schema; None where there is no schema."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.scalars(text(f"SELECT version_num FROM {VERSION_TABLE}")).all()
    if len(found) > 1:
        raise WrongSchema(
            f"the database names {len(found)} revisions of its schema, {', '.join(sorted(found))}; "
            "expected one. Restore a backup."
        )
    return found[0] if found else None


def require_known(found: str | None) -> None:
    """Raise where a revision is none that this version knows."""
    if found is not None and found not in revisions():
        raise WrongSchema(
            f"the schema is at revision {found!r}, which this version does not know: a newer one "
            "made it. Install that version, or restore a backup of before."
        )


def _make_private(file: str | None) -> None:
    """Make an SQLite file for this account's eyes only, also one that was made otherwise."""
    if not file or file == ":memory:" or file.startswith("file:"):
        return
    try:
        # Before SQLite makes it with the process's umask; the log beside it takes the mode of the
        # file.
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError as error:
        what = "write to" if os.path.exists(file) else "make"
        raise OperationError(f"cannot {what} the database {file}: {error.strerror}.") from error
    for one in (file, f"{file}-wal", f"{file}-shm"):
        # Where it is another account's, the doctor says so.
        with contextlib.suppress(OSError):
            mode = stat.S_IMODE(os.stat(one).st_mode)
            if mode & 0o077:
                os.chmod(one, mode & 0o700)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    cursor = connection.cursor()
    # Before the PRAGMAs below, whose errors would not say that the key is the wrong one.
    _require_readable(cursor)
    for pragma in (
        # Milliseconds; another process may have the write lock.
        "busy_timeout=10000",
        "journal_mode=WAL",
        # With NORMAL a write-ahead log is safe against a crash of the process, not of the machine.
        "synchronous=FULL",
        "foreign_keys=ON",
        "secure_delete=ON",  # what is deleted is overwritten
        "temp_store=MEMORY",  # no rows in files of the temporary folder
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _require_readable(cursor: Any) -> None:
    """Raise where a database cannot be read: another key, a missing key or an unneeded one."""
    try:
        # PRAGMA key itself never fails: the first page is decrypted when it is first read.
        cursor.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except Exception as error:  # of one of two drivers
        if "file is not a database" not in str(error):
            raise
        raise OperationError(
            "the file of the database is none of SQLite's, or its key is another one: it is sealed "
            "and no key was given, or it is not and one was. Check database_key_file; to seal a "
            "database, back it up and restore it into a new folder with the key."
        ) from error


def _begin(connection: Any) -> None:
    # A transaction that reads first and asks for the write lock later can be refused, as another
    # one wrote in between; IMMEDIATE asks at once.
    write = connection.get_execution_options().get("write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _leave_read_only(engine: Engine) -> Callable[[Any], None]:
    """Return a listener that ends all connections of a pool in which one takes no changes.

    A session of PostgreSQL keeps the setting with which it began, and SQLite the mode in which it
    opened the file, also after it was changed back. While one connection of a process has opened
    SQLite's log to read it, its new ones can only read too: those that wait are closed as well.
    """

    def leave(context: Any) -> None:
        error = context.original_exception
        if getattr(error, "sqlstate", None) == _READ_ONLY:
            context.is_disconnect = True
        elif "a readonly database" in str(error):  # SQLCipher's errors have no names
            context.is_disconnect = True
            # An open cursor would keep the connection's files open.
            if context.execution_context is not None and context.execution_context.cursor:
                context.execution_context.cursor.close()
            # The pool stays: what others use now comes back to it, and is closed next time.
            engine.pool.dispose()

    return leave


def sealed_driver() -> ModuleType:
    """Return the driver for encrypted SQLite databases, where it is installed."""
    try:
        from sqlcipher3 import dbapi2
    except ImportError as error:
        raise OperationError(
            f"a database with a key needs SQLCipher; {install_command('sealed')}."
        ) from error
    found: ModuleType = dbapi2
    return found


def _unlock(key: str) -> Callable[[Any, Any], None]:
    """Return a listener that gives each new connection the key, before any other statement."""

    def give(connection: Any, _record: Any) -> None:
        # As raw bytes: a passphrase would be stretched anew for each connection.
        connection.execute(f"PRAGMA key=\"x'{key}'\"")

    return give
