"""A person's ledger adds exactly, and no entry can be changed, moved or taken out unseen."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.accounting.ledgers import earlier, ledger_of

from masquerade.accounting import Caps, Charge, Cost, Entry
from masquerade.accounting.chain import GENESIS, KINDS, PAID, append, total, verify_chain
from masquerade.accounting.cost import Earlier, amounts_of, cost_of
from masquerade.errors import BrokenChain, NeighbourMismatch, ParameterError
from masquerade.exact import INFINITE_LOSS, NO_LOSS, Micro
from masquerade.exact.loss import ADD_REMOVE, in_clear, no_loss, pure_loss

losses = st.integers(0, 10**12).map(Micro)
texts = st.text(st.characters(codec="utf-8"), max_size=12)
micro_rho = st.integers(0, 10**12).map(Micro)
costs = st.builds(
    earlier,
    survey=texts,
    mechanisms=st.lists(texts, max_size=4).map(tuple),
    event=losses,
    user=losses,
    rho=st.none() | micro_rho,
) | st.builds(
    earlier,
    survey=texts,
    mechanisms=st.lists(texts, max_size=4).map(tuple),
    event=st.just(INFINITE_LOSS),
    user=st.just(INFINITE_LOSS),
    protected=losses,
    rho=st.none() | micro_rho,
    clear=st.integers(1, 9),
)
caps = st.builds(
    Caps,
    epsilon=st.sampled_from([Micro(1), Micro(10**7)]),
    delta=st.sampled_from([Fraction(0), Fraction(1, 10**6)]),
    clear=st.integers(0, 3),
)
kinds = st.sampled_from(KINDS)
charges = st.builds(
    Charge,
    person=st.just("person"),
    cost=costs,
    day=st.dates().map(str),
    kind=kinds,
    key=texts,
    caps=st.none() | caps,
)
chains = st.lists(charges, min_size=1, max_size=6)


ONE = earlier("s", ("m",), Micro(1), Micro(2))


def chain_of(charges: list[Charge]) -> list[Entry]:
    """Return the chain of these charges."""
    entries: list[Entry] = []
    for charge in charges:
        entries.append(append(charge, entries[-1] if entries else None))
    return entries


def test_the_first_entry_follows_nothing() -> None:
    """A person's first entry has place 0 and the agreed stand-in for a predecessor's hash."""
    entry = append(Charge("p", ONE, "2026-03-14"), None)
    assert (entry.sequence, entry.previous_hash) == (0, GENESIS)
    assert len(entry.hash) == len(GENESIS) == 64


def test_the_hash_of_an_entry_is_fixed() -> None:
    """Ledgers of earlier versions stay verifiable: the hash of a known entry does not change."""
    entry = append(Charge("p", earlier("s", ("m", "ü"), Micro(1), Micro(2)), "2026-03-14"), None)
    assert entry.hash == "e0c34d262acbfde7b5b86f877234ad0c96d852340399407bfdee6c94074e6e98"
    keyed = append(entry.charge._replace(key="k", caps=Caps(rule=1)), entry)
    assert keyed.hash == "d9a2e63ab7fa2d80188e1f13b80148c6855ddc8612398dcd17e40c212469ada2"


@given(charges=chains)
def test_prop_a_chain_verifies(charges: list[Charge]) -> None:
    """A chain made by appending verifies, entry for entry, and so does each of its beginnings."""
    entries = chain_of(charges)
    assert [entry.sequence for entry in entries] == list(range(len(charges)))
    for length in range(len(entries) + 1):
        assert verify_chain(entries[:length]) == length


@given(charges=chains, data=st.data())
def test_prop_a_change_of_any_field_is_found(charges: list[Charge], data: st.DataObject) -> None:
    """If any single field of any entry is changed, the chain no longer verifies."""
    entries = chain_of(charges)
    place = data.draw(st.integers(0, len(entries) - 1))
    entry = entries[place]
    changes: dict[str, Any] = {
        "person": texts,
        "day": st.dates().map(str),
        "kind": kinds,
        "key": texts,
        "caps": st.none() | caps,
        "survey": texts,
        "mechanisms": st.lists(texts, max_size=4).map(tuple),
        "event": losses | st.just(INFINITE_LOSS),
        "user": losses,
        "protected": losses,
        "rho": st.none() | micro_rho,
        "clear": st.integers(1, 9),
        "sequence": st.integers(0, 9),
        "previous_hash": st.text("0123456789abcdef", min_size=64, max_size=64),
        "hash": st.text("0123456789abcdef", min_size=64, max_size=64),
    }
    for impossible in ("user",) if entry.charge.cost.clear else ("protected", "clear"):
        del changes[impossible]
    name = data.draw(st.sampled_from(sorted(changes)))
    value = data.draw(changes[name])
    charge = entry.charge
    if name in Entry._fields:
        changed = entry._replace(**{name: value})
    elif name in Charge._fields:
        changed = entry._replace(charge=charge._replace(**{name: value}))
    else:
        cost, written = charge.cost, charge.cost.earlier
        if written is not None and name in Earlier._fields:
            cost = Cost.of_earlier(cost.survey, cost.mechanisms, written._replace(**{name: value}))
        else:
            cost = replace(cost, **{name: value})
        changed = entry._replace(charge=charge._replace(cost=cost))
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
    charge = Charge("p", ONE, "2026-03-14")
    entries = chain_of([charge, charge, charge])
    forged = append(charge._replace(cost=replace(ONE, event=Micro(9))), entries[0])
    with pytest.raises(BrokenChain, match="ledger entry 2 of p"):
        verify_chain([entries[0], forged, entries[2]])


def test_a_boundary_between_fields_cannot_be_moved() -> None:
    """Text that moves from one field to the next changes the hash."""
    one = append(
        Charge("a", earlier("bc", ("d", "e"), Micro(1), Micro(2)), "day", "commit", "k"), None
    )
    for other in (
        Charge("a", earlier("b", ("cd", "e"), Micro(1), Micro(2)), "day", "commit", "k"),
        Charge("a", earlier("bc", ("d,e",), Micro(1), Micro(2)), "day", "commit", "k"),
        Charge("a", earlier("bc", ('d","e',), Micro(1), Micro(2)), "day", "commit", "k"),
        Charge("a", earlier("bc", ("d1:e",), Micro(1), Micro(2)), "day", "commit", "k"),
        Charge("a", earlier("bc", ("d", "e"), Micro(12), Micro(2)), "day", "commit", "k"),
        Charge("ak", earlier("bc", ("d", "e"), Micro(1), Micro(2)), "day", "commit", ""),
        Charge("", earlier("bc", ("d", "e"), Micro(1), Micro(2)), "day", "commit", "ak"),
        Charge("a", earlier("bc", ("d", "e"), Micro(1), Micro(2)), "daycommit", "", "k"),
        Charge("a", earlier("bc", ("d", "e"), Micro(1), Micro(2)), "da", "ycommit", "k"),
        Charge("a\0k", earlier("bc", ("d", "e"), Micro(1), Micro(2)), "day", "commit", ""),
    ):
        assert append(other, None).hash != one.hash


def test_texts_that_hold_the_separator_keep_their_places() -> None:
    """Texts with the character between fields, or that are no UTF-8, are hashed apart too."""
    cost = earlier("s", (), Micro(1), Micro(1))
    charges = [
        Charge(person, cost, "day", "commit", key)
        for person, key in (("a\0b", "c"), ("a", "b\0c"), ("a\0", "bc"), ("\ud800", "é"))
    ]
    assert len({append(charge, None).hash for charge in charges}) == len(charges)


@given(charges=st.lists(charges, max_size=8))
def test_prop_the_total_adds_exactly(charges: list[Charge]) -> None:
    """The total is the exact sum of the user-level losses that were spent, to the micro-epsilon."""
    paid = [charge.user.micro for charge in charges if charge.kind in PAID]
    assert total(chain_of(charges)).micro == sum(paid)


def test_totals_at_the_ends() -> None:
    """Nothing spent is no loss, and one infinite loss makes the total infinite."""
    assert total([]) == NO_LOSS
    assert verify_chain([]) == 0
    charge = Charge("p", ONE, "2026-03-14")
    endless = charge._replace(cost=earlier("s", ("m",), INFINITE_LOSS, INFINITE_LOSS, rho=Micro(1)))
    entries = chain_of([charge, endless, charge])
    assert total(entries) == INFINITE_LOSS
    assert verify_chain(entries) == 3


def test_a_cost_is_of_other_answers_of_a_person() -> None:
    """An answer in clear is counted as one, and a loss of another relation or unit is refused."""
    with pytest.raises(ParameterError, match="infinite loss and is counted as one"):
        Cost("s", (), NO_LOSS, no_loss(), clear=1)
    with pytest.raises(ParameterError, match="infinite loss and is counted as one"):
        Cost("s", (), NO_LOSS, no_loss(), clear=-1)
    with pytest.raises(ParameterError, match="count it in `clear`"):
        Cost("s", (), INFINITE_LOSS, in_clear())
    listed = pure_loss(Micro(5), relation=ADD_REMOVE)
    for loss in (listed, listed.as_replace().of_unit("claim")):
        with pytest.raises(NeighbourMismatch, match="convert it with as_replace"):
            Cost("s", (), Micro(5), loss)
    assert Cost("s", (), Micro(10), listed.as_replace()).user == Micro(10)


AS_IT_IS = "randomized-response:options=2,flip_probability=0"
MASKED = "randomized-response:options=2,epsilon=1"


@pytest.mark.parametrize(
    ("mechanisms", "user", "clear"),
    [
        ((AS_IT_IS,), NO_LOSS, 1),
        ((AS_IT_IS, MASKED, AS_IT_IS), Micro(1_000_000), 2),
        ((MASKED,), Micro(1_000_000), 0),
        ((AS_IT_IS,), INFINITE_LOSS, 1),
        (("of another version", "of another version"), INFINITE_LOSS, 2),
        ((), INFINITE_LOSS, 1),
    ],
)
def test_an_answer_in_clear_counts_as_one_whatever_an_earlier_version_wrote(
    mechanisms: tuple[str, ...], user: Micro, clear: int
) -> None:
    """Stored texts and their hashes stay; a part sent unmasked is counted in clear."""
    cost = earlier("s", mechanisms, user, user)
    assert cost.clear == clear
    assert cost.loss.epsilon == (Micro(1_000_000) if MASKED in mechanisms else NO_LOSS)
    assert not cost.disclosure
    written = amounts_of(cost)
    assert (written["clear"], written["event"]) == (
        0,
        "inf" if user == INFINITE_LOSS else user.micro,
    )
    assert cost_of("s", mechanisms, written) == cost
    again = cost_of("s", mechanisms, written)
    assert again.digest == cost.digest
    ledger = ledger_of(10, clear_answers=2)
    ledger.charge("p", "k", cost)
    assert ledger.balance("p").spent_clear == clear
