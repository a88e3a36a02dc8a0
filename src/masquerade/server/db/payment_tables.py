"""The tables of the desk: the book of money, completion codes, webhooks and the audit log.

None holds a time finer than a day, and none names a participation: what a row of the book or a code
is called is made of the participant's secret, which is not kept.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    String,
    Text,
    UniqueConstraint,
)

from masquerade.server.db.tables import Required, keyed_table

#: An account of a team's book; only the outside world may owe money.
BOOK_ACCOUNT = keyed_table(
    "book_account",
    # SHA-256 of the four that follow.
    Column("id", String(64), primary_key=True),
    Required("team", ForeignKey("team.id"), index=True),
    Required("currency", String(16)),
    Required("kind", String(16)),
    # A survey's token, a wallet's keyed name, or nothing.
    Required("holder", String(64)),
    Required("balance", BigInteger),
    # The last guard against spending twice; `MoneyLedger.move` refuses before, and says how
    # much is missing.
    CheckConstraint("balance >= 0 OR kind = 'external'", name="nothing_is_overspent"),
)

#: A transfer from one account of the book to another, made once.
TRANSFER = keyed_table(
    "book_transfer",
    # Random: says nothing about the order.
    Column("id", String(32), primary_key=True),
    Required("debit", ForeignKey("book_account.id"), index=True),
    Required("credit", ForeignKey("book_account.id"), index=True),
    Required("amount", BigInteger),
    Required("what", String(16)),
    Required("note", Text),
    # The same key again moves nothing; made of the secret where a participant is concerned.
    Required("key", String(64), unique=True),
    Required("day", String(10)),
)

#: A payout request; it does not name the wallet.
PAYOUT = keyed_table(
    "payout",
    Column("id", String(32), primary_key=True),
    Required("team", ForeignKey("team.id"), index=True),
    # A keyed name by which the device that asked finds it again, and nothing else can be found.
    Required("payee", String(64), index=True),
    Required("currency", String(16)),
    Required("amount", BigInteger),
    # Where to pay to; gone once it is paid or refused.
    Required("destination", Text),
    Required("state", String(16)),
    Required("day", String(10)),
)

#: A completion code: it says that somebody has answered, and not who or what.
CODE = keyed_table(
    "completion_code",
    Column("survey", ForeignKey("survey.token"), primary_key=True),
    Column("code", String(32), primary_key=True),
    Required("checked", Boolean),
)

#: A webhook: a team's address for events, and the secret that signs the messages.
WEBHOOK = keyed_table(
    "webhook",
    Column("id", String(32), primary_key=True),
    Required("team", ForeignKey("team.id"), index=True),
    Required("url", Text),
    # Signs, so that it must be readable.
    # Sealed.
    Column("secret", Text),
    Required("events", JSON),
    Required("day", String(10)),
)

#: A message to a webhook, and how it went.
DELIVERY = keyed_table(
    "webhook_delivery",
    Column("id", String(32), primary_key=True),
    Required("webhook", ForeignKey("webhook.id")),
    # What it is about, so that each thing is told once.
    Required("about", String(128)),
    Required("payload", JSON),
    Required("state", String(16), index=True),
    Required("attempts", Integer),
    # What the last attempt came to, in a few words.
    Required("outcome", Text),
    Required("day", String(10), index=True),
    # A message is told once to a webhook, also where two processes find the same event.
    UniqueConstraint("webhook", "about", name="told_once"),
)

#: An audit-log entry, chained to the entry of the team before it.
AUDIT_ENTRY = keyed_table(
    "audit_entry",
    Column("team", String(32), primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    # As it was then: accounts can be renamed.
    Required("account", String(32)),
    Required("login", String(64)),
    Required("action", String(100)),
    Required("object", String(64)),
    Required("day", String(10)),
    Required("previous_hash", String(64)),
    Required("hash", String(64)),
)
