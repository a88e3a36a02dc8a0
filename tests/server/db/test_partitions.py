"""Partitions of PostgreSQL change places with their copies while people take part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text
from tests.server.devices import Device
from tests.surveys.small_surveys import define

from masquerade.server import Services
from masquerade.server.db import partitions
from masquerade.server.db.partitions import PARTITIONED, PartitionCopy, parts_of
from masquerade.server.db.postgresql_order import rewrite_tables, tables_tell_order
from masquerade.server.db.tables import METADATA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masquerade.server.surveys.survey_records import SurveyRecord

pytestmark = pytest.mark.postgres


@pytest.fixture
def services(
    postgres_server: Any,
    migrated_template: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Services]:
    """A server with a database of its own in PostgreSQL."""
    name = f"copies_{abs(hash(request.node.name))}"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {migrated_template}")
    # A machine under load has its readers for longer.
    monkeypatch.setattr(partitions, "_READERS_SECONDS", 120.0)
    services = Services.open(postgres_server.url(name), rewrites=False)
    yield services
    services.close()
    postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def left_over(services: Services) -> list[str]:
    """Return the tables, functions and triggers that a rewriting made and did not take away."""
    query = """SELECT relname FROM pg_class WHERE relkind = 'r'
    AND relname ~ '[0-9]_(copy|changes)$'
    UNION ALL SELECT proname FROM pg_proc WHERE proname ~ '[0-9]_changes$'
    UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"""
    with services.engine.connect() as connection:
        return list(connection.scalars(text(query)))


def rows(services: Services) -> dict[str, list[Any]]:
    """Return all rows of people's tables, by their keys."""
    with services.engine.connect() as connection:
        return {
            name: sorted(map(str, connection.execute(METADATA.tables[name].select())))
            for name in PARTITIONED
        }


def a_crowd(services: Services, people: int = 12) -> tuple[SurveyRecord, list[Device]]:
    """Let people answer a survey."""
    record = services.surveys.open_survey(define())
    devices = [Device() for _ in range(people)]
    for number, device in enumerate(devices):
        device.send(services, record, [number % 2, number % 5])
    return record, devices


def mine(services: Services, device: Device) -> tuple[Any, str]:
    """Return somebody and the id of their participation."""
    who = services.identity(device.participant)
    [begun], _ = services.profiles.invitations(who, after="", limit=9)
    assert begun.participation is not None
    return who, begun.participation["id"]


