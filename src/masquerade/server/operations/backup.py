"""Copying everything a server keeps into one file, of one moment, while the server runs."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    StaticPool,
    Table,
    Text,
    cast,
    create_engine,
    select,
    type_coerce,
)

from masquerade import __version__
from masquerade.answers import Progress
from masquerade.errors import NotEmpty, OperationError, WrongSchema
from masquerade.server.db.engine import VERSION_TABLE, require_known, revision
from masquerade.server.db.partitions import lock_any_for_reading
from masquerade.server.db.seals import require_same_key
from masquerade.server.keys import ServerKey
from masquerade.server.operations.archive import ArchiveWriter, Header, kind_of

_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A summary of a backup."""

    revision: str  # of the schema
    rows: dict[str, int]  # number of rows of each table that has any


def backup(
    engine: Engine,
    file: IO[bytes],
    *,
    server_key: ServerKey | None,
    progress: Progress | None = None,
) -> BackedUp:
    """Write everything in a database of any revision to `file`.

    All of it is of one moment: what was committed before the call is in it, and of what is
    committed meanwhile nothing. Writers are not held up. The file holds the server's keys: whoever
    has it and the secrets of devices can tell whose reports are whose. Without a `server_key` to
    vouch for it anybody can change it unseen, and `restore` refuses it unless it is told not to.
    """
    with _of_one_moment(engine) as reading, reading.connect() as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            lock_any_for_reading(connection)
        found = revision(connection)
        require_known(found)
        if found is None:
            raise WrongSchema("this database has no schema of Masquerade; there is nothing to do.")
        if server_key is not None:
            # Else the file would be vouched for by a key that cannot open the secrets in it.
            require_same_key(connection, server_key)
        tables = tables_of(connection)
        columns = {t.name: [(c.name, kind_of(c)) for c in t.columns] for t in tables}
        day = datetime.now(UTC).date().isoformat()
        writer = ArchiveWriter(file, Header(found, day, __version__, columns), key=server_key)
        count = 0
        for table in tables:
            for row in _rows(connection, table):
                writer.add(table.name, row)
                count += 1
                if progress is not None and count % _AT_ONCE == 0:
                    progress(count, 0)
        return BackedUp(found, writer.end())


@contextlib.contextmanager
def _of_one_moment(engine: Engine) -> Iterator[Engine]:
    """Give an engine that shows all tables as of one moment, for as long as it takes.

    Of an SQLite file it is a copy, which takes as long as copying a file: a long reading of the
    file itself would let its log grow by each change. The copy has no name while it is read.
    """
    if engine.dialect.name == "postgresql":
        yield engine.execution_options(isolation_level="REPEATABLE READ")
        return
    file = Path(engine.url.database or "")
    # A sealed file stays sealed, and where there is no room it is read itself.
    with engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        copied = type(raw) is sqlite3.Connection and file.is_file()
        if not copied or shutil.disk_usage(file.parent).free < 2 * file.stat().st_size:
            connection.close()
            yield engine
            return
        number, name = tempfile.mkstemp(prefix=".backup-", dir=file.parent)
        os.close(number)
        try:
            with contextlib.closing(sqlite3.connect(name)) as copy:
                raw.backup(copy)
            # Immutable: nothing else opens it, and no log is made beside it.
            there = sqlite3.connect(f"{Path(name).as_uri()}?immutable=1", uri=True)
        except BaseException:
            Path(name).unlink()
            raise
    with contextlib.closing(there):
        if os.name == "posix":  # elsewhere a file that is open cannot be removed
            Path(name).unlink()
        still = create_engine("sqlite://", creator=lambda: there, poolclass=StaticPool)
        yield still
    Path(name).unlink(missing_ok=True)


def tables_of(connection: Connection) -> list[Table]:
    """Return the tables of a database as they are there, those that others refer to first."""
    metadata = MetaData()
    metadata.reflect(connection)
    return [table for table in metadata.sorted_tables if table.name != VERSION_TABLE]


def is_json(column: Column[Any]) -> bool:
    """Return whether a column holds JSON."""
    return kind_of(column) == "json"


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for this account alone, which is there, whole and durable, if all went well."""
    if path.exists():
        raise NotEmpty(f"{path} is there already; name a new file.")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        number = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            with os.fdopen(number, "wb") as file:
                yield file
                file.flush()
                # The content is on the disk before the name appears: a crash leaves no half of a
                # backup.
                os.fsync(file.fileno())
            os.link(draft, path)  # unlike a renaming, never over what came there meanwhile
        finally:
            draft.unlink()
    except FileExistsError as error:
        raise NotEmpty(f"{path} is there already; name a new file.") from error
    except OSError as error:
        raise OperationError(f"cannot write {path}: {error.strerror}.") from error


def _rows(connection: Connection, table: Table) -> Iterator[Any]:
    # By key and not as they lie there, which would tell the order of arrival.
    query = select(*(_as_kept(connection, column) for column in table.columns))
    query = query.order_by(*table.primary_key.columns)
    streaming = connection.execution_options(yield_per=_AT_ONCE)
    yield from streaming.execute(query)


def _as_kept(connection: Connection, column: Column[Any]) -> Any:
    if not is_json(column):
        return column
    text = cast if connection.dialect.name == "postgresql" else type_coerce
    return text(column, Text()).label(column.name)
