"""How often the interval of a known difference of two groups of a survey holds, and its width.

    python benchmarks/group_differences.py [surveys]

A group of two fifths of the people differs from the others in a share and in the mean of a rating.
In clear and through masks, of 60, 300 and 1,000 people; the interval is that of the result page,
cut at what those of both groups allow. Surveys of one case are computed in one call.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from card import Cards, sized

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.honesty.simulated import CUT, Runs, channel

from masquerade.estimation import Crowd, ratio_difference, ratios
from masquerade.exact.arrays import Floats

CARDS = Cards(__file__)
PART = 0.4  # of the people, in the first group
#: Of each figure: shares of answers in the two groups, and scores.
FIGURES: dict[str, tuple[list[list[float]], list[float]]] = {
    "share .2 / .5": ([[0.2, 0.8], [0.5, 0.5]], [1, 0]),
    "share .4 / .5": ([[0.4, 0.6], [0.5, 0.5]], [1, 0]),
    "mean 3.0 / 3.6": ([[0.1, 0.2, 0.4, 0.2, 0.1], [0.05, 0.1, 0.25, 0.4, 0.2]], [1, 2, 3, 4, 5]),
}
#: Epsilon of each mask; None in clear.
PRIVACY: dict[str, float | None] = {"clear": None, "epsilon 3": 3.0, "epsilon 1.44": 1.44}


def held(figure: str, epsilon: float | None, n: int, *, runs: int, seed: int) -> tuple[float, ...]:
    """Return how often the interval held, the same before its cut, and its median width."""
    shares, scores = FIGURES[figure]
    answers = len(scores)
    joint = np.concatenate([PART * np.array(shares[0]), (1 - PART) * np.array(shares[1])])
    mask: Floats = np.asarray(
        np.kron(channel(2, epsilon), channel(answers, epsilon)), dtype=np.float64
    )
    rng = np.random.default_rng([seed, n, answers])
    drawn = rng.multinomial(n, mask @ joint, runs).astype(float)
    crowd = Crowd((Runs(drawn, mask),), np.ones(1))
    low, high = float(min(scores)), float(max(scores))
    sides = []
    for group in range(2):
        there = np.eye(2)[group]
        part, whole = np.kron(there, scores), np.kron(there, np.ones(answers))
        rows: tuple[Floats, Floats] = np.tile(part, (runs, 1)), np.tile(whole, (runs, 1))
        sides.append(ratios(crowd, *rows, low=low, high=high))
    between = ratio_difference(*sides)
    truth = float(np.dot(shares[0], scores) - np.dot(shares[1], scores))
    alone = between.statistic(truth) <= CUT
    first, last = between.curve.interval(CUT)
    ends = [side.curve.interval(CUT) for side in sides]
    first = np.maximum(first, ends[0][0] - ends[1][1])
    last = np.maximum(np.minimum(last, ends[0][1] - ends[1][0]), first)
    inside = alone & (first <= truth) & (truth <= last)
    return float(inside.mean()), float(alone.mean()), float(np.median(last - first))


def main() -> None:
    """Print a row a case."""
    given = [int(text) for text in sys.argv[1:] if text.isdigit()]
    runs = given[0] if given else sized(60, 1000)
    print(f"| figure | privacy | n | held, of {runs} | before the cut | median width |")
    print("|---|---|---|---|---|---|")
    for figure in FIGURES:
        for privacy, epsilon in PRIVACY.items():
            for n in (60, 300, 1000):
                rate, alone, width = held(figure, epsilon, n, runs=runs, seed=1)
                print(f"| {figure} | {privacy} | {n} | {rate:.3f} | {alone:.3f} | {width:.3g} |")
                sys.stdout.flush()
                CARDS.add(f"{figure}, {privacy}, {n}", rate, "share of surveys", better="higher")


if __name__ == "__main__":
    main()