def test_what_changes_beside_a_rewriting_is_there_after_it(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that come, change and go after the copy, and after it caught up, are all kept."""
    record, devices = a_crowd(services)
    leaving = iter(devices)
    moments = {"_write": 0, "_await_readers": 0}
    for name in moments:
        real = getattr(PartitionCopy, name)

        def at_this_moment(copy: PartitionCopy, name: str = name, real: Any = real) -> Any:
            done = real(copy)
            if copy.table.name in ("participation", "ledger_balance"):
                moments[name] += 1
                # A new row, a row changed to another state, and new entries and balances.
                Device().send(services, record, [1, 1])
                services.participations.withdraw(*mine(services, next(leaving)))
            return done

        monkeypatch.setattr(PartitionCopy, name, at_this_moment)
    devices += [Device() for _ in range(40)]
    for device in devices[12:]:
        device.send(services, record, [0, 0])
    expected: list[dict[str, list[Any]]] = []
    real = PartitionCopy._change_places

    def with_rows(copy: PartitionCopy) -> str:
        expected.append(rows(services))
        return real(copy)

    monkeypatch.setattr(PartitionCopy, "_change_places", with_rows)
    assert rewrite_tables(services.engine) == ""
    assert min(moments.values()) > 2
    assert rows(services) == expected[-1]
    assert services.ledger.verify() > 100
    assert left_over(services) == []


def test_a_rewriting_that_was_cut_off_is_cleared_away_by_the_next(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an end in the middle people go on, and the next rewriting leaves nothing of it."""
    record, _ = a_crowd(services)

    def end(_copy: PartitionCopy) -> str:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(PartitionCopy, "_change_places", end)
        patch.setattr(PartitionCopy, "_discard", lambda _copy: True)
        with pytest.raises(SystemExit):
            rewrite_tables(services.engine, record.token)
    assert len(left_over(services)) == 4
    Device().send(services, record, [1, 1])
    before = rows(services)
    assert rewrite_tables(services.engine) == ""
    assert rows(services) == before
    assert left_over(services) == []
    with services.engine.connect() as connection:
        assert not tables_tell_order(connection)


def test_what_could_not_be_cleared_away_is_later(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader keeps what is left of a copy from being deleted; the next rewriting gives way too.

    Once nobody reads, one clears all away and is whole.
    """
    record, _ = a_crowd(services)
    monkeypatch.setattr(partitions, "_PATIENCE_SECONDS", 0.0)
    with services.engine.connect() as connection:
        [part] = parts_of(connection, "participation", record.token)
        connection.rollback()
        with connection.begin():

            def read_on(_copy: PartitionCopy) -> str:
                connection.execute(text(f"SELECT 1 FROM {part}"))
                return "somebody reads"

            with monkeypatch.context() as patch:
                patch.setattr(PartitionCopy, "_change_places", read_on)
                assert rewrite_tables(services.engine, record.token) == "somebody reads"
            assert len(left_over(services)) == 4
            assert rewrite_tables(services.engine, record.token) == partitions._IN_USE
    Device().send(services, record, [1, 1])
    before = rows(services)
    monkeypatch.setattr(partitions, "_PATIENCE_SECONDS", 60.0)
    assert rewrite_tables(services.engine, record.token) == ""
    assert rows(services) == before
    assert left_over(services) == []


def test_whoever_writes_for_long_is_not_waited_for(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rewriting gives way to an open change, says so, and is whole once that has ended."""
    record, _ = a_crowd(services)
    with services.engine.connect() as connection:
        [part] = parts_of(connection, "participation", record.token)
        connection.rollback()
        with connection.begin(), monkeypatch.context() as patch:
            patch.setattr(partitions, "_PATIENCE_SECONDS", 0.0)
            connection.execute(text(f"UPDATE {part} SET state = state"))
            assert rewrite_tables(services.engine, record.token)
        # Nothing of the attempt stays, PostgreSQL's own vacuum of the part least of all.
        options = f"SELECT reloptions FROM pg_class WHERE oid = '{part}'::regclass"
        assert connection.scalar(text(options)) is None
    before = rows(services)
    assert rewrite_tables(services.engine) == ""
    assert rows(services) == before
    assert left_over(services) == []


def test_a_part_keeps_its_indexes_constraints_and_range(services: Services) -> None:
    """A copy has its partition's keys, indexes with conditions, options, and range."""
    a_crowd(services)
    # Of a condition PostgreSQL writes the same in other words once it has read its own.
    index = """format('%s %s %s %s', indisunique, indisprimary, indkey, indpred IS NOT NULL)"""
    query = f"""SELECT c.relname, pg_get_expr(c.relpartbound, c.oid), c.reloptions,
    (SELECT array_agg({index} ORDER BY {index}) FROM pg_index WHERE indrelid = c.oid),
    (SELECT array_agg(d ORDER BY d) FROM (SELECT pg_get_constraintdef(k.oid) AS d FROM
    pg_constraint k WHERE conrelid = c.oid) AS those)
    FROM pg_class c WHERE c.relispartition AND c.relkind = 'r' ORDER BY 1"""

    def described() -> list[Any]:
        with services.engine.connect() as connection:
            return list(connection.execute(text(query)).all())

    before = described()
    assert len(before) == sum(how.count for how in PARTITIONED.values())
    assert rewrite_tables(services.engine) == ""
    assert described() == before
