"""Sessions: browsers in which somebody is signed in; of their cookies only hashes are kept."""

from __future__ import annotations

import hashlib
import secrets
from datetime import date, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, not_, select, update

from masquerade.server.db.account_tables import CHALLENGE, SESSION
from masquerade.server.db.transactions import Service, writes
from masquerade.server.http.security import SESSION_DAYS

#: A session in which nothing was asked for so many days is over.
IDLE_DAYS = 7


def digest(secret: str) -> str:
    """Return the stored hash of a secret of 128 random bits or more."""
    return hashlib.sha256(secret.encode()).hexdigest()


def holds(today: str) -> ColumnElement[bool]:
    """Return the condition under which a session is not over: neither old nor long unused."""
    now = date.fromisoformat(today)
    began = (now - timedelta(days=SESSION_DAYS)).isoformat()
    used = (now - timedelta(days=IDLE_DAYS)).isoformat()
    return (SESSION.c.day >= began) & (SESSION.c.used >= used)


def spend_once(connection: Connection, nonce: bytes, *, today: str) -> bool:
    """Return whether a challenge or ticket is used for the first time; it never is again."""
    spent = hashlib.sha256(nonce).hexdigest()
    if connection.execute(select(CHALLENGE).where(CHALLENGE.c.digest == spent)).first():
        return False
    # Yesterday's may have been spent minutes ago; those before it are over.
    yesterday = (date.fromisoformat(today) - timedelta(days=1)).isoformat()
    connection.execute(delete(CHALLENGE).where(CHALLENGE.c.day < yesterday))
    connection.execute(insert(CHALLENGE), {"digest": spent, "day": today})
    return True


class Sessions(Service):
    """All sessions."""

    def start(self, account: str, team: str, *, instead_of: str = "") -> str:
        """Begin a session in place of the cookie `instead_of`; return the new cookie's secret."""
        # Always a new one: a cookie that somebody planted before the sign-in is worth nothing.
        secret = secrets.token_urlsafe(32)
        today = self._today()
        known = {"digest": digest(secret), "account": account, "team": team}
        row = {**known, "day": today, "used": today}
        self._replace(digest(instead_of), row)
        return secret

    @writes
    def _replace(self, connection: Connection, old: str, row: dict[str, str]) -> None:
        over = not_(holds(self._today()))
        # Old sessions go whenever somebody signs in, so no job has to look for them.
        connection.execute(delete(SESSION).where(over | (SESSION.c.digest == old)))
        connection.execute(insert(SESSION), row)

    def of_account(self, account: str) -> list[tuple[str, str]]:
        """Return digest and first day of each session, the newest first."""
        query = (
            select(SESSION.c.digest, SESSION.c.day)
            .where(SESSION.c.account == account, holds(self._today()))
            .order_by(SESSION.c.day.desc(), SESSION.c.digest)
        )
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return [(row.digest, row.day) for row in rows]

    def use(self, session: str, *, last: str) -> None:
        """Note that a session, by its digest, is used today, where `last` is an earlier day."""
        today = self._today()
        if last < today:
            self._write(update(SESSION).where(SESSION.c.digest == session).values(used=today))

    def switch(self, session: str, team: str) -> None:
        """Let a session be about another team of its account."""
        change = update(SESSION).where(SESSION.c.digest == session).values(team=team)
        self._write(change)

    def end(self, session: str) -> None:
        """End one session, named by its digest."""
        self._write(delete(SESSION).where(SESSION.c.digest == session))

    def end_others(self, account: str, keep: str | None = None) -> None:
        """End all sessions of an account but the one with digest `keep`."""
        others = delete(SESSION).where(SESSION.c.account == account)
        self._write(others if keep is None else others.where(SESSION.c.digest != keep))

    def _write(self, change: Any) -> None:
        self._transactions.write(lambda c: c.execute(change))
