"""A team's money: paid in, set aside for surveys, owed to participants, paid out."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, select

from masquerade.errors import ParameterError, WrongState
from masquerade.server.db.payment_tables import BOOK_ACCOUNT, PAYOUT, TRANSFER
from masquerade.server.db.tables import OPEN, SURVEY
from masquerade.server.db.transactions import Service, writes
from masquerade.server.payments.double_entry import (
    CLEARING,
    COMMISSION,
    ESCROW,
    FUNDS,
    HELD,
    OUTSIDE,
    WALLET,
    AccountKey,
    MoneyLedger,
)
from masquerade.server.payments.rewards import budget_of_survey
from masquerade.server.payments.wallets import (
    ASKED,
    PAID,
    REFUSED,
    Payout,
    end_payout,
    held_payout,
    payout_of,
)

LARGEST_AMOUNT = 10**12
LONGEST_CURRENCY, LONGEST_NOTE = 16, 200
# A spreadsheet takes a cell that begins with one of these for a formula, and runs it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass
class FundsBalance:
    """A team's money in one currency."""

    currency: str
    free: int = 0  # neither in a survey nor owed
    # in_surveys, held: what surveys may still spend, and have set aside for people who have begun.
    in_surveys: int = 0
    held: int = 0
    owed: int = 0  # in participants' wallets
    waiting: int = 0  # asked to be paid out
    commission: int = 0  # due to the operator
    paid_in: int = 0  # what came from outside, less what went back there


@dataclass(frozen=True, slots=True)
class SurveyMoney:
    """A survey's money."""

    token: str
    title: str
    state: str
    currency: str
    # given, left, held, spent: what it got, may still set aside, has set aside, and has paid.
    given: int
    left: int
    held: int
    spent: int


@dataclass(frozen=True, slots=True)
class StatementLine:
    """A line of the history: one kind of transfer on one day, summed over participants."""

    day: str
    what: str
    currency: str
    note: str
    amount: int
    count: int


@dataclass
class Overview:
    """Everything that a team may know of its money."""

    balances: list[FundsBalance] = field(default_factory=list)
    surveys: list[SurveyMoney] = field(default_factory=list)
    payouts: list[Payout] = field(default_factory=list)
    history: list[StatementLine] = field(default_factory=list)


_OF_KIND = {
    FUNDS: "free",
    ESCROW: "in_surveys",
    HELD: "held",
    WALLET: "owed",
    CLEARING: "waiting",
    COMMISSION: "commission",
    OUTSIDE: "paid_in",
}


