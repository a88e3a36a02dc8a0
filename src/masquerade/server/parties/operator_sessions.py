"""The browsers in which the operator of a helper is signed in; of their cookies hashes are kept."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from sqlalchemy import Connection, delete, insert, select, update

from masquerade.server.db.server_values import ServerValues
from masquerade.server.db.tables import SETTING
from masquerade.server.db.transactions import Transactions, writes

#: A session ends after so many days, and after so many in which nothing was asked.
SESSION_DAYS: Final = 30
IDLE_DAYS: Final = 3
_KEY: Final = "operator:"


def session_id(secret: str) -> str:
    """Return the stored hash of a cookie: 160 bits, as a key has 64 letters at most."""
    return hashlib.sha256(secret.encode()).hexdigest()[:40]


@dataclass(frozen=True, slots=True)
class OperatorSession:
    """A browser in which the operator is signed in; no address and no finer time is kept."""

    id: str
    begun: str  # ISO date
    used: str  # ISO date of the last request

    def holds(self, today: date) -> bool:
        """Return whether it is neither old nor long unused."""
        oldest = (today - timedelta(days=SESSION_DAYS)).isoformat()
        unused = (today - timedelta(days=IDLE_DAYS)).isoformat()
        return self.begun >= oldest and self.used >= unused


class OperatorSessions:
    """All sessions of a helper's operator.

    `today`: gives the ISO date.
    """

    def __init__(self, transactions: Transactions, *, today: Callable[[], str]) -> None:
        self._transactions = transactions
        self._values = ServerValues(transactions)
        self._today = today

    def new_link(self) -> str:
        """Return the path of a fresh one-time link to the operator's page; older ones end."""
        return f"/operator?token={self._values.new_owner_token()}"

    def begin(self, token: str) -> str | None:
        """Return the secret of a new session, where `token` is that of the one-time link."""
        if not self._values.spend_owner_token(token):
            return None
        secret = secrets.token_urlsafe(32)
        value = f"{self._today()} {self._today()}"
        self._begin({"key": _KEY + session_id(secret), "value": value})
        return secret

    @writes
    def _begin(self, connection: Connection, row: dict[str, str]) -> None:
        # Those that are over go whenever somebody signs in, so no job has to look for them.
        over = [one.id for one in _all(connection) if not one.holds(self._day())]
        connection.execute(delete(SETTING).where(SETTING.c.key.in_(_KEY + one for one in over)))
        connection.execute(insert(SETTING), row)

    def use(self, secret: str) -> bool:
        """Return whether this is the secret of a session that lasts, and note that it is used."""
        mine, today = session_id(secret), self._today()
        found = next((one for one in self.listed() if one.id == mine), None)
        if found is not None and found.used < today:
            change = update(SETTING).where(SETTING.c.key == _KEY + mine)
            value = f"{found.begun} {today}"
            self._transactions.write(lambda c: c.execute(change.values(value=value)))
        return found is not None

    def listed(self) -> list[OperatorSession]:
        """Return the sessions that last, the newest first."""
        found = self._transactions.read(_all)
        kept = [one for one in found if one.holds(self._day())]
        return sorted(kept, key=lambda one: (one.begun, one.used, one.id), reverse=True)

    def end(self, session: str) -> None:
        """End one session, named by its id."""
        change = delete(SETTING).where(SETTING.c.key == _KEY + session)
        self._transactions.write(lambda c: c.execute(change))

    def end_others(self, keep: str) -> None:
        """End all sessions but the one with the id `keep`."""
        others = SETTING.c.key.startswith(_KEY) & (SETTING.c.key != _KEY + keep)
        self._transactions.write(lambda c: c.execute(delete(SETTING).where(others)))

    def _day(self) -> date:
        return date.fromisoformat(self._today())


def _all(connection: Connection) -> list[OperatorSession]:
    query = select(SETTING.c.key, SETTING.c.value).where(SETTING.c.key.startswith(_KEY))
    rows = connection.execute(query).all()
    return [OperatorSession(row.key[len(_KEY) :], *row.value.split(" ")) for row in rows]
