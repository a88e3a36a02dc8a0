"""What the store keeps of money, codes, webhooks and deeds."""

from __future__ import annotations

from collections.abc import Callable

from masquerade.server.audit.audit_log import AuditLog
from masquerade.server.db.server_key import Seals
from masquerade.server.db.transactions import Transactions
from masquerade.server.payments.completion_codes import CompletionCodes
from masquerade.server.payments.funds import Funds
from masquerade.server.payments.wallets import Wallets
from masquerade.server.webhooks.webhooks import Webhooks


class Desk:
    """Everything at the desk.

    Parameters
    ----------
    transactions : Transactions
    today : callable
        Gives the ISO date.
    commission_percent : int
        What the operator gets on top of what participants get.
    webhook_private : bool
        Whether webhooks may lead into the network of this computer.
    seals : Seals
        Seals the secrets of webhooks.

    Attributes
    ----------
    funds : Funds
    wallets : Wallets
    codes : CompletionCodes
    webhooks : Webhooks
    audit : AuditLog
    """

    def __init__(
        self,
        transactions: Transactions,
        *,
        today: Callable[[], str],
        commission_percent: int,
        webhook_private: bool,
        seals: Seals,
    ) -> None:
        self.transactions = transactions
        self.commission_percent = commission_percent
        self.funds = Funds(transactions, today=today)
        self.wallets = Wallets(transactions, today=today)
        self.codes = CompletionCodes(transactions)
        self.webhooks = Webhooks(transactions, today=today, private=webhook_private, seals=seals)
        self.audit = AuditLog(transactions, today=today)
