"""How often the prints of a survey are right: the table of tests/honesty, with its worst cases.

    python benchmarks/honesty.py [surveys]

A line for each kind of output: promise, worst and median rate over its cases, and the inputs that
it was tried with. With `--cells`, coverage and median width of each figure of one group.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from card import Cards, sized

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.honesty import simulated
from tests.honesty.table import ROWS

CARDS = Cards(__file__)


def table(surveys: int) -> None:
    """Print a row of the table for each output, and keep its worst rate."""
    print("| output | promise | worst | median | cases | tried with |\n|---|---|---|---|---|---|")
    for row in ROWS:
        runs = surveys if row.quick > 20 else max(surveys // 5, 1)
        rates = row.rates(runs, 3)
        worst = (max if row.errors else min)(rates, key=lambda name: rates[name])
        median = float(np.median(list(rates.values())))
        print(
            f"| {row.name} | {row.promise} | {rates[worst]:.3f} ({worst}) | {median:.3f} | "
            f"{len(rates)} | {row.nasty} |",
            flush=True,
        )
        CARDS.add(
            row.name, rates[worst], "share of surveys", better="lower" if row.errors else "higher"
        )


def cells(surveys: int) -> None:
    """Print coverage and width of each figure of one group by n and privacy."""
    sizes = (20, 60, 200, 1000, 5000)
    print("| figure | " + " | ".join(f"n {n}" for n in sizes) + " |\n|---|" + "---|" * len(sizes))
    for name in simulated.ONE_GROUP:
        for privacy in simulated.PRIVACY:
            found = [simulated.one_group(name, privacy, n, runs=surveys, seed=3) for n in sizes]
            columns = " | ".join(f"{one.coverage:.3f} ({one.width:.3g})" for one in found)
            print(f"| {name}, {privacy} | {columns} |", flush=True)


def main() -> None:
    """Run for so many surveys a case."""
    given = [int(text) for text in sys.argv[1:] if text.isdigit()]
    surveys = given[0] if given else sized(50, 1000)
    started = time.perf_counter()
    (cells if "--cells" in sys.argv else table)(surveys)
    print(f"\n{surveys} surveys a case; {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
