"""A change of the server's key: the columns that it seals, all sealed anew at once."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, Table, delete, select, update

from masquerade.server.db.account_tables import AccountRow
from masquerade.server.db.payment_tables import DeliveryRow, WebhookRow
from masquerade.server.db.seals import Seals, is_sealed, require_same_key, reseal, set_key
from masquerade.server.db.tables import table_of
from masquerade.server.keys import ServerKey

_ACCOUNT, _WEBHOOK = table_of(AccountRow), table_of(WebhookRow)
_DELIVERY = table_of(DeliveryRow)
# Only what must be read again; what is compared, as tokens and cookies are, is kept as a hash.
SEALED: Final[tuple[tuple[Table, str], ...]] = (
    (_ACCOUNT, "totp_secret"),
    (_WEBHOOK, "secret"),
)


def begin_sealing(connection: Connection, key: ServerKey | None) -> None:
    """Seal what is not sealed yet, as at the first start with a key.

    Raises
    ------
    OperationError
        The database was sealed with another key, or there is none now.
    """
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


def change_key(connection: Connection, before: ServerKey, after: ServerKey) -> None:
    """Seal everything with another key.

    Raises
    ------
    OperationError
        `before` is not the key of this database.
    """
    require_same_key(connection, before)
    for table, column in SEALED:
        reseal(connection, table, column, before=Seals(before), after=Seals(after))
    set_key(connection, after)


def forget_sealed(connection: Connection, after: ServerKey) -> tuple[int, int]:
    """Give up what a lost key sealed; return how many accounts and webhooks that ends.

    Those accounts are asked for no codes any more, and those webhooks are gone.
    """
    # Nobody can compute these codes any more; asking for them would lock the accounts out.
    sealed = update(_ACCOUNT).where(_ACCOUNT.c.totp_secret.is_not(None))
    accounts = connection.execute(sealed.values(totp_secret=None, totp_step=None)).rowcount
    # Before the webhooks, to which they refer.
    connection.execute(delete(_DELIVERY))
    webhooks = connection.execute(delete(_WEBHOOK)).rowcount
    set_key(connection, after)
    return accounts, webhooks
