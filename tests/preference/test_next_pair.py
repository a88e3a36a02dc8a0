"""Which pairs to ask about next: the top is found sooner, and collecting stops when it is known."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade.preference import Leaderboard
from masquerade.preference.next_pair import next_pairs, top_is_known

#: Twenty items with a gap of .3 after the third.
TRUTH = np.concatenate([[1.0, 0.95, 0.9], np.linspace(0.6, -1.2, 17)])
NAMES = [f"i{place:02}" for place in range(20)]


def votes_on(pairs: list[tuple[str, str]], rng: np.random.Generator) -> list[str]:
    """Return the outcome of each vote, without ties."""
    place = {name: i for i, name in enumerate(NAMES)}
    apart = np.array([TRUTH[place[a]] - TRUTH[place[b]] for a, b in pairs])
    wins = rng.random(len(pairs)) < 1 / (1 + np.exp(-apart))
    return ["left" if won else "right" for won in wins]


def collected(rng: np.random.Generator, votes: int, *, steered: bool) -> Leaderboard:
    """Return the leaderboard after so many votes, in batches of 100."""
    pairs = [tuple(rng.choice(NAMES, 2, replace=False).tolist()) for _ in range(100)]
    winner = votes_on(pairs, rng)
    while True:
        first, second = zip(*pairs, strict=True)
        board = Leaderboard.fit({"model_a": first, "model_b": second, "winner": winner}, prior=1)
        if len(pairs) >= votes:
            return board
        if steered:
            new = next_pairs(board, rng, batch=100, top=3)
        else:
            new = [tuple(rng.choice(NAMES, 2, replace=False).tolist()) for _ in range(100)]
        pairs += new
        winner += votes_on(new, rng)


def test_steered_votes_find_the_top_sooner_than_random_ones() -> None:
    """600 votes, 8 crowds: more of the three best items are on top with the rule than without."""
    found = {True: 0, False: 0}
    for steered in found:
        for seed in range(8):
            board = collected(np.random.default_rng(seed), 600, steered=steered)
            order = np.argsort(-board.strengths)[:3]
            found[steered] += sum(board.items[place] in NAMES[:3] for place in order)
    assert found[True] > found[False]
    assert found[True] >= 16


def test_pairs_are_of_two_items_and_mostly_near_the_top() -> None:
    """A batch has the size asked for; a fifth at random; most of the rest meets the border."""
    rng = np.random.default_rng(1)
    board = collected(rng, 400, steered=False)
    pairs = next_pairs(board, rng, batch=50, top=3)
    assert len(pairs) == 50
    assert all(a != b for a, b in pairs)
    order = [board.items[place] for place in np.argsort(-board.strengths)]
    near = sum(a in order[:8] and b in order[:8] for a, b in pairs)
    assert near >= 25


def test_collecting_may_stop_when_the_top_is_decided() -> None:
    """Not after 100 votes on 20 items; after 4,000 clear ones between three items, it may."""
    rng = np.random.default_rng(2)
    assert not top_is_known(collected(rng, 100, steered=False), top=3)
    clear = {"model_a": ["x", "y", "x"] * 400, "model_b": ["y", "z", "z"] * 400}
    board = Leaderboard.fit(clear | {"winner": (["left"] * 9 + ["right"] * 3) * 100}, prior=1)
    assert top_is_known(board, top=1)
    assert board.items[int(np.argmax(board.strengths))] == "x"


def test_audit_looks_that_are_counted_decide_falsely_in_few_collections() -> None:
    """Places three and four alike: 8 looks at 24 collections decide a top three at most 9 times.

    At the promised 1 of 20, more than 9 of 24 have a chance below 1e-6.
    """
    strengths = np.array([1.2, 0.8, 0.3, 0.3, -0.3, -1.0])
    decided = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        a = rng.integers(0, 6, 1000)
        b = (a + rng.integers(1, 6, 1000)) % 6
        left = rng.random(1000) < 1 / (1 + np.exp(strengths[b] - strengths[a]))
        winner = np.where(left, "left", "right")
        votes = {"model_a": a.astype(str), "model_b": b.astype(str), "winner": winner}
        ends = (150 * 1.3 ** np.arange(8)).astype(int)
        boards = (
            Leaderboard.fit({name: each[:end] for name, each in votes.items()}, prior=1)
            for end in ends
        )
        decided += any(top_is_known(board, 3, look=k) for k, board in enumerate(boards, start=1))
    assert decided <= 9


def test_odd_requests_are_refused() -> None:
    """More on top than there are items; items without a strength."""
    board = Leaderboard.fit({"model_a": ["x"], "model_b": ["y"], "winner": ["left"]}, prior=1)
    with pytest.raises(ParameterError, match="top is 2 of 2"):
        next_pairs(board, np.random.default_rng(1), batch=4, top=2)
    bare = Leaderboard.fit({"model_a": ["x"], "model_b": ["y"], "winner": ["left"]})
    with pytest.raises(ParameterError, match="prior=1"):
        next_pairs(bare, np.random.default_rng(1), batch=4, top=1)
    assert not top_is_known(bare, top=1)
