"""Rows that name what is not there, in the tables of PostgreSQL that are divided into parts.

Those have no foreign keys, as the parts of a table change places while people take part. SQLite
has its own check.
"""

from __future__ import annotations

from collections.abc import Iterator
from secrets import token_hex
from typing import Any, Final, cast

from sqlalchemy import Column, Connection, Table, select, tuple_

from masquerade.server.db.partition_copy import lock_for_reading
from masquerade.server.db.partitions import PARTITIONED, postgresql_metadata
from masquerade.server.db.tables import METADATA
from masquerade.server.operations.database_checks import CheckResult, ok, problem

_CHECK: Final = "references"
#: Rows that are looked at in one reading.
PAGE: Final = 10_000
#: The rows of a sample.
SAMPLE: Final = 500
#: Names of surveys and costs that are remembered between readings.
_MOST_KNOWN: Final = 100_000


def reference_findings(connection: Connection, *, sample: bool = False) -> Iterator[CheckResult]:
    """Yield the tables with rows that name a survey or cost that is not there.

    Each page of rows is a reading of its own; no transaction may be begun around it. `sample`: one
    page of each table alone, from a place drawn at random.
    """
    if connection.dialect.name != "postgresql":
        return
    connection.rollback()
    wrong, rows, tables = False, 0, 0
    for table, column, target in references():
        tables += 1
        missing: set[str] = set()
        orphans = 0
        for page in _pages(connection, table, column, sample=sample):
            rows += len(page)
            gone = _missing(connection, target, set(page) - missing) | missing
            orphans += sum(name in gone for name in page)
            # Few are told, and few are kept, however many there are.
            missing = set(sorted(gone)[:_MOST_KNOWN])
            connection.rollback()
        if orphans:
            wrong = True
            yield problem(
                _CHECK,
                f"{orphans} rows of {table.name} name a {target.table.name} that is not there, as "
                f"{min(missing)}. Restore a backup.",
            )
    if not wrong:
        said = f"{rows} rows of {tables} tables name only what is there"
        yield ok(_CHECK, f"{said}; others were not looked at." if sample else f"{said}.")


def references() -> Iterator[tuple[Table, Column[Any], Column[Any]]]:
    """Yield divided tables as PostgreSQL has them, with a column and the column that it names."""
    for name in PARTITIONED:
        table = postgresql_metadata().tables[name]
        for key in sorted(METADATA.tables[name].foreign_keys, key=lambda one: one.parent.name):
            yield table, table.c[key.parent.name], key.column


def _pages(
    connection: Connection, table: Table, column: Column[Any], *, sample: bool
) -> Iterator[list[str]]:
    """Yield what the rows of a table name, in pages by key."""
    keys = list(table.primary_key.columns)
    # Of most tables the first key is a random name.
    last: tuple[Any, ...] | None = (token_hex(16),) if sample else None
    while True:
        lock_for_reading(connection)
        query = select(*keys, column.label("named")).order_by(*keys)
        query = query.limit(SAMPLE if sample else PAGE)
        if last is not None:
            query = query.where(tuple_(*keys[: len(last)]) > last)
        found = connection.execute(query).all()
        if sample and not found and last is not None:
            last = None  # beyond the last one
            continue
        yield [cast(str, row.named) for row in found if row.named is not None]
        if sample or len(found) < PAGE:
            return
        last = tuple(found[-1][: len(keys)])


def _missing(connection: Connection, target: Column[Any], names: set[str]) -> set[str]:
    there = set(connection.scalars(select(target).where(target.in_(sorted(names)))))
    return names - there
