"""The cost of a ledger charge in memory, against the least that any ledger must do.

Run with ``python benchmarks/ledger.py``; ``--profile`` also shows where the time goes. The least is
what stays when every promise but the chain is dropped: two SHA-256 of a line and the hash before
it, kept in a dictionary, without caps, keys, locks or amounts. Times are of the processor, so that
other programs on the machine disturb them little.
"""

from __future__ import annotations

import cProfile
import gc
import hashlib
import pstats
import sys
import time
from collections.abc import Callable
from functools import partial

from card import Cards, sized
from masquerade.accounting import Caps, Cost, Ledger, MemoryStorage
from masquerade.exact import Micro
from masquerade.mechanisms import level_named

CARDS = Cards(__file__)
CHARGES = sized(20_000, 100_000)
ROUNDS = sized(3, 5)
CAPS = Caps(Micro(10**12))
KEYS = [f"response-{number}" for number in range(CHARGES)]


def main() -> None:
    """Measure and print."""
    cost = Cost.of("Sleep", [level_named("high").randomized_response(5)] * 3)
    everyone = [f"{number:064x}" for number in range(CHARGES)]
    some = [everyone[number % 1000] for number in range(CHARGES)]
    for title, persons in (
        (f"{CHARGES:,} persons, one charge each", everyone),
        (f"1,000 persons, {CHARGES // 1000} charges each", some),
    ):
        least = best(partial(least_work, persons))
        for name, work in (
            ("charge in one step", single_charges),
            ("reserve, then commit", charges),
        ):
            taken = best(partial(work, persons, cost))
            CARDS.add(
                f"{name}; {title}",
                taken,
                "ns a response",
                peer="two hashes and a dictionary",
                peer_value=least,
            )
    ledger = charges(everyone, cost)
    started = time.process_time()
    entries = ledger.verify()
    CARDS.add("verify", (time.process_time() - started) / entries * 1e9, "ns an entry")
    if "--profile" in sys.argv:
        profile = cProfile.Profile()
        gc.disable()
        profile.runcall(charges, everyone, cost)
        pstats.Stats(profile).sort_stats("tottime").print_stats(12)


def best(work: Callable[[], object]) -> float:
    """Return nanoseconds a response, the best of several rounds."""
    times = []
    for _ in range(ROUNDS):
        gc.collect()
        gc.disable()
        started = time.process_time()
        kept = work()
        times.append(time.process_time() - started)
        gc.enable()
        del kept
    return min(times) / CHARGES * 1e9


def least_work(persons: list[str]) -> dict[str, list[str]]:
    """Hash two lines for each response and keep them."""
    kept: dict[str, list[str]] = {}
    for person, key in zip(persons, KEYS, strict=True):
        chain = kept.setdefault(person, [])
        for kind in ("reserve", "commit"):
            line = f"{chain[-1] if chain else ''} {kind} {person} {key}"
            chain.append(hashlib.sha256(line.encode()).hexdigest())
    return kept


def charges(persons: list[str], cost: Cost) -> Ledger:
    """Reserve and commit a charge for each person in turn."""
    ledger = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=CAPS)
    for person, key in zip(persons, KEYS, strict=True):
        ledger.reserve(person, key, cost)
        ledger.commit(person, key)
    return ledger


def single_charges(persons: list[str], cost: Cost) -> Ledger:
    """Charge each person in turn, in one step."""
    ledger = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=CAPS)
    for person, key in zip(persons, KEYS, strict=True):
        ledger.charge(person, key, cost)
    return ledger


if __name__ == "__main__":
    main()
