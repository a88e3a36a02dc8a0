"""Speed and memory of learning a preference, next to statsmodels and choix in the same run.

Run with ``python benchmarks/preference.py [--voters 10000]``. statsmodels and choix are compared
with where they are installed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import time
import tracemalloc
import warnings
from collections.abc import Callable

import numpy as np

from masquerade import Comparisons
from masquerade.preference import (
    fit_bradley_terry,
    fit_linear,
    fit_pooled,
    fit_voters,
    made_up_voters,
)

RECORDS, FEATURES = 50, 10
PEER_VOTERS = 300
RUNS = 3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--voters", type=int, default=10_000)
    parser.add_argument("--records", type=int, default=1_000_000)
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, best of {RUNS} runs")
    comparisons = crowd(arguments.voters)
    bounded_fits(comparisons)
    against_statsmodels(comparisons)
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
        print(
            f"bounded fits, {size}, B = {bound:g}: {seconds:.2f} s; largest certified gap a record "
            f"{fits.gap.max() / RECORDS:.1e}, {fits.iterations} Newton steps"
        )


def against_statsmodels(comparisons: Comparisons) -> None:
    try:
        api = importlib.import_module("statsmodels.api")
    except ImportError:
        print("statsmodels is not installed: no comparison")
        return
    few = comparisons.of_voters(np.arange(min(PEER_VOTERS, comparisons.n_voters)))
    side = np.random.default_rng(2).integers(0, 2, len(few))
    turned = few.difference * (2 * side - 1)[:, None]

    def peer() -> int:
        failed = 0
        for voter in range(few.n_voters):
            rows = slice(few.offsets[voter], few.offsets[voter + 1])
            try:
                api.Probit(side[rows], turned[rows]).fit(disp=0)
            except Exception:  # no maximum for separable voters, or a singular matrix
                failed += 1
        return failed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failed = peer()
        theirs = best(peer) / few.n_voters
    ours = best(lambda: fit_voters(comparisons)) / comparisons.n_voters
    print(
        f"a voter: {ours * 1e6:.0f} microseconds; statsmodels' Probit {theirs * 1e6:.0f} "
        f"({failed} of {few.n_voters} voters without a result): {theirs / ours:.0f} times as long"
    )


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
    text = ", ".join(f"{peak / 1e6:.0f} MB" for peak in peaks)
    print(f"peak memory at 1/4, 1/2 and all voters: {text} (all records: {records / 1e6:.0f} MB)")


def one_pass(records: int) -> None:
    comparisons = crowd(records // RECORDS)
    seconds = best(lambda: fit_linear(comparisons))
    print(f"linear statistic of {len(comparisons):,} records: {seconds:.2f} s")
    print(
        f"pooled fit of {len(comparisons):,} records: {best(lambda: fit_pooled(comparisons)):.2f} s"
    )


def items() -> None:
    """Time Bradley-Terry strengths of 100 items from 100,000 comparisons."""
    rng = np.random.default_rng(3)
    count, size = 100, 100_000
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
    ours = best(lambda: fit_bradley_terry(comparisons))
    text = f"Bradley-Terry, {count} items, {len(won):,} comparisons: {ours:.3f} s"
    try:
        choix = importlib.import_module("choix")
    except ImportError:
        print(f"{text}; choix is not installed: no comparison")
        return
    data = [tuple(pair) for pair in won.tolist()]
    theirs = best(lambda: choix.ilsr_pairwise(count, data))
    off = choix.ilsr_pairwise(count, data) - fit_bradley_terry(comparisons).strengths
    print(
        f"{text}; choix (ilsr_pairwise) {theirs:.3f} s: {theirs / ours:.0f} times as long; "
        f"largest difference {np.abs(off - off.mean()).max():.1e}"
    )


if __name__ == "__main__":
    main()
