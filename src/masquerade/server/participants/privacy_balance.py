"""The privacy account of a participant: the remaining budget and the cost of each response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from pydantic import Field

from masquerade.accounting import Balance, Caps, Charge, Cost, Entry, Spent
from masquerade.accounting.account_words import spent_by
from masquerade.errors import BrokenChain
from masquerade.server.db.ledger_storage import LedgerTables
from masquerade.server.db.participation_rows import ParticipationRow
from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.surveys.offered_levels import OfferedLevel

#: A number, or the word for one without bound.
Amount = float | Annotated[str, Field(pattern="^inf$")]


@dataclass(frozen=True, slots=True)
class CapAmounts:
    """The caps on the joint cost of all responses of a person."""

    epsilon: Amount
    delta: float
    clear: int


@dataclass(frozen=True, slots=True)
class Battery:
    """A person's privacy balance."""

    percent_left: int
    epsilon_spent: Amount
    delta: float
    epsilon_cap: Amount
    clear: int
    method: str


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of a response, and of all together."""

    survey_epsilon: Amount
    survey_delta: float
    survey_rho: Amount
    total_epsilon: Amount
    total_delta: float
    method: str
    surveys: int
    day: str


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a response; epsilons hold at ``delta``."""

    rho: Amount
    epsilon_event: Amount
    epsilon_user: Amount
    delta: float
    clear: int


@dataclass(frozen=True, slots=True)
class PrivacyAccount:
    """The privacy account of a person: its balance and its paid responses."""

    balance: Balance
    paid: Sequence[Entry]  # what was committed, oldest first

    def spent(self) -> Spent:
        """Return the smallest sound bound on everything committed."""
        balance = self.balance
        # In one order: what is spent does not depend on it, and people share what was worked out.
        costs = tuple(sorted((e.charge.cost for e in self.paid), key=lambda cost: cost.digest))
        return _spent(balance.caps, balance.spent_epsilon, balance.spent_unbounded, costs)

    def battery(self) -> Battery:
        """Return the percentage left, with the spent amounts and the cap on epsilon."""
        spent, caps = self.spent(), self.balance.caps
        return Battery(
            percent_left=self.balance.percent_left,
            epsilon_spent=spent.epsilon.to_json(),
            delta=float(spent.delta),
            epsilon_cap=caps.epsilon.to_json(),
            clear=self.balance.spent_clear,
            method=spent.method,
        )

    def bill(self, key: str, level: OfferedLevel) -> Bill:
        """Return the cost of the response under `key`, and of all responses together."""
        # Only asked for where the questions were paid, so there is one.
        mine = next(entry.charge for entry in self.paid if entry.charge.key == key)
        spent, guarantee = self.spent(), level.guarantee()
        return Bill(
            survey_epsilon=guarantee.epsilon_user.to_json(),
            survey_delta=float(guarantee.delta),
            survey_rho=mine.cost.rho.to_json(),
            total_epsilon=spent.epsilon.to_json(),
            total_delta=float(spent.delta),
            method=spent.method,
            surveys=len(self.paid),
            day=mine.day,
        )


def privacy_account_of(tables: LedgerTables, who: Pseudonyms, caps: Caps) -> PrivacyAccount:
    """Return where a person stands; `caps` are those of a person without entries."""
    balance, paid = tables.read_paid(who.person)
    return PrivacyAccount(balance or Balance(caps), paid)


def attempt_of(row: ParticipationRow, who: Pseudonyms, account: PrivacyAccount) -> int:
    """Return which attempt of a person at a survey a participation is, from 1, by the ledger."""
    if row.attempt:  # its questions were not shown yet
        return int(row.attempt)
    paid = {entry.charge.key for entry in account.paid}
    for attempt in range(1, account.balance.entries + 1):
        if who.ledger_key(row.survey, attempt) in paid:
            return attempt
    raise BrokenChain(f"the ledger of {who.person} lacks what participation {row.id} cost.")


def price(level: OfferedLevel, survey: str) -> Price:
    """Return the cost of a response at a level."""
    guarantee, cost = level.guarantee(), level.cost(survey)
    return Price(
        rho=cost.rho.to_json(),
        epsilon_event=guarantee.epsilon_event.to_json(),
        epsilon_user=guarantee.epsilon_user.to_json(),
        delta=float(guarantee.delta),
        clear=cost.clear,
    )


def cap_amounts(caps: Caps) -> CapAmounts:
    """Return caps in numbers."""
    return CapAmounts(caps.epsilon.to_json(), float(caps.delta), caps.clear)


# The key names no person: people with the same costs share one result.
@lru_cache(maxsize=4096)
def _spent(caps: Caps, epsilon: int, unbounded: int, costs: tuple[Cost, ...]) -> Spent:
    balance = Balance(caps, spent_epsilon=epsilon, spent_unbounded=unbounded)
    return spent_by(balance, [_paid(cost) for cost in costs])


def _paid(cost: Cost) -> Entry:
    return Entry(Charge("", cost, ""), 0, "", "")
