"""Whether anybody begins a survey with a ticket that was used, replayed, foreign or forged.

    python benchmarks/tickets.py [attempts]

Each attempt goes through the step that begins a survey, on a database of its own; a fifth each are
used tickets of others, replays of one's own, tickets of another survey with the same key, and two
fifths forgeries of ten kinds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from card import Cards, sized

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.server.operations.ticket_thief import Thief

from masquerade.server import Services

CARDS = Cards(__file__)
HOLDERS = 50


def main() -> None:
    """Try, and print how often each refusal was given."""
    given = [int(text) for text in sys.argv[1:] if text.isdigit()]
    attempts = given[0] if given else sized(2_000, 100_000)
    with tempfile.TemporaryDirectory() as folder:
        services = Services.open(f"sqlite:///{folder}/tickets.sqlite3", rewrites=False)
        thief = Thief.of(services, holders=HOLDERS, seed=1)
        started = time.perf_counter()
        outcomes = Counter(thief.attempt(number) for number in range(attempts))
        seconds = time.perf_counter() - started
        more = thief.begun() - HOLDERS
        services.close()
    print(f"{attempts} attempts in {seconds:.0f} s: {dict(outcomes)}")
    CARDS.add(f"places taken in {attempts:,} attempts", more, "places", at_most=0)


if __name__ == "__main__":
    main()
