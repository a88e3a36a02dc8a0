"""Privacy accounting: kinds of loss, how they add up, and the ledger of everybody's budget.

Before a report leaves, its cost is reserved on the person's account; when the questions are shown
it is spent. Amounts are whole millionths, rounded up once. `Caps` hold whatever is asked next and
why; `Ledger` keeps a chain of entries for each person; `audit` looks whether a mechanism keeps its
promise at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.accounting.allowance import Allowed, answers_allowed, what_a_cap_buys
    from masquerade.accounting.audit_custom import Auditable, Randomizer
    from masquerade.accounting.audit_report import AuditReport, Witness
    from masquerade.accounting.audits import audit
    from masquerade.accounting.balance import Balance
    from masquerade.accounting.caps import Caps
    from masquerade.accounting.chain import (
        GENESIS,
        Charge,
        Entry,
        append,
        total,
        verify_chain,
    )
    from masquerade.accounting.composition import (
        Spent,
        compose,
        compose_linked,
        spent,
        spent_together,
    )
    from masquerade.accounting.cost import Cost
    from masquerade.accounting.gaussian import (
        Mu,
        gaussian_delta,
        gaussian_epsilon,
        gaussian_sigma,
    )
    from masquerade.accounting.kinds import (
        Kind,
        LaplaceNumber,
        MaskedChoice,
        MaskedNumber,
        is_clear,
        kinds_of,
        pure_of,
        rho_of,
    )
    from masquerade.accounting.ledger import Ledger, LedgerStatistics, charge_all
    from masquerade.accounting.loss_distribution import LossDistribution, composed
    from masquerade.accounting.rho import (
        INFINITE_RHO,
        NO_RHO,
        Rho,
        rho_of_cap,
        rho_of_laplace,
        rho_of_pure,
        rho_of_response,
    )
    from masquerade.accounting.storage import MemoryStorage, Storage
    from masquerade.accounting.trade_off import (
        largest_power,
        largest_power_together,
        trade_off_curve,
    )
    from masquerade.accounting.words import (
        Explanation,
        blur_in_words,
        explain,
        highest_belief,
        keep_in_words,
        odds_in_words,
        power_in_words,
        risk_in_words,
    )
    from masquerade.exact.epsilon_at_delta import epsilon_of_rho, rho_of_epsilon
    from masquerade.exact.loss import Loss, Step, noise, pure_loss, stability, tail
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "GENESIS",
    "INFINITE_RHO",
    "NO_RHO",
    "Allowed",
    "AuditReport",
    "Auditable",
    "Balance",
    "Caps",
    "Charge",
    "Cost",
    "Entry",
    "Explanation",
    "Kind",
    "LaplaceNumber",
    "Ledger",
    "LedgerStatistics",
    "Loss",
    "LossDistribution",
    "MaskedChoice",
    "MaskedNumber",
    "MemoryStorage",
    "Mu",
    "Randomizer",
    "Rho",
    "Spent",
    "Step",
    "Storage",
    "Witness",
    "answers_allowed",
    "append",
    "audit",
    "blur_in_words",
    "charge_all",
    "compose",
    "compose_linked",
    "composed",
    "epsilon_of_rho",
    "explain",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_sigma",
    "highest_belief",
    "is_clear",
    "keep_in_words",
    "kinds_of",
    "largest_power",
    "largest_power_together",
    "noise",
    "odds_in_words",
    "power_in_words",
    "pure_loss",
    "pure_of",
    "rho_of",
    "rho_of_cap",
    "rho_of_epsilon",
    "rho_of_laplace",
    "rho_of_pure",
    "rho_of_response",
    "risk_in_words",
    "spent",
    "spent_together",
    "stability",
    "tail",
    "total",
    "trade_off_curve",
    "verify_chain",
    "what_a_cap_buys",
]
