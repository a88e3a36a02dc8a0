"""The schema is the code's tables, made at once; the schema before the first is converted."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, inspect, select
from tests.server.devices import Device

from masquerade.errors import WrongSchema
from masquerade.server import Services, Settings
from masquerade.server.db import conversion
from masquerade.server.db.engine import connect, migrate, newest_revision, revision, revisions
from masquerade.server.db.partitions import PARTITIONED, postgresql_metadata
from masquerade.server.db.tables import METADATA
from masquerade.server.operations.doctor import examine
from masquerade.server.surveys.rewards import Reward

pytestmark = pytest.mark.both_databases

BEFORE = Path(__file__).with_name("schema_0013.sql")
"""A database of the schema before the first, with rows; it has no line break within a statement."""
FIRST = BEFORE.with_name("schema_0001.sql")
"""The same of the first schema, which has fewer tables and columns than there are today."""


def secret(number: int) -> str:
    """Return the secret of a device that answered in the database of before."""
    return hashlib.sha256(f"person {number}".encode()).hexdigest()[:32]


def database_of_before(url: str, kept: Path = BEFORE) -> Engine:
    """Return an empty database, filled with the schema before the first or another one kept."""
    engine = connect(url)
    with engine.execution_options(write=True).begin() as connection:
        for statement in kept.read_text(encoding="utf-8").splitlines()[1:]:
            if engine.dialect.name == "postgresql":
                statement = statement.replace("WITHOUT ROWID", "")
            connection.exec_driver_sql(statement.replace("%", "%%"))
    return engine


def tokens(services: Services) -> dict[str, str]:
    """Return the surveys of before by their titles."""
    return {one.survey.title: one.token for one in services.surveys.records()}


def test_the_schema_of_before_opens(empty_database_url: str) -> None:
    """Surveys, responses, charges, drafts, codes and secrets of before are there and go on."""
    database_of_before(empty_database_url).dispose()
    services = Services.open(empty_database_url, today=lambda: "2026-03-21")
    found = tokens(services)
    record = services.surveys.record(found["Closed"])
    # each of the 14 accounts has a step to the rule of today behind its entries
    assert (record.state, record.responses, services.ledger.verify()) == ("closed", 12, 47 + 14)
    assert json.loads(services.results.result_text(record))["responses"] == 12
    who = services.identity(secret(0))
    assert services.profiles.account(who).balance.entries == 7
    [begun] = [
        one
        for one in services.profiles.invitations(who, after="", limit=9)[0]
        if one.survey.token == found["Codes"]
    ]
    assert begun.participation is not None
    assert begun.participation["state"] == "submitted"
    codes = services.completion_codes.of_survey(found["Codes"], over=True)
    assert (codes.given, codes.checked) == (4, 0)
    Device(secret(12)).send(services, services.surveys.record(found["Codes"]), [0, 1])
    assert services.surveys.record(found["Codes"]).responses == 4
    assert {one.amount for one in codes.codes or ()} == {0}
    reward = services.surveys.record(found["Wallet"]).reward
    assert reward == Reward("EUR", {"high": 5, "medium": 8})
    Device().send(services, services.surveys.record(found["Wallet"]), [0, 1], level="medium")
    paid = services.completion_codes.of_survey(found["Wallet"], over=True).codes
    assert [one.amount for one in paid or ()] == [8]
    [draft] = [one for one in services.surveys.listed(team=record.team) if one.state == "draft"]
    assert draft.title == "Draft"
    plan = services.drafts.draft(draft.token, team=record.team).document.plan
    assert (plan.reward, plan.prices) == ("codes", {"high": 2, "medium": 3})
    assert not {"book_account", "payout"} & set(inspect(services.engine).get_table_names())
    services.close()
    checks = ("schema", "tables", "ledger")
    wrong = [one for one in examine(Settings(empty_database_url)) if one.check in checks]
    assert [one.detail for one in wrong if one.status != "ok"] == []


def rows_by_column(engine: Engine, columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the values of columns of tables, in no order that tells where they lie."""
    found = {}
    with engine.connect() as connection:
        for table, names in columns.items():
            rows = connection.execute(select(*(METADATA.tables[table].c[one] for one in names)))
            found[table] = sorted(str(tuple(row)) for row in rows)
    return found


def test_the_first_schema_opens_with_all_that_it_lacks(empty_database_url: str) -> None:
    """A database of the first schema gets each table and column of today, and keeps each row."""
    engine = database_of_before(empty_database_url, FIRST)
    there = inspect(engine)
    # Alembic's own, and the keys of the server, of which a start adds some.
    known = set(there.get_table_names()) - {"alembic_version", "setting"}
    columns = {
        name: [one["name"] for one in there.get_columns(name)]
        for name in sorted(known & METADATA.tables.keys())
    }
    assert set(METADATA.tables) - known > {"ticket", "spent_ticket"}
    assert "pairs" not in columns["participation"]
    before = rows_by_column(engine, columns)
    assert sum(map(len, before.values())) > 100
    migrate(engine)
    assert rows_by_column(engine, columns) == before
    after = inspect(engine)
    for table in METADATA.sorted_tables:
        names = {one["name"] for one in after.get_columns(table.name)}
        assert names == set(table.columns.keys())
    engine.dispose()
    services = Services.open(empty_database_url, today=lambda: "2026-03-22")
    record = services.surveys.record(tokens(services)["Codes"])
    assert (record.responses, services.ledger.verify()) == (3, 61)
    Device(secret(12)).send(services, record, [0, 1])
    assert services.surveys.record(record.token).responses == 4
    assert services.ledger.verify() > 61
    services.close()
    checks = ("schema", "tables", "ledger")
    wrong = [one for one in examine(Settings(empty_database_url)) if one.check in checks]
    assert [one.detail for one in wrong if one.status != "ok"] == []


