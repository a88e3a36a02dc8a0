"""Rows of many callers, read and written in few statements; and changes in memory taken back.

A set of rows goes to the database as one JSON text, so that a statement is the same for one row
and for sixty-four. These are plain statements of the driver: beside them the toolkit's own work
would be most of a participant's run. The order of a join is fixed and the index is named, as the
database cannot know how few rows a set has and would read the whole table. PostgreSQL is also told
the first and last name of a set, so that it prepares the partitions between them alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import JSON, Connection, Table
from sqlalchemy.dialects import postgresql

from masquerade.errors import BrokenChain
from masquerade.server.db.partitions import PARTITIONED

_POSTGRESQL: Final = postgresql.dialect()  # type: ignore[no-untyped-call]
# Lets PostgreSQL find the rows of sets by index: it takes a set for large and a new table for
# small, and would read all of it. One plan serves sets of any size: planning a statement anew for
# all partitions of its table would take several times as long as the statement.
_BY_INDEX: Final = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_material": "off",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
}
_ALWAYS: Final = "finds_by_index"


class Journal:
    """Changes in memory since the last statement that wrote, to take back those of a failed step.

    Examples
    --------
    >>> journal, places = Journal(), {"high": 1}
    >>> try:
    ...     with journal.attempt():
    ...         journal.keep(places, "high", 2)
    ...         raise ValueError
    ... except ValueError:
    ...     places
    {'high': 1}
    """

    def __init__(self) -> None:
        self._back: list[Callable[[], object]] = []

    def note(self, back: Callable[[], object]) -> None:
        """Note how a change that was just made is taken back."""
        self._back.append(back)

    def keep(self, values: dict[Any, Any], key: Any, value: Any) -> None:
        """Set a value that is there already."""
        before = values[key]
        values[key] = value
        self._back.append(lambda: values.__setitem__(key, before))

    def append(self, values: list[Any], value: Any) -> None:
        """Append a value."""
        values.append(value)
        self._back.append(values.pop)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Take back the changes of this block where it raises."""
        start = len(self._back)
        try:
            yield
        except BaseException:
            while len(self._back) > start:
                self._back.pop()()
            raise


def by_index(connection: Connection) -> None:
    """Have sets of rows found by index until the transaction ends."""
    if connection.dialect.name == "postgresql" and _ALWAYS not in connection.info:
        connection.exec_driver_sql(_settings("SET LOCAL"))


def always_by_index(connection: Connection) -> None:
    """Have sets of rows found by index in all transactions of a connection to PostgreSQL.

    To be called in each transaction, as the connection may be another one by then.
    """
    if _ALWAYS not in connection.info:
        # A transaction that fails takes settings back, so this one is a transaction of its own.
        connection.exec_driver_sql(f"{_settings('SET')}; COMMIT; BEGIN")
        connection.info[_ALWAYS] = True


def _settings(how: str) -> str:
    return "; ".join(f"{how} {name} = {value}" for name, value in _BY_INDEX.items())


class Changes:
    """Insertions and updates of sets of rows, sent to PostgreSQL as one statement.

    `send` ends them: no row may be among them twice. SQLite, which is asked without a network in
    between, makes each at once.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.sqlite = connection.dialect.name == "sqlite"
        self._waiting: list[tuple[str, str, str, int]] = []

    def add(self, table: str, words: str, rows: str, count: int) -> None:
        """Add a statement that changes so many rows, given as one JSON text."""
        self._waiting.append((table, words, rows, count))
        if self.sqlite:
            self.send()

    def send(self) -> None:
        """Make the changes; raise `BrokenChain` where one finds more rows or fewer than it names.

        That is not expected under the lock; a lost change would leave no trace.
        """
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        tables, words, rows, expected = zip(*waiting, strict=True)
        counts: Sequence[int]
        if len(words) == 1:
            counts = [self._connection.exec_driver_sql(words[0], rows).rowcount]
        else:
            counts = self._connection.exec_driver_sql(_at_once(words), rows).one()
        for table, count, number in zip(tables, counts, expected, strict=True):
            if count != number:
                raise BrokenChain(
                    f"{count} rows of {table} were there to be changed, expected {number}: they "
                    "changed while they were locked."
                )


@lru_cache(maxsize=64)
def _at_once(statements: tuple[str, ...]) -> str:
    parts = ", ".join(f"w{n} AS ({one} RETURNING 1)" for n, one in enumerate(statements))
    counts = ", ".join(f"(SELECT count(*) FROM w{n})" for n in range(len(statements)))
    return f"WITH {parts} SELECT {counts}"


class RowSet:
    """Reading and writing of many rows of a table.

    Rows are tuples of `names`; what a column of JSON holds is given as its text.
    """

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        self._table = table
        self.names = tuple(names)

    def read(
        self,
        connection: Connection,
        keys: tuple[str, ...],
        values: Sequence[Any],
        *,
        condition: str = "",
        index: str = "",
        lock: str = "",
    ) -> Sequence[tuple[Any, ...]]:
        """Return the rows with one of some values of a key, or tuples of values of several.

        `condition`: of further columns, in the words of an index. `index`: to be used by SQLite.
        `lock`: words that lock rows of PostgreSQL, in the order of the values.
        """
        if not values:
            return ()
        sqlite = connection.dialect.name == "sqlite"
        words = self._reading(sqlite, keys, condition, index, lock)
        given: tuple[Any, ...]
        if sqlite:
            given = (json.dumps(values, separators=(",", ":")),)
        else:
            lists = [values] if len(keys) == 1 else zip(*values, strict=True)
            given = tuple(map(list, lists))
            place = _partition_key(self._table, keys)
            given += () if place is None else (min(given[place]), max(given[place]))
        return connection.exec_driver_sql(words, given).fetchall()

    def insert(self, changes: Changes, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows; none may be there."""
        if rows:
            words = _inserting(changes.sqlite, self._table, self.names)
            changes.add(self._table.name, words, self._text(changes.sqlite, rows), len(rows))

    def update(
        self, changes: Changes, keys: tuple[str, ...], rows: Sequence[tuple[Any, ...]]
    ) -> None:
        """Change all columns of rows, found by the values of `keys` that follow on the columns'.

        Raises `BrokenChain`, at the end of the changes, unless each is there once.
        """
        if rows:
            words = _updating(changes.sqlite, self._table, self.names, keys)
            given = self._text(changes.sqlite, rows, *(f"key_{name}" for name in keys))
            changes.add(self._table.name, words, given, len(rows))

    def _reading(
        self, sqlite: bool, keys: tuple[str, ...], condition: str, index: str, lock: str
    ) -> str:
        return _reading(sqlite, self._table, self.names, keys, condition, index, lock)

    def _text(self, sqlite: bool, rows: Sequence[tuple[Any, ...]], *extra: str) -> str:
        sent: Any = rows
        if not sqlite:
            names = (*self.names, *extra)
            sent = [dict(zip(names, row, strict=True)) for row in rows]
        return json.dumps(sent, ensure_ascii=False, separators=(",", ":"))


