"""The tables. No column can hold a true answer, a time of day, an address or a browser."""

from __future__ import annotations

from functools import partial

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.schema import SchemaItem

#: The condition of an index, in the words by which a query finds it.
PAID_WORDS = "kind IN ('commit', 'clear_disclosure')"

#: The team that every database begins with.
FIRST_TEAM = "0" * 32

# States lie in rows of all releases, so they can be added to and never renamed.
OPEN, CLOSING, CLOSED = "open", "closing", "closed"
PUBLISHED, CANCELLED = "published", "cancelled"
#: States of a survey in which what was begun can be finished.
TAKING = (OPEN, CLOSING)
#: States of a survey in which there are results.
FINISHED = (CLOSED, PUBLISHED)

RESERVED, OPENED, SEALED, SUBMITTED = "reserved", "opened", "sealed", "submitted"
#: States of a participation.
WITHDRAWN, EXPIRED, ABANDONED = "withdrawn", "expired", "abandoned"

METADATA = MetaData()
#: A column that is never null.
Required = partial(Column, nullable=False)


def keyed_table(name: str, *items: SchemaItem) -> Table:
    """Return a table without row numbers, which lies in the order of its key."""
    # A row number would tell the order of arrival, and so which response belongs to which entry.
    return Table(name, METADATA, *items, sqlite_with_rowid=False)


#: A secret or state of the server.
SETTING = Table(
    "setting",
    METADATA,
    Column("key", String(64), primary_key=True),
    Required("value", Text),
)

#: A survey; its definition is frozen by `hash` when it opens.
SURVEY = Table(
    "survey",
    METADATA,
    Column("token", String(32), primary_key=True),
    Required("title", Text),
    Required("definition", JSON),
    Required("hash", String(64)),
    # Of this survey alone: a person's names in two surveys have nothing in common.
    Required("pseudonym_key", String(64)),
    Required("state", String(16)),
    Required("opened", String(10)),
    Column("closed", String(10)),
    # What a simulated crowd truly thought; null for every survey of people.
    Column("simulated_truth", JSON(none_as_null=True)),
    # Whether participants of other surveys on this server are shown it too.
    Required("listed", Boolean),
    Required("team", String(32), server_default=FIRST_TEAM, index=True),
    # As it was written, with its plan; null for what was opened without a draft.
    Column("document", JSON(none_as_null=True)),
    # The last day on which it is open; while it is closing, on which it takes what was begun.
    Column("closes", String(10)),
    # How many people may take part at each level; null where as many as like.
    Column("seats", JSON(none_as_null=True)),
    # What people get; null where nothing.
    Column("reward", JSON(none_as_null=True)),
    # Where panels send people from and to, and which pages may show it; null where neither.
    Column("ways", JSON(none_as_null=True)),
)

#: One participant in one survey, from the choice of a level to the reports. Nothing here leads
#: to the person's ledger: the name there, and the key of the entries, are made of the person's
#: secret, which is not kept.
PARTICIPATION = keyed_table(
    "participation",
    # Random: says nothing about the order of arrival.
    Column("id", String(32), primary_key=True),
    Required("survey", ForeignKey("survey.token")),
    Required("pseudonym", String(64)),
    Required("level", String(32)),
    Required("state", String(16)),
    # Counts reservations that lapsed before a question was shown; 0 once one is, as the ledger
    # counts them too, and whoever alone came back would be joined with their account.
    Required("attempt", Integer),
    # Of a reservation, for the sweeper; gone once the questions are shown.
    Column("day", String(10)),
    # Keyed hash of the idempotency key; made of the secret too.
    Column("idempotency", String(64), unique=True),
    Column("commitment", String(64)),
    # Of each vote the masked answer and, in clear, the pair that was shown.
    Column("reports", JSON(none_as_null=True)),
    # Which pairs of a list the person is shown; drawn before they answer. Gone with the reports.
    Column("pairs", JSON(none_as_null=True)),
    UniqueConstraint("survey", "pseudonym", name="one_participation_a_survey"),
    # Also counts the submitted ones without touching their reports.
    Index("participation_of_survey", "survey", "state"),
)

#: The number of people who have begun a survey at a level, and not left it since. There is one
#: for each level while the survey has quotas; it changes with the participations.
QUOTA = keyed_table(
    "quota_count",
    Column("survey", ForeignKey("survey.token"), primary_key=True),
    Column("level", String(32), primary_key=True),
    Required("begun", Integer),
)

