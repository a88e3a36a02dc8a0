"""Privacy accounting: losses, how they add up, and the ledger of everybody's budget.

Before a report leaves, its cost is reserved on the person's account; when the questions are shown
it is spent. A `Loss` says between which worlds it holds and is worked out from the probabilities
that are drawn, in whole millionths, rounded up. `Caps` hold whatever is asked next and why;
`Ledger` keeps a chain of entries for each person; `audit` looks whether a mechanism keeps its
promise at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.accounting.account_words import what_a_cap_buys
    from masquerade.accounting.audit_custom import Auditable
    from masquerade.accounting.audits import AuditReport, audit
    from masquerade.accounting.balance import Balance
    from masquerade.accounting.caps import Caps
    from masquerade.accounting.chain import Charge, Entry
    from masquerade.accounting.composition import Spent, compose, compose_linked, pairs_of, spent
    from masquerade.accounting.cost import Cost
    from masquerade.accounting.gaussian import gaussian_sigma
    from masquerade.accounting.ledger import Ledger, charge_all
    from masquerade.accounting.loss_distribution import composed
    from masquerade.accounting.shuffling import Published, published_loss
    from masquerade.accounting.storage import MemoryStorage, Storage
    from masquerade.accounting.trade_off import largest_power, trade_off_curve
    from masquerade.accounting.words import explain, power_in_words, risk_in_words
    from masquerade.exact.loss import Loss, pure_loss, tail
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "AuditReport",
    "Auditable",
    "Balance",
    "Caps",
    "Charge",
    "Cost",
    "Entry",
    "Ledger",
    "Loss",
    "MemoryStorage",
    "Published",
    "Spent",
    "Storage",
    "audit",
    "charge_all",
    "compose",
    "compose_linked",
    "composed",
    "explain",
    "gaussian_sigma",
    "largest_power",
    "pairs_of",
    "power_in_words",
    "published_loss",
    "pure_loss",
    "risk_in_words",
    "spent",
    "tail",
    "trade_off_curve",
    "what_a_cap_buys",
]
