"""Accounts of surveyors, and checks of their passwords and codes."""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from masquerade.errors import NotFound, ParameterError
from masquerade.server.accounts import totp
from masquerade.server.accounts.passwords import (
    check_password,
    hash_password,
    needs_new_hash,
    verify_password,
)
from masquerade.server.db.account_tables import ACCOUNT
from masquerade.server.db.seals import Seals, place_of
from masquerade.server.db.transactions import Transactions, writes
from masquerade.surveys.characters import wrong_character

ACTIVE, DISABLED = "active", "disabled"
LONGEST_NAME = 100
_LOGIN = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")


@dataclass(frozen=True, slots=True)
class Account:
    """A surveyor."""

    id: str
    login: str
    name: str
    # has_password, has_totp: whether a password was chosen, and whether signing in asks for a code
    # too.
    has_password: bool
    has_totp: bool


def account_of(row: Any) -> Account:
    """Return the account in a row of its table."""
    return Account(
        row.id, row.login, row.name, row.password is not None, row.totp_secret is not None
    )


def check_login(login: str) -> str:
    """Return a login in its one form, in small letters."""
    small = login.strip().lower()
    if not _LOGIN.fullmatch(small):
        raise ParameterError(
            f"{login!r} cannot be a login; use 1 to 64 letters from a to z, digits and . _ @ + -, "
            "beginning with a letter or digit."
        )
    return small


def check_name(name: str, *, what: str = "the name") -> str:
    """Return a name without spaces around it, where it is neither empty nor too long."""
    kept = unicodedata.normalize("NFC", name.strip())
    if not 0 < len(kept) <= LONGEST_NAME or wrong_character(kept) is not None:
        raise ParameterError(f"{what} is {name!r}, expected 1 to {LONGEST_NAME} visible letters.")
    return kept


def insert_account(
    connection: Connection, *, login: str, name: str, password: str | None, day: str
) -> str:
    """Keep a new account, its login and name checked, its password hashed, and return its id."""
    # The column is unique too: of two at once, the second transaction runs again and finds the
    # first.
    if connection.execute(select(ACCOUNT.c.id).where(ACCOUNT.c.login == login)).first():
        raise ParameterError(f"the login {login!r} is taken; choose another.")
    id_ = secrets.token_hex(16)
    row = {"id": id_, "login": login, "name": name, "password": password}
    connection.execute(insert(ACCOUNT), {**row, "state": ACTIVE, "day": day})
    return id_


def account_maker(*, login: str, name: str, password: str, day: str) -> Callable[[Connection], str]:
    """Return a function that inserts a new account; the password is checked and hashed before."""
    login, name = check_login(login), check_name(name)
    hashed = hash_password(check_password(password, login=login))
    return lambda connection: insert_account(
        connection, login=login, name=name, password=hashed, day=day
    )


class Accounts:
    """All accounts; `clock` gives the seconds since 1970, for codes, and `seals` seals secrets."""

    def __init__(
        self, transactions: Transactions, *, clock: Callable[[], float], seals: Seals | None = None
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._seals = seals or Seals(None)

    def get(self, id_: str) -> Account:
        """Return an account."""
        return account_of(self._row(ACCOUNT.c.id == id_))

    def by_login(self, login: str) -> Account:
        """Return the account of a login that was not disabled."""
        row = self._with_login(login)
        if row is None:
            raise NotFound(f"there is no account {login!r}; masquerade user list shows all.")
        return account_of(row)

    def recognise(self, login: str, password: str, code: str) -> Account | None:
        """Return the account that login, password and code belong to, or None.

        A code is asked for where the account has turned that on, and works once. Nothing, the time
        that it takes included, tells which of the three was wrong.
        """
        row = self._with_login(login)
        # Also for an unknown login a hash is computed, so that the time does not tell which logins
        # exist.
        right = verify_password(None if row is None else row.password, password)
        if row is None or not right:
            return None
        # After the password only: strangers can use up nobody's codes.
        if row.totp_secret is not None and not self._spend_code(row, code):
            return None
        # Only now is the password at hand; a hash cannot be made stronger without it.
        if needs_new_hash(row.password):
            self._set(row.id, password=hash_password(password))
        return account_of(row)

    def has_password(self, id_: str, password: str) -> bool:
        """Return whether this is the account's password."""
        return verify_password(self._row(ACCOUNT.c.id == id_).password, password)

    @writes
    def rename(self, connection: Connection, id_: str, *, login: str, name: str) -> None:
        """Change login and name."""
        new = {"login": check_login(login), "name": check_name(name)}
        taken = select(ACCOUNT.c.id).where(ACCOUNT.c.login == new["login"], ACCOUNT.c.id != id_)
        if connection.execute(taken).first():
            raise ParameterError(f"the login {new['login']!r} is taken; choose another.")
        connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == id_).values(new))

    def set_password(self, id_: str, password: str) -> None:
        """Choose a new password; the caller also ends the other sessions."""
        check_password(password, login=self.get(id_).login)
        self._set(id_, password=hash_password(password))

    def ask_for_codes(self, id_: str, secret: str, code: str) -> bool:
        """Ask for codes made of `secret` from now on; return whether `code` is one of them."""
        step = totp.matching_step(secret, code, seconds=self._clock(), after=None)
        if step is None:
            return False
        kept = self._seals.seal(secret, place_of(ACCOUNT, "totp_secret", id_))
        # The code that was just typed counts as used.
        self._set(id_, totp_secret=kept, totp_step=step)
        return True

    def ask_for_no_codes(self, id_: str) -> None:
        """Ask for no codes any more."""
        self._set(id_, totp_secret=None, totp_step=None)

    def _spend_code(self, row: Any, code: str) -> bool:
        secret = self._seals.unseal(row.totp_secret, place_of(ACCOUNT, "totp_secret", row.id))
        step = totp.matching_step(secret, code, seconds=self._clock(), after=row.totp_step)
        if step is None:
            return False
        # Of two requests with the same code, one finds the step as it was.
        spent = (
            update(ACCOUNT)
            .where(ACCOUNT.c.id == row.id, ACCOUNT.c.totp_step < step)
            .values(totp_step=step)
        )
        return self._transactions.write(lambda c: c.execute(spent).rowcount == 1)

    def _with_login(self, login: str) -> Any:
        small = login.strip().lower()
        # Anything else cannot be there, and a database may refuse to look for it.
        if not _LOGIN.fullmatch(small):
            return None
        return self._row((ACCOUNT.c.login == small) & (ACCOUNT.c.state == ACTIVE))

    def _row(self, where: Any) -> Any:
        return self._transactions.read(lambda c: c.execute(select(ACCOUNT).where(where)).first())

    def _set(self, id_: str, **values: Any) -> None:
        change = update(ACCOUNT).where(ACCOUNT.c.id == id_).values(values)
        self._transactions.write(lambda c: c.execute(change))
