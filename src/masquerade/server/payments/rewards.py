"""Rewards for taking part: money in a wallet, or a code that shows a panel that one has answered.

Money is set aside when people begin, and paid when they are done. What is paid follows from the
level alone, which is chosen before a question is shown. It is paid because reports have arrived,
whatever they are.

A completion code is made of the participant's secret and stored without a name, a level or a day.
So whoever holds the database cannot tell whose response belongs to a code, and sending again gives
the same one. The list of a survey's codes is shown once the survey is over: while it is open, a new
code in the list would tell whose response has just come.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, insert, select, update

from masquerade.errors import InsufficientFunds, ParameterError, QuotaFull, WrongState
from masquerade.server.db.payment_tables import CODE
from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.server.db.tables import SURVEY
from masquerade.server.db.transactions import Transactions, writes
from masquerade.server.payments.double_entry import (
    COMMISSION,
    ESCROW,
    FUNDS,
    HELD,
    WAGES,
    WALLET,
    AccountKey,
    MoneyLedger,
)
from masquerade.server.webhooks.deliveries import BUDGET_LOW, enqueue

NOTHING, IN_WALLET, BY_CODE = "none", "wallet", "codes"
#: The share of what a survey was given below which its team is told.
LOW_PERCENT = 20


#: How many codes can be checked at once.
MOST_AT_ONCE = 2000
VALID, USED, UNKNOWN = "valid", "checked-before", "unknown"

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: nothing looks like something else
_LENGTH, _GROUP = 16, 4
_MISREAD = str.maketrans("ILO", "110")


@dataclass(frozen=True, slots=True)
class Reward:
    """The reward of a survey; it cannot change once the survey is open."""

    kind: str  # ``"wallet"``: an amount that can be paid out; ``"codes"``: a completion code
    currency: str
    prices: dict[str, int]  # what a person gets, by level
    commission_percent: int = 0  # what the operator gets on top of each, rounded up
    given: int = 0  # what the survey was given to spend; all that can change of it, upwards

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Reward | None:
        """Return what `to_json` described."""
        return None if data is None else cls(**data)

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "kind": self.kind,
            "currency": self.currency,
            "prices": dict(self.prices),
            "commission_percent": self.commission_percent,
            "given": self.given,
        }

    @property
    def pays(self) -> bool:
        """Whether money moves."""
        return self.kind == IN_WALLET

    def paid(self, level: str) -> int:
        """Return what a person gets into the wallet."""
        return self.prices.get(level, 0) if self.pays else 0

    def commission(self, level: str) -> int:
        """Return what the operator gets for a person."""
        # Rounded up, to whole units, without floats.
        return -(-self.paid(level) * self.commission_percent // 100)

    def cost(self, level: str) -> int:
        """Return what a person costs the surveyor, all together."""
        return self.paid(level) + self.commission(level)


def reward_and_budget(
    kind: str,
    *,
    currency: str,
    prices: Mapping[str, int],
    people: Mapping[str, int],
    commission_percent: int,
) -> tuple[Reward | None, int]:
    """Return what a survey gives, and the money that this takes for so many people by level."""
    if kind == NOTHING:
        return None, 0
    amounts = {level: prices.get(level, 0) for level in people}
    reward = Reward(kind, currency.strip(), amounts, commission_percent)
    return reward, sum(count * reward.cost(level) for level, count in people.items())


@dataclass(frozen=True, slots=True)
class SurveyBudget:
    """The money of one survey."""

    team: str
    survey: str
    reward: Reward

    def account(self, kind: str, holder: str = "") -> AccountKey:
        """Return an account of the survey's team."""
        return AccountKey(self.team, self.reward.currency, kind, holder)

    @property
    def escrow(self) -> AccountKey:
        """The account of what it may still set aside."""
        return self.account(ESCROW, self.survey)

    @property
    def held(self) -> AccountKey:
        """The account of what is set aside for people who have begun it."""
        return self.account(HELD, self.survey)

    def fill(
        self, connection: Connection, amount: int, *, day: str, key: str | None = None
    ) -> bool:
        """Move an amount from the team's funds to the survey; see `MoneyLedger.move`."""
        if amount == 0:
            return False
        money = MoneyLedger(connection, day=day)
        moved = money.move(
            self.account(FUNDS), self.escrow, amount, what="escrow", key=key, note=self.survey
        )
        if moved:
            reward = replace(self.reward, given=self.reward.given + amount)
            change = update(SURVEY).where(SURVEY.c.token == self.survey)
            # In the transaction of the transfer, so that `given` is always what the book says.
            connection.execute(change.values(reward=reward.to_json()))
        return moved

    def hold(
        self, connection: Connection, who: Pseudonyms, level: str, attempt: int, *, day: str
    ) -> None:
        """Set aside what somebody will get, or raise `QuotaFull` where there is not enough."""
        cost = self.reward.cost(level)
        if not cost:
            return
        money = MoneyLedger(connection, day=day)
        key = who.transfer(self.survey, "hold", attempt)
        try:
            money.move(self.escrow, self.held, cost, what="hold", key=key)
        except InsufficientFunds:
            raise QuotaFull(
                "this survey has no money left to pay you at this level. You were shown no "
                "question and nothing was charged."
            ) from None
        if 100 * money.balance(self.escrow) < LOW_PERCENT * self.reward.given:
            # The amount given is part of the name: after a top-up the team can be told once more.
            about = f"{BUDGET_LOW} {self.survey} {self.reward.given}"
            enqueue(connection, self.team, BUDGET_LOW, survey=self.survey, about=about, day=day)

    def pay(
        self, connection: Connection, who: Pseudonyms, level: str, attempt: int, *, day: str
    ) -> None:
        """Pay what was set aside for somebody."""
        amount, commission = self.reward.paid(level), self.reward.commission(level)
        money = MoneyLedger(connection, day=day)

        def key(step: str) -> str:
            return who.transfer(self.survey, step, attempt)

        if amount:
            # In two steps, so that no row names both the survey and the wallet.
            wages = self.account(WAGES)
            money.move(self.held, wages, amount, what="pay", key=key("pay"))
            wallet = self.account(WALLET, who.wallet(self.team))
            money.move(wages, wallet, amount, what="earned", key=key("earned"))
        if commission:
            due = self.account(COMMISSION)
            money.move(self.held, due, commission, what="commission", key=key("commission"))

    def release(self, connection: Connection, level: str, count: int, *, day: str) -> None:
        """Take back what was set aside for people who will not be paid.

        Where all of it was taken back before, because the survey is over, nothing is moved.
        """
        cost = self.reward.cost(level) * count
        money = MoneyLedger(connection, day=day)
        if cost and money.balance(self.held) >= cost:
            money.move(self.held, self.escrow, cost, what="release")

    def settle(self, connection: Connection, *, keep: int, day: str) -> None:
        """Give the team back all that is left, but for `keep` of what is set aside."""
        money = MoneyLedger(connection, day=day)
        # First back to `escrow`, then all of that to the team, so that the team sees one refund.
        rest = money.balance(self.held) - keep
        if rest > 0:
            money.move(self.held, self.escrow, rest, what="release")
        left = money.balance(self.escrow)
        if left:
            money.move(self.escrow, self.account(FUNDS), left, what="refund", note=self.survey)