class Funds(Service):
    """The money of all teams."""

    def pay_in(self, team: str, *, amount: int, currency: str, note: str, key: str) -> bool:
        """Write down that money came from outside; return whether it was written down now.

        `amount`: whole units; write ``EUR cent`` as the currency to count in cents.
        """
        check_amount(amount)
        currency, note = check_currency(currency), check_note(note)
        here, there = AccountKey(team, currency, FUNDS), AccountKey(team, currency, OUTSIDE)
        # The team is part of the key, so that the keys of two teams never meet.
        return self._move(there, here, amount, what="deposit", key=f"{team} {key}", note=note)

    def take_out(self, team: str, *, amount: int, currency: str, note: str, key: str) -> bool:
        """Write down that free money went back outside; see `pay_in`."""
        check_amount(amount)
        currency, note = check_currency(currency), check_note(note)
        here, there = AccountKey(team, currency, FUNDS), AccountKey(team, currency, OUTSIDE)
        return self._move(here, there, amount, what="withdrawal", key=f"{team} {key}", note=note)

    @writes
    def top_up(
        self, connection: Connection, team: str, survey: str, amount: int, *, key: str
    ) -> bool:
        """Give an open survey that pays more to spend; return whether that was done now."""
        check_amount(amount)
        state = connection.execute(
            # The row of the survey before the accounts of the book, so that it does not close
            # in between.
            select(SURVEY.c.state).where(SURVEY.c.token == survey).with_for_update()
        ).scalar_one()
        survey_budget = budget_of_survey(connection, survey)
        if state != OPEN or survey_budget is None:
            raise WrongState("only an open survey that pays into wallets takes more money.")
        return survey_budget.fill(
            connection, amount, day=self._today(), key=_digest(f"{team} {key}")
        )

    @writes
    def settle_payouts(
        self, connection: Connection, team: str, payouts: Sequence[str], *, paid: bool
    ) -> int:
        """Say that payouts were made, or will not be; return how many were changed.

        All or none are changed. A refused one can be taken back by whoever asked for it.
        """
        wanted = PAID if paid else REFUSED
        changed = 0
        # In a fixed order: two lists with the same payouts cannot deadlock.
        for payout in sorted(set(payouts)):
            row = held_payout(connection, payout, team=team)
            if row.state == wanted:
                continue
            if row.state != ASKED:
                raise WrongState(f"this payout is {row.state}.", state=row.state)
            # What is refused stays in `clearing`: only the person's secret can name the wallet
            # to which it goes back.
            if paid:
                money = MoneyLedger(connection, day=self._today())
                clearing = AccountKey(team, row.currency, CLEARING)
                outside = AccountKey(team, row.currency, OUTSIDE)
                key = _digest(f"paid out {row.id}")
                money.move(clearing, outside, row.amount, what="paid_out", key=key)
            end_payout(connection, row.id, wanted)
            changed += 1
        return changed

    def payouts(self, team: str) -> list[Payout]:
        """Return what a team is asked to pay out."""
        return self._transactions.read(lambda c: _payouts(c, team))

    def payouts_csv(self, team: str) -> str:
        """Return what a team is asked to pay out as CSV, safe to open as a spreadsheet."""
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow(("payout", "asked", "amount", "currency", "destination"))
        for one in self.payouts(team):
            texts = (one.currency, one.destination)
            safe = ["'" + text if text.startswith(_FORMULA) else text for text in texts]
            writer.writerow((one.id, one.day, one.amount, *safe))
        return file.getvalue()

    def overview(self, team: str) -> Overview:
        """Return everything that a team may know of its money."""
        return self._transactions.read(lambda c: _overview(c, team))

    @writes
    def _move(
        self,
        connection: Connection,
        debit: AccountKey,
        credit: AccountKey,
        amount: int,
        *,
        what: str,
        key: str,
        note: str,
    ) -> bool:
        money = MoneyLedger(connection, day=self._today())
        return money.move(debit, credit, amount, what=what, key=_digest(key), note=note)


def check_amount(amount: int) -> None:
    """Raise `ParameterError` where an amount is not a whole number in its range."""
    if not 0 < amount <= LARGEST_AMOUNT:
        raise ParameterError(
            f"the amount is {amount}, expected a whole number from 1 to {LARGEST_AMOUNT}."
        )


def check_currency(currency: str) -> str:
    """Return the name of a currency without spaces around it; raise `ParameterError`."""
    kept = currency.strip()
    if not 0 < len(kept) <= LONGEST_CURRENCY or not kept.isprintable():
        raise ParameterError(
            f"the currency is {kept[:40]!r}, expected 1 to {LONGEST_CURRENCY} visible letters."
        )
    return kept


def check_note(note: str) -> str:
    """Return a note without spaces around it; raise `ParameterError`."""
    kept = note.strip()
    if len(kept) > LONGEST_NOTE or not (kept.isprintable() or not kept):
        raise ParameterError(f"the note is longer than {LONGEST_NOTE} visible letters.")
    return kept


def _payouts(connection: Connection, team: str) -> list[Payout]:
    query = select(PAYOUT).where(PAYOUT.c.team == team, PAYOUT.c.state == ASKED)
    query = query.order_by(PAYOUT.c.day, PAYOUT.c.id)
    return [payout_of(row) for row in connection.execute(query)]


