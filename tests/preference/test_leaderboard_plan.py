"""How many votes a private leaderboard needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.preference.test_summed_votes import summed

from masquerade.answers import Battles
from masquerade.errors import ParameterError
from masquerade.preference.leaderboard_plan import LeaderboardPlan, read_leaderboard_plan
from masquerade.preference.masked_votes import leaderboard_of_sums
from masquerade.preference.private_leaderboard import PrivateLeaderboard


@pytest.mark.parametrize(
    ("epsilon", "trust"), [(1, "aggregator"), (3, "aggregator"), (1, "local"), (3, "local")]
)
def test_a_plan_foretells_the_error(epsilon: int, trust: Any) -> None:
    """Errors of strengths of simulated crowds are those of the plan within a third."""
    m, battles, off = 20, 3000, []
    rng = np.random.default_rng(7)
    names = [f"i{number:02d}" for number in range(m)]
    for _ in range(12):
        truth = rng.normal(0, 0.7, m)
        truth -= truth.mean()
        first = rng.integers(0, m, battles)
        second = (first + rng.integers(1, m, battles)) % m
        d = truth[first] - truth[second]
        odds = np.exp(np.stack([d / 2, np.full(battles, -0.15), -d / 2]))
        outcome = (rng.random(battles) > np.cumsum(odds / odds.sum(axis=0), axis=0)).sum(axis=0)
        votes = Battles.from_frame(
            {
                "model_a": [names[i] for i in first],
                "model_b": [names[i] for i in second],
                "winner": [("model_a", "tie", "model_b")[i] for i in outcome],
                "voter": np.arange(battles) // 20,
            },
            items=names,
        )
        board = PrivateLeaderboard(epsilon, trust=trust).simulate(votes, rng)
        # The ridge shrinks; against it, errors are those of the unshrunken strengths.
        off += ((board.strengths - truth) ** 2).tolist()
    plan = LeaderboardPlan(m, epsilon=epsilon, trust=trust, ties=0.28)
    # 240 squared errors that hang together little: six standard errors of their root are 30 %.
    assert np.sqrt(np.mean(off)) == pytest.approx(plan.error(battles), rel=0.33)


@pytest.mark.parametrize(
    ("items", "each", "people", "ties"), [(10, 3, 300, 0.9), (10, 5, 600, 0.0), (30, 10, 500, 0.9)]
)
def test_a_plan_foretells_the_intervals_of_ranks(
    items: int, each: int, people: int, ties: float
) -> None:
    """Between two parties the mean interval of a rank of 60 arenas is that of the plan, to 12 %.

    The plan is off by .5 to 4 %, and the mean of 60 arenas has a standard error of 1.3 to 2.3 %:
    12 % are at least five of them, a false alarm below 1e-6.
    """
    rng = np.random.default_rng([items, each])
    widths = []
    for _ in range(60):
        truth = rng.standard_normal(items)
        board = leaderboard_of_sums(summed(rng, truth - truth.mean(), people, each, ties, 0.5))
        widths += [one.rank_high - one.rank_low + 1 for one in board.standings]
    votes = people * each
    noise = 8 * each / (2 * 0.5) / 2
    plan = LeaderboardPlan(
        items,
        votes_each=each,
        ties=0.3 if ties else 0.0,
        vote_noise=noise * items / (2 * votes),
    )
    assert np.mean(widths) == pytest.approx(plan.rank_width(votes), rel=0.12)


def test_more_votes_and_more_epsilon_are_better() -> None:
    """Margins fall with votes and with epsilon, and are widest for whole voters."""
    plan = LeaderboardPlan(60, epsilon=1)
    votes = plan.votes_for_margin(0.6)
    assert plan.margin(votes) <= 0.6 < plan.margin(votes - 1)
    assert LeaderboardPlan(60, epsilon=2).votes_for_margin(0.6) < votes
    assert LeaderboardPlan(60).votes_for_margin(0.6) < votes
    assert LeaderboardPlan(60, epsilon=1, unit="voter").votes_for_margin(0.6) > votes
    assert LeaderboardPlan(60, epsilon=1, trust="local").votes_for_margin(0.6) > votes
    assert 1 < plan.rank_width(10 * votes) < plan.rank_width(votes) < 60
    assert plan.gap(votes) == pytest.approx(0.6 * 1.645 / 1.96, rel=0.01)


@pytest.mark.parametrize(
    "text",
    [
        "battle-scores:epsilon=1",
        "battle-scores:items=1,epsilon=1",
        "battle-scores:items=5,ties=1",
        "battle-scores:items=5,epsilon=0",
        "battle-scores:items=5,epsilon=1,unit=voters",
        "battle-scores:items=5,epsilon=1,unit=voter,trust=local",
        "battle-scores:items=five",
    ],
)
def test_a_wrong_plan_is_refused(text: str) -> None:
    """Statistics that cannot be released cannot be planned."""
    with pytest.raises(ParameterError):
        read_leaderboard_plan(text)


def test_a_margin_out_of_reach_is_said() -> None:
    """A margin that takes more than a thousand million votes is an error that gives advice."""
    with pytest.raises(ParameterError, match="raise epsilon"):
        LeaderboardPlan(60, epsilon="0.000001", trust="local").votes_for_margin(0.001)
