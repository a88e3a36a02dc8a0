"""The accountant beside dp-accounting, on random lists of charges: never below, and how far above.

    python benchmarks/accountant.py [lists] [first]

Each list mixes noise, choices, pure epsilons and Laplace noise under a cap of 3, 6, 10 or 20; half
of them fill it. `first` is the seed of the first list, so that 10,000 can be run in parts.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np

from card import Cards, sized

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.accounting.charges import compared, random_list

CARDS = Cards(__file__)


def main(lists: int, first: int) -> None:
    """Compare so many lists from a seed on."""
    pld = import_module("dp_accounting.pld.privacy_loss_distribution")
    start = time.perf_counter()
    drawn = [random_list(seed) for seed in range(first, first + lists)]
    found = [compared(caps, charges, pld) for caps, charges in drawn if charges]
    figures = {name: np.array([getattr(one, name) for one in found]) for name in found[0].__slots__}
    size = f"of {len(found)} lists"
    charges = sorted(sum(one.values()) for _, one in drawn if one)
    sys.stderr.write(
        f"{size}, {charges[0]} to {charges[-1]} charges, median {charges[len(charges) // 2]}, "
        f"{time.perf_counter() - start:.0f} s\n"
    )
    below = int((figures["below"] > 0).sum())
    CARDS.add("epsilon below dp-accounting's lower bound", below, size, at_most=0)
    CARDS.add("epsilon over dp-accounting's, median", float(np.median(figures["epsilon"])), "")
    CARDS.add("epsilon over dp-accounting's, largest", float(figures["epsilon"].max()), "")
    short = int((figures["orders"] > 0).sum())
    CARDS.add("lists with a Renyi divergence below dp-accounting's", short, size, at_most=0)
    CARDS.add("delta at the cap over its promise, largest", figures["delta"].max(), "", at_most=1)
    CARDS.add(
        "tail over the exact quantile, median", float(np.median(figures["tail"])), "", at_most=1.1
    )
    renyi = figures["tail"][figures["exceeded"] > 0]
    CARDS.add("the same where it is no pure epsilon, median", float(np.median(renyi)), "")
    CARDS.add("tail over the exact quantile, largest", float(figures["tail"].max()), "")
    CARDS.add("chance of more than the tail in millionths, largest", figures["exceeded"].max(), "")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else sized(200, 10_000),
        int(sys.argv[2]) if len(sys.argv) > 2 else 0,
    )
