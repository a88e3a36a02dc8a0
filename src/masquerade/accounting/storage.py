"""The interface of a ledger's storage, and a storage in memory.

A storage does no arithmetic. It gives a decision what it needs to know about a person and keeps
what was decided, with nobody in between. In a database a change is **one** transaction:

1. Begin (SQLite: ``BEGIN IMMEDIATE``). Read the person's balance row with its lock (PostgreSQL:
   ``SELECT ... FOR UPDATE``, after an ``INSERT ... ON CONFLICT DO NOTHING`` for a new person).
2. Read the latest entry with this person and key.
3. Call the decision. If it raises, roll back and let the exception out.
4. If it returns a change, insert the entry and write the balance back ``WHERE entries = ...`` the
   number that was read; exactly one row must change. Commit.

Tables: entries with primary key (person, sequence), an index on (person, key, sequence), one on
(person, sequence) of what is committed, and a unique index on (person, key, kind) where kind is not
adjust; balances with primary key person.
Infinite amounts are null. Whatever else belongs to the change, such as money, goes into the same
transaction; where two rows are locked, the survey's comes before the person's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Protocol

from masquerade.accounting.balance import Balance
from masquerade.accounting.chain import PAID, Entry

Change = tuple[Entry, Balance]
#: From a person's balance and the latest entry of a key to what follows, or None for nothing.
Decision = Callable[[Balance | None, Entry | None], Change | None]


class Storage(Protocol):
    """The interface of a ledger's storage.

    Examples
    --------
    >>> from masquerade.accounting import Ledger, MemoryStorage
    >>> ledger = Ledger(MemoryStorage(), clock=lambda: "2026-03-14")
    >>> ledger.balance("a person").entries
    0
    """

    def change(self, person: str, key: str, decide: Decision) -> Entry:
        """Store and return the entry of `decide`, while nobody else changes this person.

        Where it returns None, return the latest entry of the key, which is then there. Where it
        raises, keep nothing.
        """
        ...

    def balance(self, person: str) -> Balance | None:
        """Return a person's balance; None where there are no entries."""
        ...

    def read(self, person: str) -> tuple[Balance | None, Sequence[Entry]]:
        """Return a person's balance and all entries, oldest first, of one moment."""
        ...

    def read_paid(self, person: str) -> tuple[Balance | None, Sequence[Entry]]:
        """Return a person's balance and commits, oldest first, of one moment."""
        ...

    def persons(self) -> Iterable[str]:
        """Return the names of all persons with entries."""
        ...

    def reservations(self, before: str) -> Iterable[tuple[str, str]]:
        """Return person and key of each open reservation from before an ISO date."""
        ...


class MemoryStorage:
    """Ledgers in memory, safe for many threads; each person has a lock of their own.

    Examples
    --------
    >>> MemoryStorage().balance("nobody yet") is None
    True
    """

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}

    def change(self, person: str, key: str, decide: Decision) -> Entry:
        """Store the entry and balance that `decide` returns; see `Storage.change`."""
        account = self._accounts.get(person)
        if account is None:
            # two threads may both make one; setdefault keeps a single one, and with it one lock
            account = self._accounts.setdefault(person, _Account())
        with account.lock:
            latest = account.latest.get(key)
            change = decide(account.balance, latest)
            if change is None:
                assert latest is not None
                return latest
            entry, balance = change
            account.entries.append(entry)
            account.latest[key] = entry
            account.balance = balance
            return entry

    def balance(self, person: str) -> Balance | None:
        """Return a person's balance; None where there are no entries."""
        account = self._accounts.get(person)
        return None if account is None else account.balance

    def read(self, person: str) -> tuple[Balance | None, Sequence[Entry]]:
        """Return a person's balance and all entries, oldest first, of one moment."""
        account = self._accounts.get(person)
        if account is None:
            return None, ()
        with account.lock:
            return account.balance, tuple(account.entries)

    def read_paid(self, person: str) -> tuple[Balance | None, Sequence[Entry]]:
        """Return a person's balance and commits, oldest first, of one moment."""
        balance, entries = self.read(person)
        return balance, tuple(entry for entry in entries if entry.charge.kind in PAID)

    def persons(self) -> list[str]:
        """Return the names of all persons with entries."""
        # a copy of the items, for others may add accounts meanwhile
        return [p for p, account in list(self._accounts.items()) if account.balance is not None]

    def reservations(self, before: str) -> list[tuple[str, str]]:
        """Return person and key of each open reservation from before an ISO date."""
        found = []
        for person, account in list(self._accounts.items()):
            if account.balance is None or not account.balance.open:
                continue
            with account.lock:
                charges = [entry.charge for entry in account.latest.values()]
            found += [(person, c.key) for c in charges if c.kind == "reserve" and c.day < before]
        return found


class _Account:
    __slots__ = ("balance", "entries", "latest", "lock")

    def __init__(self) -> None:
        self.lock = Lock()
        self.balance: Balance | None = None
        self.entries: list[Entry] = []
        self.latest: dict[str, Entry] = {}
