"""The migrations make exactly the tables that the code uses."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import alembic.command
import alembic.config
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text
from tests.server.devices import Device
from tests.server.operations.test_upgrade import FIRST_DEFINITION, MECHANISM
from tests.surveys.small_surveys import define

from masquerade.accounting import Caps, Charge, Cost, Entry, Ledger, append
from masquerade.errors import BrokenChain, QuotaFull
from masquerade.exact import Micro
from masquerade.mechanisms import parse_mechanism
from masquerade.server import Services
from masquerade.server.db.engine import MIGRATIONS, connect, migrate
from masquerade.server.db.ledger_storage import LedgerDatabase
from masquerade.server.db.tables import METADATA
from masquerade.server.db.transactions import Transactions

pytestmark = pytest.mark.both_databases


def test_migrations_give_the_schema_of_the_models(empty_database_url: str) -> None:
    """After migrating an empty database its schema differs in nothing from the models."""
    engine = connect(empty_database_url)
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, METADATA) == []
    assert set(inspect(engine).get_table_names()) == {*METADATA.tables, "alembic_version"}
    engine.dispose()


def test_migrating_twice_changes_nothing(empty_database_url: str) -> None:
    """A database that is up to date stays as it is, with what it holds."""
    engine = connect(empty_database_url)
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
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a migration fails on the way, the database stays as it was and the next try works."""
    engine = connect(empty_database_url)
    with monkeypatch.context() as patch:
        patch.setattr("alembic.op.create_index", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            migrate(engine)
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    migrate(engine)
    assert set(METADATA.tables) <= set(inspect(engine).get_table_names())
    engine.dispose()


def first_schema(engine: Engine) -> None:
    """Bring an empty database to the first released schema."""
    config = alembic.config.Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.execution_options(write=True).begin() as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, "0001")


def fill(engine: Engine, people: dict[str, list[tuple[str, int]]]) -> None:
    """Write surveys, responses and ledgers as the first release did."""
    tokens = sorted({token for spent in people.values() for token, _ in spent})
    with engine.execution_options(write=True).begin() as connection:

        def insert(table: str, **row: Any) -> None:
            names = ", ".join(row)
            values = ", ".join(f":{name}" for name in row)
            connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({values})"), row)

        for token in tokens:
            canonical = json.dumps(FIRST_DEFINITION, sort_keys=True, separators=(",", ":"))
            insert(
                "survey",
                token=token,
                title="Old",
                definition=json.dumps(FIRST_DEFINITION),
                hash=hashlib.sha256(canonical.encode()).hexdigest(),
                pseudonym_key="ab" * 32,
                state="open",
                opened="2026-01-01",
            )
        for person, spent in people.items():
            previous: Entry | None = None
            for place, (token, micro) in enumerate(spent):
                insert(
                    "response",
                    id=hashlib.md5(f"{person}{token}".encode()).hexdigest(),
                    survey=token,
                    pseudonym=hashlib.sha256(f"{person}{token}".encode()).hexdigest(),
                    reports=json.dumps([place % 2]),
                )
                cost = Cost(token, (MECHANISM,), Micro(micro), Micro(micro))
                previous = append(Charge(person, cost, f"2026-01-0{place + 1}"), previous)
                insert(
                    "ledger_entry",
                    person=person,
                    sequence=place,
                    survey=token,
                    mechanisms=json.dumps([MECHANISM]),
                    event_micro=micro,
                    user_micro=micro,
                    day=previous.charge.day,
                    previous_hash=previous.previous_hash,
                    hash=previous.hash,
                )


def test_what_the_first_release_kept_is_kept(empty_database_url: str) -> None:
    """Responses become submitted participations, and every charge stays, in a chain that holds."""
    engine = connect(empty_database_url)
    first_schema(engine)
    people = {
        "a" * 64: [("aa", 1_098_613)],
        "b" * 64: [("aa", 1_098_613), ("bb", 2_000_000), ("cc", 6_901_387)],
        "c" * 64: [("aa", 9_000_000), ("bb", 9_000_000)],
    }
    fill(engine, people)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT person, hash FROM ledger_entry")).all()
        hashes = {(row.person, row.hash) for row in rows}
    engine.dispose()
    services = Services.open(empty_database_url)
    assert services.surveys.record("aa").responses == 3
    assert services.surveys.record("aa").survey.fixed_level == "medium"
    responses = services.reports.of_survey("bb")
    assert sorted((r.level, r.reports) for r in responses) == [("medium", (1,))] * 2
    assert {r.pseudonym for r in responses} == {
        hashlib.sha256(f"{name * 64}bb".encode()).hexdigest() for name in "bc"
    }
    kept = {(p, e.charge.key) for p in people for e in services.ledger.entries(p) if e.charge.key}
    assert kept == hashes
    assert services.ledger.verify() == 1 + 3 + 3
    for person, spent in people.items():
        balance = services.ledger.balance(person)
        assert balance.spent_epsilon == sum(micro for _, micro in spent)
        assert balance.caps == Caps()
        days = [entry.charge.day for entry in services.ledger.entries(person)][: len(spent)]
        assert days == [f"2026-01-0{place + 1}" for place in range(len(spent))]
    assert services.ledger.balance("b" * 64).residual_epsilon == Micro(0)
    assert [e.charge.kind for e in services.ledger.entries("c" * 64)] == [
        "commit",
        "commit",
        "adjust",
    ]
    Device().send(services, services.surveys.record("aa"), [1])
    assert services.surveys.record("aa").responses == 4
    services.close()


