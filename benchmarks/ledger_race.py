"""A race for the last budget, many times: exactly one reservation may succeed in each round.

``python benchmarks/ledger_race.py [DATABASE_URL ...] [--rounds N] [--threads N]``

In each round a new participant's cap leaves room for one of two surveys, and 64 threads that start
together try to begin them, half of them each. Whoever asks for the winner's survey is told that it
was begun already; whoever asks for the other is refused. Afterwards every balance must be what its
chain comes to. Without an address of a database it is SQLite in a temporary folder.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
import threading
import time
from pathlib import Path

from card import Cards, sized
from masquerade.accounting import Caps
from masquerade.errors import InsufficientBudget
from masquerade.exact import Micro
from masquerade.server import Services
from masquerade.surveys import Choice
from masquerade.surveys.survey import Survey

CARDS = Cards(__file__)
SURVEYS = 2


def main() -> None:
    """Race and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("database", nargs="*")
    parser.add_argument("--rounds", type=int, default=sized(50, 1000))
    parser.add_argument("--threads", type=int, default=64)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for database in options.database or [f"sqlite:///{Path(folder) / 'race.sqlite3'}"]:
            race(database, options.rounds, options.threads)


def race(database: str, rounds: int, threads: int) -> None:
    """Run all rounds on one database."""
    definition = Survey.at_levels(title="Race", questions=(Choice("c", "?", ("A", "B")),))
    cost = definition.level("medium").cost("").pure
    services = Services.open(database, caps=Caps(Micro(cost), Caps().delta))
    surveys = [services.surveys.open_survey(definition) for _ in range(SURVEYS)]
    wrong, started = 0, time.perf_counter()
    for _ in range(rounds):
        who = services.identity(secrets.token_hex(16))
        begun: list[bool] = []
        start = threading.Barrier(threads)

        def attempt(place: int) -> None:
            start.wait()  # noqa: B023 (threads end within their round)
            try:
                _, new = services.participations.reserve(
                    who,  # noqa: B023
                    surveys[place % SURVEYS].token,
                    "medium",
                    idempotency_key=secrets.token_hex(16),
                )
            except InsufficientBudget:
                return
            begun.append(new)  # noqa: B023

        running = [threading.Thread(target=attempt, args=(place,)) for place in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        balance = services.ledger.balance(who.person)
        wrong += begun.count(True) != 1 or (balance.open, balance.reserved_epsilon) != (1, cost)
    took = time.perf_counter() - started
    entries = services.ledger.verify()
    services.close()
    CARDS.add(
        f"rounds of {rounds} with another end than one winner, {threads} threads, "
        f"{database.partition('://')[0]}",
        wrong,
        "",
        at_most=0,
        note=f"{entries} ledger entries hold, {took:.0f} s",
    )


if __name__ == "__main__":
    main()
