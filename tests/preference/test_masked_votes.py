"""Leaderboards from votes that devices masked."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.mechanisms import level_named
from masquerade.preference.masked_votes import MaskedVotes, leaderboard_of_masked

ITEMS = tuple(f"i{number:02d}" for number in range(8))


def crowd(
    rng: np.random.Generator, *, levels: tuple[str, ...], voters: int = 150, ties: bool = True
) -> tuple[MaskedVotes, np.ndarray]:
    """Return masked votes of people that differ, ten each, and the true strengths."""
    m, options = len(ITEMS), 2 + ties
    strengths = rng.normal(0, 1, m)
    strengths -= strengths.mean()
    channels = tuple(
        level_named(name).randomized_response(options).channel().matrix() for name in levels
    )
    rows = []
    for voter in range(voters):
        own, level = strengths + rng.normal(0, 0.5, m), voter % len(levels)
        for _ in range(10):
            a, b = rng.choice(m, 2, replace=False)
            odds = np.exp([(own[a] - own[b]) / 2, (own[b] - own[a]) / 2, -0.1])[:options]
            vote = rng.choice(options, p=odds / odds.sum())
            rows.append((a, b, rng.choice(options, p=channels[level][vote]), voter, level))
    first, second, report, voter_of, mask = np.array(rows, dtype=np.int32).T
    return MaskedVotes(ITEMS, first, second, report, voter_of, mask, channels), strengths


def test_differences_of_strengths_are_covered() -> None:
    """Of 95 % intervals of all differences, with masks and different people, .95 hold."""
    rng, held, ranks = np.random.default_rng(3), [], []
    for _ in range(40):
        votes, truth = crowd(rng, levels=("medium", "low"))
        board = leaderboard_of_masked(votes)
        i, j = np.triu_indices(len(ITEMS), 1)
        s, v = board.strengths, board.covariance
        error = np.sqrt(v[i, i] + v[j, j] - 2 * v[i, j])
        held += (abs(s[i] - s[j] - truth[i] + truth[j]) <= 1.96 * error).tolist()
        placed = [ITEMS.index(one.item) for one in board.standings if one.placed]
        ranks.append(
            all(
                one.rank_low
                <= 1 + sum(truth[other] > truth[ITEMS.index(one.item)] for other in placed)
                <= one.rank_high
                for one in board.standings
                if one.placed
            )
        )
    # 40 crowds with 28 differences each; 28 hang together, so as few as 7 x 40 count: from .95
    # six standard errors down is .87. Ranks of 40 crowds: below 30 has probability below 1e-9.
    assert np.mean(held) > 0.87
    assert sum(ranks) >= 30


def test_order_of_rows_and_sides_change_nothing() -> None:
    """Votes in another order, and each seen from the other side, give the same strengths."""
    votes, _ = crowd(np.random.default_rng(1), levels=("low",))
    board = leaderboard_of_masked(votes)
    order = np.random.default_rng(2).permutation(len(votes))
    swapped = MaskedVotes(
        ITEMS,
        votes.second[order],
        votes.first[order],
        np.array([1, 0, 2], dtype=np.int32)[votes.report[order]],
        votes.voter[order],
        votes.mask[order],
        votes.channels,
    )
    other = leaderboard_of_masked(swapped)
    np.testing.assert_allclose(other.strengths, board.strengths, atol=1e-8)
    np.testing.assert_allclose(other.covariance, board.covariance, atol=1e-8)


def test_without_a_tie_nothing_is_tied() -> None:
    """Where no tie could be voted, there are none, and the order is still found."""
    votes, truth = crowd(np.random.default_rng(4), levels=("low",), voters=400, ties=False)
    board = leaderboard_of_masked(votes)
    assert board.ties == pytest.approx(0)
    assert np.corrcoef(board.strengths, truth)[0, 1] > 0.9


def test_few_voters_are_said() -> None:
    """With fewer than 10 voters the note says that they are too few to see whether they differ."""
    votes, _ = crowd(np.random.default_rng(5), levels=("low",), voters=6)
    assert any("fewer than 10 voters" in note for note in leaderboard_of_masked(votes).notes)


def test_an_item_nobody_saw_is_as_uncertain_as_the_prior() -> None:
    """An item without votes is not placed, and its error is at least the prior's."""
    votes, _ = crowd(np.random.default_rng(6), levels=("low",))
    more = MaskedVotes(
        (*ITEMS, "unseen"),
        *(votes.first, votes.second, votes.report, votes.voter, votes.mask, votes.channels),
    )
    one = leaderboard_of_masked(more).standing("unseen")
    assert not one.placed
    assert one.standard_error is not None
    assert one.standard_error > 0.9
