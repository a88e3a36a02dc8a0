"""Teams: their members with roles, and invitations, links that let one more person in, once."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from sqlalchemy import Connection, delete, insert, select, update

from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.server.accounts.accounts import (
    DISABLED,
    Account,
    account_maker,
    account_of,
    check_name,
    insert_account,
)
from masquerade.server.accounts.sessions import digest
from masquerade.server.db.account_tables import (
    ACCOUNT,
    IDENTITY,
    INVITATION,
    MEMBERSHIP,
    PASSKEY,
    SESSION,
    TEAM,
    TOKEN,
)
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.db.transactions import Service, writes

OWNER, EDITOR, VIEWER, AUDITOR = "owner", "editor", "viewer", "auditor"

#: Each right with what it lets somebody do.
RIGHTS: Final = {
    "survey:read": "see surveys and how many people answered",
    "survey:write": "make, open and close surveys",
    "results:read": "see results",
    "reports:read": "take away single masked reports",
    "team:manage": "invite people, change roles, end anybody's tokens, set webhooks",
    "audit:read": "see the audit log and check the ledger",
    "settings:read": "see the server's settings",
}

#: Each role with its rights.
ROLES: Final = {
    OWNER: frozenset(RIGHTS),
    EDITOR: frozenset({"survey:read", "survey:write", "results:read", "reports:read"}),
    VIEWER: frozenset({"survey:read", "results:read"}),
    AUDITOR: frozenset({"survey:read", "audit:read", "settings:read"}),
}

ROLE_WORDS: Final = {
    OWNER: "everything, the team and money too",
    EDITOR: "makes surveys, sees results, takes reports away",
    VIEWER: "sees surveys and results, takes no single report away",
    AUDITOR: "checks masks, ledger and audit log; sees no result before it is published",
}

FIRST_LOGIN = "owner"


@dataclass(frozen=True, slots=True)
class Team:
    """A team of surveyors, with surveys in common."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """An account and its role in a team."""

    account: Account
    team: Team
    role: str


def role_in(connection: Connection, account: str, team: str) -> str | None:
    """Return the role of an account in a team, within a transaction; None for no member."""
    query = select(MEMBERSHIP.c.role).where(_is_member(account, team))
    found: str | None = connection.execute(query).scalar()
    return found


def join(connection: Connection, account: str, team: str, role: str) -> Account:
    """Make an account a member within a transaction, and return it."""
    row = {"account": account, "team": team, "role": check_role(role)}
    connection.execute(insert(MEMBERSHIP), row)
    return account_of(connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == account)).one())


class Teams(Service):
    """All teams."""

    @writes
    def first_owner(self, connection: Connection) -> Account | None:
        """Return the account that the one-time owner's link is for, made when first asked for.

        None once somebody of the first team can sign in with a password or passkey.
        """
        members = [m for m in _members(connection) if m.team.id == FIRST_TEAM]
        if not any(member.role == OWNER for member in members):
            id_ = insert_account(
                connection,
                login=_free_login(connection),
                name="Owner",
                password=None,
                day=self._today(),
            )
            join(connection, id_, FIRST_TEAM, OWNER)
            members = [m for m in _members(connection) if m.team.id == FIRST_TEAM]
        owners = [m.account for m in members if m.role == OWNER]
        keys = select(PASSKEY.c.account).where(PASSKEY.c.account.in_([o.id for o in owners]))
        known = set(connection.execute(keys).scalars())
        if any(owner.has_password or owner.id in known for owner in owners):
            return None
        return owners[0]

    def members(self, team: str | None = None) -> list[Member]:
        """Return the members of a team, or of all, by team and login."""
        found = self._transactions.read(_members)
        return [member for member in found if team in (None, member.team.id)]

    def of_account(self, account: str) -> list[Member]:
        """Return the memberships of an account, by name of the team."""
        return [m for m in self._transactions.read(_members) if m.account.id == account]

    def first(self) -> Team:
        """Return the team that every database begins with."""
        query = select(TEAM).where(TEAM.c.id == FIRST_TEAM)
        row = self._transactions.read(lambda c: c.execute(query).one())
        return Team(row.id, row.name)

    def named(self, name: str) -> Team | None:
        """Return the team of a name, or None."""
        query = select(TEAM).where(TEAM.c.name == name).order_by(TEAM.c.id)
        row = self._transactions.read(lambda c: c.execute(query).first())
        return None if row is None else Team(row.id, row.name)

    def rename(self, team: str, name: str) -> None:
        """Change the name of a team."""
        change = update(TEAM).where(TEAM.c.id == team)
        change = change.values(name=check_name(name, what="the team's name"))
        self._transactions.write(lambda c: c.execute(change))

    def add(self, team: str, *, login: str, name: str, password: str, role: str) -> Account:
        """Make an account in a team."""
        make = account_maker(login=login, name=name, password=password, day=self._today())
        check_role(role)
        return self._transactions.write(lambda c: join(c, make(c), team, role))

    def found(self, team: str, *, login: str, name: str, password: str) -> Account:
        """Make a team and its first owner."""
        make = account_maker(login=login, name=name, password=password, day=self._today())
        row = {"id": secrets.token_hex(16), "name": check_name(team, what="the team's name")}

        return self._found(row, make)

    @writes
    def _found(
        self, connection: Connection, row: dict[str, str], make: Callable[[Connection], str]
    ) -> Account:
        connection.execute(insert(TEAM), row)
        return join(connection, make(connection), row["id"], OWNER)

    def set_role(self, team: str, account: str, role: str) -> None:
        """Change a member's role; the last owner stays one."""
        check_role(role)
        self._transactions.write(lambda c: _change(c, team, account, role))

    @writes
    def put(self, connection: Connection, team: str, account: str, role: str) -> None:
        """Make an account a member, or change its role; the last owner stays one."""
        check_role(role)
        if role_in(connection, account, team) is None:
            join(connection, account, team, role)
            return
        _change(connection, team, account, role)

    def remove(self, team: str, account: str) -> None:
        """End a membership and its sessions and tokens, unless it is the last owner's."""
        self._transactions.write(lambda c: _leave(c, team, account))

    @writes
    def disable(self, connection: Connection, account: str) -> None:
        """End all memberships and every way to sign in; the login stays taken."""
        query = select(MEMBERSHIP.c.team).where(MEMBERSHIP.c.account == account)
        for team in connection.execute(query).scalars().all():
            _leave(connection, team, account)
        # Passkeys and identities belong to no team.
        for table in (SESSION, TOKEN, PASSKEY, IDENTITY):
            connection.execute(delete(table).where(table.c.account == account))
        gone = {"state": DISABLED, "password": None, "totp_secret": None, "totp_step": None}
        connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == account).values(gone))


