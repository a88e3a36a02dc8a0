"""What the parts of a store stand on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from masquerade.accounting import Caps, Ledger, Storage
from masquerade.server.surveys import Surveys
from masquerade.server.transactions import Transactions


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
    """

    transactions: Transactions
    surveys: Surveys
    today: Callable[[], str]
    caps: Caps

    def ledger(self, storage: Storage) -> Ledger:
        """Return the ledger that is kept in `storage`."""
        return Ledger(storage, clock=self.today, caps=self.caps)
