"""Rewards for taking part: money is set aside when people begin, and paid when they are done.

What is paid follows from the level alone, which is chosen before a question is shown. It is paid
because reports have arrived, whatever they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, select, update

from masquerade.errors import InsufficientFunds, QuotaFull
from masquerade.server.db.pseudonyms import Identity
from masquerade.server.db.tables import SURVEY
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
from masquerade.server.webhooks.webhooks import BUDGET_LOW, enqueue

NOTHING, IN_WALLET, BY_CODE = "none", "wallet", "codes"
#: The share of what a survey was given below which its team is told.
LOW_PERCENT = 20


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
    """Return what a survey gives, and the money that this takes.

    `prices`: what a person gets, by level.
    `people`: how many are expected to take part at each level.
    """
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
        self, connection: Connection, who: Identity, level: str, attempt: int, *, day: str
    ) -> None:
        """Set aside what somebody will get.

        Raises `QuotaFull` (there is not enough left).
        """
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
        self, connection: Connection, who: Identity, level: str, attempt: int, *, day: str
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
