"""Partitions of PostgreSQL's tables of participants, so that order on disk is rewritten by parts.

Rows of one survey lie in one partition of the tables of responses and of reaching people, and
entries of one person in one partition of the ledger. So the end of a survey has the rows of few
others rewritten. The number of partitions is fixed: a table for each survey would let the look-up
of a response by its id, which does not name the survey, cost the more the more surveys there are
(0.1 milliseconds in one table, 0.2 in 20, 64 in 1,000), and would take more locks than PostgreSQL
has room for. Partitions are ranges of the partition key, a random name or a keyed hash in
hexadecimal: a check of the range proves that a table fits into its place, without reading it.

Partitioning asks that each unique constraint contains the partition key. What was unique stays so:
an id and an idempotency key are random or keyed hashes of one survey's requests. Partitions refer
to no other table, as a partition that is replaced would else lock that table too; a step writes a
response beside the survey and the cost that it has locked or inserted itself.
"""

from __future__ import annotations

from bisect import bisect_right
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
    """Division of a table by even ranges of a column of hexadecimal names."""

    key: str
    count: int

    @property
    def bounds(self) -> list[str]:
        """The least names of all partitions but the first."""
        return [f"{256 * number // self.count:02x}" for number in range(1, self.count)]

    def place(self, name: str) -> int:
        """Return the number of the partition with the rows of a name."""
        return bisect_right(self.bounds, name)

    def range_in_words(self, number: int) -> str:
        """Return the range of a partition as PostgreSQL writes it."""
        low, *high = ["MINVALUE", *(f"'{one}'" for one in self.bounds), "MAXVALUE"][number:][:2]
        return f"FOR VALUES FROM ({low}) TO ({high[0]})"


_BY_SURVEY: Final = Partitioning("survey", 16)
_BY_PERSON: Final = Partitioning("person", 32)
#: Tables with rows of participants, in the order in which they are rewritten; the last two are
#: small.
PARTITIONED: Final[dict[str, Partitioning]] = {
    "participation": _BY_SURVEY,
    "ledger_entry": _BY_PERSON,
    "ledger_balance": _BY_PERSON,
    "completion_code": _BY_SURVEY,
    "split_report": _BY_SURVEY,
    "withdrawn_report": _BY_SURVEY,
    "ticket": _BY_SURVEY,
    "spent_ticket": _BY_SURVEY,
    "recipient": _BY_SURVEY,
    "quota_count": Partitioning("survey", 1),
    "caps_to_come": Partitioning("person", 1),
}


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
    table.dialect_options["postgresql"]["partition_by"] = f"RANGE ({how.key})"


def _drop_reference(table: Table, constraint: ForeignKeyConstraint) -> None:
    table.constraints.discard(constraint)
    for element in constraint.elements:
        element.parent.foreign_keys.discard(element)
        table.foreign_keys.discard(element)


def divide_tables(connection: Connection) -> None:
    """Divide the tables of a PostgreSQL database that are not divided so yet, with their rows."""
    schema = connection.scalar(text("SELECT current_schema()"))
    connection.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{schema}_parts"'))
    for name, how in PARTITIONED.items():
        # 'h' where an earlier version divided it by hashes.
        query = (
            f"SELECT partstrat::text FROM pg_partitioned_table WHERE partrelid = '{name}'::regclass"
        )
        if connection.scalar(text(query)) != "r":
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
                f'CREATE TABLE "{schema}".{name}_{number:02} PARTITION OF {name} '
                + how.range_in_words(number)
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
    """Return the names of a table's partitions: all, or where the rows of a survey lie."""
    how = PARTITIONED[table]
    numbers = range(how.count)
    if survey is not None:
        if how.key != "survey":
            return []
        numbers = range(how.place(survey), how.place(survey) + 1)
    schema = connection.scalar(text("SELECT current_schema()"))
    return [f'"{schema}_parts".{table}_{number:02}' for number in numbers]
