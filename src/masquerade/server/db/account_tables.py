"""The tables of surveyors: accounts, teams, codes of completion, webhooks and the audit log.

Participants have none of this. As everywhere, no column can hold a time of day, an address or a
browser; what lets somebody in is kept as a hash, and sealed where codes are made from it.
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

#: Surveyors who share their surveys.
TEAM = keyed_table(
    "team",
    Column("id", String(32), primary_key=True),
    Required("name", Text),
)

#: A surveyor.
ACCOUNT = keyed_table(
    "account",
    Column("id", String(32), primary_key=True),
    Required("login", String(64), unique=True),
    Required("name", Text),
    # Argon2id; null until one is chosen.
    Column("password", Text),
    # Base32, as authenticators take it, sealed; null where no codes are asked for.
    Column("totp_secret", Text),
    # The last step whose code was used; none at or before it is taken again.
    Column("totp_step", BigInteger),
    Required("state", String(16)),
    Required("day", String(10)),
)

#: The role of an account in a team.
MEMBERSHIP = keyed_table(
    "membership",
    Column("account", ForeignKey("account.id"), primary_key=True),
    Column("team", ForeignKey("team.id"), primary_key=True, index=True),
    Required("role", String(16)),
)

#: A browser in which somebody is signed in.
SESSION = keyed_table(
    "session",
    # SHA-256 of what the cookie holds.
    Column("digest", String(64), primary_key=True),
    Required("account", ForeignKey("account.id"), index=True),
    Required("team", ForeignKey("team.id")),
    Required("day", String(10)),
    # The last day on which something was asked in it; no finer time is kept of anything.
    Required("used", String(10)),
)

#: The public half of a key that stays on a surveyor's device.
PASSKEY = keyed_table(
    "passkey",
    # Base64url, as the browser names it.
    Column("credential", String(1400), primary_key=True),
    Required("account", ForeignKey("account.id"), index=True),
    Required("public_key", Text),
    # Rises with each use, which shows a copied key; some keys do not count and always send 0.
    Required("sign_count", BigInteger),
    Required("name", Text),
    Required("day", String(10)),
)

#: Somebody at an OpenID provider who may sign in as an account.
IDENTITY = keyed_table(
    "identity",
    # SHA-256 of the provider and of what it calls them.
    Column("digest", String(64), primary_key=True),
    Required("account", ForeignKey("account.id"), index=True),
    Required("day", String(10)),
)

#: A challenge that was answered; it is never accepted again.
CHALLENGE = keyed_table(
    "spent_challenge",
    Column("digest", String(64), primary_key=True),
    Required("day", String(10), index=True),
)

#: A link by which one more person joins a team, once.
INVITATION = keyed_table(
    "team_invitation",
    # SHA-256 of the link's last part.
    Column("digest", String(64), primary_key=True),
    Required("team", ForeignKey("team.id"), index=True),
    Required("role", String(16)),
    # For whom, in the words of the one who invites.
    Required("note", Text),
    # The last on which it works.
    Required("until", String(10)),
)

#: A token by which a program acts for an account in a team.
TOKEN = keyed_table(
    "api_token",
    # SHA-256 of the token.
    Column("digest", String(64), primary_key=True),
    Required("account", ForeignKey("account.id"), index=True),
    Required("team", ForeignKey("team.id"), index=True),
    Required("name", Text),
    # Its last letters, so that people can tell which it is.
    Required("ending", String(4)),
    Required("scopes", JSON),
    Required("day", String(10)),
    # The last on which it works; null: until it is revoked.
    Column("until", String(10)),
    Column("used", String(10)),
)


#: A completion code: it says that somebody has answered, and not who or what.
CODE = keyed_table(
    "completion_code",
    Column("survey", ForeignKey("survey.token"), primary_key=True),
    Column("code", String(32), primary_key=True),
    # What it is worth, in the currency of the survey's reward.
    Required("amount", BigInteger, server_default="0"),
    Required("checked", Boolean),
    # By which name a panel knows its holder, and what else it sent along; null where nobody sent
    # them, or they gave none.
    Column("person", String(200)),
    Column("panel", JSON(none_as_null=True)),
    UniqueConstraint("survey", "person", name="one_code_a_person"),
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
