"""Rewritten tables of PostgreSQL tell no order of arrival."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sqlalchemy import Connection, text, update
from tests.patience import PATIENCE_SECONDS
from tests.server.operations.crowds import (
    Crowd,
    orders,
)

from masquerade.server.db.tables import PARTICIPATION

if TYPE_CHECKING:
    pass


@pytest.mark.postgres
def test_rewritten_tables_of_postgresql_tell_no_order(
    crowd: Crowd, postgres_server: Any, migrated_template: str, request: pytest.FixtureRequest
) -> None:
    """After a rewriting all rows name one transaction and lie by their keys."""
    name = "order_of_rows"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {migrated_template}")
    request.addfinalizer(lambda: postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)"))
    url = postgres_server.url(name)
    survey = crowd.empty(url)
    services = crowd.open(url)
    for person in orders(50, 1)[0]:
        crowd.come(services, survey, person, long=True, leaves=person % 7 == 0)
    keys = {"participation": "id", "ledger_entry": "person, sequence", "ledger_balance": "person"}

    def column(table: str, what: str, by: str) -> list[Any]:
        query = text(f"SELECT {what} FROM {table} ORDER BY {by}")
        with services.engine.connect() as connection:
            return list(connection.scalars(query))

    for table, key in keys.items():
        assert len(set(column(table, "xmin::text", key))) > 40
        assert column(table, "ctid", key) != column(table, "ctid", "ctid")
    assert services.transactions.rewrite()
    seen = {xmin for table in keys for xmin in column(table, "xmin::text", keys[table])}
    assert len(seen) == 1
    for table, key in keys.items():
        assert column(table, "ctid", key) == column(table, "ctid", "ctid")
    services.close()


@pytest.mark.postgres
def test_long_values_of_postgresql_tell_no_order(
    crowd: Crowd, postgres_server: Any, migrated_template: str, request: pytest.FixtureRequest
) -> None:
    """Reports that lie apart from their rows are numbered by key after a rewriting."""
    name = "order_of_long_values"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {migrated_template}")
    request.addfinalizer(lambda: postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)"))
    url = postgres_server.url(name)
    survey = crowd.empty(url)
    services = crowd.open(url)
    rng, order = np.random.default_rng(1), orders(30, 1)[0]
    for person in order:
        crowd.come(services, survey, person)
        reports = rng.integers(10**8, 10**9, 600).tolist()  # too varied to be made shorter
        [newest] = [
            r.pseudonym for r in services.reports.of_survey(survey.token) if len(r.reports) == 2
        ]
        rows = PARTICIPATION
        change = update(rows).where(rows.c.pseudonym == newest)
        lengthened = change.values(reports=reports)
        services.transactions.write(partial(Connection.execute, statement=lengthened))
    before = services.reports.of_survey(survey.token)

    def numbers() -> list[int]:
        """Return the numbers of long values in the order of the rows' keys."""
        with services.engine.connect() as connection:
            apart = connection.execute(
                text(
                    "SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = "
                    "'participation'::regclass"
                )
            ).scalar_one()
            rows = connection.execute(
                text(f"SELECT chunk_id, chunk_data FROM {apart} WHERE chunk_seq = 0")
            ).all()
        found = {bytes(data)[:30].decode(): int(number) for number, data in rows}
        return [found[str(list(r.reports)).replace(" ", "")[:30]] for r in before]

    assert numbers() != sorted(numbers())
    assert services.transactions.rewrite()
    assert numbers() == sorted(numbers())
    assert services.reports.of_survey(survey.token) == before
    services.close()


@pytest.mark.postgres
def test_whoever_reads_in_postgresql_keeps_seeing_all_rows(
    crowd: Crowd, postgres_server: Any, migrated_template: str, request: pytest.FixtureRequest
) -> None:
    """A rewriting beside an older reading is not called whole, takes nothing from it, and is later.

    What the reading may still look at stays in the files, with the transactions that wrote it.
    """
    name = "order_beside_a_reader"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {migrated_template}")
    request.addfinalizer(lambda: postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)"))
    url = postgres_server.url(name)
    survey = crowd.empty(url)
    services = crowd.open(url)
    for person in range(8):
        crowd.come(services, survey, person)
    reading = services.engine.execution_options(isolation_level="REPEATABLE READ")
    with reading.connect() as reader, reader.begin():
        # From here on it sees one moment, and holds no lock of the tables.
        reader.execute(text("SELECT 1 FROM survey")).all()
        assert not services.transactions.rewrite(patience=PATIENCE_SECONDS)
        assert reader.execute(text("SELECT count(*) FROM participation")).scalar() == 8
        assert reader.execute(text("SELECT count(*) FROM ledger_entry")).scalar() == 16
    assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
    services.close()


@pytest.mark.postgres
def test_the_log_of_postgresql_is_let_go(
    crowd: Crowd, postgres_server: Any, migrated_template: str, request: pytest.FixtureRequest
) -> None:
    """After a rewriting no id stands in PostgreSQL's own log, where rights and settings allow."""
    name = "order_in_the_log"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {migrated_template}")
    request.addfinalizer(lambda: postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)"))
    url = postgres_server.url(name)
    survey = crowd.empty(url)
    services = crowd.open(url)
    for person in range(12):
        crowd.come(services, survey, person)
    with services.engine.connect() as connection:
        folder = Path(connection.execute(text("SHOW data_directory")).scalar_one()) / "pg_wal"
        ids = list(connection.scalars(text("SELECT id FROM participation")))
    if not os.access(folder, os.R_OK | os.X_OK):
        pytest.skip("only the account of PostgreSQL sees its log")

    def told() -> int:
        log = b"".join(part.read_bytes() for part in folder.glob("0*"))
        return sum(one.encode() in log for one in ids)

    assert told() == 12
    assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
    assert told() == 0
    services.close()
