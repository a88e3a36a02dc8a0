"""The ledger's chain: each changed, dropped or moved entry is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.accounting.ledgers import DAY, clear, costing, noise

from masquerade.accounting import Balance, Caps, Entry, Ledger, MemoryStorage
from masquerade.accounting.chain import append
from masquerade.errors import (
    BrokenChain,
)
from masquerade.exact import MICRO, Micro
from masquerade.exact.loss import pure_loss


class Forgery(MemoryStorage):
    """A storage into which somebody has written by hand."""

    def forge(self, person: str, change: Callable[[list[Entry]], object]) -> None:
        """Let `change` change a person's entries freely."""
        change(self._accounts[person].entries)

    def forge_balance(self, person: str, **fields: Any) -> None:
        """Overwrite fields of a person's balance."""
        account = self._accounts[person]
        assert account.balance is not None
        account.balance = account.balance._replace(**fields)


def busy() -> tuple[Ledger, Forgery]:
    """Return a ledger of two persons with entries of every kind."""
    storage = Forgery()
    ledger = Ledger(storage, clock=lambda: DAY, caps=Caps(clear=3))
    for person in ("p", "q"):
        ledger.reserve(person, "a", costing(5, divergence=1))
        ledger.commit(person, "a")
        ledger.reserve(person, "b", clear(1, 7))
        ledger.lower_caps(person, Caps(Micro(9 * MICRO), clear=2))
        ledger.commit(person, "b")
        ledger.reserve(person, "c", noise(3))
        ledger.release(person, "c")
    ledger.verify()
    return ledger, storage


@given(place=st.integers(0, 6), data=st.data())
def test_prop_a_change_of_any_field_is_found(place: int, data: st.DataObject) -> None:
    """If any field of any entry is changed, checking the ledger finds it."""
    ledger, storage = busy()
    entry = ledger.entries("p")[place]
    charge, cost = entry.charge, entry.charge.cost
    of_charge: dict[str, Any] = {
        "person": "q",
        "day": "2026-03-15",
        "kind": "x",
        "key": "z",
        "caps": Caps(Micro(1)),
    }
    of_cost: dict[str, Any] = {
        "survey": "Diet?",
        "mechanisms": ("none",),
        **({} if cost.clear else {"event": Micro(99)}),
        "loss": pure_loss(Micro(98)),
        **({"clear": 2} if cost.clear else {}),
    }
    forgeries = [
        entry._replace(sequence=entry.sequence + 1),
        entry._replace(previous_hash="0" * 63 + "1"),
        entry._replace(hash="0" * 64),
        *(entry._replace(charge=charge._replace(**{n: v})) for n, v in of_charge.items()),
        *(
            entry._replace(charge=charge._replace(cost=replace(cost, **{n: v})))
            for n, v in of_cost.items()
        ),
    ]
    other = data.draw(st.sampled_from(forgeries))
    assert other != entry
    storage.forge("p", lambda entries: entries.__setitem__(place, other))
    with pytest.raises(BrokenChain):
        ledger.verify()


@given(place=st.integers(0, 6), to=st.integers(0, 6))
def test_prop_dropped_repeated_and_moved_entries_are_found(place: int, to: int) -> None:
    """Any entry that is removed (the last one too), repeated or moved is found."""
    forgeries: list[Callable[[list[Entry]], object]] = [
        lambda entries: entries.pop(place),
        lambda entries: entries.insert(to, entries[place]),
        lambda entries: entries.__delitem__(slice(place, None)),
    ]
    if place != to:
        forgeries.append(lambda entries: entries.insert(to, entries.pop(place)))
    for forgery in forgeries:
        ledger, storage = busy()
        storage.forge("p", forgery)
        with pytest.raises(BrokenChain):
            ledger.verify()


def anew(entries: list[Entry], places: Iterable[int]) -> None:
    """Keep the charges of some places and hash all of them again."""
    charges = [entries[place].charge for place in places]
    entries.clear()
    for charge in charges:
        entries.append(append(charge, entries[-1] if entries else None))


def change_and_hash_anew(entries: list[Entry], place: int, fields: dict[str, Any]) -> None:
    """Change one charge and hash all of them again."""
    entries[place] = entries[place]._replace(charge=entries[place].charge._replace(**fields))
    anew(entries, range(len(entries)))


def test_a_chain_that_is_hashed_anew_still_has_to_make_sense() -> None:
    """Commits without a reservation, other people's entries and missing caps are found as such."""
    for places, words in (
        ([0, 1, 1], "cannot come after"),
        ([0, 6], "cannot come after"),
        ([1], "under which caps"),
        ([0, 0], "cannot come after"),
    ):
        ledger, storage = busy()
        storage.forge("p", partial(anew, places=places))
        with pytest.raises(BrokenChain, match=words):
            ledger.rebuild("p")
    for place, forged, words in (
        (0, {"caps": Caps(Micro(4), Fraction(0))}, "entry 0 of p is a reserve"),  # did not fit
        (0, {"caps": Caps(Micro(5), Fraction(0))}, "entry 2 of p is a reserve"),
        (1, {"kind": "clear_disclosure"}, "entry 1 of p is a clear_disclosure"),
        (1, {"cost": costing(4)}, "entry 1 of p is a commit"),  # not what was reserved
        (2, {"caps": Caps(Micro(10**9))}, "entry 2 of p is a reserve"),
        (3, {"caps": None}, "entry 3 of p is a adjust"),
        (3, {"kind": "gift"}, "entry 3 of p is a gift"),
    ):
        ledger, storage = busy()
        storage.forge("p", partial(change_and_hash_anew, place=place, fields=forged))
        with pytest.raises(BrokenChain, match=words):
            ledger.rebuild("p")
    ledger, storage = busy()
    theirs = ledger.entries("q")
    storage.forge("p", lambda entries: entries.__setitem__(slice(None), theirs))
    with pytest.raises(BrokenChain, match="somebody else"):
        ledger.rebuild("p")


@pytest.mark.parametrize("field", [f for f in Balance._fields if f != "caps"])
def test_a_change_of_the_balance_is_found(field: str) -> None:
    """If any number of a balance is changed, checking the ledger finds it."""
    ledger, storage = busy()
    value = getattr(ledger.balance("q"), field)
    storage.forge_balance("q", **{field: "0" * 64 if field == "head" else value + 1})
    with pytest.raises(BrokenChain, match="balance of q"):
        ledger.verify()
    assert ledger.rebuild("q") != ledger.balance("q")


def test_changed_caps_are_found() -> None:
    """The caps of a balance are those of the chain."""
    ledger, storage = busy()
    storage.forge_balance("q", caps=Caps(Micro(10**12)))
    with pytest.raises(BrokenChain):
        ledger.verify()
    storage.forge("p", lambda entries: entries.clear())
    with pytest.raises(BrokenChain, match="gone"):
        ledger.rebuild("p")
