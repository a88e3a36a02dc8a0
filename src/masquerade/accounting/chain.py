"""A person's chain of charges: each entry carries the hash of the one before it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256 as _sha256
from typing import NamedTuple

from masquerade.accounting.caps import Caps
from masquerade.accounting.cost import Cost
from masquerade.errors import BrokenChain
from masquerade.exact import NO_LOSS, Micro

#: The hash that the first entry of a person holds in place of a predecessor's.
GENESIS = "0" * 64

#: The kinds of entries. The last is a commit of a response with answers in clear.
KINDS = ("reserve", "commit", "release", "adjust", "clear_disclosure")

#: The kinds that are spent.
PAID = ("commit", "clear_disclosure")


# Named tuples and not frozen dataclasses: making one takes 0.3 and not 2 microseconds, by
# `tuple.__new__` half of that, and a ledger makes several for every response.
class Charge(NamedTuple):
    """A charge of one response to one person, or another step on their account.

    Attributes
    ----------
    person : str
        Who pays; a pseudonym.
    cost : Cost
        What for, and how much.
    day : str
        ISO date; nothing finer is kept.
    kind : str
        One of `KINDS`.
    key : str
        Names this response among the person's.
    caps : Caps, optional
        The person's caps from here on, where they begin or change.

    Examples
    --------
    >>> from masquerade.accounting import Cost
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> cost = Cost.of("survey-1", [RandomizedResponse(2, epsilon=1)])
    >>> charge = Charge("a person", cost, "2026-03-14")
    >>> charge.survey, str(charge.user), charge.kind
    ('survey-1', '1', 'commit')
    """

    person: str
    cost: Cost
    day: str
    kind: str = "commit"
    key: str = ""
    caps: Caps | None = None

    @property
    def survey(self) -> str:
        """The survey, or the purpose."""
        return self.cost.survey

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """Text form of the mechanism of each answer, in order."""
        return self.cost.mechanisms

    @property
    def event(self) -> Micro:
        """Pure epsilon for one changed answer."""
        return self.cost.event

    @property
    def user(self) -> Micro:
        """Pure epsilon for all answers of the response together."""
        return self.cost.user


class Entry(NamedTuple):
    """A charge at its place in a person's chain.

    Attributes
    ----------
    sequence : int
        Place in the person's chain, from 0.
    previous_hash, hash : str
        SHA-256 in hexadecimal of the entry before, and of this one.

    Examples
    --------
    >>> from masquerade.accounting import Charge, Cost
    >>> from masquerade.accounting.chain import append
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> cost = Cost.of("survey-1", [RandomizedResponse(2, epsilon=1)])
    >>> entry = append(Charge("a person", cost, "2026-03-14"), None)
    >>> entry.sequence, len(entry.hash)
    (0, 64)
    """

    charge: Charge
    sequence: int
    previous_hash: str
    hash: str


def append(charge: Charge, previous: Entry | None) -> Entry:
    """Return the entry that puts `charge` after `previous` (None: the person's first).

    Examples
    --------
    >>> from masquerade.accounting import Cost
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> cost = Cost.of("survey-1", [RandomizedResponse(2, epsilon=1)])
    >>> first = append(Charge("a person", cost, "2026-03-14"), None)
    >>> second = append(Charge("a person", cost, "2026-03-15"), first)
    >>> second.previous_hash == first.hash
    True
    """
    if previous is None:
        return entry_at(charge, 0, GENESIS)
    return entry_at(charge, previous.sequence + 1, previous.hash)


def entry_at(charge: Charge, sequence: int, previous_hash: str) -> Entry:
    """Return the entry that puts `charge` at a place, after the entry of a given hash."""
    person, cost, day, kind, key, caps = charge
    if key or kind != "commit" or caps is not None or not cost.plain:
        # The place follows from the hash before it.
        text = "" if caps is None else caps.text
        fields = (previous_hash, cost.digest, text, kind, day, person, key)
        # one text and no JSON where that is unambiguous: it is hashed for every charge
        line = "\0".join(fields)
        if line.count("\0") >= len(fields) or not line.isascii():
            line = _json(fields)  # a text holds the separator, or what may be no UTF-8
    else:
        # Charges without a key, as tables of such charges hold them.
        line = _json(
            (
                person,
                cost.survey,
                cost.mechanisms,
                str(cost.event.micro),
                str(cost.user.micro),
                day,
                sequence,
                previous_hash,
            )
        )
    digest = _sha256(line.encode()).hexdigest()
    return tuple.__new__(Entry, (charge, sequence, previous_hash, digest))


def verify_chain(entries: Iterable[Entry]) -> int:
    """Return how many entries of one person, in order, form an unbroken chain.

    Raises
    ------
    BrokenChain
        An entry is missing, moved or changed; the message names the first such place.

    Examples
    --------
    >>> from masquerade.accounting import Cost
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> cost = Cost.of("survey-1", [RandomizedResponse(2, epsilon=1)])
    >>> first = append(Charge("a person", cost, "2026-03-14"), None)
    >>> second = append(Charge("a person", cost, "2026-03-15"), first)
    >>> verify_chain([first, second])
    2
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


def total(entries: Iterable[Entry]) -> Micro:
    """Return the user-level loss of all responses together (pure epsilon adds).

    Reservations and what was released do not count.

    Examples
    --------
    >>> from masquerade.accounting import Charge, Cost
    >>> from masquerade.accounting.chain import append
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> cost = Cost.of("survey-1", [RandomizedResponse(2, epsilon=1)])
    >>> first = append(Charge("a person", cost, "2026-03-14"), None)
    >>> str(total([first, append(Charge("a person", cost, "2026-03-15"), first)]))
    '2'
    """
    paid = (e.charge.user for e in entries if e.charge.kind in PAID)
    return sum(paid, NO_LOSS)


def _json(fields: Sequence[object]) -> str:
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":"))
