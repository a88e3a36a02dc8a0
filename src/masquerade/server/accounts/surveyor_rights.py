"""Credentials: the surveyor and the rights behind a session, a token or an account."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from masquerade.server.accounts.accounts import ACTIVE, Account, account_of
from masquerade.server.accounts.sessions import Sessions, digest, holds
from masquerade.server.accounts.teams import ROLES, Team, Teams
from masquerade.server.accounts.tokens import ApiTokens
from masquerade.server.db.account_tables import ACCOUNT, MEMBERSHIP, SESSION, TEAM, TOKEN
from masquerade.server.db.transactions import Transactions, reads


@dataclass(frozen=True, slots=True)
class Surveyor:
    """A signed-in surveyor, or a token acting for one."""

    account: Account
    team: Team
    role: str
    rights: frozenset[str]  # of the role; of a token, those that are also its scopes
    session: str | None  # digest of the session; null for a token


class Credentials:
    """The credentials of sessions, tokens and accounts."""

    def __init__(
        self,
        transactions: Transactions,
        *,
        sessions: Sessions,
        tokens: ApiTokens,
        teams: Teams,
        today: Callable[[], str],
    ) -> None:
        self._transactions = transactions
        self._sessions = sessions
        self._tokens = tokens
        self._teams = teams
        self._today = today

    def by_session(self, secret: str) -> Surveyor | None:
        """Return the surveyor of a session; None where it is over or unknown."""
        query = (
            _known(SESSION)
            .add_columns(SESSION.c.digest.label("session"), SESSION.c.used)
            .where(SESSION.c.digest == digest(secret), holds(self._today()))
        )
        row = self._first(query)
        if row is None:
            return None
        # Only a session that is not over yet is noted as used.
        self._sessions.use(row.session, last=row.used)
        return _who(row, ROLES[row.role], row.session)

    def by_token(self, token: str) -> Surveyor | None:
        """Return the surveyor that a token acts for; None where it is over, revoked or unknown."""
        today = self._today()
        query = (
            _known(TOKEN)
            .add_columns(TOKEN.c.digest, TOKEN.c.scopes, TOKEN.c.used)
            .where(
                TOKEN.c.digest == digest(token), TOKEN.c.until.is_(None) | (TOKEN.c.until >= today)
            )
        )
        row = self._first(query)
        if row is None:
            return None
        if row.used != today:
            self._tokens.used(row.digest)
        # The role of today: who loses a right loses it for their tokens too.
        return _who(row, ROLES[row.role] & frozenset(row.scopes), None)

    def by_account(self, account: Account) -> Surveyor | None:
        """Return an account as a member of the first of its teams; None where it is in none."""
        member = next(iter(self._teams.of_account(account.id)), None)
        if member is None:
            return None
        return Surveyor(account, member.team, member.role, ROLES[member.role], None)

    @reads
    def _first(self, connection: Connection, query: Any) -> Any:
        return connection.execute(query).first()


def _known(table: Any) -> Any:
    """Return the query that joins rows of `table` with their accounts, memberships and teams."""
    # No membership, no row: who was removed from a team is out of it with the next request.
    member = (MEMBERSHIP.c.account == table.c.account) & (MEMBERSHIP.c.team == table.c.team)
    return (
        select(ACCOUNT, MEMBERSHIP.c.role, TEAM.c.id.label("team"), TEAM.c.name.label("of"))
        .join(table, table.c.account == ACCOUNT.c.id)
        .join(MEMBERSHIP, member)
        .join(TEAM, TEAM.c.id == table.c.team)
        .where(ACCOUNT.c.state == ACTIVE)
    )


def _who(row: Any, rights: frozenset[str], session: str | None) -> Surveyor:
    return Surveyor(account_of(row), Team(row.team, row.of), row.role, rights, session)
