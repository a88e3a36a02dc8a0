"""Accounts that moved to another secret: of before servers had one each, or of an earlier address.

An account's names are made of the secret that it began with, and are left as they are: reports that
were published or taken away have them. What is kept of a move is the former secret, locked by the
new one, which is not kept; and that the former one has moved. Neither leads to a name of the
account, nor to the other. A secret of before opens nothing any more; one of an earlier address
does, as the same server may answer there.
"""

from __future__ import annotations

import hmac

from sqlalchemy import Connection, func, insert, select

from masquerade.errors import Unauthenticated
from masquerade.server.db.pseudonyms import Pseudonyms, keyed
from masquerade.server.db.tables import BALANCE, SETTING
from masquerade.server.db.transactions import Transactions, writes

# First letters of what a device sends: a secret that is made for this address, and one to which an
# account has moved. Without one it is a secret of before.
OWN, MOVED = "w", "m"


class MovedAccounts:
    """The people behind secrets, where some have moved.

    `key`: of this server, in hexadecimal.
    """

    def __init__(self, transactions: Transactions, *, key: str) -> None:
        self._transactions = transactions
        self._key = key

    def identity(self, sent: str) -> Pseudonyms:
        """Return the names of a person from their device's message: perhaps a letter, and a secret.

        Raises `Unauthenticated` where an account left this secret, or has not moved to it.
        """
        kind, secret = sent[:-32], sent[-32:]
        if kind == OWN:
            # The letter is part of it: whoever learnt a secret of before cannot pass it for this.
            return Pseudonyms(f"{OWN}{secret}", self._key)
        if kind == MOVED:
            locked = self._transactions.read(lambda c: _value(c, self._moved(secret)))
            if locked is None:
                raise Unauthenticated("no account has moved to this secret; let it be moved again.")
            return Pseudonyms(_locked(locked, secret), self._key)
        if self._transactions.read(lambda c: _value(c, self._left(secret))) is not None:
            raise Unauthenticated("this account has moved; open it with its recovery words.")
        return Pseudonyms(secret, self._key)

    @writes
    def move(self, connection: Connection, secret: str, former: str) -> bool:
        """Let `secret` open the account that `former` opens; return whether it does from now on.

        It does not where there is no such account, where it has moved to another secret, or where
        `secret` has an account of its own already. Asked again, it gives the same answer.

        Parameters
        ----------
        secret : str
            That the device has for this address, 32 hexadecimal digits.
        former : str
            One of before, 32 digits, or with `OWN` one of an earlier address.
        """
        if _value(connection, self._moved(secret)) is not None:
            return True
        first = self._first(connection, former)
        names = Pseudonyms(first, self._key), Pseudonyms(f"{OWN}{secret}", self._key)
        there, own = (_has_account(connection, one.person) for one in names)
        left = {"key": self._left(former), "value": ""}
        if not there or own or _value(connection, left["key"]) is not None:
            return False
        # Of two at once one fails here, and is run again.
        connection.execute(insert(SETTING), left)
        kept = {"key": self._moved(secret), "value": _locked(first, secret)}
        connection.execute(insert(SETTING), kept)
        return True

    def _first(self, connection: Connection, former: str) -> str:
        """Return the secret that an account began with, by a former one to which it may have moved.

        An account of before that moved, or that followed its server, moves again with the next
        address.
        """
        kind, secret = former[:-32], former[-32:]
        locked = _value(connection, self._moved(secret)) if kind == OWN else None
        return former if locked is None else _locked(locked, secret)

    def _moved(self, secret: str) -> str:
        return f"moved:{keyed(self._key, f'moved:{secret}')[:56]}"

    def _left(self, former: str) -> str:
        return f"left:{keyed(self._key, f'left:{former}')[:56]}"


def _locked(digits: str, secret: str) -> str:
    """Lock a secret by another, or unlock it: each secret locks one, and so is a one-time pad."""
    kind, digits = digits[:-32], digits[-32:]
    pad = hmac.digest(bytes.fromhex(secret), b"masquerade moved account", "sha256")[:16]
    both = int.from_bytes(pad) ^ int(digits, 16)
    return f"{kind}{both:032x}"


def _has_account(connection: Connection, person: str) -> bool:
    query = select(func.count()).select_from(BALANCE).where(BALANCE.c.person == person)
    return bool(connection.scalar(query))


def _value(connection: Connection, key: str) -> str | None:
    found: str | None = connection.scalar(select(SETTING.c.value).where(SETTING.c.key == key))
    return found
