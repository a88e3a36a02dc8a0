"""Whether what is kept still holds: the ledger, the book of money, and the audit logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Engine, func, select

from masquerade.errors import BrokenChain
from masquerade.server.audit.audit_log import teams_with_entries, verify_chain
from masquerade.server.db.payment_tables import BookAccountRow, BookTransferRow
from masquerade.server.db.tables import table_of
from masquerade.server.operations.check_result import OK, PROBLEM, Finding
from masquerade.server.operations.content_checks import ledger_findings
from masquerade.server.payments.double_entry import OUTSIDE, WAGES

_ACCOUNT, _TRANSFER = table_of(BookAccountRow), table_of(BookTransferRow)
_MOST_TOLD = 20


def book_findings(connection: Connection) -> Iterator[Finding]:
    """Yield every account that is not what its transfers come to, and books that do not add up."""
    came = _sums(connection, _TRANSFER.c.credit)
    went = _sums(connection, _TRANSFER.c.debit)
    totals: dict[tuple[str, str], int] = {}
    wrong: list[str] = []
    count = 0
    for row in connection.execute(select(_ACCOUNT).order_by(_ACCOUNT.c.id)):
        count += 1
        place = f"{row.kind} of team {row.team} in {row.currency}"
        moved = came.get(row.id, 0) - went.get(row.id, 0)
        if moved != row.balance:
            wrong.append(f"{place} has {row.balance}, its transfers come to {moved}.")
        if row.balance < 0 and row.kind != OUTSIDE:
            wrong.append(f"{place} is overspent.")
        if row.kind == WAGES and row.balance:
            wrong.append(f"{place} should be empty and has {row.balance}.")
        book = row.team, row.currency
        totals[book] = totals.get(book, 0) + row.balance
    wrong += [
        f"the book of team {team} in {currency} adds up to {total}, not to 0."
        for (team, currency), total in totals.items()
        if total
    ]
    for what in wrong[:_MOST_TOLD]:
        yield Finding("book", PROBLEM, f"{what} Restore a backup.")
    if len(wrong) > _MOST_TOLD:
        yield Finding("book", PROBLEM, f"{len(wrong) - _MOST_TOLD} more accounts are wrong.")
    if not wrong:
        yield Finding("book", OK, f"{count} accounts: every balance holds, every book adds up.")


def audit_findings(connection: Connection) -> Iterator[Finding]:
    """Yield every audit log whose chain is broken."""
    broken, entries = False, 0
    for team in teams_with_entries(connection):
        try:
            entries += verify_chain(connection, team)[0]
        except BrokenChain as error:
            broken = True
            yield Finding("audit log", PROBLEM, f"team {team}: {error} Restore a backup.")
    if not broken:
        yield Finding("audit log", OK, f"{entries} entries: every chain holds.")


def integrity_of(engine: Engine) -> dict[str, Any]:
    """Return whether everything holds, for those who may know that and no more.

    Nothing in it names a person, a wallet or an amount.
    """
    reading = engine
    if engine.dialect.name == "postgresql":
        reading = engine.execution_options(isolation_level="REPEATABLE READ")
    checks = {
        "ledger": ledger_findings,
        "book": book_findings,
        "audit_log": audit_findings,
    }
    found = {}
    with reading.connect() as connection, connection.begin():
        for name, check in checks.items():
            results = list(check(connection))
            wrong = sum(one.status == PROBLEM for one in results)
            said = f"{wrong} problems; masquerade doctor says which." if wrong else ""
            found[name] = {"holds": not wrong, "detail": said or results[0].detail}
    return {"holds": all(one["holds"] for one in found.values()), **found}


def _sums(connection: Connection, column: Any) -> dict[str, int]:
    query = select(column, func.sum(_TRANSFER.c.amount)).group_by(column)
    return {row[0]: int(row[1]) for row in connection.execute(query)}
