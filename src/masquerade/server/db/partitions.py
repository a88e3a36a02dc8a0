"""Partitions of PostgreSQL's tables of participants, and their copies in the order of their key.

Each row of PostgreSQL names the transaction that wrote it (``xmin``), and lies where there was room
at that time; long values lie in a table of their own, under rising numbers. So all rows of a
partition are written to a new table, in one transaction and by key, with indexes that are built
anew; and the new table takes the partition's place. Nobody waits for the copy: a trigger writes
down the keys of rows that change meanwhile, and these are copied once more, most of them before and
the last ones under the lock under which the tables change places. That takes some hundredths of a
second at any size; it is tried again and again, each time for a moment only, as long as somebody
reads. The old table's file is deleted with everything that lay in its free space.

Whoever sees one moment for longer (``REPEATABLE READ``) would find a copy empty that was written
after that moment. So `lock_for_reading` stands before the first statement of such a transaction,
and the tables change places between those; of other programs, such as ``pg_dump``, those that
began before the copy are waited for.

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

import contextlib
import time
from bisect import bisect_right
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
from sqlalchemy.exc import OperationalError, ProgrammingError
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
    constraints = connection.execute(
        text(
            "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = "
            f"'{name}'::regclass AND contype IN ('p', 'u') ORDER BY contype DESC, conname"
        )
    ).all()
    for constraint, _ in constraints:
        connection.execute(text(f'ALTER TABLE {name} DROP CONSTRAINT "{constraint}"'))
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
    # After the other indexes, and the primary key last: of two that seem to find a row equally
    # well, as in a table without statistics, PostgreSQL takes the later one.
    for constraint, words in constraints:
        connection.execute(text(f'ALTER TABLE {name} ADD CONSTRAINT "{constraint}" {words}'))
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


#: A table that everybody who reads one moment locks; who replaces a partition locks it alone. It is
#: one that hardly anybody needs, so that a lock of another table stops those alone who need that.
_GATE: Final = "caps_to_come"

# Requests for a lock queue: who comes after one that waits waits too, so none waits for long.
_LOCK_MILLISECONDS = 150
_PAUSE_SECONDS = 0.25
_PATIENCE_SECONDS = 10.0
_READERS_SECONDS = 5.0
# SQLSTATEs lock_not_available and deadlock_detected.
_BUSY = ("55P03", "40P01")
_IN_USE = "somebody reads or writes for long"


def lock_for_reading(connection: Connection) -> None:
    """Let no partition change its place until the transaction ends, which sees one moment.

    To be called before anything is read: the moment is that of the first reading.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"LOCK TABLE ONLY {_GATE} IN ACCESS SHARE MODE")


def lock_any_for_reading(connection: Connection) -> None:
    """Do as `lock_for_reading` in a database that may have no tables yet."""
    with contextlib.suppress(ProgrammingError), connection.begin_nested():
        lock_for_reading(connection)


