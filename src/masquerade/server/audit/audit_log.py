"""The audit log: surveyors' actions, with their objects and days.

Entries are only ever added, and each holds the hash of the one before, so that a change or a gap
shows. Nothing in it is about participants.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from masquerade.errors import BrokenChain
from masquerade.server.db.account_tables import AUDIT_ENTRY
from masquerade.server.db.transactions import Service, writes

BEGINNING = "0" * 64
_TOLD = ("team", "sequence", "account", "login", "action", "object", "day", "previous_hash")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Something that somebody did."""

    sequence: int  # counts what was done in the team, from 0
    # account, login: who; the login as it was then.
    account: str
    login: str
    action: str  # in words
    # What it was done to: a survey's token, an account's id; empty where there is no one thing.
    object: str
    day: str
    hash: str


class AuditLog(Service):
    """The audit logs of all teams."""

    @writes
    def add(
        self,
        connection: Connection,
        team: str,
        *,
        account: str,
        login: str,
        action: str,
        object: str,
    ) -> bool:
        """Add an entry; return whether it was added.

        It is not where it says the same as the one before: saving a draft again and again is one.
        """
        # Cut to the column's length; PostgreSQL would refuse a longer one.
        entry = {"account": account, "login": login, "action": action, "object": object[:64]}
        # Two at once want the same place; the database lets one have it, the other tries again.
        query = select(AUDIT_ENTRY).where(AUDIT_ENTRY.c.team == team)
        last = connection.execute(query.order_by(AUDIT_ENTRY.c.sequence.desc()).limit(1)).first()
        values: dict[str, Any] = {**entry, "team": team, "day": self._today()}
        if last is not None and all(getattr(last, name) == values[name] for name in values):
            return False
        values["sequence"] = 0 if last is None else last.sequence + 1
        values["previous_hash"] = BEGINNING if last is None else last.hash
        # Together with the hash of the one before, which was read in this transaction.
        connection.execute(insert(AUDIT_ENTRY), {**values, "hash": hash_of(values)})
        return True

    def page(self, team: str, *, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """Return entries of a team, newest first, from below a sequence number."""
        query = select(AUDIT_ENTRY).where(AUDIT_ENTRY.c.team == team)
        if before is not None:
            query = query.where(AUDIT_ENTRY.c.sequence < before)
        query = query.order_by(AUDIT_ENTRY.c.sequence.desc()).limit(limit)
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return [
            AuditEntry(r.sequence, r.account, r.login, r.action, r.object, r.day, r.hash)
            for r in rows
        ]

    def verify(self, team: str) -> tuple[int, str]:
        """Return how many entries a team's chain has and the hash of the last one.

        Raises `BrokenChain`.
        """
        return self._transactions.read(lambda c: verify_chain(c, team))


def teams_with_entries(connection: Connection) -> list[str]:
    """Return every team that has a chain."""
    return list(
        connection.scalars(select(AUDIT_ENTRY.c.team).distinct().order_by(AUDIT_ENTRY.c.team))
    )


def verify_chain(connection: Connection, team: str) -> tuple[int, str]:
    """Return length and head of a team's chain.

    Raises `BrokenChain` (an entry was changed, or one is gone from before the end).
    """
    previous, count = BEGINNING, 0
    query = select(AUDIT_ENTRY).where(AUDIT_ENTRY.c.team == team).order_by(AUDIT_ENTRY.c.sequence)
    for row in connection.execute(query):
        values = {name: getattr(row, name) for name in _TOLD}
        # A gap shows by the number, a change by the hash, an exchange by the previous hash. Entries
        # cut off at the end do not show: for that the head must be noted elsewhere.
        if (row.sequence, row.previous_hash) != (count, previous) or row.hash != hash_of(values):
            raise BrokenChain(f"entry {count} of a team's audit log was changed, or one is gone.")
        previous, count = row.hash, count + 1
    return count, previous


def hash_of(values: Mapping[str, object]) -> str:
    """Return the hash of an entry with all its fields but the hash."""
    # Sorted keys: the same fields always give the same bytes.
    text = json.dumps({name: values[name] for name in _TOLD}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
