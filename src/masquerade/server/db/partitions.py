"""Partitions of PostgreSQL's tables of participants, so that order on disk is rewritten by parts.

Rows of one survey lie in one partition of the tables of responses, and entries of one person in one
partition of the ledger. So the end of a survey has the rows of few others rewritten, and a writer
waits for one partition at most. The number of partitions is fixed: a table for each survey would
let the look-up of a response by its id, which does not name the survey, cost the more the more
surveys there are (0.1 milliseconds in one table, 0.2 in 20, 64 in 1,000), and would take more locks
than PostgreSQL has room for.

Partitioning asks that each unique constraint contains the partition key. What was unique stays so:
an id and an idempotency key are random or keyed hashes of one survey's requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from sqlalchemy import (
    Connection,
    ForeignKeyConstraint,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    text,
)
from sqlalchemy.schema import CreateIndex, CreateTable

from masquerade.server.db.tables import METADATA


@dataclass(frozen=True, slots=True)
class Partitioning:
    """Division of a table by the hash of a column."""

    key: str
    count: int


_BY_SURVEY: Final = Partitioning("survey", 16)
_BY_PERSON: Final = Partitioning("person", 32)
#: Tables whose size grows with the number of responses; those that others refer to first.
PARTITIONED: Final[dict[str, Partitioning]] = {
    "participation": _BY_SURVEY,
    "split_report": _BY_SURVEY,
    "completion_code": _BY_SURVEY,
    "ledger_entry": _BY_PERSON,
    "ledger_balance": _BY_PERSON,
}

# Of each page, so that the new version of a row fits beside the old one, and no index has to be
# changed: 100,000 rows are written anew in 0.8 seconds, where full pages take 10.
_FILLED_PERCENT: Final = 45


@cache
def postgresql_metadata() -> MetaData:
    """Return the tables as PostgreSQL has them."""
    target = MetaData()
    for table in METADATA.sorted_tables:
        copy = table.to_metadata(target)
        if copy.name in PARTITIONED:
            _divide(copy, PARTITIONED[copy.name])
    return target


def _divide(table: Table, how: Partitioning) -> None:
    for constraint in list(table.constraints):
        if isinstance(constraint, ForeignKeyConstraint):
            # An id alone is not unique to PostgreSQL, so nothing can refer to it.
            if constraint.elements[0].target_fullname.partition(".")[0] in PARTITIONED:
                _drop_reference(table, constraint)
            continue
        if not isinstance(constraint, PrimaryKeyConstraint | UniqueConstraint):
            continue
        names = [column.name for column in constraint.columns]
        if how.key in names:
            continue
        if isinstance(constraint, PrimaryKeyConstraint):
            table.columns[how.key].primary_key = True
        table.constraints.discard(constraint)
        kind, name = type(constraint), constraint.name
        table.append_constraint(kind(*names, how.key, name=name if isinstance(name, str) else None))
    table.dialect_options["postgresql"]["partition_by"] = f"HASH ({how.key})"


def _drop_reference(table: Table, constraint: ForeignKeyConstraint) -> None:
    table.constraints.discard(constraint)
    for element in constraint.elements:
        element.parent.foreign_keys.discard(element)
        table.foreign_keys.discard(element)


def divide_tables(connection: Connection) -> None:
    """Divide the tables of a PostgreSQL database that are not divided yet, with their rows."""
    schema = connection.scalar(text("SELECT current_schema()"))
    connection.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{schema}_parts"'))
    for name, how in PARTITIONED.items():
        kind = text(f"SELECT relkind::text FROM pg_class WHERE oid = '{name}'::regclass")
        if connection.scalar(kind) != "p":
            _divide_table(connection, postgresql_metadata().tables[name], how, f"{schema}_parts")


def _divide_table(connection: Connection, table: Table, how: Partitioning, schema: str) -> None:
    name = table.name
    # Constraints and indexes keep the names that they have in a table that is not divided.
    connection.execute(text(f"CREATE TABLE whole AS TABLE {name}"))
    connection.execute(text(f"DROP TABLE {name} CASCADE"))
    connection.execute(CreateTable(table))
    for number in range(how.count):
        connection.execute(
            text(
                f'CREATE TABLE "{schema}".{name}_{number:02} PARTITION OF {name} FOR VALUES WITH '
                f"(modulus {how.count}, remainder {number}) WITH (fillfactor = {_FILLED_PERCENT})"
            )
        )
    columns = ", ".join(column.name for column in table.columns)
    keys = ", ".join(column.name for column in table.primary_key.columns)
    connection.execute(
        text(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM whole ORDER BY {keys}")
    )
    for index in sorted(table.indexes, key=lambda one: str(one.name)):
        connection.execute(CreateIndex(index))
    connection.execute(text("DROP TABLE whole"))


def parts_of(connection: Connection, table: str, survey: str | None) -> list[str]:
    """Return the names of a table's partitions: all, or where the rows of a survey lie.

    A table without partitions is its own part, whatever the survey.
    """
    how = PARTITIONED.get(table)
    if how is None:
        return [table]
    numbers: Sequence[int] = range(how.count)
    if survey is not None:
        if how.key != "survey":
            return []
        query = text(
            f"SELECT number FROM generate_series(0, {how.count - 1}) AS number WHERE "
            f"satisfies_hash_partition('{table}'::regclass, {how.count}, number, "
            "CAST(:survey AS varchar))"
        )
        numbers = connection.scalars(query, {"survey": survey}).all()
    schema = connection.scalar(text("SELECT current_schema()"))
    return [f'"{schema}_parts".{table}_{number:02}' for number in numbers]
