"""The ledger of everybody's privacy budget: reserve, commit, release, and charge many at once.

Sometimes you need to promise a person that everything they ever send stays within a bound. Reserve
a survey's cost before its questions are shown, commit it once they are, release it where nothing
was shown::

    ledger = Ledger(MemoryStorage(), clock=lambda: "2026-03-14")
    ledger.reserve("p-81", "sleep-p81", Cost.of("Sleep", mechanisms))
    ledger.commit("p-81", "sleep-p81")

A person who lacks the budget is refused at the reservation, in one step that no other survey can
come between (`Storage`). A key names one response of a person: the same request sent again is
answered as before and costs nothing more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from masquerade.accounting.account_words import spent_by, statement
from masquerade.accounting.balance import (
    NOTHING,
    Balance,
    adjusted,
    admitted,
    after,
    rebuilt,
    refusal,
)
from masquerade.accounting.caps import Caps
from masquerade.accounting.chain import GENESIS, PAID, Charge, Entry, entry_at
from masquerade.accounting.composition import Spent
from masquerade.accounting.cost import Cost
from masquerade.accounting.storage import Change, Storage
from masquerade.answers.result import Result
from masquerade.errors import BrokenChain, KeyConflict, NotReserved, ParameterError
from masquerade.exact import Coins

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class LedgerStatistics(Result):
    """A ledger in numbers.

    Attributes
    ----------
    persons, entries, reservations : int
        How many there are; reservations are those still open.
    clear : int
        Answers sent in clear.
    exhausted : int
        Persons with less than a hundredth of their cap left, by every condition.

    Examples
    --------
    >>> from masquerade.accounting import Ledger, MemoryStorage
    >>> Ledger(MemoryStorage(), clock=lambda: "2026-03-14").statistics().persons
    0
    """

    persons: int
    entries: int
    reservations: int
    clear: int
    exhausted: int


class Ledger:
    """The ledger of everybody's charges, reservations and caps.

    Parameters
    ----------
    storage : Storage
        Where entries and balances are kept.
    clock : callable
        Gives the ISO date of a change; nothing finer is kept.
    caps : Caps, optional
        Of a person who has none of their own yet.

    Privacy
    -------
    Everything a person commits is (``caps.epsilon``, ``caps.delta``)-private together, whatever
    was chosen on the way, against everyone but the person's own device; see
    `masquerade.accounting.Caps`. Answers in clear are outside of it, and that the person took part.

    Examples
    --------
    >>> from masquerade.accounting import MemoryStorage
    >>> from masquerade.exact import Micro
    >>> from masquerade.mechanisms import parse_mechanism
    >>> ledger = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps(Micro(3_000_000)))
    >>> sleep = Cost.of("Sleep", [parse_mechanism("randomized-response:options=2,epsilon=2.6")])
    >>> entry = ledger.charge("p-81", "sleep", sleep)
    >>> ledger.balance("p-81").residual_epsilon
    Micro(micro=400000)
    >>> ledger.charge("p-81", "diet", Cost.of("Diet", [parse_mechanism(sleep.mechanisms[0])]))
    Traceback (most recent call last):
        ...
    masquerade.errors.InsufficientBudget: this survey costs epsilon 2.6 and this participant has \
