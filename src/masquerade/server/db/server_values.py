"""Values that a server keeps about itself: its secrets, the owner's link, cached texts."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from sqlalchemy import Connection, delete, insert, select

from masquerade.server.db.tables import SETTING
from masquerade.server.db.transactions import Transactions, writes

_OWNER_TOKEN = "owner_token"


class ServerValues:
    """Texts by key."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    @writes
    def secret(self, connection: Connection, key: str) -> str:
        """Return a secret of this server, drawn on first use."""
        # One transaction: processes that start together must end with the same secret.
        secret = _value(connection, key)
        if secret is None:
            secret = secrets.token_hex(32)
            connection.execute(insert(SETTING), {"key": key, "value": secret})
        return secret

    def new_owner_token(self) -> str:
        """Return a fresh one-time owner token; only its hash is kept, older ones end."""
        token = secrets.token_urlsafe(24)
        # 192 random bits need no slow hash; a copy of the database still lets nobody in.
        self._replace(_OWNER_TOKEN, _digest(token))
        return token

    @writes
    def _replace(self, connection: Connection, key: str, value: str) -> None:
        connection.execute(delete(SETTING).where(SETTING.c.key == key))
        connection.execute(insert(SETTING), {"key": key, "value": value})

    @writes
    def spend_owner_token(self, connection: Connection, token: str) -> bool:
        """Return whether `token` is the owner token, which ends with this call."""
        digest = _value(connection, _OWNER_TOKEN)
        if digest is None or not hmac.compare_digest(digest, _digest(token)):
            return False
        # The digest is part of the condition: of two who come at once, one deletes a row.
        spent = delete(SETTING).where(SETTING.c.key == _OWNER_TOKEN, SETTING.c.value == digest)
        return connection.execute(spent).rowcount == 1


def _value(connection: Connection, key: str) -> str | None:
    query = select(SETTING.c.value).where(SETTING.c.key == key)
    value: str | None = connection.execute(query).scalar()
    return value


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
