"""The ledger's storage in tables: every change of an account in one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

from sqlalchemy import Connection, and_, bindparam, literal_column, select, text
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from masquerade.accounting import Balance, Caps, Charge, Cost, Entry
from masquerade.accounting.chain import PAID
from masquerade.accounting.cost import amounts_of, cost_of
from masquerade.accounting.storage import Change, Decision
from masquerade.exact import Micro
from masquerade.server.db.row_sets import Changes, Journal, RowSet
from masquerade.server.db.tables import (
    BALANCE,
    COST,
    ENTRY,
    PAID_WORDS,
    SURVEY,
)
from masquerade.server.db.transactions import Transactions, insert_unless_there

# Columns of numbers, in the order of `Balance`; its first field, the caps, is kept as text.
_NAMES = Balance._fields[1:]
# After one of these steps a reservation is not open any more.
_FINISHED = ("commit", "release", "clear_disclosure")

_COLUMNS = (*ENTRY.c, COST.c.survey, COST.c.mechanisms, COST.c.amounts)
_ENTRIES_ALONE = (
    select(*_COLUMNS)
    .join_from(ENTRY, COST)
    .where(ENTRY.c.person == bindparam("one"))
    .order_by(ENTRY.c.sequence)
)
_STOOD = (BALANCE.c.caps.label("stood"), *(BALANCE.c[name].label(f"b_{name}") for name in _NAMES))
_STAND = select(*_STOOD).where(BALANCE.c.person == bindparam("one"))
# Written out, as a database finds a partial index by the words of its condition only.
_PAID = text(f"ledger_entry.{PAID_WORDS}")
# A literal and no bound value: SQLite takes a partial index only where it sees its condition.
_SOME_OPEN = BALANCE.c.open > literal_column("0")


def _with_entries(*conditions: Any) -> Any:
    """Return a query of a person's balance beside those of their entries that fit."""
    mine = and_(ENTRY.c.person == BALANCE.c.person, *conditions)
    joined = BALANCE.outerjoin(ENTRY, mine).outerjoin(COST, COST.c.digest == ENTRY.c.cost)
    query = select(*_COLUMNS, *_STOOD).select_from(joined)
    return query.where(BALANCE.c.person == bindparam("one"))


_WITH_ALL = _with_entries().order_by(ENTRY.c.sequence)
_WITH_PAID = _with_entries(_PAID)


def _by_index(query: Any, index: str) -> Any:
    """Return a query for SQLite that reads entries by an index; untold it would read them all."""
    words = str(query.compile(dialect=sqlite_dialect(paramstyle="named")))
    joined = "JOIN ledger_entry "
    # SQLAlchemy does not know INDEXED BY, so the compiled text is changed, in one place exactly.
    assert words.count(joined) == 1
    words = words.replace(joined, f"{joined}INDEXED BY {index} ")
    return text(words).columns(*query.selected_columns)


_WITH_PAID_SQLITE = _by_index(_WITH_PAID, "entry_that_is_paid")
_PAGE = _ENTRIES_ALONE.where(
    ENTRY.c.sequence >= bindparam("start"), ENTRY.c.sequence < bindparam("end")
)
_LAST = (
    select(ENTRY.c.kind, ENTRY.c.day)
    .where(ENTRY.c.person == bindparam("one"))
    .order_by(ENTRY.c.sequence.desc())
    .limit(bindparam("most"))
)
_ENTRIES = RowSet(
    ENTRY, ("person", "sequence", "kind", "key", "cost", "day", "caps", "previous_hash", "hash")
)
_BALANCES = RowSet(BALANCE, ("person", "caps", *_NAMES))
_KNOWN = select(COST.c.digest).where(COST.c.digest == bindparam("one"))


@dataclass(slots=True)
class _Account:
    """A person's account while nobody else can change it, with the entries that were needed."""

    balance: Balance | None
    stored: int  # how many entries the database has
    latest: dict[str, Entry | None] = field(default_factory=dict)  # of each key that was asked for
    paid: list[Entry] | None = None  # oldest first