def _members(connection: Connection) -> list[Member]:
    query = (
        select(ACCOUNT, MEMBERSHIP.c.role, TEAM.c.id.label("team"), TEAM.c.name.label("of"))
        .join(MEMBERSHIP, MEMBERSHIP.c.account == ACCOUNT.c.id)
        .join(TEAM, TEAM.c.id == MEMBERSHIP.c.team)
        .order_by(TEAM.c.name, TEAM.c.id, ACCOUNT.c.login)
    )
    return [
        Member(account_of(row), Team(row.team, row.of), row.role)
        for row in connection.execute(query)
    ]


def _free_login(connection: Connection) -> str:
    taken = set(connection.execute(select(ACCOUNT.c.login)).scalars())
    numbered = (f"{FIRST_LOGIN}-{number}" for number in range(2, len(taken) + 3))
    return next(login for login in (FIRST_LOGIN, *numbered) if login not in taken)


def _is_member(account: str, team: str) -> Any:
    return (MEMBERSHIP.c.account == account) & (MEMBERSHIP.c.team == team)


def _another_owner(connection: Connection, team: str, account: str) -> None:
    """Refuse where the account is the team's only owner; of two that leave at once, one waits."""
    connection.execute(select(TEAM.c.id).where(TEAM.c.id == team).with_for_update())
    owners = select(MEMBERSHIP.c.account).where(
        MEMBERSHIP.c.team == team, MEMBERSHIP.c.role == OWNER
    )
    if set(connection.execute(owners).scalars()) == {account}:
        raise WrongState("this is the team's last owner; make somebody else an owner first.")


def _change(connection: Connection, team: str, account: str, role: str) -> None:
    if role != OWNER:
        _another_owner(connection, team, account)
    change = update(MEMBERSHIP).where(_is_member(account, team)).values(role=role)
    if connection.execute(change).rowcount != 1:
        raise NotFound("there is no such member; reload the page.")


def _leave(connection: Connection, team: str, account: str) -> None:
    _another_owner(connection, team, account)
    if connection.execute(delete(MEMBERSHIP).where(_is_member(account, team))).rowcount != 1:
        raise NotFound("there is no such member; reload the page.")
    # In the same transaction: who was removed cannot use what they still have.
    for table in (SESSION, TOKEN):
        gone = delete(table).where(table.c.account == account, table.c.team == team)
        connection.execute(gone)


def check_role(role: str) -> str:
    """Return `role` where there is such a role."""
    if role not in ROLES:
        raise ParameterError(f"{role!r} is no role; choose one of {', '.join(ROLES)}.")
    return role


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
