"""Passwords: the rules for new ones, their hashes, and the common ones that are refused.

No list of anybody else's is copied. The words were written down for this module: what people type
when they are asked for a password, in English and on keyboards. Refused is what consists of
nothing but one or two of them, runs of neighbouring keys or letters, years and a few digits or
signs, however it is spelt (``P@ssw0rd-2026``), and what repeats itself. Passwords that were stolen
somewhere and follow no such rule are not known here.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from masquerade.errors import ParameterError

SHORTEST, LONGEST = 12, 1000
_FEWEST_DIFFERENT = 5

_HASHER = PasswordHasher()  # Argon2id at the second recommendation of RFC 9106
# Each takes 64 MiB while it is computed: a crowd at the door waits, and the memory does not fill.
_AT_ONCE = threading.BoundedSemaphore(2)

MOST_WORDS = 2
_WORDS = (
    "access account admin administrator angel apple autumn baby banana baseball basketball",
    "batman battery beautiful buster butterfly changeit changeme charlie chocolate computer",
    "cookie correct daniel default dragon family flower football forever freedom friend",
    "friends george ginger guest hallo hannah hello hockey horse hunter iloveyou internet",
    "jennifer jessica jordan killer letmein liverpool login london love lovely loveyou maggie",
    "manager masquerade master matrix michael michelle monkey mother mustang my new nicole",
    "office orange pass passphrase password passwort please pokemon prince princess private",
    "purple robert root samsung secret secure security server shadow soccer sommer spring",
    "staple starwars summer sunshine superman survey surveys teacher test testing thomas",
    "tigger trustno university user welcome whatever william winter work yellow",
)
_ROWS = ("qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm", "1234567890")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_COLUMNS = "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p"
_SPELT = str.maketrans("@4301!|$57", "aaeoiilsst")
_SHORTEST_RUN = 3


def check_password(password: str, *, login: str) -> str:
    """Return `password` where it may be chosen: long enough, without the login, not one of many."""
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
    """Return whether `kept` was made of `password`; a missing `kept` takes the same time."""
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


def why_common(password: str, *, names: Iterable[str] = ()) -> str | None:
    """Return why many would guess a password, None where no rule knows it; `names` count as words.

    Examples
    --------
    >>> why_common("P@ssw0rd-2026")
    'it consists of words and runs of keys that many people choose'
    >>> why_common("three words in a row") is None
    True
    """
    small = "".join(password.casefold().split())
    if re.fullmatch(r"(.{1,8}?)\1+.{0,4}", small, re.DOTALL) and len(set(small)) < 9:
        return "it repeats itself"
    own = tuple(part for name in names for part in re.split(r"\W|_", name.casefold()))
    words = _listed() | {part for part in own if len(part) >= _SHORTEST_RUN}
    if _consists(small, words):
        return "it consists of words and runs of keys that many people choose"
    return None


def _consists(text: str, words: frozenset[str]) -> bool:
    """Return whether a text is nothing but few words, runs, and digits or signs between them."""
    fewest: list[int | None] = [0] + [None] * len(text)  # words up to each place
    for start in range(len(text)):
        before = fewest[start]
        if before is None:
            continue
        for end in range(start + 1, min(len(text), start + 24) + 1):
            piece = text[start:end]
            cost = 1 if piece in words or piece.translate(_SPELT) in words else 0
            # Runs and digits cost nothing: any number of them adds little to what has to be
            # guessed.
            if not cost and not _is_run(piece) and not re.fullmatch(r"\d{1,4}|[\W_]{1,3}", piece):
                continue
            known = fewest[end]
            fewest[end] = before + cost if known is None else min(known, before + cost)
    found = fewest[-1]
    return found is not None and found <= MOST_WORDS


def _is_run(piece: str) -> bool:
    if len(piece) < _SHORTEST_RUN:
        return False
    return any(piece in run or piece in run[::-1] for run in (*_ROWS, _ALPHABET, _COLUMNS)) or (
        len(set(piece)) == 1
    )


@cache
def _listed() -> frozenset[str]:
    return frozenset(" ".join(_WORDS).split())
