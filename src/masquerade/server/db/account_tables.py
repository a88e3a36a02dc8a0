"""The tables of surveyors: accounts, teams, what somebody may do, and how they show who they are.

Participants have none of this. As everywhere, no column can hold a time of day, an address or a
browser; what lets somebody in is kept as a hash, and sealed where codes are made from it.
"""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from masquerade.server.db.tables import BY_KEY, Base


class TeamRow(Base):
    """Surveyors who share their surveys."""

    __tablename__ = "team"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(Text)

    __table_args__ = (BY_KEY,)


class AccountRow(Base):
    """A surveyor."""

    __tablename__ = "account"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    login: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str] = mapped_column(Text)
    # Argon2id; null until one is chosen.
    password: Mapped[str | None] = mapped_column(Text)
    # Base32, as authenticators take it, sealed; null where no codes are asked for.
    totp_secret: Mapped[str | None] = mapped_column(Text)
    # The last step whose code was used; none at or before it is taken again.
    totp_step: Mapped[int | None] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(String(16))
    day: Mapped[str] = mapped_column(String(10))

    __table_args__ = (BY_KEY,)


class MembershipRow(Base):
    """The role of an account in a team."""

    __tablename__ = "membership"

    account: Mapped[str] = mapped_column(ForeignKey("account.id"), primary_key=True)
    team: Mapped[str] = mapped_column(ForeignKey("team.id"), primary_key=True, index=True)
    role: Mapped[str] = mapped_column(String(16))

    __table_args__ = (BY_KEY,)


class SessionRow(Base):
    """A browser in which somebody is signed in."""

    __tablename__ = "session"

    # SHA-256 of what the cookie holds.
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    account: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    team: Mapped[str] = mapped_column(ForeignKey("team.id"))
    day: Mapped[str] = mapped_column(String(10))
    # The last day on which something was asked in it; no finer time is kept of anything.
    used: Mapped[str] = mapped_column(String(10))

    __table_args__ = (BY_KEY,)


class PasskeyRow(Base):
    """The public half of a key that stays on a surveyor's device."""

    __tablename__ = "passkey"

    # Base64url, as the browser names it.
    credential: Mapped[str] = mapped_column(String(1400), primary_key=True)
    account: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    public_key: Mapped[str] = mapped_column(Text)
    # Rises with each use, which shows a copied key; some keys do not count and always send 0.
    sign_count: Mapped[int] = mapped_column(BigInteger)
    name: Mapped[str] = mapped_column(Text)
    day: Mapped[str] = mapped_column(String(10))

    __table_args__ = (BY_KEY,)


class SpentChallengeRow(Base):
    """A challenge that was answered; it is never accepted again."""

    __tablename__ = "spent_challenge"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    day: Mapped[str] = mapped_column(String(10), index=True)

    __table_args__ = (BY_KEY,)


class TeamInvitationRow(Base):
    """A link by which one more person joins a team, once."""

    __tablename__ = "team_invitation"

    # SHA-256 of the link's last part.
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    team: Mapped[str] = mapped_column(ForeignKey("team.id"), index=True)
    role: Mapped[str] = mapped_column(String(16))
    # For whom, in the words of the one who invites.
    note: Mapped[str] = mapped_column(Text)
    # The last on which it works.
    until: Mapped[str] = mapped_column(String(10))

    __table_args__ = (BY_KEY,)


class ApiTokenRow(Base):
    """A token by which a program acts for an account in a team."""

    __tablename__ = "api_token"

    # SHA-256 of the token.
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    account: Mapped[str] = mapped_column(ForeignKey("account.id"), index=True)
    team: Mapped[str] = mapped_column(ForeignKey("team.id"), index=True)
    name: Mapped[str] = mapped_column(Text)
    # Its last letters, so that people can tell which it is.
    ending: Mapped[str] = mapped_column(String(4))
    scopes: Mapped[list[str]] = mapped_column(JSON)
    day: Mapped[str] = mapped_column(String(10))
    # The last on which it works; null: until it is revoked.
    until: Mapped[str | None] = mapped_column(String(10))
    used: Mapped[str | None] = mapped_column(String(10))

    __table_args__ = (BY_KEY,)
