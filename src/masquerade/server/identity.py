"""The names of a participant, all made from a secret that is never kept.

In the ledger a person has one name, and in each survey another; an entry of the ledger and a
participation share no name either. Only while the secret is at hand can one be told from another.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """One participant, for the length of a request.

    Attributes
    ----------
    secret : str
        128 bits in hexadecimal, drawn by the participant's device.
    key : str
        Of this server, in hexadecimal.
    """

    secret: str
    key: str

    @property
    def person(self) -> str:
        """Name in the ledger."""
        return keyed(self.key, self.secret)

    def pseudonym(self, survey_key: str) -> str:
        """Return the name in the survey that has this key."""
        return keyed(survey_key, self.secret)

    def ledger_key(self, survey: str, attempt: int) -> str:
        """Return what names the participation in a survey on the person's account.

        A reservation that lapsed is never taken up again; the next attempt has its own name.
        """
        again = "" if attempt == 1 else f":{attempt}"
        return keyed(self.key, f"participation:{survey}:{self.secret}{again}")

    def idempotency(self, key: str) -> str:
        """Return the name of a request that may be sent again."""
        return keyed(self.key, f"idempotency:{key}:{self.secret}")


def keyed(key: str, text: str) -> str:
    """Return HMAC-SHA256 in hexadecimal; `key` is hexadecimal too."""
    return hmac.digest(bytes.fromhex(key), text.encode(), "sha256").hex()
