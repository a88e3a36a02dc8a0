"""Pseudonyms: the names of a participant, all made from a secret that is never kept.

In the ledger a person has one name, and in each survey another; an entry of the ledger and a
participation share no name either. Only while the secret is at hand can one be told from another.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

_BLOCK: Final = 64  # bytes that SHA-256 takes at once


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """The names of one participant, for the length of a request."""

    secret: str  # 128 bits in hexadecimal, drawn by the participant's device
    key: str  # of this server, in hexadecimal
    _made: dict[tuple[str, str], str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def person(self) -> str:
        """Name in the ledger."""
        # The secret alone. Every other use puts its own word before it, so two names never
        # coincide.
        return self._name(self.key, self.secret)

    def pseudonym(self, survey_key: str) -> str:
        """Return the name in the survey that has this key."""
        return self._name(survey_key, self.secret)

    def is_named(self, pseudonym: str, survey_key: str) -> bool:
        """Return whether that is the name in a survey, in constant time."""
        return secrets.compare_digest(pseudonym, self.pseudonym(survey_key))

    def ledger_key(self, survey: str, attempt: int) -> str:
        """Return the ledger's name of one attempt; a lapsed reservation's is never used again."""
        again = "" if attempt == 1 else f":{attempt}"
        return self._name(self.key, f"participation:{survey}:{self.secret}{again}")

    def completion(self, survey: str) -> str:
        """Return the keyed hash that the completion code for a survey is made of."""
        return self._name(self.key, f"completion:{survey}:{self.secret}")

    def idempotency(self, key: str) -> str:
        """Return the name of a request that may be sent again."""
        return self._name(self.key, f"idempotency:{key}:{self.secret}")

    def _name(self, key: str, text: str) -> str:
        made = self._made.get((key, text))
        if made is None:
            made = self._made[key, text] = keyed(key, text)
        return made


def keyed(key: str, text: str) -> str:
    """Return HMAC-SHA256 in hexadecimal; `key` is hexadecimal too."""
    inner, outer = (half.copy() for half in _halves(key))
    inner.update(text.encode())
    outer.update(inner.digest())
    name: str = outer.hexdigest()
    return name


@lru_cache(maxsize=1024)
def _halves(key: str) -> tuple[Any, Any]:
    """Return the two hashes of RFC 2104 that have taken the key, to be copied.

    `hmac.digest` lets go of the interpreter's lock each time, and waits for it again.
    """
    block = bytes.fromhex(key)
    if len(block) > _BLOCK:
        block = hashlib.sha256(block).digest()
    block = block.ljust(_BLOCK, b"\0")
    inner, outer = (bytes(one ^ pad for one in block) for pad in (0x36, 0x5C))
    return hashlib.sha256(inner), hashlib.sha256(outer)
