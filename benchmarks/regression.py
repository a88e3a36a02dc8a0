"""Speed and memory of a regression: outcome and two five-point predictors masked, 10 columns.

python benchmarks/regression.py [people]
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from card import Cards, sized
from masquerade.analysis import regress

CARDS = Cards(__file__)


def crowd(people: int) -> dict[str, np.ndarray]:
    """Return people as columns: nine in clear, two masked scores, a masked outcome."""
    rng = np.random.default_rng(1)
    columns = [
        rng.integers(0, 2, people) if place < 4 else rng.normal(size=people) for place in range(9)
    ]
    scores = [
        np.clip(np.round(2 + rng.normal(size=people) + 0.3 * columns[place]), 0, 4).astype(int)
        for place in (0, 5)
    ]
    eta = -1 + 0.4 * columns[0] + 0.3 * columns[5] + 0.4 * (scores[0] - 2) - 0.2 * (scores[1] - 2)
    yes = (rng.random(people) < 1 / (1 + np.exp(-eta))).astype(int)

    def masked(codes: np.ndarray, options: int) -> np.ndarray:
        kept = (np.exp(2) - 1) / (np.exp(2) + options - 1)
        return np.where(rng.random(people) < kept, codes, rng.integers(0, options, people))

    found = {f"x{place}": column for place, column in enumerate(columns)}
    return found | {"a": masked(scores[0], 5), "b": masked(scores[1], 5), "y": masked(yes, 2)}


def main() -> None:
    """Fit once, and keep time and memory."""
    people = int(float(sys.argv[1])) if len(sys.argv) > 1 else sized(20_000, 1_000_000)
    five = "randomized-response:options=5,epsilon=2"
    masks = {"a": five, "b": five, "y": "randomized-response:options=2,epsilon=2"}
    data = crowd(people)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun, cpu = time.perf_counter(), time.process_time()
    terms = " + ".join(f"x{place}" for place in range(9))
    fit = regress(data, f"y ~ a + b + {terms}", mechanisms=masks)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    size = f"{people:,} people, 10 columns, 25 cells, {fit.parameters} parameters"
    whole = people == 1_000_000
    CARDS.add("regression, CPU", cpu, "s", at_most=60 if whole else None, note=size)
    CARDS.add("regression, clock", seconds, "s", note=size)
    CARDS.add("regression, memory", memory, "MB", at_most=1000 if whole else None, note=size)


if __name__ == "__main__":
    main()
