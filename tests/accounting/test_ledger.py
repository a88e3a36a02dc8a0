"""A person's ledger adds exactly, and no entry can be changed, moved or taken out unseen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import GENESIS, Charge, Entry, append, total, verify_chain
from masquerade.errors import BrokenChain
from masquerade.mechanisms import INFINITE_LOSS, NO_LOSS, Loss

losses = st.integers(0, 10**12).map(Loss)
texts = st.text(st.characters(codec="utf-8"), max_size=12)
charges = st.builds(
    Charge,
    person=st.just("person"),
    survey=texts,
    mechanisms=st.lists(texts, max_size=4).map(tuple),
    event=losses,
    user=losses,
    day=st.dates().map(str),
)
chains = st.lists(charges, min_size=1, max_size=6)


def chain_of(charges: list[Charge]) -> list[Entry]:
    """Return the chain of these charges."""
    entries: list[Entry] = []
    for charge in charges:
        entries.append(append(charge, entries[-1] if entries else None))
    return entries


def test_the_first_entry_follows_nothing() -> None:
    """A person's first entry has place 0 and the agreed stand-in for a predecessor's hash."""
    entry = append(Charge("p", "s", ("m",), Loss(1), Loss(2), "2026-03-14"), None)
    assert (entry.sequence, entry.previous_hash) == (0, GENESIS)
    assert len(entry.hash) == len(GENESIS) == 64


def test_the_hash_of_an_entry_is_fixed() -> None:
    """Ledgers of earlier versions stay verifiable: the hash of a known entry does not change."""
    entry = append(Charge("p", "s", ("m", "ü"), Loss(1), Loss(2), "2026-03-14"), None)
    assert entry.hash == "e0c34d262acbfde7b5b86f877234ad0c96d852340399407bfdee6c94074e6e98"


@given(charges=chains)
def test_prop_a_chain_verifies(charges: list[Charge]) -> None:
    """A chain made by appending verifies, entry for entry, and so does each of its beginnings."""
    entries = chain_of(charges)
    assert [entry.sequence for entry in entries] == list(range(len(charges)))
    for length in range(len(entries) + 1):
        assert verify_chain(entries[:length]) == length


@given(charges=chains, data=st.data())
def test_prop_a_change_of_any_field_is_found(charges: list[Charge], data: st.DataObject) -> None:
    """Whatever single field of whatever entry is changed, the chain no longer verifies."""
    entries = chain_of(charges)
    place = data.draw(st.integers(0, len(entries) - 1))
    entry = entries[place]
    changes: dict[str, Any] = {
        "person": texts,
        "survey": texts,
        "mechanisms": st.lists(texts, max_size=4).map(tuple),
        "event": losses | st.just(INFINITE_LOSS),
        "user": losses | st.just(INFINITE_LOSS),
        "day": st.dates().map(str),
        "sequence": st.integers(0, 9),
        "previous_hash": st.text("0123456789abcdef", min_size=64, max_size=64),
        "hash": st.text("0123456789abcdef", min_size=64, max_size=64),
    }
    name = data.draw(st.sampled_from(sorted(changes)))
    value = data.draw(changes[name])
    if name in ("sequence", "previous_hash", "hash"):
        changed = replace(entry, **{name: value})
    else:
        changed = replace(entry, charge=replace(entry.charge, **{name: value}))
    if changed == entry:
        return
    with pytest.raises(BrokenChain):
        verify_chain([*entries[:place], changed, *entries[place + 1 :]])


@given(charges=st.lists(charges, min_size=2, max_size=6), data=st.data())
def test_prop_a_missing_or_moved_entry_is_found(charges: list[Charge], data: st.DataObject) -> None:
    """Removing any entry but the last, or exchanging two, breaks the chain and names the place."""
    entries = chain_of(charges)
    place = data.draw(st.integers(0, len(entries) - 2))
    with pytest.raises(BrokenChain, match=f"ledger entry {place} "):
        verify_chain([*entries[:place], *entries[place + 1 :]])
    moved = list(entries)
    moved[place], moved[place + 1] = moved[place + 1], moved[place]
    with pytest.raises(BrokenChain, match=f"ledger entry {place} "):
        verify_chain(moved)


def test_an_entry_that_is_hashed_again_is_found() -> None:
    """An entry changed together with its own hash does not fit the entries after it."""
    charge = Charge("p", "s", ("m",), Loss(1), Loss(2), "2026-03-14")
    entries = chain_of([charge, charge, charge])
    forged = append(replace(charge, user=Loss(1)), entries[0])
    with pytest.raises(BrokenChain, match="ledger entry 2 of p"):
        verify_chain([entries[0], forged, entries[2]])


def test_a_boundary_between_fields_cannot_be_moved() -> None:
    """Text that moves from one field to the next changes the hash."""
    one = append(Charge("a", "bc", ("d", "e"), Loss(1), Loss(2), "day"), None)
    for other in (
        Charge("ab", "c", ("d", "e"), Loss(1), Loss(2), "day"),
        Charge("a", "bc", ("d,e",), Loss(1), Loss(2), "day"),
        Charge("a", "bc", ('d","e',), Loss(1), Loss(2), "day"),
        Charge("a", "bc", ("d", "e"), Loss(12), Loss(2), "day"),
    ):
        assert append(other, None).hash != one.hash


@given(charges=st.lists(charges, max_size=8))
def test_prop_the_total_adds_exactly(charges: list[Charge]) -> None:
    """The total is the exact sum of the user-level losses, to the micro-epsilon."""
    assert total(chain_of(charges)).micro == sum(charge.user.micro for charge in charges)


def test_totals_at_the_ends() -> None:
    """Nothing spent is no loss, and one infinite loss makes the total infinite."""
    assert total([]) == NO_LOSS
    assert verify_chain([]) == 0
    charge = Charge("p", "s", ("m",), Loss(1), Loss(1), "2026-03-14")
    endless = replace(charge, event=INFINITE_LOSS, user=INFINITE_LOSS)
    entries = chain_of([charge, endless, charge])
    assert total(entries) == INFINITE_LOSS
    assert verify_chain(entries) == 3