#: The responses that a survey had when a day began, in whole tens, while it takes some. It says
#: less than the total, which its page shows, and than the days in the ledger.
RESPONSE_DAY = keyed_table(
    "response_day",
    Column("survey", ForeignKey("survey.token"), primary_key=True),
    Column("day", String(10), primary_key=True),
    Required("responses", Integer),
)

#: The privacy cost of one response at one level of a survey, the same for everybody.
COST = keyed_table(
    "ledger_cost",
    Column("digest", String(64), primary_key=True),
    Required("survey", String(32), index=True),
    Required("mechanisms", JSON),
    # Whole millionths: event, user, protected, rho (each may be "inf", the last two null), clear;
    # and "gaussian" where all of it counts as Gaussian noise.
    Required("amounts", JSON),
)

#: A step on one person's account, chained to the one before.
ENTRY = keyed_table(
    "ledger_entry",
    Column("person", String(64), primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Required("kind", String(16)),
    Required("key", String(64)),
    Required("cost", ForeignKey("ledger_cost.digest")),
    Required("day", String(10)),
    # New caps, as "epsilon,delta,clear,rule", where they begin or change; without a rule, 1.
    Column("caps", Text),
    Required("previous_hash", String(64)),
    Required("hash", String(64)),
    # A key takes each step once, also where two processes try at once; only caps change
    # repeatedly.
    Index(
        "one_step_of_a_kind",
        "person",
        "key",
        "kind",
        unique=True,
        sqlite_where=text("kind <> 'adjust'"),
        postgresql_where=text("kind <> 'adjust'"),
    ),
    # What was reserved and given back can be a long list; what was paid for is a short one.
    Index(
        "entry_that_is_paid",
        "person",
        "sequence",
        sqlite_where=text(PAID_WORDS),
        postgresql_where=text(PAID_WORDS),
    ),
)

#: The balance of a person's account; can be rebuilt from the entries.
BALANCE = keyed_table(
    "ledger_balance",
    Column("person", String(64), primary_key=True),
    Required("caps", Text),
    Required("entries", Integer),
    Required("head", String(64)),
    Required("open", Integer),
    # Sums in whole millionths, never floats: a rounded sum could let a charge through. The others
    # are counts.
    Required("spent_epsilon", BigInteger),
    Required("reserved_epsilon", BigInteger),
    Required("spent_unbounded", Integer),
    Required("reserved_unbounded", Integer),
    Required("spent_divergence", BigInteger, server_default="0"),
    Required("reserved_divergence", BigInteger, server_default="0"),
    Required("spent_clock", BigInteger, server_default="0"),
    Required("reserved_clock", BigInteger, server_default="0"),
    Required("spent_unclocked", Integer, server_default="0"),
    Required("reserved_unclocked", Integer, server_default="0"),
    Required("spent_clear", Integer),
    Required("reserved_clear", Integer),
    # For the sweeper: most people have nothing reserved.
    Index(
        "balance_with_reservations",
        "person",
        sqlite_where=text("open > 0"),
        postgresql_where=text("open > 0"),
    ),
)

#: Higher caps that a person confirmed, until their day comes.
CAPS_RAISE = keyed_table(
    "caps_to_come",
    Column("person", String(64), primary_key=True),
    Required("caps", Text),
    Required("day", String(10)),
)

#: A survey that is still being written; it has the token that it will open with.
SURVEY_DRAFT = keyed_table(
    "draft",
    Column("token", String(32), primary_key=True),
    Required("team", ForeignKey("team.id"), index=True),
    Required("document", JSON),
    # Counts changes, so that nobody overwrites what they have not seen.
    Required("version", Integer),
    Required("day", String(10)),
)

#: A selection run: how many people of each level a survey asks for, and why.
SELECTION_RUN = keyed_table(
    "selection_run",
    Column("id", String(32), primary_key=True),
    Required("survey", String(32), index=True),
    Required("day", String(10)),
    Required("run", JSON),
)

#: An idempotency key: the same request sent again creates nothing twice.
IDEMPOTENCY_KEY = keyed_table(
    "made",
    # Keyed by who asks and what for.
    Column("digest", String(64), primary_key=True),
    # SHA-256 of the request's body: tells a repetition from another request under the same key.
    Required("body", String(64)),
    Required("token", String(32)),
    Required("day", String(10), index=True),
)