@dataclass(frozen=True, slots=True)
class PartitionCopy:
    """The rewriting of one partition; `connection` makes each statement a transaction."""

    connection: Connection
    table: Table
    part: str  # with its schema

    @property
    def _copy(self) -> str:
        return f"{self.part}_copy"

    @property
    def _changes(self) -> str:
        return f"{self.part}_changes"

    @property
    def _keys(self) -> str:
        return ", ".join(column.name for column in self.table.primary_key.columns)

    def replace(self) -> str:
        """Replace the partition by a copy; return why it could not be, or an empty text."""
        if not self._discard():
            return _IN_USE
        try:
            if not self._watch():
                self._run(f"ALTER TABLE {self.part} RESET (autovacuum_enabled)")
                return _IN_USE
            self._write()
            # Most of what changed, so that little is left to do while others wait.
            self._transaction(*self._catching_up())
            return self._await_readers() or self._change_places()
        finally:
            self._discard()

    def tells_order(self) -> bool:
        """Return whether rows differ in their transactions, or do not lie by key."""
        query = f"""
        SELECT 1 FROM (
            SELECT ROW({self._keys}) AS key, lag(ROW({self._keys})) OVER lying AS before,
            xmin AS one, lag(xmin) OVER lying AS other FROM {self.part}
            WINDOW lying AS (ORDER BY ctid)
        ) AS rows WHERE before > key OR one <> other LIMIT 1"""
        return self.connection.scalar(text(query)) is not None

    def is_empty(self) -> bool:
        """Return whether the partition has no pages."""
        return not self.connection.scalar(text(f"SELECT pg_relation_size('{self.part}')"))

    def _watch(self) -> bool:
        """Have the keys of rows that change from now on written down; return whether they are."""
        # A vacuum of PostgreSQL's own would hold a lock for as long as it takes.
        self._run(f"ALTER TABLE {self.part} SET (autovacuum_enabled = off)")
        keys = [column.name for column in self.table.primary_key.columns]
        old, new = (", ".join(f"{row}.{key}" for key in keys) for row in ("OLD", "NEW"))
        return self._shortly(
            f"CREATE TABLE {self._changes} AS SELECT {self._keys} FROM {self.part} WITH NO DATA",
            f"""CREATE FUNCTION {self._changes}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF TG_OP <> 'INSERT' THEN INSERT INTO {self._changes} VALUES ({old}); END IF;
            IF TG_OP <> 'DELETE' THEN INSERT INTO {self._changes} VALUES ({new}); END IF;
            RETURN NULL; END $$""",
            # Waits for those who write, so that whoever writes after it is seen.
            f"""CREATE TRIGGER changes AFTER INSERT OR UPDATE OR DELETE ON {self.part}
            FOR EACH ROW EXECUTE FUNCTION {self._changes}()""",
        )

    def _write(self) -> None:
        """Write the copy by key, with all that the partition's place asks of a table."""
        fits = f"SELECT pg_get_partition_constraintdef('{self.part}'::regclass)"
        constraints = f"""SELECT 'ADD ' || pg_get_constraintdef(oid) FROM pg_constraint
        WHERE conrelid = '{self.part}'::regclass AND contype IN ('p', 'u')
        ORDER BY contype DESC, conname"""
        indexes = f"""SELECT format('CREATE %s INDEX ON {self._copy} USING %s',
        CASE WHEN indisunique THEN 'UNIQUE' END, split_part(pg_get_indexdef(indexrelid), ' USING ',
        2)) FROM pg_index WHERE indrelid = '{self.part}'::regclass AND NOT EXISTS (SELECT FROM
        pg_constraint WHERE conindid = indexrelid) ORDER BY indexrelid::regclass::text"""
        self._transaction(
            f"CREATE TABLE {self._copy} (LIKE {self.part} INCLUDING DEFAULTS INCLUDING STORAGE)",
            *self._each(f"ALTER TABLE {self._copy} ADD CONSTRAINT fits CHECK (%s)", fits),
            f"INSERT INTO {self._copy} SELECT * FROM {self.part} ORDER BY {self._keys}",
            # In the order of `divide_tables`: which index is the later one decides at times.
            *self._each("%s", indexes),
            *self._each(f"ALTER TABLE {self._copy} %s", constraints),
        )
        self._run(f"ANALYZE {self._copy}")

    def _catching_up(self) -> Sequence[str]:
        """Return statements that copy the rows once more that have changed."""
        keys = self._keys
        return (
            # By index: of the changes nobody knows how few they are.
            "SET LOCAL enable_hashjoin = off",
            "SET LOCAL enable_mergejoin = off",
            f"""CREATE TEMPORARY TABLE changed ON COMMIT DROP AS
            WITH done AS (DELETE FROM {self._changes} RETURNING {keys})
            SELECT DISTINCT {keys} FROM done""",
            f"DELETE FROM {self._copy} WHERE ({keys}) IN (SELECT {keys} FROM changed)",
            f"""INSERT INTO {self._copy} SELECT * FROM {self.part}
            WHERE ({keys}) IN (SELECT {keys} FROM changed) ORDER BY {keys}""",
        )

    def _change_places(self) -> str:
        parent = self.table.name
        place = f"""SELECT pg_get_expr(relpartbound, oid) FROM pg_class
        WHERE oid = '{self.part}'::regclass"""
        name = self.part.rpartition(".")[2]
        done = self._shortly(
            f"LOCK TABLE ONLY {_GATE} IN ACCESS EXCLUSIVE MODE",
            f"LOCK TABLE ONLY {parent} IN ACCESS EXCLUSIVE MODE",
            f"LOCK TABLE {self.part} IN ACCESS EXCLUSIVE MODE",
            *self._catching_up(),
            f"ALTER TABLE {parent} DETACH PARTITION {self.part}",
            *self._each(f"ALTER TABLE {parent} ATTACH PARTITION {self._copy} %s", place),
            f"ALTER TABLE {self._copy} DROP CONSTRAINT fits",
            f"DROP TABLE {self.part}, {self._changes}",
            f"DROP FUNCTION {self._changes}()",
            f"ALTER TABLE {self._copy} RENAME TO {name}",
        )
        return "" if done else _IN_USE

    def _await_readers(self) -> str:
        """Wait a little for readers of a moment before the copy."""
        now = self.connection.scalar(text("SELECT pg_current_xact_id()::text"))
        older = text(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
            "pg_backend_pid() AND backend_type <> 'autovacuum worker' "
            "AND greatest(age(backend_xmin), age(backend_xid)) >= "
            "age((mod(CAST(:now AS numeric), 4294967296)::text)::xid) LIMIT 1"
        )
        end = time.monotonic() + _READERS_SECONDS
        while self.connection.scalar(older, {"now": now}) is not None:
            if time.monotonic() > end:
                return "earlier versions of rows are still seen by somebody who reads"
            time.sleep(0.01)
        return ""

    def _discard(self) -> bool:
        """Delete the rest of a copy that was not put in its place; return whether it is."""
        there = f"SELECT coalesce(to_regclass('{self._copy}'), to_regclass('{self._changes}'))"
        if self.connection.scalar(text(there)) is None:
            return True
        return self._shortly(
            f"DROP TRIGGER IF EXISTS changes ON {self.part}",
            f"DROP FUNCTION IF EXISTS {self._changes}()",
            f"DROP TABLE IF EXISTS {self._copy}, {self._changes}",
            f"ALTER TABLE {self.part} RESET (autovacuum_enabled)",
        )

    def _each(self, words: str, query: str) -> list[str]:
        return [words % one for one in self.connection.scalars(text(query))]

    def _shortly(self, *statements: str) -> bool:
        """Run statements in a transaction that waits for no lock for long; repeat it until it is.

        Returned is whether it was done.
        """
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                self._transaction(f"SET LOCAL lock_timeout = {_LOCK_MILLISECONDS}", *statements)
            except OperationalError as error:
                if getattr(error.orig, "sqlstate", None) not in _BUSY:
                    raise
                if time.monotonic() > end:
                    return False
                time.sleep(_PAUSE_SECONDS)
            else:
                return True

    def _transaction(self, *statements: str) -> None:
        self._run("BEGIN")
        try:
            for statement in statements:
                self._run(statement)
            self._run("COMMIT")
        except BaseException:
            self._run("ROLLBACK")
            raise

    def _run(self, statement: str) -> None:
        self.connection.exec_driver_sql(statement)