def _overview(connection: Connection, team: str) -> Overview:
    balances: dict[str, FundsBalance] = {}
    at: dict[tuple[str, str], int] = {}
    query = (
        select(
            BOOK_ACCOUNT.c.currency,
            BOOK_ACCOUNT.c.kind,
            func.sum(BOOK_ACCOUNT.c.balance).label("balance"),
        )
        .where(BOOK_ACCOUNT.c.team == team)
        .group_by(BOOK_ACCOUNT.c.currency, BOOK_ACCOUNT.c.kind)
    )
    for row in connection.execute(query):
        balance = balances.setdefault(row.currency, FundsBalance(row.currency))
        name = _OF_KIND.get(row.kind)
        if name is not None:
            # The outside account falls below zero by what came in.
            sign = -1 if row.kind == OUTSIDE else 1
            setattr(balance, name, sign * int(row.balance))
    purses = select(BOOK_ACCOUNT).where(
        BOOK_ACCOUNT.c.team == team, BOOK_ACCOUNT.c.kind.in_((ESCROW, HELD))
    )
    for row in connection.execute(purses):
        at[row.kind, row.holder] = row.balance
    return Overview(
        [balances[currency] for currency in sorted(balances)],
        _surveys(connection, team, at),
        _payouts(connection, team),
        _history(connection, team),
    )


def _surveys(
    connection: Connection, team: str, at: dict[tuple[str, str], int]
) -> list[SurveyMoney]:
    tokens = {token for _, token in at}
    query = select(SURVEY.c.token, SURVEY.c.title, SURVEY.c.state, SURVEY.c.reward).where(
        SURVEY.c.team == team, SURVEY.c.token.in_(tokens)
    )
    paid = (
        select(BOOK_ACCOUNT.c.holder, func.sum(TRANSFER.c.amount).label("amount"))
        .join(TRANSFER, TRANSFER.c.debit == BOOK_ACCOUNT.c.id)
        .where(
            BOOK_ACCOUNT.c.team == team,
            BOOK_ACCOUNT.c.kind == HELD,
            TRANSFER.c.what.in_(("pay", "commission")),
        )
        .group_by(BOOK_ACCOUNT.c.holder)
    )
    spent = {row.holder: int(row.amount) for row in connection.execute(paid)}
    found = [
        SurveyMoney(
            row.token,
            row.title,
            row.state,
            row.reward["currency"],
            row.reward["given"],
            at.get((ESCROW, row.token), 0),
            at.get((HELD, row.token), 0),
            spent.get(row.token, 0),
        )
        for row in connection.execute(query)
    ]
    return sorted(found, key=lambda one: (one.state != OPEN, one.title, one.token))


def _history(connection: Connection, team: str, *, limit: int = 200) -> list[StatementLine]:
    """Return what was moved, newest days first; what concerns participants added up by day."""
    debit = BOOK_ACCOUNT.alias()
    query: Any = (
        select(
            TRANSFER.c.day,
            TRANSFER.c.what,
            debit.c.currency,
            TRANSFER.c.note,
            func.sum(TRANSFER.c.amount).label("amount"),
            func.count().label("times"),
        )
        .join(debit, debit.c.id == TRANSFER.c.debit)
        # `earned` is the second half of `pay` (`SurveyBudget.pay`); with it the sum would double.
        .where(debit.c.team == team, TRANSFER.c.what != "earned")
        .group_by(TRANSFER.c.day, TRANSFER.c.what, debit.c.currency, TRANSFER.c.note)
        .order_by(TRANSFER.c.day.desc(), TRANSFER.c.what, debit.c.currency, TRANSFER.c.note)
        .limit(limit)
    )
    return [
        StatementLine(row.day, row.what, row.currency, row.note, int(row.amount), row.times)
        for row in connection.execute(query)
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
