"""Simulated arenas: how often a leaderboard is right about ranks and strengths."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np

from masquerade.aggregate import SumNoise
from masquerade.aggregate.item_blocks import Matching
from masquerade.mechanisms import level_named
from masquerade.preference import Leaderboard
from masquerade.preference.masked_votes import (
    MaskedVotes,
    SummedVotes,
    leaderboard_of_masked,
    leaderboard_of_sums,
)
from masquerade.preference.tie_models import DAVIDSON

NAMES = np.array([f"i{place:02d}" for place in range(10)])
TRUTH = np.random.default_rng(10).standard_normal(10)
TRUTH -= TRUTH.mean()
#: Pairs of items without one in common.
PAIRS = 5
#: Votes an item, share of ties at even strength by nu, and how far voters differ.
CELLS = list(product((20, 200), (0.0, 0.9), (0.0, 0.7)))
#: Pairs of a person, and how far voters differ, where two parties add up 400 people's votes.
SUMMED = list(product((2, 5), (0.0, 0.7)))
#: Levels at which votes are masked, and how far voters differ.
MASKED = list(product(("medium", "low"), (0.0, 0.7)))


def votes(
    rng: np.random.Generator, each: int, nu: float, differ: float
) -> tuple[Any, Any, Any, Any]:
    """Return first, second, outcome and voter of votes on items that are met unevenly."""
    battles = 10 * each // 2
    voters = max(battles // 10, 20)
    voter = rng.integers(0, voters, battles)
    own = TRUTH + differ * rng.standard_normal((voters, 10))
    weight = rng.gamma(2, size=10)
    first = rng.choice(10, battles, p=weight / weight.sum())
    second = (first + rng.integers(1, 10, battles)) % 10
    d = own[voter, first] - own[voter, second]
    chance = np.exp(DAVIDSON.log_probabilities(d, np.log(nu) if nu else -np.inf))
    outcome = (rng.random(battles) > np.cumsum(chance, axis=0)).sum(axis=0)
    return first, second, outcome, voter


def board_of(rng: np.random.Generator, each: int, nu: float, differ: float) -> Leaderboard:
    """Return the leaderboard of a simulated arena."""
    first, second, outcome, voter = votes(rng, each, nu, differ)
    words = np.array(["model_a", "tie", "model_b"])[outcome]
    columns = {"model_a": NAMES[first], "model_b": NAMES[second], "winner": words, "voter": voter}
    return Leaderboard.fit(columns)


def masked_board(rng: np.random.Generator, level: str, differ: float) -> Leaderboard:
    """Return the leaderboard of a simulated arena with votes masked at a level."""
    first, second, outcome, voter = votes(rng, 300, 0.9, differ)
    channel = level_named(level).randomized_response(3).channel().matrix()
    label = np.array([0, 2, 1])[outcome]
    report = (rng.random((len(label), 1)) > np.cumsum(channel[label], axis=1)).sum(axis=1)
    first, second, report, voter = (one.astype(np.int32) for one in (first, second, report, voter))
    names = tuple(map(str, NAMES))
    return leaderboard_of_masked(
        MaskedVotes(names, first, second, report, voter, 0 * voter, (channel,))
    )


def summed_board(
    rng: np.random.Generator, pairs: int, differ: float, people: int = 400, rho: float = 0.5
) -> Leaderboard:
    """Return the leaderboard of votes on disjoint pairs that two parties added up with noise."""
    own = TRUTH + differ * rng.standard_normal((people, 10))
    order = rng.permuted(np.tile(np.arange(10), (people, 1)), axis=1)[:, : 2 * pairs]
    first, second = order[:, ::2], order[:, 1::2]
    d = np.take_along_axis(own, first, 1) - np.take_along_axis(own, second, 1)
    chance = np.exp(DAVIDSON.log_probabilities(d.ravel(), np.log(0.9)))
    outcome = (rng.random(d.size) > np.cumsum(chance, axis=0)).sum(axis=0).reshape(d.shape)
    won = np.concatenate([first[outcome == 0], second[outcome == 2]])
    lost = np.concatenate([second[outcome == 0], first[outcome == 2]])
    counts = np.stack([np.bincount(one, minlength=10) for one in (won, lost)])
    variance = float(SumNoise.of_rho((Matching(10, pairs, ties=True),), str(rho)).variances[0])
    counts = counts + np.rint(rng.normal(0, np.sqrt(2 * variance), (2, 10)))
    names = tuple(map(str, NAMES))
    return leaderboard_of_sums(
        SummedVotes(names, counts[0], counts[1], 2 * variance, people, pairs, ties=True)
    )


@cache
def flattened(nu: float, differ: float) -> float:
    """Return the factor by which a fit of different voters is flatter than their mean."""
    if not differ:
        return 1.0
    board = board_of(np.random.default_rng(0), 20_000, nu, differ)
    true = TRUTH[[int(item[1:]) for item in board.items]]
    true = true - true.mean()
    return float(board.strengths @ true / (true @ true))


def boards(runs: int, seed: int) -> dict[str, list[tuple[Leaderboard, float]]]:
    """Return simulated leaderboards of each cell, each with the factor of the truth."""
    found: dict[str, list[tuple[Leaderboard, float]]] = {}
    for each, nu, differ in CELLS:
        rng = np.random.default_rng([seed, each, int(nu > 0), int(differ > 0)])
        found[f"{each} votes an item, nu {nu:g}, voters differ by {differ:g}"] = [
            (board_of(rng, each, nu, differ), flattened(nu, differ)) for _ in range(runs)
        ]
    for level, differ in MASKED:
        rng = np.random.default_rng([seed, len(level), int(differ > 0)])
        found[f"masked at {level}, voters differ by {differ:g}"] = [
            (masked_board(rng, level, differ), flattened(0.9, differ)) for _ in range(runs)
        ]
    for pairs, differ in SUMMED:
        rng = np.random.default_rng([seed, pairs, int(differ > 0), 2])
        found[f"{pairs} pairs each, added up by two parties, voters differ by {differ:g}"] = [
            (summed_board(rng, pairs, differ), flattened(0.9, differ)) for _ in range(runs)
        ]
    return found


def ranks(runs: int, seed: int) -> dict[str, float]:
    """Return how often the ranks of all placed items hold together."""
    return {
        name: float(np.mean([_ranks(board) for board, _ in row])) for name, row in _all(runs, seed)
    }


def firsts(runs: int, seed: int) -> dict[str, float]:
    """Return how often the best placed item is among those that may be first."""
    return {
        name: float(np.mean([_first(board) for board, _ in row])) for name, row in _all(runs, seed)
    }


def apart(runs: int, seed: int) -> dict[str, float]:
    """Return how often the interval of a difference of two strengths holds."""
    rng = np.random.default_rng(seed)
    return {
        name: float(np.mean([_apart(board, factor, rng) for board, factor in row]))
        for name, row in _all(runs, seed)
    }


@cache
def _kept(runs: int, seed: int) -> dict[str, list[tuple[Leaderboard, float]]]:
    return boards(runs, seed)


def _all(runs: int, seed: int) -> list[tuple[str, list[tuple[Leaderboard, float]]]]:
    return list(_kept(runs, seed).items())


def _order(board: Leaderboard) -> list[str]:
    placed = [one.item for one in board.standings if one.placed]
    return sorted(placed, key=lambda item: -TRUTH[int(item[1:])])


def _ranks(board: Leaderboard) -> bool:
    order = _order(board)
    return all(
        board.standing(item).rank_low <= rank <= board.standing(item).rank_high
        for rank, item in enumerate(order, start=1)
    )


def _first(board: Leaderboard) -> bool:
    order = _order(board)
    return not order or board.standing(order[0]).may_be_first


def _apart(board: Leaderboard, factor: float, rng: np.random.Generator) -> float:
    """Return the share of intervals that hold, of differences that have no item in common."""
    if len(board.items) < 2:
        return 1.0  # nothing is said
    a, b = rng.permutation(len(board.items))[: len(board.items) // 2 * 2].reshape(2, -1)
    true = factor * TRUTH[[int(item[1:]) for item in board.items]]
    v, left = board.covariance, board.strengths - true
    error = np.sqrt(v[a, a] + v[b, b] - 2 * v[a, b])
    held = np.abs(left[a] - left[b]) <= 1.96 * error
    # Items without a strength say nothing.
    return float((held.sum() + PAIRS - len(held)) / PAIRS)
