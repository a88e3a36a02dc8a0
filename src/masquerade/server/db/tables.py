"""The tables. No column can hold a true answer, a time of day, an address or a browser."""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# A row number would tell the order of arrival, and so which response belongs to which entry.
BY_KEY = {"sqlite_with_rowid": False}

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


class Base(DeclarativeBase):
    """Base of all tables."""


def table_of(row: type[Base]) -> Table:
    """Return the table behind a class."""
    return cast(Table, row.__table__)


class SettingRow(Base):
    """A secret or state of the server."""

    __tablename__ = "setting"

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class SurveyRow(Base):
    """A survey; its definition is frozen by `hash` when it opens."""

    __tablename__ = "survey"

    token: Mapped[str] = mapped_column(String(32), primary_key=True)
    title: Mapped[str] = mapped_column(Text)
    definition: Mapped[dict[str, Any]] = mapped_column(JSON)
    hash: Mapped[str] = mapped_column(String(64))
    # Of this survey alone: a person's names in two surveys have nothing in common.
    pseudonym_key: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(16))
    opened: Mapped[str] = mapped_column(String(10))
    closed: Mapped[str | None] = mapped_column(String(10))
    # What a simulated crowd truly thought; null for every survey of people.
    simulated_truth: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    # Whether participants of other surveys on this server are shown it too.
    listed: Mapped[bool] = mapped_column(Boolean)
    team: Mapped[str] = mapped_column(String(32), server_default=FIRST_TEAM, index=True)
    # As it was written, with its plan; null for what was opened without a draft.
    document: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    # The last day on which it is open; while it is closing, on which it takes what was begun.
    closes: Mapped[str | None] = mapped_column(String(10))
    # How many people may take part at each level; null where as many as like.
    seats: Mapped[dict[str, int] | None] = mapped_column(JSON(none_as_null=True))
    # What people get; null where nothing.
    reward: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


class ParticipationRow(Base):
    """One participant in one survey, from the choice of a level to the reports.

    Nothing here leads to the person's ledger: the name there, and the key of the entries, are made
    of the person's secret, which is not kept.
    """

    __tablename__ = "participation"

    # Random: says nothing about the order of arrival.
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    survey: Mapped[str] = mapped_column(ForeignKey("survey.token"))
    pseudonym: Mapped[str] = mapped_column(String(64))
    level: Mapped[str] = mapped_column(String(32))
    state: Mapped[str] = mapped_column(String(16))
    # Counts reservations that lapsed before a question was shown; 0 once one is, as the ledger
    # counts them too, and whoever alone came back would be joined with their account.
    attempt: Mapped[int] = mapped_column(Integer)
    # Of a reservation, for the sweeper; gone once the questions are shown.
    day: Mapped[str | None] = mapped_column(String(10))
    # Keyed hash of the idempotency key; made of the secret too.
    idempotency: Mapped[str | None] = mapped_column(String(64), unique=True)
    commitment: Mapped[str | None] = mapped_column(String(64))
    reports: Mapped[list[int] | None] = mapped_column(JSON(none_as_null=True))

    __table_args__ = (
        UniqueConstraint("survey", "pseudonym", name="one_participation_a_survey"),
        # Also counts the submitted ones without touching their reports.
        Index("participation_of_survey", "survey", "state"),
        BY_KEY,
    )


class QuotaCountRow(Base):
    """The number of people who have begun a survey at a level, and not left it since.

    There is one for each level while the survey has quotas; it changes with the participations.
    """

    __tablename__ = "quota_count"

    survey: Mapped[str] = mapped_column(ForeignKey("survey.token"), primary_key=True)
    level: Mapped[str] = mapped_column(String(32), primary_key=True)
    begun: Mapped[int] = mapped_column(Integer)

    __table_args__ = (BY_KEY,)


class CostRow(Base):
    """The privacy cost of one response at one level of a survey, the same for everybody."""

    __tablename__ = "ledger_cost"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    survey: Mapped[str] = mapped_column(String(32), index=True)
    mechanisms: Mapped[list[str]] = mapped_column(JSON)
    # Whole millionths: event, user, protected, rho (each may be "inf", the last two null), clear;
    # and "gaussian" where all of it counts as Gaussian noise.
    amounts: Mapped[dict[str, Any]] = mapped_column(JSON)

    __table_args__ = (BY_KEY,)


class EntryRow(Base):
    """A step on one person's account, chained to the one before."""

    __tablename__ = "ledger_entry"

    person: Mapped[str] = mapped_column(String(64), primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(String(16))
    key: Mapped[str] = mapped_column(String(64))
    cost: Mapped[str] = mapped_column(ForeignKey("ledger_cost.digest"))
    day: Mapped[str] = mapped_column(String(10))
    # New caps, as "epsilon,delta,clear,rule", where they begin or change; without a rule, 1.
    caps: Mapped[str | None] = mapped_column(Text)
    previous_hash: Mapped[str] = mapped_column(String(64))
    hash: Mapped[str] = mapped_column(String(64))

    __table_args__ = (
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
        BY_KEY,
    )


class BalanceRow(Base):
    """The balance of a person's account; can be rebuilt from the entries."""

    __tablename__ = "ledger_balance"

    person: Mapped[str] = mapped_column(String(64), primary_key=True)
    caps: Mapped[str] = mapped_column(Text)
    entries: Mapped[int] = mapped_column(Integer)
    head: Mapped[str] = mapped_column(String(64))
    open: Mapped[int] = mapped_column(Integer)
    # Sums in whole millionths, never floats: a rounded sum could let a charge through. The others
    # are counts.
    spent_epsilon: Mapped[int] = mapped_column(BigInteger)
    reserved_epsilon: Mapped[int] = mapped_column(BigInteger)
    spent_unbounded: Mapped[int] = mapped_column(Integer)
    reserved_unbounded: Mapped[int] = mapped_column(Integer)
    spent_rho: Mapped[int] = mapped_column(BigInteger)
    reserved_rho: Mapped[int] = mapped_column(BigInteger)
    spent_clear: Mapped[int] = mapped_column(Integer)
    reserved_clear: Mapped[int] = mapped_column(Integer)
    spent_other: Mapped[int] = mapped_column(Integer, server_default="0")
    reserved_other: Mapped[int] = mapped_column(Integer, server_default="0")

    __table_args__ = (
        # For the sweeper: most people have nothing reserved.
        Index(
            "balance_with_reservations",
            "person",
            sqlite_where=text("open > 0"),
            postgresql_where=text("open > 0"),
        ),
        BY_KEY,
    )


class RaiseRow(Base):
    """Higher caps that a person confirmed, until their day comes."""

    __tablename__ = "caps_to_come"

    person: Mapped[str] = mapped_column(String(64), primary_key=True)
    caps: Mapped[str] = mapped_column(Text)
    day: Mapped[str] = mapped_column(String(10))

    __table_args__ = (BY_KEY,)
