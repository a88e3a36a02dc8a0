"""A team with somebody in each role, and browsers in which they are signed in."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Connection, insert

from masquerade.server import Services
from masquerade.server.accounts.accounts import insert_account
from masquerade.server.accounts.teams import RIGHTS, ROLES, join
from masquerade.server.db.account_tables import TEAM
from masquerade.server.http.security import COOKIE, csrf_token

PASSWORD = "four words in a row"


@contextmanager
def writing(services: Services) -> Iterator[Connection]:
    """Return a connection in one transaction."""
    with services.engine.execution_options(write=True).begin() as connection:
        yield connection


def insert_team(connection: Connection, name: str) -> str:
    """Make an empty team and return its id."""
    id_ = secrets.token_hex(16)
    connection.execute(insert(TEAM), {"id": id_, "name": name})
    return id_


def insert_member(
    connection: Connection, team: str, role: str, *, password: str | None = None
) -> str:
    """Make an account in a team, and return its id."""
    login = f"{role}-{secrets.token_hex(4)}"
    id_ = insert_account(
        connection, login=login, name=role.title(), password=password, day="2026-03-14"
    )
    join(connection, id_, team, role)
    return id_


@dataclass
class Cast:
    """A team with a member in each role, and another team with an owner.

    Attributes
    ----------
    services : Services
    team, other_team : str
    members : dict of str to str
        Role to account.
    outsider : str
        The other team's owner.
    """

    services: Services
    team: str = ""
    other_team: str = ""
    members: dict[str, str] = field(default_factory=dict)
    outsider: str = ""

    def __post_init__(self) -> None:
        with writing(self.services) as connection:
            self.team = insert_team(connection, "Sociologists")
            self.other_team = insert_team(connection, "Economists")
            self.members = {role: insert_member(connection, self.team, role) for role in ROLES}
            self.outsider = insert_member(connection, self.other_team, "owner")

    def another(self, role: str, *, password: str | None = None) -> str:
        """Make one more member; return its id."""
        with writing(self.services) as connection:
            return insert_member(connection, self.team, role, password=password)

    def session(self, account: str, team: str | None = None) -> dict[str, str]:
        """Sign an account in and return the headers of its browser."""
        team = team or (self.other_team if account == self.outsider else self.team)
        secret = self.services.sessions.start(account, team)
        return {"Cookie": f"{COOKIE}={secret}", "X-CSRF-Token": csrf_token(secret)}

    def token(self, role: str = "owner", *scopes: str) -> dict[str, str]:
        """Make a token of a member, with all scopes by default; return the headers with it."""
        token = self.services.tokens.create(
            self.members[role], self.team, name="notebook", scopes=scopes or RIGHTS, until=None
        )
        return {"Authorization": f"Bearer {token}"}
