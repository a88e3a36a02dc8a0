"""Secrets in the database, sealed with the server's key."""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import Connection, Table, insert, select, update

from masquerade.errors import OperationError
from masquerade.server.db.account_tables import ACCOUNT, WEBHOOK
from masquerade.server.db.party_tables import HELPER, HELPER_TASK, SPLIT_TASK
from masquerade.server.db.reach_tables import MAILING, RECIPIENT, TICKET_KEY
from masquerade.server.db.tables import SETTING
from masquerade.server.keys import ServerKey

_PREFIX = "sealed1:"
_NONCE = 12  # bytes; drawn at random, which is safe for 2**32 secrets under one key (SP 800-38D)
_CHECK = "server_key_check"
# Only what must be read again; what is compared, as tokens and cookies are, is kept as a hash.
SEALED: Final[tuple[tuple[Table, str], ...]] = (
    (ACCOUNT, "totp_secret"),
    (WEBHOOK, "secret"),
    (HELPER, "token"),
    (SPLIT_TASK, "secrets"),
    (HELPER_TASK, "secrets"),
    (TICKET_KEY, "secrets"),
    (MAILING, "key"),
    (RECIPIENT, "address"),
)


class Seals:
    """Seals texts that the database holds, with AES-256-GCM, each bound to its place.

    Without a key texts are kept as they are.
    """

    def __init__(self, key: ServerKey | None) -> None:
        self._cipher = None if key is None else AESGCM(key.derived("secrets in the database"))

    def seal(self, text: str, place: str) -> str:
        """Return `text` encrypted for `place`, or as it is where there is no key."""
        if self._cipher is None:
            return text
        nonce = os.urandom(_NONCE)
        sealed = nonce + self._cipher.encrypt(nonce, text.encode(), place.encode())
        return _PREFIX + base64.b64encode(sealed).decode()

    def unseal(self, kept: str, place: str) -> str:
        """Return the text that was sealed as `kept` for `place`."""
        if not is_sealed(kept):  # of before there was a key; the next start seals it
            return kept
        try:
            if self._cipher is None:
                raise ValueError("there is no key")
            sealed = base64.b64decode(kept.removeprefix(_PREFIX), validate=True)
            nonce, content = sealed[:_NONCE], sealed[_NONCE:]
            return self._cipher.decrypt(nonce, content, place.encode()).decode()
        except (InvalidTag, ValueError, binascii.Error) as error:
            raise OperationError(
                "a secret in the database was sealed with another server key, or was changed. "
                "Check server_key_file; without the right key: masquerade new-key --forget."
            ) from error


def is_sealed(kept: str) -> bool:
    """Return whether a text of the database is a sealed one."""
    return kept.startswith(_PREFIX)


def require_same_key(connection: Connection, key: ServerKey | None) -> bool:
    """Return whether a database was ever used with a server key; raise where with another one."""
    query = select(SETTING.c.value).where(SETTING.c.key == _CHECK)
    known = connection.execute(query).scalar()
    if known is None:
        return False
    if key is None or not hmac.compare_digest(known, _check(key)):
        raise OperationError(
            f"this database was sealed with {'a' if key is None else 'another'} server key. Put "
            "that key into the file that server_key_file names. Where it is lost: masquerade "
            "new-key --forget, which ends one-time codes, webhooks, and surveys between two "
            "parties that are under way."
        )
    return True


def set_key(connection: Connection, key: ServerKey) -> None:
    """Let a database belong to `key` from now on."""
    query = select(SETTING.c.key).where(SETTING.c.key == _CHECK)
    if connection.execute(query).first() is None:
        connection.execute(insert(SETTING), {"key": _CHECK, "value": _check(key)})
    else:
        change = update(SETTING).where(SETTING.c.key == _CHECK)
        connection.execute(change.values(value=_check(key)))


def begin_sealing(connection: Connection, key: ServerKey | None) -> None:
    """Seal all secrets that are stored in plain text, as at the first start with a key."""
    known = require_same_key(connection, key)
    if key is None:
        return
    # In the transaction that seals: after a crash either both are there or neither.
    if not known:
        set_key(connection, key)
    if plain_texts(connection):
        for table, column in SEALED:
            # `unseal` returns a plain text as it is, so one pass handles sealed and plain rows.
            reseal(connection, table, column, before=Seals(key), after=Seals(key))


def plain_texts(connection: Connection) -> int:
    """Return how many secrets lie in the database as they are."""
    found = 0
    for table, column in SEALED:
        query = select(table.c[column]).where(table.c[column].is_not(None))
        found += sum(not is_sealed(text) for text in connection.execute(query).scalars())
    return found


def reseal(
    connection: Connection, table: Table, column: str, *, before: Seals, after: Seals
) -> None:
    """Seal every text of a column anew; its rows have an ``id``."""
    place = table.c[column]
    # Read whole before the first update: a cursor may otherwise meet rows that it changed.
    for row in connection.execute(select(table.c.id, place).where(place.is_not(None))).all():
        where = place_of(table, column, row[0])
        text = after.seal(before.unseal(row[1], where), where)
        connection.execute(update(table).where(table.c.id == row[0]).values({column: text}))


def place_of(table: Table, column: str, id_: str) -> str:
    """Return the name of a place in the database."""
    return f"{table.name}.{column}:{id_}"


def _check(key: ServerKey) -> str:
    # A derived value: it shows neither the server's key nor the one that seals.
    return key.derived("check").hex()
