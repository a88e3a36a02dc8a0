"""Pseudonyms: the names of a participant, all made from a secret that is never kept.

In the ledger a person has one name, and in each survey another; an entry of the ledger and a
participation share no name either. Only while the secret is at hand can one be told from another.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """The names of one participant, for the length of a request."""

    secret: str  # 128 bits in hexadecimal, drawn by the participant's device
    key: str  # of this server, in hexadecimal

    @property
    def person(self) -> str:
        """Name in the ledger."""
        # The secret alone. Every other use puts its own word before it, so two names never
        # coincide.
        return keyed(self.key, self.secret)

    def pseudonym(self, survey_key: str) -> str:
        """Return the name in the survey that has this key."""
        return keyed(survey_key, self.secret)

    def ledger_key(self, survey: str, attempt: int) -> str:
        """Return the ledger's name of one attempt; a lapsed reservation's is never used again."""
        again = "" if attempt == 1 else f":{attempt}"
        return keyed(self.key, f"participation:{survey}:{self.secret}{again}")

    def completion(self, survey: str) -> str:
        """Return the keyed hash that the completion code for a survey is made of."""
        return keyed(self.key, f"completion:{survey}:{self.secret}")

    def idempotency(self, key: str) -> str:
        """Return the name of a request that may be sent again."""
        return keyed(self.key, f"idempotency:{key}:{self.secret}")


def keyed(key: str, text: str) -> str:
    """Return HMAC-SHA256 in hexadecimal; `key` is hexadecimal too."""
    return hmac.digest(bytes.fromhex(key), text.encode(), "sha256").hex()
