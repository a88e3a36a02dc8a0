"""The migrations make exactly the tables that the code uses."""

from __future__ import annotations

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from masquerade.server.database import MIGRATIONS, connect, migrate
from masquerade.server.models import Base


def test_migrations_give_the_schema_of_the_models(database_url: str) -> None:
    """After migrating an empty database its schema differs in nothing from the models."""
    engine = connect(database_url)
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, Base.metadata) == []
    assert set(inspect(engine).get_table_names()) == {*Base.metadata.tables, "alembic_version"}
    engine.dispose()


def test_migrating_twice_changes_nothing(database_url: str) -> None:
    """A database that is up to date stays as it is, with what it holds."""
    engine = connect(database_url)
    migrate(engine)
    with engine.execution_options(write=True).begin() as connection:
        connection.exec_driver_sql("INSERT INTO setting (key, value) VALUES ('a', 'b')")
    migrate(engine)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT key, value FROM setting").all()
        assert [tuple(row) for row in rows] == [("a", "b")]
        assert MigrationContext.configure(connection).get_current_revision() == (
            ScriptDirectory(str(MIGRATIONS)).get_current_head()
        )
    engine.dispose()


def test_a_failed_migration_leaves_nothing(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a migration fails on the way, the database stays as it was and the next try works."""
    engine = connect(database_url)
    with monkeypatch.context() as patch:
        patch.setattr("alembic.op.create_index", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            migrate(engine)
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    migrate(engine)
    assert set(Base.metadata.tables) <= set(inspect(engine).get_table_names())
    engine.dispose()
