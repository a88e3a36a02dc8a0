"""How often a leaderboard is right: intervals of ranks, the items that may be first, differences.

Crowds of voters alike or differing, with or without ties, on items that are met unevenly; strengths
N(0, 1), voters' own strengths around them with a standard deviation of .7 where they differ. The
right value is that of the pooled model: a mixture of voters is flatter than its mean.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from card import Cards, sized
from masquerade.preference import Leaderboard
from masquerade.preference.tie_models import DAVIDSON

CARDS = Cards(__file__)
CROWDS = sized({10: 20, 100: 2}, {10: 100, 100: 40})
CELLS = list(product((10, 100), (20, 300), (0.0, 0.9), (0.0, 0.7)))


def crowd(
    rng: np.random.Generator, truth: Any, each: int, nu: float, differ: float
) -> dict[str, Any]:
    """Return votes on items, `each` an item on average, of voters with 5 to 20 votes each."""
    items = len(truth)
    battles = items * each // 2
    voters = max(battles // 20, 20)
    who = rng.integers(0, voters, battles)
    own = truth + differ * rng.standard_normal((voters, items))
    weight = rng.gamma(2, size=items)
    weight /= weight.sum()
    first = rng.choice(items, battles, p=weight)
    second = rng.choice(items, battles, p=weight)
    while (same := first == second).any():
        second[same] = rng.choice(items, int(same.sum()), p=weight)
    d = own[who, first] - own[who, second]
    logs = DAVIDSON.log_probabilities(d, np.log(nu) if nu else -np.inf)
    outcome = (rng.random(battles) > np.cumsum(np.exp(logs), axis=0)).sum(axis=0)
    names = np.array([f"i{place:03}" for place in range(items)])
    return {
        "model_a": names[first],
        "model_b": names[second],
        "winner": np.array(["model_a", "tie", "model_b"])[outcome],
        "voter": who,
    }


def flattened(truth: Any, differ: float, nu: float) -> float:
    """Return the factor by which a pooled fit of different voters is flatter than their mean."""
    if not differ:
        return 1.0
    rng = np.random.default_rng(0)
    board = Leaderboard.fit(crowd(rng, truth, 20_000, nu, differ))
    place = [int(item[1:]) for item in board.items]
    true = truth[place] - truth[place].mean()
    return float(board.strengths @ true / (true @ true))


def covered(board: Leaderboard, truth: Any, factor: float) -> tuple[bool, bool, float] | None:
    """Return whether all ranks and the best item hold, and the share of differences that do."""
    if len(board.items) < 2:
        return None
    place = [int(item[1:]) for item in board.items]
    true = factor * truth[place]
    placed = [one for one in board.standings if one.placed]
    value = dict(zip(board.items, true.tolist(), strict=True))
    order = sorted((one.item for one in placed), key=lambda item: -value[item])
    ranks = {item: rank for rank, item in enumerate(order, start=1)}
    held = all(one.rank_low <= ranks[one.item] <= one.rank_high for one in placed)
    best = not placed or board.standing(order[0]).may_be_first
    a, b = np.triu_indices(len(true), 1)
    variance = np.diag(board.covariance)
    error = np.sqrt(variance[a] + variance[b] - 2 * board.covariance[a, b])
    off = board.strengths[a] - board.strengths[b] - (true[a] - true[b])
    return held, best, float(np.mean(np.abs(off) <= 1.96 * error))


def main() -> None:
    """Measure and print the cards."""
    for items, each, nu, differ in CELLS:
        truth = np.random.default_rng(items).standard_normal(items)
        factor = flattened(truth, differ, nu)
        found = []
        for seed in range(CROWDS[items]):
            rng = np.random.default_rng([seed, items, each])
            one = covered(Leaderboard.fit(crowd(rng, truth, each, nu, differ)), truth, factor)
            if one is not None:
                found.append(one)
        ranks, best, apart = np.mean(np.array(found, dtype=float), axis=0)
        ties = "30 % ties" if nu else "no ties"
        voters = "voters who differ" if differ else "voters alike"
        what = f"{items} items, {each} votes an item, {ties}, {voters} ({len(found)} crowds)"
        CARDS.add(f"all ranks hold, {what}", float(ranks), "", better="higher", at_least=0.95)
        CARDS.add(f"the best may be first, {what}", float(best), "", better="higher", at_least=0.95)
        CARDS.add(f"differences hold, {what}", apart, "", better="higher", at_least=0.93)


if __name__ == "__main__":
    main()
