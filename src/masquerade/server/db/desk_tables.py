"""The tables of the desk: completion codes, webhooks and the audit log.

None holds a time finer than a day, and none names a participation: a code is made of the
participant's secret, which is not kept.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Integer,
    String,
    Text,
    UniqueConstraint,
)

from masquerade.server.db.tables import Required, keyed_table

#: A completion code: it says that somebody has answered, and not who or what.
CODE = keyed_table(
    "completion_code",
    Column("survey", ForeignKey("survey.token"), primary_key=True),
    Column("code", String(32), primary_key=True),
    # What it is worth, in the currency of the survey's reward.
    Required("amount", BigInteger, server_default="0"),
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
