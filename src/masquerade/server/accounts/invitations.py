"""Invitations to a team: links that let one more person in, once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from masquerade.errors import NotFound, WrongState
from masquerade.server.accounts.accounts import account_maker, check_name
from masquerade.server.accounts.sessions import digest
from masquerade.server.accounts.teams import Member, Team, check_role, join, role_in
from masquerade.server.db.account_tables import INVITATION, TEAM
from masquerade.server.db.transactions import Service

INVITATION_DAYS = 7


@dataclass(frozen=True, slots=True)
class TeamInvitation:
    """A link that lets one more person in."""

    digest: str  # names it; the link itself is not kept
    team: Team
    # role, note, until: what the person becomes, for whom it is, the last day on which it works.
    role: str
    note: str
    until: str


class TeamInvitations(Service):
    """All invitations."""

    def create(self, team: str, *, role: str, note: str) -> str:
        """Return the last part of a link that lets one more person in, within seven days."""
        token = secrets.token_urlsafe(24)
        until = date.fromisoformat(self._today()) + timedelta(days=INVITATION_DAYS)
        row = {
            "digest": digest(token),
            "team": team,
            "role": check_role(role),
            "note": check_name(note, what="whom the invitation is for"),
            "until": until.isoformat(),
        }
        self._transactions.write(lambda c: c.execute(insert(INVITATION), row))
        return token

    def of_team(self, team: str) -> list[TeamInvitation]:
        """Return the invitations that can still be followed, the next to end first."""
        query = (
            _invitations(self._today())
            .where(INVITATION.c.team == team)
            .order_by(INVITATION.c.until, INVITATION.c.digest)
        )
        return self._transactions.read(lambda c: [_invitation(row) for row in c.execute(query)])

    def withdraw(self, team: str, digest_: str) -> None:
        """Take back an invitation that was not followed."""
        gone = delete(INVITATION).where(INVITATION.c.team == team, INVITATION.c.digest == digest_)
        if self._transactions.write(lambda c: c.execute(gone).rowcount) != 1:
            raise NotFound("there is no such invitation; it was followed or taken back.")

    def read(self, token: str) -> TeamInvitation:
        """Return the invitation of a link that can still be followed."""
        return self._transactions.read(lambda c: self._invited(c, token))

    def join(self, token: str, account: str) -> Member:
        """Let an account follow an invitation, which ends it."""
        return self._transactions.write(lambda c: self._follow(c, token, account))

    def join_new(self, token: str, *, login: str, name: str, password: str) -> Member:
        """Make an account that follows an invitation, which ends it."""
        self.read(token)  # before a password is hashed, which takes long
        make = account_maker(login=login, name=name, password=password, day=self._today())
        return self._transactions.write(lambda c: self._follow(c, token, make(c)))

    def _invited(self, connection: Connection, token: str) -> TeamInvitation:
        query = _invitations(self._today()).where(INVITATION.c.digest == digest(token))
        row = connection.execute(query).first()
        if row is None:
            raise NotFound(
                "this invitation was followed, taken back, or is over; ask for a new one."
            )
        return _invitation(row)

    def _follow(self, connection: Connection, token: str, account: str) -> Member:
        invited = self._invited(connection, token)
        if role_in(connection, account, invited.team.id):
            raise WrongState(f"you are in the team {invited.team.name!r} already.")
        gone = delete(INVITATION).where(INVITATION.c.digest == invited.digest)
        if connection.execute(gone).rowcount != 1:  # somebody else was faster
            raise NotFound("this invitation was followed already; ask for a new one.")
        joined = join(connection, account, invited.team.id, invited.role)
        return Member(joined, invited.team, invited.role)


def _invitations(today: str) -> Any:
    return (
        select(INVITATION, TEAM.c.name.label("of"))
        .join(TEAM, TEAM.c.id == INVITATION.c.team)
        .where(INVITATION.c.until >= today)
    )


def _invitation(row: Any) -> TeamInvitation:
    return TeamInvitation(row.digest, Team(row.team, row.of), row.role, row.note, row.until)
