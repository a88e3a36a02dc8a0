"""Speed and memory of learning a preference.

Run with ``python benchmarks/preference.py [--voters 10000]``; `peers` compares with other
libraries.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from card import Cards, sized
from masquerade import Comparisons
from masquerade.preference import Leaderboard, made_up_voters
from masquerade.preference.mechanisms.linear import fit_linear
from masquerade.preference.pooled_fit import fit_pooled
from masquerade.preference.thurstone import fit_voters

CARDS = Cards(__file__)
RECORDS, FEATURES = 50, 10
RUNS = 3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--voters", type=int, default=sized(1_000, 10_000))
    parser.add_argument("--records", type=int, default=sized(100_000, 1_000_000))
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, best of {RUNS} runs")
    comparisons = crowd(arguments.voters)
    bounded_fits(comparisons)
    CARDS.add("fit of a voter", per_voter(comparisons), "microseconds")
    memory(arguments.voters)
    one_pass(arguments.records)
    items()


def crowd(voters: int, records: int = RECORDS) -> Comparisons:
    rng = np.random.default_rng(1)
    return made_up_voters(rng, voters=voters, features=FEATURES).choose(rng, records)


def best(work: Callable[[], object]) -> float:
    """Return the shortest time of several runs, in seconds."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def bounded_fits(comparisons: Comparisons) -> None:
    size = f"{comparisons.n_voters:,} voters x {RECORDS} records x {FEATURES} features"
    for bound in (2.0, 10.0):
        seconds = best(lambda bound=bound: fit_voters(comparisons, bound=bound))  # type: ignore[misc]
        fits = fit_voters(comparisons, bound=bound)
        CARDS.add(
            f"bounded fits, {size}, B = {bound:g}",
            seconds,
            "s",
            note=f"largest certified gap a record {fits.gap.max() / RECORDS:.1e}, "
            f"{fits.iterations} Newton steps",
        )


def per_voter(comparisons: Comparisons) -> float:
    """Return microseconds of a voter's fit."""
    return best(lambda: fit_voters(comparisons)) / comparisons.n_voters * 1e6


def memory(voters: int) -> None:
    """Print the peak of a fit for halves of the crowd: it grows no faster than the crowd."""
    peaks = []
    for share in (voters // 4, voters // 2, voters):
        comparisons = crowd(share)
        tracemalloc.start()
        fit_voters(comparisons)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    records = voters * RECORDS * FEATURES * 8
    for part, peak in zip(("a quarter", "half", "all"), peaks, strict=True):
        CARDS.add(
            f"peak memory of a fit, {part} of {voters:,} voters",
            peak / 1e6,
            "MB",
            note=f"all records: {records / 1e6:.0f} MB",
        )


def one_pass(records: int) -> None:
    comparisons = crowd(records // RECORDS)
    seconds = best(lambda: fit_linear(comparisons))
    CARDS.add(f"linear statistic of {len(comparisons):,} records", seconds, "s")
    seconds = best(lambda: fit_pooled(comparisons))
    CARDS.add(f"pooled fit of {len(comparisons):,} records", seconds, "s")


def items() -> None:
    """Time Bradley-Terry strengths of 100 items from 100,000 comparisons."""
    rng = np.random.default_rng(3)
    count, size = 100, sized(20_000, 100_000)
    strength = rng.normal(size=count)
    pairs = rng.integers(0, count, (size, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    wins = rng.random(len(pairs)) < 1 / (1 + np.exp(strength[pairs[:, 1]] - strength[pairs[:, 0]]))
    won = np.where(wins[:, None], pairs, pairs[:, ::-1])
    names = np.array([f"item {i:03}" for i in range(count)])
    comparisons = Comparisons.from_frame(
        {
            "voter": np.arange(len(won)) % 1000,
            "chosen": names[won[:, 0]],
            "rejected": names[won[:, 1]],
        }
    )
    ours = best(lambda: Leaderboard.fit(comparisons))
    CARDS.add(f"Bradley-Terry, {count} items, {len(won):,} comparisons", ours, "s")


if __name__ == "__main__":
    main()
