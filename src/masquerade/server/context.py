"""What the parts of a store stand on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from masquerade.accounting import Caps, Ledger, Storage
from masquerade.server.db.transactions import Transactions
from masquerade.server.surveys.frozen_surveys import Surveys


@dataclass(frozen=True, slots=True)
class Ground:
    """What the parts of a store have in common.

    Attributes
    ----------
    transactions : Transactions
    surveys : Surveys
    today : callable
        Gives the ISO date.
    caps : Caps
        Of a person who has none of their own yet.
    unopened_reservations : int
        How many surveys a person may begin on a day without opening them; 0 is without limit.
    """

    transactions: Transactions
    surveys: Surveys
    today: Callable[[], str]
    caps: Caps
    unopened_reservations: int = 0

    def ledger(self, storage: Storage) -> Ledger:
        """Return the ledger that is kept in `storage`."""
        return Ledger(storage, clock=self.today, caps=self.caps)