class LedgerTables:
    """A ledger's storage within one transaction of the caller; see `accounting.Storage`.

    On SQLite a transaction that changes anything takes the write lock at its start. With a
    `journal` changes are in memory, and can be taken back, until `flush` writes all of them.
    """

    def __init__(self, connection: Connection, journal: Journal | None = None) -> None:
        self._connection = connection
        self._postgresql = connection.dialect.name == "postgresql"
        self._waits = journal is not None
        self._journal = journal or Journal()
        self._held: dict[str, _Account] = {}
        self._entries: list[Entry] = []  # that are not written yet

    def change(self, person: str, key: str, decide: Decision) -> Entry:
        """Store the entry and balance that `decide` returns; see `Storage.change`."""
        account = self._account(person, key)
        latest = account.latest.get(key)
        change = decide(account.balance, latest)
        if change is None:
            assert latest is not None
            return latest
        return self._keep(person, account, change)

    def load(self, wanted: Iterable[tuple[str, str]], paid: Iterable[str] = ()) -> None:
        """Read accounts of many people at once, which nobody else can change from then on.

        `wanted`: people, each with a key of theirs that is asked for, or an empty one. `paid`:
        those of them whose commits are asked for.
        """
        wanted = list(wanted)
        self._load_balances(sorted({person for person, _ in wanted} - self._held.keys()))
        asked = {
            (person, key) for person, key in wanted if key and key not in self._held[person].latest
        }
        # Statements of their own: one that waited for the lock sees entries of before the wait.
        there = sorted(one for one in asked if self._held[one[0]].balance is not None)
        steps = _ENTRIES.read(
            self._connection,
            ("person", "key"),
            there,
            condition="kind <> 'adjust'",
            index="one_step_of_a_kind",
        )
        latest: dict[tuple[str, str], Entry] = {}
        for entry in self._entries_of(steps):
            latest[entry.charge.person, entry.charge.key] = entry
        for person, key in asked:
            self._held[person].latest[key] = latest.get((person, key))
        unread = {one for one in paid if self._held[one].paid is None}
        spenders = [one for one in sorted(unread) if (b := self._held[one].balance) and b.spent]
        for one in unread:
            self._held[one].paid = []
        rows = _ENTRIES.read(
            self._connection,
            ("person",),
            spenders,
            condition=PAID_WORDS,
            index="entry_that_is_paid",
        )
        for entry in self._entries_of(rows):
            cast(list[Entry], self._held[entry.charge.person].paid).append(entry)

    def flush(self, changes: Changes) -> None:
        """Add the changes in memory to those that are sent; from here on they stay."""
        entries, self._entries = self._entries, []
        rows = [
            (
                charge.person,
                sequence,
                charge.kind,
                charge.key,
                charge.cost.digest,
                charge.day,
                None if charge.caps is None else charge.caps.text,
                previous,
                hash_,
            )
            for charge, sequence, previous, hash_ in entries
        ]
        _ENTRIES.insert(changes, rows)
        new: list[tuple[Any, ...]] = []
        changed: list[tuple[Any, ...]] = []
        for person in dict.fromkeys(entry.charge.person for entry in entries):
            account = self._held[person]
            balance = cast(Balance, account.balance)
            row = (person, balance.caps.text, *balance[1:])
            if account.stored:
                # Matches no row where an entry was added since the balance was read.
                changed.append((*row, person, account.stored))
            else:
                new.append(row)
            account.stored = balance.entries
        _BALANCES.insert(changes, new)
        _BALANCES.update(changes, ("person", "entries"), changed)

    def hold(self, person: str) -> None:
        """Let nobody else change a person's account until the transaction ends."""
        # No entry has an empty key: the balance is locked and no entries are read.
        self._account(person, "")

    def balance(self, person: str) -> Balance | None:
        """Return a person's balance; None where there are no entries."""
        account = self._held.get(person)
        if account is not None:
            return account.balance
        row = self._connection.execute(_STAND, {"one": person}).first()
        return None if row is None else _balance(row)

    def read(self, person: str) -> tuple[Balance | None, Sequence[Entry]]:
        """Return a person's balance and all entries, oldest first."""
        balance, entries = self._read(_WITH_ALL, person)
        if balance is None:  # entries without it are for the ledger to find
            rows = self._connection.execute(_ENTRIES_ALONE, {"one": person})
            return None, [_entry(row) for row in rows]
        return balance, entries

    def read_paid(self, person: str) -> tuple[Balance | None, Sequence[Entry]]:
        """Return a person's balance and commits, oldest first, without reservations given back."""
        account = self._held.get(person)
        if account is not None:
            if account.paid is None:
                self.load([(person, "")], paid=[person])
            return account.balance, tuple(account.paid or ())
        query = _WITH_PAID if self._postgresql else _WITH_PAID_SQLITE
        balance, paid = self._read(query, person)
        return balance, sorted(paid, key=lambda entry: entry.sequence)

    def page(self, person: str, start: int, end: int) -> list[Entry]:
        """Return a person's entries from place `start` to before `end`."""
        given = {"one": person, "start": start, "end": end}
        return [_entry(row) for row in self._connection.execute(_PAGE, given)]

    def unopened(self, person: str, *, day: str, most: int) -> int:
        """Return how many reservations a person has open or gave back on a day, up to about `most`.

        Only the last few entries of the chain are read; what else is among them was paid for.
        """
        balance = self.balance(person)
        if balance is None or balance.entries <= most:
            # So few entries cannot exceed the limit, and most chains are never read here.
            return 0
        last = self._connection.execute(_LAST, {"one": person, "most": 4 * most}).all()
        unwritten = [one.charge for one in self._entries if one.charge.person == person]
        steps = [(row.kind, row.day) for row in last]
        steps += [(one.kind, one.day) for one in unwritten]
        released = steps.count(("release", day))
        return balance.open + released

    def persons(self) -> list[str]:
        """Return the names of all persons with entries or a balance."""
        query = select(BALANCE.c.person).union(select(ENTRY.c.person))
        return sorted(self._connection.scalars(query))  # in no order that tells who came when

    def persons_after(self, last: str, most: int) -> list[str]:
        """Return the first names after `last`, in order, of persons with entries or a balance."""
        found: set[str] = set()
        for column in (BALANCE.c.person, ENTRY.c.person):
            query = select(column).distinct().where(column > last).order_by(column).limit(most)
            found.update(self._connection.scalars(query))
        return sorted(found)[:most]

    def reservations(self, before: str) -> list[tuple[str, str]]:
        """Return person and key of each open reservation from before an ISO date."""
        return self._open(ENTRY.c.day < before)

    def reservations_of(self, survey: str, most: int) -> list[tuple[str, str]]:
        """Return person and key of open reservations for a survey, at most so many."""
        of_survey = ENTRY.c.cost.in_(select(COST.c.digest).where(COST.c.survey == survey))
        return self._open(of_survey, most)

    def reservations_of_closed(self) -> list[tuple[str, str]]:
        """Return person and key of each open reservation for a survey that is closed."""
        closed = select(SURVEY.c.token).where(SURVEY.c.state != "open")
        return self._open(ENTRY.c.cost.in_(select(COST.c.digest).where(COST.c.survey.in_(closed))))

    def keep_cost(self, cost: Cost) -> None:
        """Keep a cost, once for all entries that will name it."""
        # Remembered only where it was there before this transaction, which may be taken back, with
        # all the changes that SQLite puts into one.
        info, transaction = self._connection.info, self._connection.get_transaction()
        known: set[str] = info.setdefault("costs", set())
        if cost.digest in known:
            return
        if info.get("costs_of") is not transaction:
            info["costs_of"], info["new_costs"] = transaction, set()
        if self._connection.execute(_KNOWN, {"one": cost.digest}).first() is not None:
            if cost.digest not in info["new_costs"]:
                known.add(cost.digest)
        else:
            info["new_costs"].add(cost.digest)
            # Amounts are whole millionths, or "inf".
            row = {
                "digest": cost.digest,
                "survey": cost.survey,
                "mechanisms": list(cost.mechanisms),
                "amounts": amounts_of(cost),
            }
            # The first responses at one level bring the same cost, and any of their rows may stay.
            insert_unless_there(self._connection, COST, row)

    def _open(self, condition: Any, most: int | None = None) -> list[tuple[str, str]]:
        later = ENTRY.alias()
        finished = (
            select(later.c.sequence)
            .where(later.c.person == ENTRY.c.person, later.c.key == ENTRY.c.key)
            .where(later.c.kind.in_(_FINISHED))
        )
        query = (
            select(ENTRY.c.person, ENTRY.c.key)
            # The partial index of balances with open reservations first: most people have none.
            .where(ENTRY.c.person.in_(select(BALANCE.c.person).where(_SOME_OPEN)))
            .where(ENTRY.c.kind == "reserve", condition)
            .where(~finished.exists())
            .limit(most)
        )
        return [(row.person, row.key) for row in self._connection.execute(query)]

    def _read(self, query: Any, person: str) -> tuple[Balance | None, Sequence[Entry]]:
        rows = self._connection.execute(query, {"one": person}).all()
        if not rows:
            return None, []
        return _balance(rows[0]), [_entry(row) for row in rows if row.sequence is not None]

    def _account(self, person: str, key: str) -> _Account:
        # SQLite's transaction holds the one write lock. Whoever begins an account at the same time
        # in PostgreSQL fails at its insertion, and the transaction is run again.
        account = self._held.get(person)
        if account is None or (key and key not in account.latest):
            self.load([(person, key)])
        return self._held[person]

    def _load_balances(self, people: list[str]) -> None:
        # Locks the rows of balances alone, not the entries: nobody changes those without them.
        rows = _BALANCES.read(self._connection, ("person",), people, lock="FOR UPDATE")
        found = {row[0]: Balance(caps_of(row[1]), *row[2:]) for row in rows}
        for person in people:
            balance = found.get(person)
            self._held[person] = _Account(balance, 0 if balance is None else balance.entries)

    def _entries_of(self, rows: Sequence[tuple[Any, ...]]) -> list[Entry]:
        """Return entries in the order of their chains."""
        digests = {row[4] for row in rows} - _COSTS.keys()
        if digests:
            if len(_COSTS) > _MOST_COSTS:
                _COSTS.clear()
            query = select(COST).where(COST.c.digest.in_({row[4] for row in rows}))
            for one in self._connection.execute(query):
                amounts = json.dumps(one.amounts)
                _COSTS[one.digest] = _cost(one.survey, tuple(one.mechanisms), amounts)
        found = []
        for person, sequence, kind, key, cost, day, caps, previous, hash_ in rows:
            stated = None if caps is None else caps_of(caps)
            charge = tuple.__new__(Charge, (person, _COSTS[cost], day, kind, key, stated))
            found.append(tuple.__new__(Entry, (charge, sequence, previous, hash_)))
        found.sort(key=lambda entry: entry.sequence)
        return found

    def _keep(self, person: str, account: _Account, change: Change) -> Entry:
        entry, balance = change
        charge = entry.charge
        # Before the entry, which refers to it.
        self.keep_cost(charge.cost)
        before, latest, paid = account.balance, account.latest.get(charge.key), account.paid

        def back() -> None:
            account.balance, account.latest[charge.key], account.paid = before, latest, paid

        self._journal.note(back)
        account.balance = balance
        account.latest[charge.key] = entry
        if paid is not None and charge.kind in PAID:
            account.paid = [*paid, entry]
        self._journal.append(self._entries, entry)
        if not self._waits:
            changes = Changes(self._connection)
            self.flush(changes)
            changes.send()
        return entry


