"""The ledger of a person: what every response has cost, in a chain that shows tampering."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from masquerade.errors import BrokenChain
from masquerade.mechanisms import NO_LOSS, Loss

GENESIS = "0" * 64
"""What the first entry of a person holds in place of a predecessor's hash."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What one response costs one person.

    Attributes
    ----------
    person : str
        Who pays; a pseudonym.
    survey : str
        What for.
    mechanisms : tuple of str
        Text form of the mechanism of each answer, in order.
    event, user : Loss
        For one changed answer, and for all answers of the response together.
    day : str
        ISO date; nothing finer is kept.
    """

    person: str
    survey: str
    mechanisms: tuple[str, ...]
    event: Loss
    user: Loss
    day: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A charge at its place in a person's chain.

    Attributes
    ----------
    charge : Charge
    sequence : int
        Place in the person's chain, from 0.
    previous_hash, hash : str
        SHA-256 in hexadecimal of the entry before, and of this one.
    """

    charge: Charge
    sequence: int
    previous_hash: str
    hash: str


def append(charge: Charge, previous: Entry | None) -> Entry:
    """Return the entry that puts `charge` after `previous` (None: the person's first)."""
    sequence = 0 if previous is None else previous.sequence + 1
    previous_hash = GENESIS if previous is None else previous.hash
    return Entry(charge, sequence, previous_hash, _hash(charge, sequence, previous_hash))


def verify_chain(entries: Iterable[Entry]) -> int:
    """Return how many entries of one person, in order, form an unbroken chain.

    Raises
    ------
    BrokenChain
        An entry is missing, moved or changed; the message names the first such place.
    """
    previous: Entry | None = None
    count = 0
    for entry in entries:
        if entry != append(entry.charge, previous):
            raise BrokenChain(
                f"ledger entry {count} of {entry.charge.person} does not follow from the entries "
                "before it: one was changed, moved or removed. Restore the ledger from a backup."
            )
        previous, count = entry, count + 1
    return count


def total(entries: Iterable[Entry]) -> Loss:
    """Return the user-level loss of all entries together (pure epsilon adds)."""
    return sum((entry.charge.user for entry in entries), NO_LOSS)


def _hash(charge: Charge, sequence: int, previous_hash: str) -> str:
    fields = [
        charge.person,
        charge.survey,
        list(charge.mechanisms),
        str(charge.event.micro),
        str(charge.user.micro),
        charge.day,
        sequence,
        previous_hash,
    ]
    text = json.dumps(fields, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