def test_a_broken_ledger_is_not_migrated(empty_database_url: str) -> None:
    """A chain that does not hold stops the migration, which then leaves everything as it was."""
    engine = connect(empty_database_url)
    first_schema(engine)
    fill(engine, {"a" * 64: [("aa", 1_098_613), ("bb", 1_098_613)]})
    with engine.execution_options(write=True).begin() as connection:
        connection.execute(text("UPDATE ledger_entry SET user_micro = 1 WHERE sequence = 0"))
    with pytest.raises(BrokenChain):
        migrate(engine)
    names = set(inspect(engine).get_table_names())
    assert {"response", "ledger_entry"} <= names
    assert "participation" not in names
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM response")).scalar() == 2
    engine.dispose()


def test_quotas_are_counted_once_when_the_counts_come(empty_database_url: str) -> None:
    """A survey that had quotas before there were counts goes on with who has begun it."""
    engine = connect(empty_database_url)
    migrate(engine, to="0005")
    definition = define(levels=("high", "medium"))
    states = ("reserved", "opened", "sealed", "submitted", "withdrawn", "expired", "abandoned")
    with engine.execution_options(write=True).begin() as connection:
        for token, seats in (("aa", {"high": 1, "medium": 5}), ("bb", None)):
            row = {
                "token": token,
                "title": "Old",
                "definition": json.dumps(definition.to_json()),
                "hash": definition.content_hash(),
                "key": "ab" * 32,
                "seats": None if seats is None else json.dumps(seats),
            }
            connection.execute(
                text(
                    "INSERT INTO survey (token, title, definition, hash, pseudonym_key, state, "
                    "opened, listed, seats) VALUES (:token, :title, :definition, :hash, :key, "
                    "'open', '2026-01-01', false, :seats)"
                ),
                row,
            )
            for place, state in enumerate(states):
                connection.execute(
                    text(
                        "INSERT INTO participation (id, survey, pseudonym, level, state, attempt) "
                        "VALUES (:id, :survey, :id, 'medium', :state, 1)"
                    ),
                    {"id": f"{token}{place:030}", "survey": token, "state": state},
                )
    engine.dispose()
    services = Services.open(empty_database_url)
    with services.engine.connect() as connection:
        rows = connection.execute(text("SELECT survey, level, begun FROM quota_count")).all()
        lapsed = connection.execute(text("SELECT state, attempt FROM participation")).all()
    # Once questions were shown, nobody needs to know from here how often that had lapsed.
    assert {state for state, attempt in lapsed if attempt} == {"reserved", "expired"}
    assert sorted(map(tuple, rows)) == [("aa", "high", 0), ("aa", "medium", 4)]
    Device().reserve(services, services.surveys.record("aa"), level="medium")
    with pytest.raises(QuotaFull):
        Device().reserve(services, services.surveys.record("aa"), level="medium")
    services.close()


def test_balances_of_before_there_was_other_noise_are_counted(
    empty_database_url: str,
) -> None:
    """Tables of the older form, with charges of every kind: each that has a rho counts as other."""
    engine = connect(empty_database_url)
    migrate(engine, to="0007")
    transactions = Transactions(engine)
    ledger = Ledger(
        LedgerDatabase(transactions), clock=lambda: "2026-03-14", caps=Caps(clear=5, rule=1)
    )
    masked, noisy, free, clear = (
        Cost.of(name, [parse_mechanism(text)])
        for name, text in (
            ("aa", "randomized-response:options=2,epsilon=1"),
            ("bb", "discrete-gaussian:low=1,high=5,step=1,sigma=6"),
            ("cc", "randomized-response:options=2,epsilon=0"),
            ("dd", "randomized-response:options=2,flip_probability=0"),
        )
    )
    one, two, idle, cleared = (letter * 64 for letter in "1234")
    ledger.reserve(one, "k1", masked)
    ledger.commit(one, "k1")
    ledger.charge(one, "k2", noisy)
    ledger.charge(one, "k3", free)
    ledger.reserve(two, "k1", noisy)
    ledger.reserve(two, "k2", masked)
    ledger.release(two, "k2")
    ledger.reserve(two, "k3", masked)
    ledger.reserve(idle, "k1", masked)
    ledger.release(idle, "k1")
    ledger.charge(cleared, "k1", clear)
    people = (one, two, idle, cleared)
    before = {person: ledger.balance(person) for person in people}
    expected = {one: (2, 0), two: (0, 2), idle: (0, 0), cleared: (0, 0)}
    assert {p: (b.spent_other, b.reserved_other) for p, b in before.items()} == expected
    transactions.close()
    with engine.execution_options(write=True).begin() as connection:
        for name in ("spent_other", "reserved_other"):
            connection.execute(text(f"ALTER TABLE ledger_balance DROP COLUMN {name}"))
    engine.dispose()
    migrated = Services.open(empty_database_url, today=lambda: "2026-03-14")
    assert {person: migrated.ledger.balance(person) for person in people} == before
    assert migrated.ledger.verify() == sum(balance.entries for balance in before.values())
    assert before[one].caps.rule == 1
    migrated.close()
