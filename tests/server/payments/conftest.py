"""A team with money, and surveys that give something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.surveys.small_surveys import define

from masquerade.server import Services
from masquerade.server.db.payment_tables import BOOK_ACCOUNT, TRANSFER
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.payments.double_entry import AccountKey, MoneyLedger
from masquerade.server.payments.rewards import Reward
from masquerade.server.surveys.survey_records import SurveyRecord


@dataclass
class Till:
    """A store's money, and surveys that spend it."""

    services: Services

    def pay_in(self, amount: int, key: str = "k") -> None:
        """Give the first team some money."""
        self.services.funds.pay_in(FIRST_TEAM, amount=amount, currency="credits", note="", key=key)

    def paying(self, budget: int, *, commission: int = 0, kind: str = "wallet") -> SurveyRecord:
        """Open a survey that gives 8 at medium and 5 at high."""
        reward = Reward(kind, "credits", {"medium": 8, "high": 5}, commission)
        return self.services.surveys.open_survey(
            define(levels=("high", "medium")), reward=reward, budget=budget
        )

    def at(self, kind: str, holder: str = "") -> int:
        """Return what is in an account of the first team."""
        with self.services.engine.connect() as connection:
            money = MoneyLedger(connection, day="2026-03-14")
            return money.balance(AccountKey(FIRST_TEAM, "credits", kind, holder))

    def wallet(self, device: Any) -> int:
        """Return what somebody is owed."""
        wallets, _ = self.services.wallets.of(self.services.identity(device.participant))
        return sum(one.balance for one in wallets)

    def holds(self) -> bool:
        """Return whether all accounts add up to nothing, and each is what its transfers say."""
        with self.services.engine.connect() as connection:
            total = connection.scalar(select(func.sum(BOOK_ACCOUNT.c.balance))) or 0
            for row in connection.execute(select(BOOK_ACCOUNT)):
                came = select(func.coalesce(func.sum(TRANSFER.c.amount), 0))
                into = connection.scalar(came.where(TRANSFER.c.credit == row.id))
                out = connection.scalar(came.where(TRANSFER.c.debit == row.id))
                if int(into or 0) - int(out or 0) != row.balance:
                    return False
                if row.balance < 0 and row.kind != "external":
                    return False
        return total == 0


MakeTill = Callable[[Services], Till]


@pytest.fixture
def till(services: Services) -> Till:
    """A till on each kind of database."""
    return Till(services)


@pytest.fixture
def sqlite_till(sqlite_services: Services) -> Till:
    """A till on SQLite, where the kind of database does not matter."""
    return Till(sqlite_services)


@pytest.fixture
def make_till() -> MakeTill:
    """Return what makes a till of a store."""
    return lambda services: Till(services)
