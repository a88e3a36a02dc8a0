"""Leaderboards from sums of two parties: inference, and coverage of intervals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade.preference.masked_votes import SummedVotes, leaderboard_of_sums
from masquerade.preference.score_sums import _schedule_scatter, balanced
from masquerade.preference.strength_fit import fit_strengths
from masquerade.preference.tie_models import DAVIDSON


def summed(
    rng: np.random.Generator, strengths: Any, people: int, each: int, nu: float, rho: float
) -> SummedVotes:
    """Return the sums of voters on disjoint pairs, with the noise of both parties."""
    m = len(strengths)
    order = rng.permuted(np.tile(np.arange(m), (people, 1)), axis=1)[:, : 2 * each]
    first, second = order[:, ::2], order[:, 1::2]
    d = strengths[first] - strengths[second]
    odds = np.stack([np.exp(d / 2), np.full(d.shape, nu), np.exp(-d / 2)])
    drawn = rng.random(d.shape) * odds.sum(axis=0)
    ahead, behind = drawn < odds[0], drawn >= odds[0] + odds[1]
    winners = [first[ahead], second[behind]]
    losers = [second[ahead], first[behind]]
    won, lost = (np.bincount(np.concatenate(one), minlength=m) for one in (winners, losers))
    variance = 2 * 4 * each / (2 * rho)
    noise = np.rint(rng.normal(0, np.sqrt(variance), (2, m)))
    items = tuple(f"i{place}" for place in range(m))
    return SummedVotes(items, won + noise[0], lost + noise[1], variance, people, each, nu > 0)


def test_exact_the_scatter_of_pairs_is_that_of_all_matchings() -> None:
    """By enumeration of all 45 ways to draw two pairs of six items without a common one."""
    m, rng = 6, np.random.default_rng(1)
    schedule = balanced(m, 30.0)
    tilt = np.append(rng.normal(0, 2, m), 9.0)
    tilt[:m] -= tilt[:m].mean()
    fit = fit_strengths(schedule, DAVIDSON, ridge=1.0, tilt=tilt)
    expected = {}
    for a, b in itertools.combinations(range(m), 2):
        d = np.array([fit.strengths[a] - fit.strengths[b]])
        first, tie, second = np.exp(DAVIDSON.log_probabilities(d, fit.tie))[:, 0]
        vector = np.zeros(m + 1)
        vector[[a, b, m]] = (first - second) / 2, (second - first) / 2, tie
        expected[a, b] = vector
    drawn = [
        expected[one] + expected[other]
        for one, other in itertools.combinations(expected, 2)
        if not set(one) & set(other)
    ]
    assert len(drawn) == 45
    # 15 people of two pairs each.
    wanted = 15 * np.cov(np.array(drawn).T, bias=True)
    assert np.allclose(_schedule_scatter(fit, 2), wanted, atol=1e-12)
    alone = 30 * np.cov(np.array(list(expected.values())).T, bias=True)
    assert np.allclose(_schedule_scatter(fit, 1), alone, atol=1e-12)


@pytest.mark.parametrize(
    ("items", "each", "people", "nu"), [(10, 5, 300, 0.0), (10, 3, 300, 0.9), (3, 1, 400, 0.9)]
)
def test_intervals_and_ranks_hold(items: int, each: int, people: int, nu: float) -> None:
    """150 crowds: differences are covered in 95 of 100, ranks of all items in 95 and more.

    Differences: below .89 of 6,750 (a crowd's 45 hang together: as 150 x 3 at least, standard error
    .0103) would be six standard errors, a false alarm of 1e-9. Ranks: fewer than 127 of 150 at .95
    has probability 1e-7.
    """
    rng = np.random.default_rng([items, each])
    truth = rng.standard_normal(items)
    truth -= truth.mean()
    order = np.argsort(-truth)
    held, ranks = [], 0
    for _ in range(150):
        board = leaderboard_of_sums(summed(rng, truth, people, each, nu, 0.5))
        v, left = board.covariance, board.strengths - truth
        i, j = np.triu_indices(items, 1)
        error = np.sqrt(v[i, i] + v[j, j] - 2 * v[i, j])
        held.append(np.mean(np.abs(left[i] - left[j]) <= 1.96 * error))
        placed = [f"i{place}" for place in order if board.standing(f"i{place}").placed]
        ranks += all(
            board.standing(item).rank_low <= rank <= board.standing(item).rank_high
            for rank, item in enumerate(placed, start=1)
        )
    assert np.mean(held) > 0.89
    assert ranks >= 127


def test_nothing_known_is_not_printed_as_known() -> None:
    """Few people and noise alone: nobody is placed, no interval is narrow."""
    rng = np.random.default_rng(3)
    board = leaderboard_of_sums(summed(rng, np.zeros(12), 4, 3, 0.9, 0.05))
    assert not any(one.placed for one in board.standings)
    assert all(one.rank_high - one.rank_low == 11 for one in board.standings)


def test_sums_of_other_items_are_refused() -> None:
    """One sum of wins too few, and more pairs than the items allow: an error."""
    two = np.zeros(2)
    with pytest.raises(ParameterError, match="expected one of each"):
        SummedVotes(("a", "b", "c"), two, two, 1.0, 10, 1)
    with pytest.raises(ParameterError, match="twice as many items"):
        SummedVotes(("a", "b"), two, two, 1.0, 10, 2)
