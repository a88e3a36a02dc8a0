"""The tables of reaching people: keys of tickets, tickets, mailings and their recipients.

Nothing here leads from a ticket to a participation, nor from an address to a ticket. All of it is
deleted once a survey takes nobody any more. As everywhere, no column holds a time of day.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Integer, String, Text

from masquerade.server.db.tables import Required, keyed_table

# States lie in rows of all releases, so they can be added to and never renamed.
WAITING, SENT, BOUNCED, FAILED = "waiting", "sent", "bounced", "failed"

#: The key that signs the tickets of a draft or survey.
TICKET_KEY = keyed_table(
    "ticket_key",
    # The survey's token, also while it is a draft.
    Column("id", String(32), primary_key=True),
    Required("public", Text),
    # Sealed.
    Column("secrets", Text),
)

#: A ticket: an invitation that works once.
TICKET = keyed_table(
    "ticket",
    Column("survey", ForeignKey("survey.token"), primary_key=True),
    # SHA-256 of its code.
    Column("digest", String(64), primary_key=True),
    # SHA-256 of the blinded message that was signed for it; says nothing of the signature that
    # comes of it.
    Column("blinded", String(64)),
)

#: A signature that has admitted somebody. No row says whom, nor for which ticket it was made.
SPENT_TICKET = keyed_table(
    "spent_ticket",
    Column("survey", ForeignKey("survey.token"), primary_key=True),
    Column("digest", String(64), primary_key=True),
)

#: The messages by which people are invited to a survey.
MAILING = keyed_table(
    "mailing",
    # The survey's token.
    Column("id", String(32), primary_key=True),
    # From which names of recipients and codes of their tickets are made; sealed.
    Column("key", Text),
    Required("subject", Text),
    Required("text", Text),
    # The survey's address, before any ticket.
    Required("link", Text),
    # 1, and 2 once it was reminded.
    Required("round", Integer),
    Required("day", String(10)),
)

#: Somebody to whom a message goes.
RECIPIENT = keyed_table(
    "recipient",
    # A keyed hash of survey and address.
    Column("id", String(64), primary_key=True),
    Required("survey", ForeignKey("survey.token"), index=True),
    # Sealed.
    Column("address", Text),
    Required("state", String(16), index=True),
    Required("attempts", Integer),
    # What the last attempt came to, in a few words.
    Required("outcome", Text),
)
