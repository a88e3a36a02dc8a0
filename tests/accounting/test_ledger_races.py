"""Ledgers under many hands: no order of steps overspends."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.accounting.ledgers import DAY, clear, costing, ledger_of, noise

from masquerade.accounting import Balance, Caps, Cost, Entry, Ledger, MemoryStorage
from masquerade.errors import (
    ClearDisclosureRefused,
    InsufficientBudget,
    KeyConflict,
    NotReserved,
    ParameterError,
)
from masquerade.exact import MICRO, Micro

THREADS = 16

STEPS = ("reserve", "reserve", "reserve", "commit", "release", "charge", "expire", "lower")

LOWER = Caps(Micro(15), Fraction(1, 3), 1)

REFUSALS = (
    InsufficientBudget,
    ClearDisclosureRefused,
    KeyConflict,
    NotReserved,
    ParameterError,  # a cap that would rise
)


@given(
    seed=st.integers(0, 2**32),
    cap=st.integers(1, 60),
    clear_answers=st.integers(0, 3),
    surveys=st.lists(
        st.one_of(
            st.integers(1, 25).map(costing),
            st.builds(costing, st.integers(1, 25), divergence=st.integers(1, 10)),
            st.integers(1, 25).map(noise),
            st.builds(clear, st.integers(1, 2), st.integers(0, 9)),
        ),
        min_size=4,
        max_size=12,
    ),
)
def test_prop_no_interleaving_overspends(
    seed: int, cap: int, clear_answers: int, surveys: list[Cost]
) -> None:
    """Threads that reserve, commit, release and sweep at random never exceed a cap."""
    caps = Caps(Micro(cap), Fraction(1, 2), clear_answers)
    storage = MemoryStorage()
    ledger = Ledger(storage, clock=lambda: DAY, caps=caps)
    persons = ("p", "q")
    barrier = threading.Barrier(4)
    wrong: list[Balance] = []

    def act(number: int) -> None:
        rng = random.Random(seed + number)
        barrier.wait()
        for _ in range(25):
            person, place = rng.choice(persons), rng.randrange(len(surveys))
            step, key = rng.choice(STEPS), str(place)
            try:
                if step in ("reserve", "charge"):
                    getattr(ledger, step)(person, key, surveys[place])
                elif step in ("commit", "release"):
                    getattr(ledger, step)(person, key)
                elif step == "expire" and rng.random() < 0.2:
                    ledger.expire("2026-03-15")
                elif step == "lower" and rng.random() < 0.1:
                    ledger.lower_caps(person, LOWER)
            except REFUSALS:
                pass
            balance = ledger.balance(person)
            fits = caps.admit(
                **balance.totals,
                clear=balance.spent_clear + balance.reserved_clear,
            )
            if not fits or min(balance[3:]) < 0:
                wrong.append(balance)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(act, range(4)))
    assert wrong == []
    ledger.verify()
    for person in storage.persons():
        assert ledger.rebuild(person) == ledger.balance(person)  # which checks each admission too
        entries = ledger.entries(person)
        paid = [e.charge.cost for e in entries if e.charge.kind in ("commit", "clear_disclosure")]
        assert sum(cost.pure for cost in paid) == ledger.balance(person).spent_epsilon
        assert sum(cost.clear for cost in paid) == ledger.balance(person).spent_clear <= caps.clear
        keys = [e.charge.key for e in entries if e.charge.kind in ("commit", "clear_disclosure")]
        assert len(keys) == len(set(keys))


def test_two_surveys_and_a_cap_for_one() -> None:
    """Of many threads that reserve two surveys under a cap for one, exactly one succeeds."""
    for round_ in range(60):
        ledger = ledger_of(1)
        barrier = threading.Barrier(THREADS)

        def reserve(number: int, ledger: Ledger = ledger, barrier: Any = barrier) -> bool:
            barrier.wait()
            try:
                survey = f"S{number % 2}"
                ledger.reserve("p", f"{survey}-{number}", costing(MICRO, survey=survey))
            except InsufficientBudget:
                return False
            return True

        with ThreadPoolExecutor(THREADS) as pool:
            assert sum(pool.map(reserve, range(THREADS))) == 1, round_
        assert ledger.verify() == 1


def test_one_request_many_times_at_once() -> None:
    """The same request from many threads is one entry, and each gets it."""
    ledger = ledger_of(1)
    barrier = threading.Barrier(THREADS)

    def charge(_: int) -> Entry:
        barrier.wait()
        return ledger.charge("p", "a", costing(MICRO))

    with ThreadPoolExecutor(THREADS) as pool:
        assert len(set(map(str, pool.map(charge, range(THREADS))))) == 1
    assert len(ledger.entries("p")) == 1
