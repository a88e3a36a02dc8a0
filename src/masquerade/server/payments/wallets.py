"""Wallets: what participants are owed, and their payout requests, which tell no answer.

A wallet is of one person and one team. Its name is made of the person's secret, so that it leads
neither to a response nor to the ledger nor to a wallet of another team. A wish to be paid names no
wallet: only the amount went over.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from masquerade.errors import IdempotencyConflict, NotFound, ParameterError, WrongState
from masquerade.server.db.account_tables import TEAM
from masquerade.server.db.payment_tables import BOOK_ACCOUNT, PAYOUT
from masquerade.server.db.pseudonyms import Pseudonyms, keyed
from masquerade.server.db.transactions import Service, reads, writes
from masquerade.server.payments.double_entry import CLEARING, WALLET, AccountKey, MoneyLedger

ASKED, PAID, REFUSED, TAKEN_BACK = "asked", "paid", "refused", "taken-back"
LONGEST_DESTINATION = 300


@dataclass(frozen=True, slots=True)
class Wallet:
    """A wallet: the amount that a team owes a person."""

    # payer, name: the team, and what it is called.
    payer: str
    name: str
    currency: str
    balance: int


@dataclass(frozen=True, slots=True)
class Payout:
    """A payout request."""

    id: str
    payer: str
    currency: str
    amount: int
    destination: str
    state: str
    day: str


class Wallets(Service):
    """The wallets of all participants."""

    @reads
    def of(self, connection: Connection, who: Pseudonyms) -> tuple[list[Wallet], list[Payout]]:
        """Return what a person is owed, and what they asked to have paid."""
        teams = {row.id: row.name for row in connection.execute(select(TEAM))}
        # No row leads from a person to wallets: their names are made from the secret, team by
        # team.
        names = {who.wallet(team): team for team in teams}
        query = select(BOOK_ACCOUNT).where(
            BOOK_ACCOUNT.c.kind == WALLET,
            BOOK_ACCOUNT.c.team.in_(teams),
            BOOK_ACCOUNT.c.holder.in_(names),
        )
        wallets = [
            Wallet(row.team, teams[row.team], row.currency, row.balance)
            for row in connection.execute(
                query.order_by(BOOK_ACCOUNT.c.team, BOOK_ACCOUNT.c.currency)
            )
        ]
        payees = [who.payee(team) for team in teams]
        mine = select(PAYOUT).where(PAYOUT.c.payee.in_(payees))
        rows = connection.execute(mine.order_by(PAYOUT.c.day.desc(), PAYOUT.c.id))
        return wallets, [payout_of(row) for row in rows]

    @writes
    def ask(
        self,
        connection: Connection,
        who: Pseudonyms,
        *,
        payer: str,
        currency: str,
        amount: int | None,
        destination: str,
        idempotency_key: str,
    ) -> tuple[Payout, bool]:
        """Ask a team to pay out an amount, by default all; return whether it was asked for now.

        `destination`: where to pay to, in words for those who pay; deleted once they have.
        """
        said = destination.strip()
        if not 0 < len(said) <= LONGEST_DESTINATION or not said.isprintable():
            raise ParameterError(
                f"where to pay to is {said[:40]!r}, expected 1 to {LONGEST_DESTINATION} visible "
                "letters on one line."
            )
        key = who.idempotency(f"payout {idempotency_key}")
        # Made of the secret and the key: the same request again finds its own row.
        id_ = key[:32]

        # The lookup comes before the balance, which the first request has changed.
        known = connection.execute(select(PAYOUT).where(PAYOUT.c.id == id_)).first()
        if known is not None:
            if (known.team, known.currency) != (payer, currency) or (
                amount is not None and known.amount != amount
            ):
                raise IdempotencyConflict(
                    "this idempotency key was used for another payout; draw a new one."
                )
            return payout_of(known), False
        wallet = AccountKey(payer, currency, WALLET, who.wallet(payer))
        money = MoneyLedger(connection, day=self._today())
        if not _is_account(connection, wallet):
            raise NotFound("there is no such wallet of yours.")
        wanted = money.balance(wallet) if amount is None else amount
        if wanted < 1:
            raise ParameterError("there is nothing to pay out.")
        money.move(wallet, AccountKey(payer, currency, CLEARING), wanted, what="payout", key=key)
        row: dict[str, Any] = {
            "id": id_,
            "team": payer,
            "payee": who.payee(payer),
            "currency": currency,
            "amount": wanted,
            "destination": said,
            "state": ASKED,
            "day": self._today(),
        }
        connection.execute(insert(PAYOUT), row)
        return Payout(id_, payer, currency, wanted, said, ASKED, row["day"]), True

    @writes
    def take_back(self, connection: Connection, who: Pseudonyms, payout: str) -> Payout:
        """Put a payout that was refused, or is still waiting, back into the wallet."""
        row = held_payout(connection, payout)
        if not secrets.compare_digest(row.payee, who.payee(row.team)):
            raise NotFound("there is no such payout of yours.")
        if row.state == PAID:
            raise WrongState("this was paid out already.", state=row.state)
        if row.state != TAKEN_BACK:
            money = MoneyLedger(connection, day=self._today())
            # Named anew from the secret; the payout itself does not say which wallet it came
            # from.
            wallet = AccountKey(row.team, row.currency, WALLET, who.wallet(row.team))
            clearing = AccountKey(row.team, row.currency, CLEARING)
            key = keyed(who.key, f"taken back:{row.id}:{who.secret}")
            money.move(clearing, wallet, row.amount, what="taken_back", key=key)
            end_payout(connection, row.id, TAKEN_BACK)
        return payout_of(row, state=TAKEN_BACK)


def held_payout(connection: Connection, payout: str, *, team: str | None = None) -> Any:
    """Return the row of a payout, with `team` one of its own, locked for this transaction."""
    query = select(PAYOUT).where(PAYOUT.c.id == payout).with_for_update()
    # Other texts are no ids, and PostgreSQL refuses some of them, such as NUL, with an error.
    possible = payout.isascii() and payout.isalnum()
    row = connection.execute(query).first() if possible else None
    if row is None or team not in (None, row.team):
        raise NotFound("there is no such payout.")
    return row


def end_payout(connection: Connection, payout: str, state: str) -> None:
    """Change a payout's state and forget where it was to be paid."""
    connection.execute(
        update(PAYOUT).where(PAYOUT.c.id == payout).values(state=state, destination="")
    )


def payout_of(row: Any, *, state: str | None = None) -> Payout:
    """Return the payout in a row of its table."""
    now = state or row.state
    destination = row.destination if now == ASKED else ""
    return Payout(row.id, row.team, row.currency, row.amount, destination, now, row.day)


def _is_account(connection: Connection, account: AccountKey) -> bool:
    possible = "\0" not in account.currency and "\0" not in account.team
    query = select(BOOK_ACCOUNT.c.id).where(BOOK_ACCOUNT.c.id == account.id)
    return possible and connection.execute(query).first() is not None
