"""The record of a participation, and what a server's answers make of it."""

from __future__ import annotations

import re
import secrets
from typing import Any

from masquerade.client.offer import Offer
from masquerade.client.records import Record
from masquerade.errors import BrokenPromise

GOING, ELSEWHERE = ("reserved", "opened"), ("sealed", "submitted")
"""States in which a participation goes on here, and in which another device has got further."""
OVER = ("submitted", "withdrawn", "abandoned")
CONTENT = ("survey_text", "reports", "salt", "commitment", "key")
"""Fields that are deleted when a participation is over."""
WHY = {
    "expired": "the reservation ended before the questions were opened; begin it again.",
    "abandoned": "you gave it up.",
    "withdrawn": "you withdrew it.",
    "elsewhere": "it was answered elsewhere with the same identity.",
}
"""What is said of each reason for an end."""

_ID = re.compile(r"[0-9a-f]{32}")


def beginning(survey: str, offer: Offer, level: str, *, named: str, identity: str) -> Record:
    """Return the first record of a participation; nothing is asked of the server yet.

    Parameters
    ----------
    survey : str
        Its token.
    offer : Offer
        What it was invited to, all of which is compared with what is opened.
    level : str
    named : str
        The survey's name among those of all servers.
    identity : str
        With which the key of its charge begins.
    """
    key = secrets.token_hex(16)
    return {
        "step": "reserving",
        "survey": survey,
        "named": named,
        "title": offer.covered["title"],
        "reveal": offer.covered["reveal"],
        "level": level,
        "offer": offer.to_json(),
        "charge": f"{identity}:{key}",
        "key": key,
    }


def reserved(record: Record, answer: dict[str, Any]) -> Record:
    """Return the record after the server's answer to a reservation.

    Raises
    ------
    BrokenPromise
        It is the answer to none, or to another.
    """
    state, name = answer.get("state"), answer.get("id")
    asked = (answer.get("survey"), answer.get("level")) == (record["survey"], record["level"])
    known = {*GOING, *ELSEWHERE, *OVER, "expired"}
    if not asked or not isinstance(name, str) or not _ID.fullmatch(name) or state not in known:
        raise BrokenPromise("the server reserved something else than was asked for; try again.")
    if state in GOING:
        return {**record, "id": name, "step": "reserved"}
    # The same person has got further elsewhere, or given up.
    reason = "elsewhere" if state in ELSEWHERE else state
    return {**without(record, *CONTENT), "id": name, "step": "ended", "reason": reason}


def require_done(answer: dict[str, Any], record: Record, states: tuple[str, ...]) -> None:
    """Raise where a server acknowledges another step than was asked for."""
    if answer.get("id") != record["id"] or answer.get("state") not in states:
        raise BrokenPromise(
            "the server acknowledged something else than was sent; the same reports are kept "
            "here, and doing this again sends the same."
        )


def without(record: Record, *names: str) -> Record:
    """Return a record without some of its fields."""
    return {name: value for name, value in record.items() if name not in names}