0.4 left of 3 (spent on "Sleep"). Lower the survey's epsilon to 0.4 or choose others with \
masquerade select.
    """

    def __init__(
        self, storage: Storage, *, clock: Callable[[], str], caps: Caps | None = None
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._fresh = Balance(caps or Caps())
        self._known_day = ""

    def reserve(self, person: str, key: str, cost: Cost) -> Entry:
        """Set `cost` aside for a response of `person` and return the entry.

        Parameters
        ----------
        person : str
            A pseudonym.
        key : str
            Names this response among the person's. Sent again with the same cost, the entry that
            is there is returned and nothing changes.

        Raises
        ------
        InsufficientBudget, ClearDisclosureRefused
            It does not fit what is left. What is exactly enough is enough.
        KeyConflict
            The key stands for another cost, or its reservation was released.
        """
        return self._admit(person, key, cost, "reserve")

    def charge(self, person: str, key: str, cost: Cost) -> Entry:
        """Reserve and commit in one step, for surveys that are answered in one; see `reserve`.

        What is reserved under the key already, with the same cost, is committed.
        """
        return self._admit(person, key, cost, _commit_of(cost))

    def commit(self, person: str, key: str) -> Entry:
        """Make a reservation final and return the entry; from here on it is never given back.

        Do it when the questions are shown, or the reports: a lowered cap does not undo what was
        reserved before, and only open reservations expire.

        Raises
        ------
        NotReserved
            There is no reservation, or it was released.
        """
        return self._finish(person, key, "commit")

    def release(self, person: str, key: str) -> Entry:
        """Give a reservation back, for a survey with questions that the person never saw.

        Raises
        ------
        NotReserved
            There is no reservation, or it was committed.
        """
        return self._finish(person, key, "release")

    def expire(self, before: str) -> int:
        """Release all open reservations from before an ISO date; return how many there were."""
        _require_day(before)
        released = 0
        for person, key in self._storage.reservations(before):
            try:
                self._finish(person, key, "release")
            except NotReserved:  # committed in the meantime
                continue
            released += 1
        return released

    def lower_caps(self, person: str, caps: Caps) -> Entry:
        """Lower the caps of a person, at any time; reservations stay.

        Raises
        ------
        ParameterError
            A cap would rise.
        """
        return self._adjust(person, caps, may_rise=False)

    def raise_caps(self, person: str, caps: Caps) -> Entry:
        """Change the caps of a person in any direction.

        Ask the person to confirm it, and let a day pass before you call this: a promise that can
        be traded for the next survey at once is none. The bound that holds from here on is the new
        one, for the past too.
        """
        return self._adjust(person, caps, may_rise=True)

    def balance(self, person: str) -> Balance:
        """Return where a person stands."""
        return self._storage.balance(person) or self._fresh

    def entries(self, person: str) -> list[Entry]:
        """Return all entries of a person, oldest first."""
        return list(self._storage.read(person)[1])

    def spent(self, person: str) -> Spent:
        """Return the smallest sound bound on everything a person has committed; see `spent`.

        Answers in clear are outside of it. The sum of pure epsilons holds outright, and is stated
        unless another bound is at least a hundredth lower. Other bounds hold for these responses as
        if they had been fixed beforehand; whatever was chosen on the way, the caps hold.
        """
        balance, paid = self._storage.read_paid(person)
        return spent_by(balance or self._fresh, paid)

    def explain(self, person: str) -> tuple[str, ...]:
        """Return a person's spent and remaining budget, in sentences."""
        stored, paid = self._storage.read_paid(person)
        return statement(stored or self._fresh, paid)

    def rebuild(self, person: str) -> Balance:
        """Return the balance that a person's entries come to.

        Raises
        ------
        BrokenChain
            The entries are no unbroken chain of this person.
        """
        return self._rebuilt(person)[0]

    def verify(self) -> int:
        """Check every chain, and every balance against its chain; return the number of entries.

        Raises
        ------
        BrokenChain
            Something was changed, moved or removed.
        """
        return sum(self._verified(person) for person in self._storage.persons())

    def statistics(self) -> LedgerStatistics:
        """Return the ledger in numbers."""
        counts: Counter[str] = Counter()
        for person in self._storage.persons():
            balance = self.balance(person)
            counts["persons"] += 1
            counts["entries"] += balance.entries
            counts["reservations"] += balance.open
            counts["clear"] += balance.spent_clear
            counts["exhausted"] += not balance.percent_left
        names = ("persons", "entries", "reservations", "clear", "exhausted")
        return LedgerStatistics(**{name: counts[name] for name in names})

    def _admit(self, person: str, key: str, cost: Cost, kind: str) -> Entry:
        if not person or not key:
            raise ParameterError(f"person is {person!r} and key {key!r}; neither may be empty.")
        day = self._today()

        # The storage calls this with the person locked: nothing is charged between check and entry.
        def decide(balance: Balance | None, latest: Entry | None) -> Change | None:
            caps = None
            if balance is None:
                balance = self._fresh
                # the first entry states the caps, so that the chain alone says what held
                caps = balance.caps
            reserved = False
            if latest is not None:
                _require_same(latest, cost)
                reserved = kind in PAID and latest.charge.kind == "reserve"
                if not reserved:
                    return None
            elif not admitted(balance, cost):
                raise _Refused(balance)
            # the quick way to make a named tuple; see `Charge`
            charge = tuple.__new__(Charge, (person, cost, day, kind, key, caps))
            entry = entry_at(charge, balance.entries, balance.head)
            return entry, after(balance, entry, reserved=reserved)

        try:
            return self._storage.change(person, key, decide)
        except _Refused as refused:
            # the words are found outside of the lock, from a second reading: they decide nothing
            paid = self._storage.read_paid(person)[1]
            raise refusal(cost, refused.balance, paid) from None

    def _finish(self, person: str, key: str, kind: str) -> Entry:
        day = self._today()

        def decide(balance: Balance | None, latest: Entry | None) -> Change | None:
            found = "nothing" if latest is None else latest.charge.kind
            if found == kind or (kind == "commit" and found in PAID):
                return None
            if found != "reserve" or balance is None or latest is None:
                # a release after a commit is refused too: what was shown is never given back
                raise NotReserved(
                    f"key {key!r} of {person} has no open reservation ({found} is there), so there "
                    f"is none to {kind}. Reserve first, under a key of its own for each response."
                )
            cost = latest.charge.cost
            final = _commit_of(cost) if kind == "commit" else kind
            charge = tuple.__new__(Charge, (person, cost, day, final, key, None))
            entry = entry_at(charge, balance.entries, balance.head)
            return entry, after(balance, entry, reserved=True)

        return self._storage.change(person, key, decide)

    def _adjust(self, person: str, caps: Caps, *, may_rise: bool) -> Entry:
        if not person:
            raise ParameterError("person may not be empty.")
        day = self._today()
        # Caps of another order need all entries; read before the account is locked, and again where
        # somebody was sooner.
        while True:
            entries = self._storage.read(person)[1]
            head = entries[-1].hash if entries else GENESIS

            def decide(
                balance: Balance | None,
                latest: Entry | None,
                head: str = head,
                entries: Sequence[Entry] = entries,
            ) -> Change:
                balance = balance or self._fresh
                if balance.head != head:
                    raise _Moved
                if not may_rise and not caps.within(balance.caps):
                    raise ParameterError(
                        f"the caps are {_caps(balance.caps)} and would become {_caps(caps)}; this "
                        "only lowers them. Use raise_caps once the person has confirmed it and "
                        "waited."
                    )
                charge = Charge(person, NOTHING, day, "adjust", "", caps)
                entry = entry_at(charge, balance.entries, balance.head)
                return entry, adjusted(balance, entry, entries)

            try:
                return self._storage.change(person, "", decide)
            except _Moved:
                continue

    def _rebuilt(self, person: str) -> tuple[Balance, Balance | None]:
        stored, entries = self._storage.read(person)
        if not entries:
            if stored is not None:
                raise BrokenChain(f"all ledger entries of {person} are gone, a balance is there.")
            return self._fresh, None
        if entries[0].charge.person != person:
            raise BrokenChain(f"the ledger entries of {person} are somebody else's.")
        return rebuilt(entries), stored

    def _verified(self, person: str) -> int:
        balance, stored = self._rebuilt(person)
        if balance != stored:
            raise BrokenChain(
                f"the balance of {person} is not what the ledger's {balance.entries} entries come "
                "to: entries were removed from the end, or the balance was changed. Restore the "
                "ledger from a backup."
            )
        return balance.entries

    def _today(self) -> str:
        day = self._clock()
        if day != self._known_day:
            _require_day(day)
            # checked once a day and not for each charge
            self._known_day = day
        return day


