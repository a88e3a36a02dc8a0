"""The asker, the consent and the invitations: the words that people read before a question.

Single-use invitations are tickets. Each has a code, which its holder's device exchanges for a blind
signature, and the signature later admits one participation. So it is known that somebody who was
invited takes part, and not who of them.

With `answers_from` there are two phases: until that day codes are exchanged, and from it on people
answer. In one phase a participation follows an exchange within minutes, so whoever runs the server
can tell them apart by time; what is kept does not tell. In two phases time does not tell either.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from masquerade.errors import ParameterError
from masquerade.surveys.blind_rsa import PREFIX_BYTES, PublicKey

#: Longest texts: of the name of who asks, of an address for questions, and of a consent.
LONGEST_NAME, LONGEST_CONSENT = 200, 4000
MOST_WAVES: Final = 1000

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: nothing looks like something else
_MISREAD = str.maketrans("ILO", "110")
_LENGTH, _GROUP = 20, 5  # 100 bits: nobody guesses a code, also not with its hash at hand
_CODE = re.compile(f"[{_ALPHABET}]{{{_LENGTH}}}")
_FRAGMENT = re.compile(r"#?ticket=([0-9A-Za-z-]{20,30})\.([A-Za-z0-9_-]{43})")
_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TEXTS = {"asked_by": LONGEST_NAME, "contact": LONGEST_NAME, "consent": LONGEST_CONSENT}


@dataclass(frozen=True, slots=True)
class TicketTerms:
    """The terms of single-use invitations to a survey; part of its text, and so of its hash."""

    key: str  # the public key of this survey and wave: a modulus in hexadecimal digits
    wave: int = 1
    answers_from: str | None = None  # the first day of answers, where there are two phases
    # Whether who asks looks whose invitation was used, so that the others can be reminded.
    watched: bool = False

    def __post_init__(self) -> None:
        PublicKey.of_hex(self.key)
        if not isinstance(self.wave, int) or isinstance(self.wave, bool):
            raise ParameterError(f"wave is {self.wave!r}, expected a whole number.")
        if not 1 <= self.wave <= MOST_WAVES:
            raise ParameterError(f"wave is {self.wave}, expected 1 to {MOST_WAVES}.")
        if self.answers_from is not None and not _is_day(self.answers_from):
            raise ParameterError(
                f"answers_from is {self.answers_from!r}, expected a day (YYYY-MM-DD).",
                field="answers_from",
            )
        if not isinstance(self.watched, bool):
            raise ParameterError(f"watched is {self.watched!r}, expected true or false.")

    @property
    def public_key(self) -> PublicKey:
        """The key that verifies a ticket."""
        return PublicKey.of_hex(self.key)

    @classmethod
    def from_json(cls, data: Any) -> TicketTerms | None:
        """Return the terms of a JSON object; None for null."""
        if data is None:
            return None
        if not isinstance(data, dict) or set(data) != {"key", "wave", "answers_from", "watched"}:
            raise ParameterError("invitations need a key, a wave, answers_from and watched.")
        return cls(**data)

    def to_json(self) -> dict[str, object]:
        """Return the terms as a JSON object."""
        return {
            "key": self.key,
            "wave": self.wave,
            "answers_from": self.answers_from,
            "watched": self.watched,
        }

    def message(self, survey: str, prefix: bytes) -> bytes:
        """Return the message that the signature of a ticket signs; its holder draws `prefix`."""
        return prefix + f"masquerade ticket:{survey}:{self.wave}".encode()

    def read(self, survey: str, ticket: str) -> str:
        """Return the name of a ticket that was signed for a survey: the hash of its prefix.

        Raises `ParameterError` (it is none of this survey and wave).
        """
        try:
            content = base64.b64decode(ticket, validate=True)
        except (ValueError, binascii.Error):
            content = b""
        prefix, signature = content[:PREFIX_BYTES], content[PREFIX_BYTES:]
        if not self.public_key.verifies(self.message(survey, prefix), signature):
            raise ParameterError("this is no ticket of this survey.")
        # Of the prefix and not of the signature, which could be written in another way.
        return hashlib.sha256(prefix).hexdigest()


@dataclass(frozen=True, slots=True)
class Reach:
    """The words that people read before they begin: asker, contact, consent, invitations."""

    asked_by: str = ""
    contact: str = ""  # an e-mail address, a telephone number or a web page
    consent: str = ""  # what they agree to before they begin; empty where nothing is asked
    invitations: TicketTerms | None = None  # None: everybody with the link can take part

    def __post_init__(self) -> None:
        for name, longest in _TEXTS.items():
            text = getattr(self, name)
            if not isinstance(text, str) or len(text) > longest:
                raise ParameterError(
                    f"{name} is longer than {longest} characters, or no text.", field=name
                )
            # As for the description: only so that nothing blank is asked to agree to.
            if text != text.strip():
                raise ParameterError(f"{name} begins or ends with a space.", field=name)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Reach:
        """Return the fields of a survey's JSON object."""
        texts = {name: data.get(name, "") for name in _TEXTS}
        return cls(**texts, invitations=TicketTerms.from_json(data.get("invitations")))

    def to_json(self) -> dict[str, Any]:
        """Return the fields that say something, for the survey's JSON object."""
        data: dict[str, object] = {name: getattr(self, name) for name in _TEXTS}
        if self.invitations is not None:
            data["invitations"] = self.invitations.to_json()
        return {name: value for name, value in data.items() if value}


#: Nobody is named, nothing is agreed to, and everybody with the link can take part.
OPEN_TO_ALL: Final = Reach()


def new_code() -> str:
    """Return the code of a new ticket, drawn from the operating system's randomness."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


def code_of(number: bytes) -> str:
    """Return the code that 100 bits of random bytes give."""
    value = int.from_bytes(number[:13], "big")
    return "".join(_ALPHABET[value >> 5 * place & 31] for place in range(_LENGTH))


def read_code(typed: str) -> str:
    """Return a code as it is kept, however it was typed.

    Raises `ParameterError` (it is no code).
    """
    code = re.sub(r"[\s-]+", "", typed[:100]).upper().translate(_MISREAD)
    if not _CODE.fullmatch(code):
        raise ParameterError(f"the code of a ticket has {_LENGTH} letters and digits.")
    return code


def shown_code(code: str) -> str:
    """Return a code in groups, as people read it."""
    return "-".join(code[at : at + _GROUP] for at in range(0, _LENGTH, _GROUP))


def code_digest(survey: str, code: str) -> str:
    """Return the hash of a code that a server keeps."""
    return hashlib.sha256(f"{survey}:{code}".encode()).hexdigest()


def ticket_link(link: str, code: str, survey_hash: str) -> str:
    """Return the link of a ticket.

    It names the survey's hash, so that a device can tell whether it is asked what was announced.
    All of it stands behind the mark ``#``, which no browser sends to a server.
    """
    named = base64.urlsafe_b64encode(bytes.fromhex(survey_hash)).rstrip(b"=").decode()
    return f"{link}#ticket={code}.{named}"


def read_ticket_link(text: str) -> tuple[str, str] | None:
    """Return code and survey's hash of a ticket's link, or of its part behind ``#``; else None."""
    found = _FRAGMENT.fullmatch(text[text.find("#") :])
    if found is None:
        return None
    return read_code(found[1]), base64.urlsafe_b64decode(found[2] + "=").hex()


def _is_day(text: object) -> bool:
    found = _DAY.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return year > 0 and 1 <= month <= 12 and 1 <= day <= days[month - 1]
