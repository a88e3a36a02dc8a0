"""Putting a backup into an empty database, of either kind, and checking all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sqlalchemy import (
    JSON,
    Connection,
    Insert,
    Table,
    Text,
    bindparam,
    cast,
    delete,
    func,
    insert,
    inspect,
    make_url,
    select,
)

from masquerade.accounting import Ledger
from masquerade.answers import Progress
from masquerade.errors import BrokenBackup, NotEmpty
from masquerade.server.db.engine import connect, require_known, revision, upgrade
from masquerade.server.db.ledger_storage import LedgerTables
from masquerade.server.keys import ServerKey
from masquerade.server.operations.archive import ArchiveReader, authentic
from masquerade.server.operations.backup import is_json, tables_of
from masquerade.server.parties.helper_tasks import stop_restored
from masquerade.server.parties.leader_steps import fail_restored

_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Restored:
    """A summary of a restored backup."""

    day: str  # on which the backup was made
    # made_at, revision: revision of the schema in the backup, and the one that it has now.
    made_at: str
    revision: str
    rows: dict[str, int]  # number of rows of each table of the backup that has any
    entries: int  # entries of the ledger, all of whose chains and balances hold


def restore(
    file: IO[bytes],
    url: str,
    *,
    server_key: ServerKey | None,
    key: str | None = None,
    progress: Progress | None = None,
) -> Restored:
    """Put a backup into the empty database at `url`, and bring its schema to this version.

    All of it or, where anything does not hold, nothing. First the file's authentication code is
    checked, before anything is read from it, then its hash, the schema's revision, every chain of
    the ledger and every balance. An older backup of the same server is as genuine as its newest:
    nothing here tells that. Tasks of a helper that had not given their sum are stopped: they could
    give it twice.

    `server_key`: of the server that made the backup. None believes the file as it is: whoever had
        it in their hands may then have changed reports, definitions, accounts and balances.
    `key` (optional): with which an SQLite file is encrypted, in hexadecimal.
    """
    with authentic(file, server_key) as genuine:
        return _put(ArchiveReader(genuine), url, key, progress)


def _put(reader: ArchiveReader, url: str, key: str | None, progress: Progress | None) -> Restored:
    require_known(reader.header.revision)
    # Before connecting, which makes the file.
    new = _new_file(url)
    engine = connect(url, key=key)
    try:
        with engine.execution_options(write=True).begin() as connection:
            return _fill(connection, reader, progress)
    except BaseException:
        # Connections first; then the file goes, but only one that was not there before.
        engine.dispose()
        if new is not None:
            for ending in ("", "-wal", "-shm"):
                new.with_name(new.name + ending).unlink(missing_ok=True)
        raise
    finally:
        engine.dispose()


def _fill(connection: Connection, reader: ArchiveReader, progress: Progress | None) -> Restored:
    names = inspect(connection).get_table_names()
    if names:
        raise NotEmpty(
            f"the database is not empty: it has a table {names[0]}. Name a new one; nothing was "
            "changed."
        )
    # To the revision of the backup first, which its rows fit; the migrations then change them too.
    upgrade(connection, to=reader.header.revision)
    tables = {table.name: table for table in tables_of(connection)}
    for table in reversed(tables.values()):  # what the migrations put there is in the backup too
        connection.execute(delete(table))
    rows = _load(connection, reader, tables, progress)
    if connection.dialect.name == "postgresql":
        for table in tables.values():
            _go_on_counting(connection, table)
    upgrade(connection)
    stop_restored(connection, day=reader.header.day)
    fail_restored(connection, day=reader.header.day)
    # Within the transaction: where a chain is broken, nothing of the backup stays.
    # The clock is not asked: nothing is written.
    entries = Ledger(LedgerTables(connection), clock=lambda: reader.header.day).verify()
    now = revision(connection) or ""
    return Restored(reader.header.day, reader.header.revision, now, rows, entries)


def _load(
    connection: Connection,
    reader: ArchiveReader,
    tables: dict[str, Table],
    progress: Progress | None,
) -> dict[str, int]:
    if connection.dialect.name == "sqlite":
        # Checked at the commit, because a row may refer to one that comes later.
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
    for name, columns in reader.header.tables.items():
        there = {c.name for c in tables[name].columns} if name in tables else set()
        if there != {column for column, _ in columns}:
            raise BrokenBackup(
                f"table {name} of this backup is not the one of revision {reader.header.revision}."
            )
    rows: dict[str, int] = {}
    waiting: list[Mapping[str, object]] = []
    at = ""

    def put() -> None:
        if waiting:
            connection.execute(_insertion(connection, tables[at]), waiting)
            rows[at] = rows.get(at, 0) + len(waiting)
            waiting.clear()
            if progress is not None:
                progress(sum(rows.values()), 0)

    for name, values in reader.rows():
        if name != at or len(waiting) == _AT_ONCE:
            put()
            at = name
        columns = reader.header.tables[name]
        waiting.append(dict(zip((column for column, _ in columns), values, strict=True)))
    put()
    return rows


def _insertion(connection: Connection, table: Table) -> Insert:
    """Return an insertion in which columns of JSON are given as their text."""
    values: dict[str, object] = {}
    for column in table.columns:
        if not is_json(column):
            values[column.name] = bindparam(column.name)
        elif connection.dialect.name == "postgresql":
            values[column.name] = cast(bindparam(column.name, type_=Text()), JSON())
        else:
            values[column.name] = bindparam(column.name, type_=Text())
    return insert(table).values(values)


def _go_on_counting(connection: Connection, table: Table) -> None:
    """Let a column that numbers its rows go on after the rows that came from the backup."""
    for column in table.primary_key.columns:
        name = connection.scalar(select(func.pg_get_serial_sequence(table.name, column.name)))
        if name is not None:
            highest = connection.scalar(select(func.max(column)))
            if highest is not None:
                connection.execute(select(func.setval(name, highest)))


def _new_file(url: str) -> Path | None:
    """Return the SQLite file of `url` where it is not there yet."""
    address = make_url(url)
    if address.get_backend_name() != "sqlite" or not address.database:
        return None
    path = Path(address.database)
    return None if path.exists() else path
