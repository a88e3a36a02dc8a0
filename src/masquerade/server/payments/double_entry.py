"""The book: every amount that comes somewhere leaves somewhere else, in one step.

::

    outside -> funds -> escrow -> held -> wages -> wallet -> clearing -> outside
                                          held -> commission

``funds`` is what a team can use, ``escrow`` what a survey may spend, ``held`` what is set aside for
people who have begun it. ``wages`` is always empty again at the end of a step: through it passes
what people earn, so that no transfer names a survey and a wallet together.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, bindparam, func, insert, select, update

from masquerade.errors import IdempotencyConflict, InsufficientFunds
from masquerade.server.db.payment_tables import BOOK_ACCOUNT, TRANSFER
from masquerade.server.db.transactions import insert_unless_there

OUTSIDE: Final = "external"
FUNDS, ESCROW, HELD = "funds", "escrow", "held"
WAGES, WALLET, COMMISSION, CLEARING = "wages", "wallet", "commission", "clearing"

# Always locked in the order of their names, so transfers in opposite directions cannot deadlock.
_STAND = (
    select(BOOK_ACCOUNT.c.id, BOOK_ACCOUNT.c.balance)
    .where(BOOK_ACCOUNT.c.id.in_(bindparam("both", expanding=True)))
    .order_by(BOOK_ACCOUNT.c.id)
    .with_for_update()
)
_KNOWN = select(TRANSFER).where(TRANSFER.c.key == bindparam("one"))


@dataclass(frozen=True, slots=True)
class AccountKey:
    """An account of a team's book."""

    team: str
    currency: str
    kind: str
    # A survey's token or a wallet's keyed name, where the team has several of a kind.
    holder: str = ""

    @property
    def id(self) -> str:
        """Name of the account's row."""
        # NUL is in none of the parts, so two places never have the same text.
        text = "\0".join((self.team, self.currency, self.kind, self.holder))
        return hashlib.sha256(text.encode()).hexdigest()


class MoneyLedger:
    """All books, within one transaction of the caller; `day` is the ISO date of what is moved."""

    def __init__(self, connection: Connection, *, day: str) -> None:
        self._connection = connection
        self._day = day

    def balance(self, account: AccountKey) -> int:
        """Return what is in an account."""
        query = select(BOOK_ACCOUNT.c.balance).where(BOOK_ACCOUNT.c.id == account.id)
        return int(self._connection.execute(query).scalar() or 0)

    def move(
        self,
        debit: AccountKey,
        credit: AccountKey,
        amount: int,
        *,
        what: str,
        key: str | None = None,
        note: str = "",
    ) -> bool:
        """Move an amount above 0 within one team and currency; return whether it was moved now.

        The same `key` again moves nothing; by default it is drawn.
        """
        assert amount > 0
        assert (debit.team, debit.currency) == (credit.team, credit.currency)
        values = {"debit": debit.id, "credit": credit.id, "amount": amount, "what": what}
        key = key or secrets.token_hex(32)
        # The locks first, then the key: who waited for the same transfer finds it done.
        stood = self._locked(debit, credit)
        known = self._connection.execute(_KNOWN, {"one": key}).first()
        if known is not None:
            if any(getattr(known, name) != value for name, value in values.items()):
                raise IdempotencyConflict(
                    "this idempotency key was used for another transfer; draw a new one."
                )
            return False
        # The outside world may owe: its negative balance is what was paid in.
        if debit.kind != OUTSIDE and stood[debit.id] < amount:
            raise InsufficientFunds(
                f"this takes {amount} {debit.currency} and there are {stood[debit.id]}.",
                needed=amount,
                there=stood[debit.id],
                currency=debit.currency,
            )
        for account, change in ((debit, -amount), (credit, amount)):
            self._connection.execute(
                update(BOOK_ACCOUNT)
                .where(BOOK_ACCOUNT.c.id == account.id)
                .values(balance=BOOK_ACCOUNT.c.balance + change)
            )
        self._connection.execute(
            insert(TRANSFER),
            {"id": secrets.token_hex(16), **values, "note": note, "key": key, "day": self._day},
        )
        return True

    def _locked(self, *accounts: AccountKey) -> dict[str, int]:
        """Return what is in accounts, which nobody else changes until the transaction ends."""
        wanted = {"both": [account.id for account in accounts]}
        rows = self._connection.execute(_STAND, wanted).all()
        if len(rows) < len(accounts):
            known = {row.id for row in rows}
            # In the order of the locks.
            for account in sorted(accounts, key=lambda account: account.id):
                if account.id not in known:
                    row = {
                        "id": account.id,
                        "team": account.team,
                        "currency": account.currency,
                        "kind": account.kind,
                        "holder": account.holder,
                        "balance": 0,
                    }
                    insert_unless_there(self._connection, BOOK_ACCOUNT, row)
            # Again with the lock: another may have inserted the row first, and changed it since.
            rows = self._connection.execute(_STAND, wanted).all()
        return {row.id: row.balance for row in rows}


def wrong_accounts(connection: Connection) -> tuple[list[str], int]:
    """Return what is wrong with balances and sums, in words, and how many accounts there are."""
    inflow, outflow = _sums(connection, TRANSFER.c.credit), _sums(connection, TRANSFER.c.debit)
    totals: dict[tuple[str, str], int] = {}
    wrong: list[str] = []
    count = 0
    for row in connection.execute(select(BOOK_ACCOUNT).order_by(BOOK_ACCOUNT.c.id)):
        count += 1
        account = f"{row.kind} of team {row.team} in {row.currency}"
        moved = inflow.get(row.id, 0) - outflow.get(row.id, 0)
        if moved != row.balance:
            wrong.append(f"{account} has {row.balance}, its transfers come to {moved}.")
        # Only the world outside may be in debt: it pays in before anybody is paid.
        if row.balance < 0 and row.kind != OUTSIDE:
            wrong.append(f"{account} is overspent.")
        # A balance here would join a survey with the wallets of those who answered it.
        if row.kind == WAGES and row.balance:
            wrong.append(f"{account} should be empty and has {row.balance}.")
        book = row.team, row.currency
        totals[book] = totals.get(book, 0) + row.balance
    # Every transfer takes from one account what it gives to another, so all of them sum to zero.
    wrong += [
        f"the book of team {team} in {currency} adds up to {total}, not to 0."
        for (team, currency), total in totals.items()
        if total
    ]
    return wrong, count


def _sums(connection: Connection, column: Any) -> dict[str, int]:
    query = select(column, func.sum(TRANSFER.c.amount)).group_by(column)
    return {row[0]: int(row[1]) for row in connection.execute(query)}
