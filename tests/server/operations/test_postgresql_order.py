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
from tests.server.devices import Device
from tests.server.operations.crowds import Crowd, orders
from tests.surveys.small_surveys import define

from masquerade.server.db.partitions import PARTITIONED, parts_of
from masquerade.server.db.tables import PARTICIPATION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

_PAGE = 8192


def same_at_any_time(content: bytes, *, rows: bool) -> bytes:
    """Return the pages of a file without numbers of transactions and places in the log.

    What is left of a page are its layout and its content, the bytes between rows included.
    """
    pages = bytearray(content)
    for start in range(0, len(pages), _PAGE):
        for first, last in ((0, 12), (20, 24)):  # place in the log, checksum, hints; pruning
            pages[start + first : start + last] = bytes(last - first)
        end = int.from_bytes(pages[start + 12 : start + 14], "little")
        for pointer in range(start + 24, start + end if rows else 0, 4):
            row = start + (int.from_bytes(pages[pointer : pointer + 4], "little") & 0x7FFF)
            for first, last in ((0, 12), (20, 22)):  # xmin, xmax, command; hints on these
                pages[row + first : row + last] = bytes(last - first)
    return bytes(pages)


def files(engine: Engine) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file with rows or an index of people's tables."""
    with engine.connect() as connection:
        for table in PARTITIONED:
            for part in parts_of(connection, table, None):
                query = f"""SELECT c.relname, c.relkind = 'r', pg_read_binary_file(
                pg_relation_filepath(c.oid)) FROM pg_class c LEFT JOIN pg_index ON indexrelid =
                c.oid WHERE '{part}'::regclass IN (c.oid, indrelid) ORDER BY c.relname"""
                for name, rows, content in connection.execute(text(query)):
                    yield name, same_at_any_time(content, rows=rows)


@pytest.mark.postgres
def test_files_of_postgresql_are_the_same_whatever_the_order_of_arrival(
    crowd: Crowd, postgres_server: Any, migrated_template: str, request: pytest.FixtureRequest
) -> None:
    """Three orders of arrival give the same pages of rows and of indexes, byte for byte."""

    def database(name: str, like: str) -> str:
        postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {like}")
        request.addfinalizer(lambda: postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)"))
        return str(postgres_server.url(name))

    survey = crowd.empty(database("bytes_empty", migrated_template))
    before, after = [], []
    for number, order in enumerate(orders(60, 3)):
        services = crowd.open(database(f"bytes_{number}", "bytes_empty"))
        for person in order:
            crowd.come(services, survey, person, leaves=person % 9 == 0)
        services.transactions.write(lambda c: c.execute(text("CHECKPOINT")))
        before.append(dict(files(services.engine)))
        assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
        after.append(dict(files(services.engine)))
        services.close()
    assert sum(map(len, after[0].values())) > 40 * _PAGE
    for one in (1, 2):
        assert before[one] != before[0]
        differ = [name for name, content in after[0].items() if after[one][name] != content]
        assert differ == []


@pytest.mark.postgres
def test_the_end_of_a_survey_rewrites_its_part_alone(
    crowd: Crowd, postgres_server: Any, migrated_template: str, request: pytest.FixtureRequest
) -> None:
    """A rewriting for one survey takes the part with its responses, and no other."""
    name = "order_by_survey"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {migrated_template}")
    request.addfinalizer(lambda: postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)"))
    url = postgres_server.url(name)
    services = crowd.open(url)
    surveys: dict[str, Any] = {}
    while len(surveys) < 2:  # in two parts
        record = services.surveys.open_survey(define())
        with services.engine.connect() as connection:
            [part] = parts_of(connection, "participation", record.token)
        surveys.setdefault(part, record)
    for number in range(12):
        for record in surveys.values():
            Device(crowd.secret(number)).send(services, record, [number % 2, number % 5])

    def written(part: str) -> set[str]:
        with services.engine.connect() as connection:
            return set(connection.scalars(text(f"SELECT xmin::text FROM {part}")))

    (ended, record), (other, _) = surveys.items()
    before = written(other), written("ledger_entry")
    assert services.transactions.rewrite(record.token, patience=PATIENCE_SECONDS)
    assert len(written(ended)) == 1
    assert (written(other), written("ledger_entry")) == before
    services.close()


@pytest.mark.postgres
def test_rewritten_tables_of_postgresql_tell_no_order(
    crowd: Crowd, postgres_server: Any, migrated_template: str, request: pytest.FixtureRequest
) -> None:
    """After a rewriting all rows of a part name one transaction and lie by their keys."""
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
    assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
    for table, key in keys.items():
        apart = f"tableoid, {key}"
        written = set(
            zip(column(table, "tableoid", apart), column(table, "xmin::text", apart), strict=True)
        )
        assert len(written) == len({part for part, _ in written})
        assert column(table, "ctid", apart) == column(table, "ctid", "tableoid, ctid")
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
            [part] = parts_of(connection, "participation", survey.token)
            query = f"SELECT reltoastrelid::regclass FROM pg_class WHERE oid = '{part}'::regclass"
            apart = connection.execute(text(query)).scalar_one()
            rows = connection.execute(
                text(f"SELECT chunk_id, chunk_data FROM {apart} WHERE chunk_seq = 0")
            ).all()
        found = {bytes(data)[:30].decode(): int(number) for number, data in rows}
        return [found[str(list(r.reports)).replace(" ", "")[:30]] for r in before]

    assert numbers() != sorted(numbers())
    assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
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
