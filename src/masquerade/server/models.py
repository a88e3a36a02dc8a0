"""The tables. No column can hold a true answer, a time of day, an address or a browser."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# A row number would tell the order of arrival, and so which response belongs to which entry.
_BY_KEY = {"sqlite_with_rowid": False}


class Base(DeclarativeBase):
    """Base of all tables."""


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
    pseudonym_key: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(16))
    opened: Mapped[str] = mapped_column(String(10))
    closed: Mapped[str | None] = mapped_column(String(10))
    # What a simulated crowd truly thought; null for every survey of people.
    simulated_truth: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


class ResponseRow(Base):
    """All reports of one participant to one survey."""

    __tablename__ = "response"

    # Random, drawn by the device: says nothing about the order of arrival.
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    survey: Mapped[str] = mapped_column(ForeignKey("survey.token"))
    pseudonym: Mapped[str] = mapped_column(String(64))
    reports: Mapped[list[int]] = mapped_column(JSON)

    __table_args__ = (
        UniqueConstraint("survey", "pseudonym", name="one_response_a_participant"),
        Index("response_of_survey", "survey"),
        _BY_KEY,
    )


class EntryRow(Base):
    """A ledger entry: what one response cost one person."""

    __tablename__ = "ledger_entry"

    person: Mapped[str] = mapped_column(String(64), primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    survey: Mapped[str] = mapped_column(ForeignKey("survey.token"))
    mechanisms: Mapped[list[str]] = mapped_column(JSON)
    event_micro: Mapped[int] = mapped_column(BigInteger)
    user_micro: Mapped[int] = mapped_column(BigInteger)
    day: Mapped[str] = mapped_column(String(10))
    previous_hash: Mapped[str] = mapped_column(String(64))
    hash: Mapped[str] = mapped_column(String(64))

    __table_args__ = (
        UniqueConstraint("person", "survey", name="one_charge_a_survey"),
        _BY_KEY,
    )