class LedgerDatabase:
    """A ledger's storage, each call in a transaction of its own; see `accounting.Storage`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def change(self, person: str, key: str, decide: Decision) -> Entry:
        """Store the entry and balance that `decide` returns; see `Storage.change`."""
        return self._transactions.write(lambda c: LedgerTables(c).change(person, key, decide))

    def balance(self, person: str) -> Balance | None:
        """Return a person's balance; None where there are no entries."""
        return self._transactions.read(lambda c: LedgerTables(c).balance(person))

    def read(self, person: str) -> tuple[Balance | None, Sequence[Entry]]:
        """Return a person's balance and all entries, oldest first, of one moment."""
        return self._transactions.read(lambda c: LedgerTables(c).read(person))

    def read_paid(self, person: str) -> tuple[Balance | None, Sequence[Entry]]:
        """Return a person's balance and commits, oldest first, of one moment."""
        return self._transactions.read(lambda c: LedgerTables(c).read_paid(person))

    def persons(self) -> list[str]:
        """Return the names of all persons with entries or a balance."""
        return self._transactions.read(lambda c: LedgerTables(c).persons())

    def reservations(self, before: str) -> list[tuple[str, str]]:
        """Return person and key of each open reservation from before an ISO date."""
        return self._transactions.read(lambda c: LedgerTables(c).reservations(before))


