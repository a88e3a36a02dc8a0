"""Examination of a server for faults, without any change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

# All tables are known once the application is.
import masquerade.server.app  # noqa: F401
from masquerade.answers import Progress
from masquerade.errors import OperationError
from masquerade.server.db.engine import connect
from masquerade.server.db.seals import plain_texts, require_same_key
from masquerade.server.operations.content_checks import (
    audit_findings,
    ledger_findings,
    party_findings,
    survey_findings,
)
from masquerade.server.operations.database_checks import (
    OK,
    PROBLEM,
    CheckResult,
    clock_findings,
    file_findings,
    file_order_findings,
    integrity_findings,
    ok,
    problem,
    schema_finding,
    skipped,
    structure_findings,
    table_order_findings,
)
from masquerade.server.operations.settings_checks import settings_findings
from masquerade.server.settings import Settings

_CONTENT = ("surveys", "ledger", "book", "audit log")


def examine(
    settings: Settings,
    *,
    now: Callable[[], datetime] | None = None,
    progress: Progress | None = None,
    quick: bool = False,
) -> Iterator[CheckResult]:
    """Yield the findings of each check; `progress` gets the numbers of checked and all accounts.

    `quick`: only what takes the same time however large the database is, and some accounts.
    """
    yield from settings_findings(settings)
    file = settings.sqlite_file
    if file is not None and not file.is_file():  # which connecting would make
        yield problem("database", f"there is no database at {file}.")
        return
    yield from file_findings(file)
    engine = connect(settings.database, key=settings.database_key)
    try:
        looked = now or (lambda: datetime.now(UTC))
        yield from _database(engine, settings, looked, progress, quick=quick)
    except OperationError as error:
        yield problem("database", str(error))
    except SQLAlchemyError as error:
        yield problem(
            "database",
            f"it cannot be reached or read ({type(error).__name__}); is it running, and is the "
            "address right?",
        )
    finally:
        engine.dispose()


def _database(
    engine: Engine,
    settings: Settings,
    now: Callable[[], datetime],
    progress: Progress | None,
    *,
    quick: bool,
) -> Iterator[CheckResult]:
    reading = engine
    if engine.dialect.name == "postgresql":
        reading = engine.execution_options(isolation_level="REPEATABLE READ")
    # No transaction around all: a long reading would let SQLite's log grow.
    with reading.connect() as connection:
        yield ok("database", f"{engine.dialect.name} answers.")
        schema = schema_finding(connection)
        yield schema
        if not quick:
            yield from integrity_findings(connection)
        if schema.status != OK:
            detail = "not looked at, as the schema is of another version."
            yield from (skipped(c, detail) for c in ("tables", *_CONTENT))
            return
        structure = list(structure_findings(connection))
        yield from structure
        # Without an index everything can still be read.
        if any(one.status == PROBLEM and "index" not in one.detail for one in structure):
            detail = "not looked at, as tables are not as they should be."
            yield from (skipped(c, detail) for c in _CONTENT)
            return
        yield from _key_findings(connection, settings)
        if quick:
            detail = "not looked at by a quick look, as it takes the longer the more there is."
            left_out = ("file", "clock", "order", "surveys", "two parties", "audit log")
            yield from (skipped(c, detail) for c in left_out)
            yield from ledger_findings(connection, sample=True)
            return
        yield from clock_findings(connection, now())
        file = settings.sqlite_file
        if file is not None:
            sealed = settings.database_key is not None
            yield from file_order_findings(connection, file, now(), sealed=sealed)
        else:
            yield from table_order_findings(connection, now())
        yield from survey_findings(connection)
        yield from party_findings(connection)
        yield from ledger_findings(connection, progress=progress)
        yield from audit_findings(connection)


def _key_findings(connection: Connection, settings: Settings) -> Iterator[CheckResult]:
    try:
        known = require_same_key(connection, settings.server_key)
    except OperationError as error:
        yield problem("server key", str(error))
        return
    plain = plain_texts(connection)
    if known and plain:
        detail = f"{plain} secrets lie in the database as they are; the next start seals them."
        yield problem("server key", detail)
    elif known:
        yield ok("server key", "it is the one that sealed the database's secrets.")