@pytest.mark.postgres
def test_partitions_by_hashes_become_ranges(empty_database_url: str) -> None:
    """A database of the second schema, with partitions chosen by hashes, keeps its rows."""
    engine = database_of_before(empty_database_url, FIRST)
    if engine.dialect.name != "postgresql":
        pytest.skip("SQLite has no partitions")
    migrate(engine, to="0002")
    with engine.begin() as connection:
        # As an earlier version made them.
        connection.exec_driver_sql(
            "CREATE TABLE before AS TABLE completion_code; DROP TABLE completion_code CASCADE; "
            "CREATE TABLE completion_code (LIKE before) PARTITION BY HASH (survey); "
            "CREATE TABLE one_part PARTITION OF completion_code "
            "FOR VALUES WITH (modulus 1, remainder 0); "
            "INSERT INTO completion_code TABLE before; DROP TABLE before"
        )
    columns = {name: list(METADATA.tables[name].columns.keys()) for name in PARTITIONED}
    before = rows_by_column(engine, columns)
    assert len(before["completion_code"]) > 3
    migrate(engine)
    assert rows_by_column(engine, columns) == before
    with engine.connect() as connection:
        kinds = connection.exec_driver_sql("SELECT partstrat::text FROM pg_partitioned_table")
        assert list(kinds.scalars()) == ["r"] * len(PARTITIONED)
        assert "one_part" not in inspect(connection).get_table_names()
    engine.dispose()


def test_a_failed_conversion_leaves_everything(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conversion that fails at its end changes nothing, and the next try works."""
    engine = database_of_before(empty_database_url)
    names = set(inspect(engine).get_table_names())
    convert = conversion.convert

    def fail(connection: Connection) -> None:
        convert(connection)
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("masquerade.server.db.engine.convert", fail)
        with pytest.raises(ZeroDivisionError):
            migrate(engine)
    assert set(inspect(engine).get_table_names()) == names
    with engine.connect() as connection:
        assert revision(connection) == conversion.CONVERTED
    migrate(engine)
    with engine.connect() as connection:
        assert revision(connection) == newest_revision()
    engine.dispose()


def test_migrations_give_the_schema_of_the_models(empty_database_url: str) -> None:
    """After migrating an empty database its schema differs in nothing from the models."""
    engine = connect(empty_database_url)
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        there = METADATA if engine.dialect.name == "sqlite" else postgresql_metadata()
        assert compare_metadata(context, there) == []
    assert set(inspect(engine).get_table_names()) == {*METADATA.tables, "alembic_version"}
    engine.dispose()


def test_migrating_twice_changes_nothing(empty_database_url: str) -> None:
    """A database that is up to date stays as it is, with its rows."""
    engine = connect(empty_database_url)
    migrate(engine)
    with engine.execution_options(write=True).begin() as connection:
        connection.exec_driver_sql("INSERT INTO setting (key, value) VALUES ('a', 'b')")
    migrate(engine)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT key, value FROM setting").all()
        assert [tuple(row) for row in rows] == [("a", "b")]
        assert revision(connection) == newest_revision()
    engine.dispose()


def test_a_failed_migration_leaves_nothing(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a migration fails on the way, the database stays as it was and the next try works."""

    def half_of_it(_: Any, connection: Connection) -> None:
        for table in METADATA.sorted_tables[:5]:
            table.create(connection)
        raise ZeroDivisionError

    engine = connect(empty_database_url)
    with monkeypatch.context() as patch:
        patch.setattr("sqlalchemy.schema.MetaData.create_all", half_of_it)
        with pytest.raises(ZeroDivisionError):
            migrate(engine)
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    migrate(engine)
    assert set(METADATA.tables) <= set(inspect(engine).get_table_names())
    engine.dispose()


def test_a_schema_from_the_future_is_refused(empty_database_url: str) -> None:
    """A database that a newer version made is an error that says so, and stays as it is."""
    engine = connect(empty_database_url)
    migrate(engine)
    with engine.execution_options(write=True).begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(WrongSchema, match="9999"):
        migrate(engine)
    with engine.connect() as connection:
        assert revision(connection) == "9999"
    engine.dispose()


def test_revisions_are_a_line() -> None:
    """The revisions follow each other from the first, each with words for people."""
    known = revisions()
    assert next(iter(known)) == "0001"
    assert list(known) == sorted(known)
    assert all(known.values())
    assert newest_revision() == list(known)[-1]