def budget_of_survey(connection: Connection, survey: str) -> SurveyBudget | None:
    """Return the money of a survey; None where it moves none."""
    columns = (SURVEY.c.team, SURVEY.c.reward)
    row = connection.execute(select(*columns).where(SURVEY.c.token == survey)).first()
    reward = None if row is None else Reward.from_json(row.reward)
    if row is None or reward is None or not reward.pays:
        return None
    return SurveyBudget(row.team, survey, reward)


@dataclass(frozen=True, slots=True)
class CompletionCode:
    """A completion code, and whether it was checked off."""

    code: str
    checked: bool


@dataclass(frozen=True, slots=True)
class Codes:
    """The completion codes of a survey."""

    # given, checked: how many people have one; how many were checked off.
    given: int
    checked: int
    # In an order that says nothing; None while the survey takes responses.
    codes: list[CompletionCode] | None


def code_of(who: Pseudonyms, survey: str) -> str:
    """Return the code of a participant for a survey: 80 bits, in four groups."""
    # 20 hexadecimal digits are 80 bits, which are 16 letters of 5 bits exactly.
    number = int(who.completion(survey)[:20], 16)
    letters = ""
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        letters += _ALPHABET[digit]
    return "-".join(letters[i : i + _GROUP] for i in range(0, _LENGTH, _GROUP))


def give_code(connection: Connection, survey: str, code: str) -> None:
    """Make a code valid, within a transaction that accepts a response for the first time."""
    connection.execute(insert(CODE), {"survey": survey, "code": code, "checked": False})


def written(typed: str) -> str:
    """Return a code as it is kept, however it was typed.

    Examples
    --------
    >>> written(" 0o1i abcd-efgh-jkmn")
    '0011-ABCD-EFGH-JKMN'
    """
    letters = re.sub(r"[\s-]+", "", typed).upper().translate(_MISREAD)
    return "-".join(letters[i : i + _GROUP] for i in range(0, len(letters), _GROUP))


class CompletionCodes:
    """The codes of all surveys."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def of_survey(self, survey: str, *, over: bool) -> Codes:
        """Return what a surveyor may see of a survey's codes; which, once it is over."""
        query = select(CODE.c.code, CODE.c.checked).where(CODE.c.survey == survey)
        # By the code itself, which is random: the order says nothing about who came when.
        rows = self._transactions.read(lambda c: c.execute(query.order_by(CODE.c.code)).all())
        codes = [CompletionCode(row.code, bool(row.checked)) for row in rows]
        return Codes(len(codes), sum(one.checked for one in codes), codes if over else None)

    @writes
    def check(
        self, connection: Connection, survey: str, reward: Reward | None, typed: Sequence[str]
    ) -> list[tuple[str, str]]:
        """Check codes off; return each with whether it is valid, was checked before, or unknown.

        A code that comes twice in one list is valid the first time.
        """
        codes = [written(one) for one in typed if one.strip()]
        if not 0 < len(codes) <= MOST_AT_ONCE:
            raise ParameterError(f"{len(codes)} codes were given; give 1 to {MOST_AT_ONCE}.")
        if reward is None or reward.kind != BY_CODE:
            raise WrongState("this survey gives no completion codes.")
        return [(code, _check(connection, survey, code)) for code in codes]


def _check(connection: Connection, survey: str, code: str) -> str:
    # Anything else cannot be there, and a database may refuse to look for it.
    if len(code) > 32 or not code.isascii() or "\0" in code:
        return UNKNOWN
    mine = (CODE.c.survey == survey) & (CODE.c.code == code)
    # One conditional update: of two who check the same code at once, one is told that it is valid.
    first = update(CODE).where(mine, CODE.c.checked.is_(False)).values(checked=True)
    if connection.execute(first).rowcount == 1:
        return VALID
    return USED if connection.execute(select(CODE.c.code).where(mine)).first() else UNKNOWN
