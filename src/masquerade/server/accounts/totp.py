"""One-time codes by time (RFC 6238), as authenticator apps show them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from urllib.parse import quote

STEP_SECONDS = 30
DIGITS = 6
#: How many steps the clock of a phone may be early or late.
_STEPS_OFF = 1


def new_secret() -> str:
    """Return 160 random bits in Base32."""
    return base64.b32encode(secrets.token_bytes(20)).decode()


def code_at(secret: str, step: int, *, digits: int = DIGITS) -> str:
    """Return the code of a step of 30 seconds, counted from 1970 (RFC 4226, section 5.3; SHA-1)."""
    mac = hmac.digest(base64.b32decode(secret), step.to_bytes(8, "big"), hashlib.sha1)
    # RFC 4226, section 5.3: the last four bits say where the number begins; its sign bit is
    # dropped.
    start = mac[-1] & 15
    number = int.from_bytes(mac[start : start + 4], "big") & 0x7FFFFFFF
    return str(number % 10**digits).zfill(digits)


def matching_step(secret: str, code: str, *, seconds: float, after: int | None) -> int | None:
    """Return the step of a code, or None; one step early or late is accepted.

    `seconds` since 1970. Steps up to `after`, the last one used, are not accepted.
    """
    typed = "".join(code.split()).encode()
    now = int(seconds) // STEP_SECONDS
    found = None
    # All steps are compared whichever fits, so the time that it takes tells nothing.
    for step in range(now - _STEPS_OFF, now + _STEPS_OFF + 1):
        same = hmac.compare_digest(code_at(secret, step).encode(), typed)
        if same and (after is None or step > after):
            found = step
    return found


def link(secret: str, *, login: str, issuer: str = "Masquerade") -> str:
    """Return the address of a secret that an authenticator app reads from a QR code."""
    return (
        f"otpauth://totp/{quote(issuer)}:{quote(login)}?secret={secret}&issuer={quote(issuer)}"
        f"&algorithm=SHA1&digits={DIGITS}&period={STEP_SECONDS}"
    )