def _partition_key(table: Table, keys: tuple[str, ...]) -> int | None:
    """Return which of the keys divides a table into partitions; None where none does."""
    how = PARTITIONED.get(table.name)
    return None if how is None or how.count == 1 or how.key not in keys else keys.index(how.key)


@lru_cache(maxsize=256)
def _reading(
    sqlite: bool,
    table: Table,
    names: tuple[str, ...],
    keys: tuple[str, ...],
    condition: str,
    index: str,
    lock: str,
) -> str:
    columns = ", ".join(f"t.{name}" for name in names)
    more = f" AND t.{condition}" if condition else ""
    if sqlite:
        named = f" INDEXED BY {index}" if index else ""
        parts = ["r.value"] if len(keys) == 1 else [_part(place) for place in range(len(keys))]
        on = " AND ".join(f"t.{key} = {part}" for key, part in zip(keys, parts, strict=True))
        return (
            f"SELECT {columns} FROM json_each(?) AS r CROSS JOIN {table.name} AS t{named} "
            f"ON {on}{more}"
        )
    # Never `= ANY(...)`, which looks for every value in every partition; and a query for each
    # value, as a join can be turned around, to read all rows that fit the condition and compare.
    lists = ", ".join(["%s::text[]"] * len(keys))
    on = " AND ".join(f"t.{key} = r.{key}" for key in keys) + more
    place = _partition_key(table, keys)
    if place is not None:
        on += f" AND t.{keys[place]} >= %s AND t.{keys[place]} <= %s"
    return (
        f"SELECT t.* FROM unnest({lists}) AS r({', '.join(keys)}) CROSS JOIN LATERAL "
        f"(SELECT {columns} FROM {table.name} AS t WHERE {on} {lock or 'OFFSET 0'}) AS t"
    )


@lru_cache(maxsize=64)
def _inserting(sqlite: bool, table: Table, names: tuple[str, ...]) -> str:
    columns = ", ".join(names)
    if sqlite:
        values = ", ".join(_part(place) for place in range(len(names)))
        return f"INSERT INTO {table.name} ({columns}) SELECT {values} FROM json_each(?) AS r"
    values = ", ".join(_typed(table, name, name) for name in names)
    return f"INSERT INTO {table.name} ({columns}) SELECT {values} FROM {_records(table, names)}"


@lru_cache(maxsize=64)
def _updating(sqlite: bool, table: Table, names: tuple[str, ...], keys: tuple[str, ...]) -> str:
    if sqlite:
        changes = ", ".join(f"{name} = {_part(place)}" for place, name in enumerate(names))
        found = " AND ".join(
            f"{table.name}.{key} = {_part(len(names) + place)}" for place, key in enumerate(keys)
        )
        return f"UPDATE {table.name} SET {changes} FROM json_each(?) AS r WHERE {found}"
    changes = ", ".join(f"{name} = {_typed(table, name, name)}" for name in names)
    found = " AND ".join(f"{table.name}.{key} = r.key_{key}" for key in keys)
    records = _records(table, names, keys)
    return f"UPDATE {table.name} SET {changes} FROM {records} WHERE {found}"


def _part(place: int) -> str:
    return f"json_extract(r.value, '$[{place}]')"


def _typed(table: Table, column: str, name: str) -> str:
    return f"r.{name}::json" if isinstance(table.c[column].type, JSON) else f"r.{name}"


def _records(table: Table, names: tuple[str, ...], keys: tuple[str, ...] = ()) -> str:
    """Return the words for rows in a JSON text; JSON in it is a text of its own."""

    def kind(name: str) -> str:
        column = table.c[name]
        return "text" if isinstance(column.type, JSON) else column.type.compile(_POSTGRESQL)

    columns = [f"{name} {kind(name)}" for name in names]
    columns += [f"key_{name} {kind(name)}" for name in keys]
    return f"json_to_recordset(%s::json) AS r({', '.join(columns)})"
