"""Connections to SQLite or PostgreSQL, and the schema's migrations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import alembic.command
import alembic.config
from sqlalchemy import Engine, create_engine, event

MIGRATIONS = Path(__file__).parent / "migrations"
_MIGRATING = 0x6D617371  # names the lock that processes starting together take in turn


def connect(url: str) -> Engine:
    """Return an engine for `url`.

    SQLite runs in write-ahead mode. A connection with the execution option ``write`` takes the
    write lock at the start of each transaction (``BEGIN IMMEDIATE``), so that what the transaction
    read still holds when it writes; others read beside it. Errors do not show what was written.
    """
    engine = create_engine(
        url,
        json_serializer=_json,
        hide_parameters=True,
        **({} if url.startswith("sqlite") else {"pool_size": 16, "max_overflow": 8}),
    )
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin)
    return engine


def migrate(engine: Engine) -> None:
    """Bring the schema to this version, from an empty database or any earlier version."""
    config = alembic.config.Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.execution_options(write=True).begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, "head")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    cursor = connection.cursor()
    for pragma in ("busy_timeout=10000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Any) -> None:
    write = connection.get_execution_options().get("write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
