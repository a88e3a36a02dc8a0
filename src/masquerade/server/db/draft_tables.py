"""The tables of surveys in the making: drafts, selection runs, and requests that made something."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, ForeignKey, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from masquerade.server.db.tables import BY_KEY, Base


class DraftRow(Base):
    """A survey that is still being written; it has the token that it will open with."""

    __tablename__ = "draft"

    token: Mapped[str] = mapped_column(String(32), primary_key=True)
    team: Mapped[str] = mapped_column(ForeignKey("team.id"), index=True)
    document: Mapped[dict[str, Any]] = mapped_column(JSON)
    # Counts changes, so that nobody overwrites what they have not seen.
    version: Mapped[int] = mapped_column(Integer)
    day: Mapped[str] = mapped_column(String(10))

    __table_args__ = (BY_KEY,)


class SelectionRunRow(Base):
    """A selection run: how many people of each level a survey asks for, and why."""

    __tablename__ = "selection_run"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    survey: Mapped[str] = mapped_column(String(32), index=True)
    day: Mapped[str] = mapped_column(String(10))
    run: Mapped[dict[str, Any]] = mapped_column(JSON)

    __table_args__ = (BY_KEY,)


class IdempotencyKeyRow(Base):
    """An idempotency key: the same request sent again creates nothing twice."""

    __tablename__ = "made"

    # Keyed by who asks and what for.
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    # SHA-256 of the request's body: tells a repetition from another request under the same key.
    body: Mapped[str] = mapped_column(String(64))
    token: Mapped[str] = mapped_column(String(32))
    day: Mapped[str] = mapped_column(String(10), index=True)

    __table_args__ = (BY_KEY,)
