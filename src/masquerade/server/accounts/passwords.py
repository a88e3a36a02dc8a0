"""Passwords: what is taken as one, and how it is kept."""

from __future__ import annotations

import threading
import unicodedata
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from masquerade.errors import ParameterError
from masquerade.server.accounts.common_passwords import why_common

SHORTEST, LONGEST = 12, 1000
_FEWEST_DIFFERENT = 5

_HASHER = PasswordHasher()  # Argon2id at the second recommendation of RFC 9106
# Each takes 64 MiB while it is computed: a crowd at the door waits, and the memory does not fill.
_AT_ONCE = threading.BoundedSemaphore(2)


def check_password(password: str, *, login: str) -> str:
    """Return `password` where it may be chosen.

    Raises
    ------
    ParameterError
        It is too short, too long, too simple, holds the login, or is one that many choose.
    """
    length = len(_normal(password))
    if not SHORTEST <= length <= LONGEST:
        raise ParameterError(
            f"the password has {length} characters, expected {SHORTEST} to {LONGEST}. Several "
            "words in a row are long and easy to keep in mind."
        )
    if len(set(password)) < _FEWEST_DIFFERENT:
        raise ParameterError(
            f"the password has fewer than {_FEWEST_DIFFERENT} different characters; choose another."
        )
    if login.casefold() in password.casefold():
        raise ParameterError("the password holds the login; choose another.")
    why = why_common(_normal(password), names=(login,))
    if why is not None:
        raise ParameterError(
            f"the password is easily guessed: {why}. Take several words that nobody would put "
            "together."
        )
    return password


def hash_password(password: str) -> str:
    """Return the Argon2id hash of a password, with its parameters and salt in it."""
    with _AT_ONCE:
        return _HASHER.hash(_normal(password))


def verify_password(kept: str | None, password: str) -> bool:
    """Return whether `password` is the one that `kept` was made of.

    Where nothing is kept the answer is no, after the time that it takes otherwise.
    """
    with _AT_ONCE:
        try:
            # Nobody could choose a longer one, and a long text takes long to hash.
            return _HASHER.verify(kept or _nobodys(), _normal(password)[:LONGEST]) and bool(kept)
        except (VerificationError, InvalidHashError):
            return False


def needs_new_hash(kept: str) -> bool:
    """Return whether a hash was made with other parameters than new ones are."""
    return _HASHER.check_needs_rehash(kept)


@cache
def _nobodys() -> str:
    return _HASHER.hash("nobody has this password")


def _normal(password: str) -> str:
    # The same letters can come in several encodings from several keyboards.
    return unicodedata.normalize("NFKC", password)