class _Moved(Exception):
    """Somebody else changed the account meanwhile."""


class _Refused(Exception):
    def __init__(self, balance: Balance) -> None:
        self.balance = balance


def _commit_of(cost: Cost) -> str:
    return "clear_disclosure" if cost.disclosure else "commit"


def _caps(caps: Caps) -> str:
    return f"epsilon {caps.epsilon} at delta {float(caps.delta):g}, {caps.clear} in clear"


def _require_day(day: str) -> None:
    if not _DAY.fullmatch(day):
        raise ParameterError(f"the day is {day!r}, expected an ISO date such as 2026-03-14.")


def _require_same(latest: Entry, cost: Cost) -> None:
    charge = latest.charge
    if charge.kind == "release":
        raise KeyConflict(
            f"the reservation under key {charge.key!r} of {charge.person} was released; use a new "
            "key to reserve again."
        )
    if cost is not charge.cost and cost != charge.cost:
        raise KeyConflict(
            f"key {charge.key!r} of {charge.person} stands for a response to {charge.survey!r} "
            "with another cost; use a key of its own for each response."
        )


@contextmanager
def charge_all(
    ledger: Ledger, costs: Sequence[tuple[str, Cost]], *, result: str, name: str
) -> Iterator[None]:
    """Charge everybody, all or nobody, for the draws inside.

    The costs are set aside before anything is drawn and final before anything is returned; where
    drawing fails they are given back, for then nothing was seen. A name used twice is charged
    twice: what is drawn again tells more.

    Parameters
    ----------
    costs : sequence of (str, Cost)
        Person and cost, each person once.
    result : str
        What kind of result it is.
    name : str
        Of the result, as it stands in each person's account.

    Raises
    ------
    ParameterError
        The name is empty, or two people have the same name as text; nobody was charged.
    InsufficientBudget
        Somebody has too little left; what had been reserved was given back.

    Examples
    --------
    >>> from masquerade.accounting import Ledger, MemoryStorage
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> ledger = Ledger(MemoryStorage(), clock=lambda: "2026-03-14")
    >>> cost = Cost.of("release-1", [RandomizedResponse(2, epsilon=1)])
    >>> with charge_all(ledger, [("ann", cost), ("bob", cost)], result="release-1", name="spring"):
    ...     drawn = "the result"
    >>> str(ledger.balance("ann").epsilon)
    '1'
    """
    if not name:
        raise ParameterError(f"the name of the {result} is empty; the ledger needs one.")
    if len({person for person, _ in costs}) < len(costs):
        raise ParameterError("two people have the same name as text; the ledger needs one each.")
    # A key of its own for each call: what is drawn again is charged again.
    key = f"{result}:{name}:{int(Coins().words(1)[0]):016x}"
    reserved: list[str] = []
    try:
        for person, cost in costs:
            ledger.reserve(person, key, cost)
            reserved.append(person)
        yield
    # an interruption as well: nothing was returned, so that nothing is owed
    except BaseException:
        for person in reserved:
            ledger.release(person, key)
        raise
    for person in reserved:
        ledger.commit(person, key)