@lru_cache(maxsize=1024)
def caps_of(text: str) -> Caps:
    """Return the caps that ``Caps.text`` describes."""
    # Caps that were written without a rule mean rule 1.
    epsilon, delta, clear, *rule = text.split(",")
    return Caps(Micro(int(epsilon)), Fraction(delta), int(clear), int(rule[0]) if rule else 1)


def _balance(row: Any) -> Balance:
    # In each of the queries above the columns of the balance come last.
    return Balance(caps_of(row.stood), *row[-len(_NAMES) :])


def _entry(row: Any) -> Entry:
    # As text, because the cache below needs something that can be hashed.
    cost = _cost(row.survey, tuple(row.mechanisms), json.dumps(row.amounts))
    caps = None if row.caps is None else caps_of(row.caps)
    charge = Charge(row.person, cost, row.day, row.kind, row.key, caps)
    return Entry(charge, row.sequence, row.previous_hash, row.hash)


# Of entries that are read to go on from; whoever verifies a chain reads the table anew.
_COSTS: dict[str, Cost] = {}
_MOST_COSTS = 4096


# By all that is kept and not by the digest, so that a change in the table changes the digest.
@lru_cache(maxsize=4096)
def _cost(survey: str, mechanisms: tuple[str, ...], amounts: str) -> Cost:
    return cost_of(survey, mechanisms, json.loads(amounts))
