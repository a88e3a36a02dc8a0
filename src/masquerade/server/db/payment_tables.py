"""The tables of the desk: the book of money, completion codes, webhooks and the audit log.

None holds a time finer than a day, and none names a participation: what a row of the book or a code
is called is made of the participant's secret, which is not kept.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    ForeignKey,
    Integer,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from masquerade.server.db.tables import BY_KEY, Base


class BookAccountRow(Base):
    """An account of a team's book; only the outside world may owe money."""

    __tablename__ = "book_account"

    # SHA-256 of the four that follow.
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    team: Mapped[str] = mapped_column(ForeignKey("team.id"), index=True)
    currency: Mapped[str] = mapped_column(String(16))
    kind: Mapped[str] = mapped_column(String(16))
    # A survey's token, a wallet's keyed name, or nothing.
    holder: Mapped[str] = mapped_column(String(64))
    balance: Mapped[int] = mapped_column(BigInteger)

    __table_args__ = (
        # The last guard against spending twice; `MoneyLedger.move` refuses before, and says how
        # much is missing.
        CheckConstraint("balance >= 0 OR kind = 'external'", name="nothing_is_overspent"),
        BY_KEY,
    )


class BookTransferRow(Base):
    """A transfer from one account of the book to another, made once."""

    __tablename__ = "book_transfer"

    # Random: says nothing about the order.
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    debit: Mapped[str] = mapped_column(ForeignKey("book_account.id"), index=True)
    credit: Mapped[str] = mapped_column(ForeignKey("book_account.id"), index=True)
    amount: Mapped[int] = mapped_column(BigInteger)
    what: Mapped[str] = mapped_column(String(16))
    note: Mapped[str] = mapped_column(Text)
    # The same key again moves nothing; made of the secret where a participant is concerned.
    key: Mapped[str] = mapped_column(String(64), unique=True)
    day: Mapped[str] = mapped_column(String(10))

    __table_args__ = (BY_KEY,)


class PayoutRow(Base):
    """A payout request; it does not name the wallet."""

    __tablename__ = "payout"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    team: Mapped[str] = mapped_column(ForeignKey("team.id"), index=True)
    # A keyed name by which the device that asked finds it again, and nothing else can be found.
    payee: Mapped[str] = mapped_column(String(64), index=True)
    currency: Mapped[str] = mapped_column(String(16))
    amount: Mapped[int] = mapped_column(BigInteger)
    # Where to pay to; gone once it is paid or refused.
    destination: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(16))
    day: Mapped[str] = mapped_column(String(10))

    __table_args__ = (BY_KEY,)


class CompletionCodeRow(Base):
    """A completion code: it says that somebody has answered, and not who or what."""

    __tablename__ = "completion_code"

    survey: Mapped[str] = mapped_column(ForeignKey("survey.token"), primary_key=True)
    code: Mapped[str] = mapped_column(String(32), primary_key=True)
    checked: Mapped[bool] = mapped_column(Boolean)

    __table_args__ = (BY_KEY,)


class WebhookRow(Base):
    """A webhook: a team's address for events, and the secret that signs the messages."""

    __tablename__ = "webhook"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    team: Mapped[str] = mapped_column(ForeignKey("team.id"), index=True)
    url: Mapped[str] = mapped_column(Text)
    # Signs, so that it must be readable.
    # Sealed.
    secret: Mapped[str | None] = mapped_column(Text)
    events: Mapped[list[str]] = mapped_column(JSON)
    day: Mapped[str] = mapped_column(String(10))

    __table_args__ = (BY_KEY,)


class DeliveryRow(Base):
    """A message to a webhook, and how it went."""

    __tablename__ = "webhook_delivery"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    webhook: Mapped[str] = mapped_column(ForeignKey("webhook.id"))
    # What it is about, so that each thing is told once.
    about: Mapped[str] = mapped_column(String(128))
    payload: Mapped[dict[str, Any]] = mapped_column(JSON)
    state: Mapped[str] = mapped_column(String(16), index=True)
    attempts: Mapped[int] = mapped_column(Integer)
    # What the last attempt came to, in a few words.
    outcome: Mapped[str] = mapped_column(Text)
    day: Mapped[str] = mapped_column(String(10), index=True)

    # A message is told once to a webhook, also where two processes find the same event.
    __table_args__ = (UniqueConstraint("webhook", "about", name="told_once"), BY_KEY)


class AuditRow(Base):
    """An audit-log entry, chained to the entry of the team before it."""

    __tablename__ = "audit_entry"

    team: Mapped[str] = mapped_column(String(32), primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    # As it was then: accounts can be renamed.
    account: Mapped[str] = mapped_column(String(32))
    login: Mapped[str] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(String(100))
    object: Mapped[str] = mapped_column(String(64))
    day: Mapped[str] = mapped_column(String(10))
    previous_hash: Mapped[str] = mapped_column(String(64))
    hash: Mapped[str] = mapped_column(String(64))

    __table_args__ = (BY_KEY,)
