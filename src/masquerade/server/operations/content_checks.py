"""Checks of the contents: ledger, frozen surveys, codes, audit logs, second parties, references.

The parts of divided tables of PostgreSQL have no foreign keys, as they change places while people
take part. SQLite has its own check of references.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import secrets
from collections.abc import Iterator, Mapping
from secrets import token_hex
from typing import Any, Final, cast

from sqlalchemy import Column, Connection, Engine, Row, Table, func, select, tuple_

from masquerade.accounting import Ledger
from masquerade.answers import Progress
from masquerade.errors import BrokenChain, MasqueradeError
from masquerade.exact.number import quantity
from masquerade.server.audit.audit_log import teams_with_entries, verify_chain
from masquerade.server.db.ledger_storage import LedgerTables
from masquerade.server.db.partitions import PARTITIONED, lock_for_reading, postgresql_metadata
from masquerade.server.db.party_tables import (
    APPROVED,
    BOUND,
    ENDED,
    FAILED,
    HELPER_TASK,
    SPLIT_REPORT,
    SPLIT_TASK,
)
from masquerade.server.db.tables import BALANCE, METADATA, PARTICIPATION, SUBMITTED, SURVEY
from masquerade.server.operations.database_checks import PROBLEM, CheckResult, ok, problem, warning
from masquerade.server.surveys.quotas import wrong_counts
from masquerade.surveys.split_task import SplitTask
from masquerade.surveys.survey import Survey

_MOST_TOLD = 20
#: Accounts that are looked at in one reading.
PAGE = 200
_UNREADABLE = (MasqueradeError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def ledger_findings(
    connection: Connection, *, progress: Progress | None = None, sample: bool = False
) -> Iterator[CheckResult]:
    """Yield the accounts with a broken chain, or with another balance than their entries give.

    Each page of accounts is a reading of its own, so that SQLite's log does not grow meanwhile; no
    transaction may be begun around it. `sample`: one page alone, from a place drawn at random.
    """
    whole = connection.scalar(select(func.count()).select_from(BALANCE)) if progress else 0
    count = broken = entries = 0
    last = secrets.token_hex(32) if sample else ""
    connection.rollback()
    while True:
        lock_for_reading(connection)
        # Also what a page remembers of accounts and costs ends with it.
        tables = LedgerTables(connection)
        # Nothing is written, so the day plays no part.
        ledger = Ledger(tables, clock=lambda: "1970-01-01")
        persons = tables.persons_after(last, PAGE)
        if sample and not persons and last:
            last = ""  # beyond the last one
            continue
        for person in persons:
            wrong, length = _account(ledger, tables, person)
            entries += length
            if wrong is not None:
                broken += 1
                if broken <= _MOST_TOLD:
                    yield problem("ledger", wrong)
        count += len(persons)
        connection.rollback()
        if progress is not None:
            progress(count, max(count, whole or 0))
        if sample or len(persons) < PAGE:
            break
        last = persons[-1]
    if broken > _MOST_TOLD:
        yield problem("ledger", f"{broken - _MOST_TOLD} more accounts are broken.")
    if not broken:
        who = quantity(count, "person", "people")
        said = f"{quantity(entries, 'entry', 'entries')} of {who}: every chain and balance holds"
        yield ok("ledger", f"{said}; others were not looked at." if sample else f"{said}.")


def survey_findings(connection: Connection) -> Iterator[CheckResult]:
    """Yield surveys with a definition changed since they opened, or with wrong quota counts."""
    query = select(SURVEY.c.token, SURVEY.c.definition, SURVEY.c.hash, SURVEY.c.state)
    count, wrong = 0, False
    for row in connection.execute(query.order_by(SURVEY.c.token)):
        if not row.hash or row.state == "draft":
            continue
        count += 1
        if row.hash not in _hashes(row.definition):
            wrong = True
            yield problem(
                "surveys",
                f"survey {row.token} was changed after it was opened: its definition does not have "
                "its hash. Restore a backup.",
            )
    for token in wrong_counts(connection):
        wrong = True
        yield problem(
            "surveys",
            f"the quotas of survey {token} count other people than have begun it. Set its quotas "
            "again, which counts anew.",
        )
    if not wrong:
        yield ok("surveys", _unchanged(count))


def _unchanged(count: int) -> str:
    """Return that all opened surveys have the definitions they were opened with."""
    if not count:
        return "none was opened yet."
    if count == 1:
        return "1 was opened, and its definition has not changed since."
    return f"{count} were opened, and their definitions have not changed since."


def _hashes(definition: Any) -> set[str]:
    """Return the hash of a definition; none where it cannot be read."""
    with contextlib.suppress(*_UNREADABLE):
        return {Survey.from_json(definition).content_hash()}
    return set()


def _account(ledger: Ledger, tables: LedgerTables, person: str) -> tuple[str | None, int]:
    """Return the fault of an account or None, and the number of its entries."""
    try:
        rebuilt = ledger.rebuild(person)
        stored = tables.balance(person)
    except BrokenChain as error:
        return str(error), 0
    except _UNREADABLE as error:
        return f"the entries of {person} cannot be read ({type(error).__name__}).", 0
    if stored is None:
        return f"the balance of {person} is gone, whose entries are there.", rebuilt.entries
    if stored != rebuilt:
        names = [n for n in stored._fields if getattr(stored, n) != getattr(rebuilt, n)]
        return (
            f"the balance of {person} ({', '.join(names)}) is not what the {rebuilt.entries} "
            "entries come to: it was changed, or entries were removed from the end. Restore a "
            "backup.",
            rebuilt.entries,
        )
    return None, rebuilt.entries


def audit_findings(connection: Connection) -> Iterator[CheckResult]:
    """Yield every audit log with a broken chain."""
    broken, entries = False, 0
    for team in teams_with_entries(connection):
        try:
            entries += verify_chain(connection, team)[0]
        except BrokenChain as error:
            broken = True
            yield problem("audit log", f"team {team}: {error} Restore a backup.")
    if not broken:
        yield ok("audit log", f"{quantity(entries, 'entry', 'entries')}: every chain holds.")


def integrity_of(engine: Engine) -> Mapping[str, object]:
    """Return whether everything holds; nothing in it names a person or an amount."""
    reading = engine
    if engine.dialect.name == "postgresql":
        reading = engine.execution_options(isolation_level="REPEATABLE READ")
    checks = {"ledger": ledger_findings, "audit_log": audit_findings}
    found = {}
    with reading.connect() as connection:
        lock_for_reading(connection)
        for name, check in checks.items():
            results = list(check(connection))
            # Counts alone: which person's chain it is, only whoever runs the server is told.
            wrong = sum(one.status == PROBLEM for one in results)
            said = f"{wrong} problems; masquerade doctor says which." if wrong else ""
            found[name] = {"holds": not wrong, "detail": said or results[0].detail}
    return {"holds": all(one["holds"] for one in found.values()), **found}


_NAME = "two parties"


def party_findings(connection: Connection) -> Iterator[CheckResult]:
    """Yield every survey between two parties with a task or reports that do not fit it."""
    query = select(SPLIT_TASK, SURVEY.c.definition).join(
        SURVEY, SURVEY.c.token == SPLIT_TASK.c.survey
    )
    bound = connection.execute(
        query.where(SPLIT_TASK.c.state.not_in(("proposed", "approved")))
    ).all()
    wrong = False
    for row in bound:
        for fault in _faults(connection, row):
            wrong = True
            yield problem(_NAME, f"survey {row.survey}: {fault}")
        if row.state == FAILED:
            yield warning(_NAME, f"survey {row.survey} could not be added up: {row.reason}")
        elif row.reason:
            yield warning(_NAME, f"survey {row.survey} waits: {row.reason}")
    helping = connection.execute(
        select(func.count()).select_from(HELPER_TASK).where(HELPER_TASK.c.state == APPROVED)
    ).scalar_one()
    if helping and bound:
        wrong = True
        yield problem(
            _NAME,
            "this database has surveys and tasks of a helper: whoever holds it has both halves of "
            "the answers. Give each party a database of its own.",
        )
    if not wrong:
        yield ok(
            _NAME,
            f"{quantity(len(bound), 'survey')} between two parties; helper of "
            f"{quantity(helping, 'approved task')}.",
        )


def _faults(connection: Connection, row: Row[tuple[object, ...]]) -> Iterator[str]:
    """Yield the faults of a survey's task and of its sealed reports."""
    configuration = base64.b64decode(row.configuration)
    if hashlib.sha256(configuration).hexdigest() != row.id:
        yield "its task was changed: it does not have its hash. Restore a backup."
    try:
        SplitTask.read(configuration, row.terms).check(Survey.from_json(row.definition))
    except MasqueradeError as error:
        yield f"its task is for another survey ({error}). Restore a backup."
    reports = (
        select(func.count()).select_from(SPLIT_REPORT).where(SPLIT_REPORT.c.survey == row.survey)
    )
    there = connection.execute(reports).scalar_one()
    if row.state in ENDED and there:
        left = quantity(there, "sealed report is", "sealed reports are")
        yield f"{left} left, although it has ended. Restart the server."
    responses = select(func.count()).where(
        PARTICIPATION.c.survey == row.survey, PARTICIPATION.c.state == SUBMITTED
    )
    sent = connection.execute(responses).scalar_one()
    if row.state == BOUND and sent != there:
        all_sent = quantity(sent, "response has", "responses have")
        yield f"{all_sent} {quantity(there, 'sealed report')}; some were lost. Restore a backup."


_CHECK: Final = "references"
#: Rows that are looked at in one reading.
_ROWS_AT_ONCE: Final = 10_000
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
                f"{quantity(orphans, f'row of {table.name} names', f'rows of {table.name} name')} "
                f"a {target.table.name} that is not there, as {min(missing)}. Restore a backup.",
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
        query = query.limit(SAMPLE if sample else _ROWS_AT_ONCE)
        if last is not None:
            query = query.where(tuple_(*keys[: len(last)]) > last)
        found = connection.execute(query).all()
        if sample and not found and last is not None:
            last = None  # beyond the last one
            continue
        yield [cast(str, row.named) for row in found if row.named is not None]
        if sample or len(found) < _ROWS_AT_ONCE:
            return
        last = tuple(found[-1][: len(keys)])


def _missing(connection: Connection, target: Column[Any], names: set[str]) -> set[str]:
    there = set(connection.scalars(select(target).where(target.in_(sorted(names)))))
    return names - there
