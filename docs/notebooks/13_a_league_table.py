"""
A league table that says what is known
======================================

National sides of football play most matches within their own confederation, a few between confederations, and some sides
play hardly at all. A table by points or by strength puts a side first that beat five weak neighbours. You will see which
ranks the matches allow, which sides have no place, and what it is worth to play at home. You need
``pip install '.[plots,frames]'``.

The matches are made up, in the shape of the real ones since 2018: a quarter of them end even, two thirds have a home side.
With a file of real matches the same lines run: ``mq.answers.Battles.read("matches.csv", covariates=["home"])`` reads columns
``model_a``, ``model_b``, ``winner`` (``model_a``, ``tie`` or ``model_b``) and ``home`` (1, or 0 on neutral ground).
"""

# %%
# Five confederations of 16 sides, whose strengths differ; 4,000 matches within them and 700 between. Six more sides, a
# league of their own far away, meet almost only each other.

import numpy as np

import masquerade as mq

rng = np.random.default_rng(8)
home_is_worth = 0.7
means = np.repeat([0.8, 0.6, 0.0, -0.4, -0.8], 16)
strengths = np.concatenate([means + rng.standard_normal(80), np.full(6, -0.5)])
names = np.array(
    [f"{letter}{place:02}" for letter in "ABCDE" for place in range(1, 17)]
    + [f"Isle {place}" for place in range(1, 7)]
)


def opponents(count: int, leagues: int, size: int, start: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of sides of one league, of several leagues of some size."""
    league = start + size * rng.integers(0, leagues, count)
    one = rng.integers(0, size, count)
    return league + one, league + (one + rng.integers(1, size, count)) % size


within, between = opponents(4000, 5, 16), opponents(700, 1, 80)
isles = opponents(24, 1, 6, start=80)
visits = [np.array([80, 81, 10]), np.array([70, 75, 82])]  # all that links the isles to the others
first, second = (
    np.concatenate(sides) for sides in zip(within, between, isles, visits, strict=True)
)
home = (rng.random(len(first)) < 2 / 3).astype(int)
advantage = strengths[first] - strengths[second] + home_is_worth * home
odds = np.exp([advantage / 2, np.log(0.9) + 0 * advantage, -advantage / 2])
outcome = (rng.random(len(first)) > np.cumsum(odds / odds.sum(axis=0), axis=0)).sum(axis=0)
outcome[-3:] = [0, 1, 1]  # the isles won once and held their visitors
matches = {
    "model_a": names[first],
    "model_b": names[second],
    "winner": np.array(["model_a", "tie", "model_b"])[outcome],
    "home": home,
}
print(f"{len(first):,} matches of {len(names)} sides, {np.mean(outcome == 1):.0%} even")

# %%
# Ranked by estimated strength alone, a side of the isles can stand far up: it won among friends, and three matches
# say what its league is worth.

board = mq.preference.Leaderboard.fit(mq.answers.Battles.from_frame(matches, covariates=["home"]))
by_strength = sorted(
    (one for one in board.standings if one.strength is not None),
    key=lambda one: -(one.strength or 0.0),
)
for place, one in enumerate(by_strength[:8], start=1):
    print(f"{place}. {one.item}: strength {one.strength:.2f}, from {one.low:.2f} to {one.high:.2f}")

# %%
# The leaderboard is ordered by the worst rank that is possible. Sides whose rank is open stand below, without a place,
# with the reason; the ranks of the others hold together in 95 of 100 tables.

placed = [one for one in board.standings if one.placed]
for one in placed[:10]:
    print(
        f"{one.item}: {one.place}, {one.wins:.0f} won, {one.ties:.0f} even, {one.losses:.0f} lost"
    )
print(f"{len(board.first)} sides may be first: {', '.join(board.first)}")
rest = [one.item for one in board.standings if not one.placed]
print(f"{len(rest)} sides are not placed, among them {', '.join(sorted(rest, reverse=True)[:6])}")
axes = board.plot()

# %%
# What it is worth to play at home, in log-odds, was put in as 0.7.

effect = board.effects[0]
print(f"playing at home is worth {effect.low:.2f} to {effect.high:.2f}")

# %%
# Two sides side by side: the probability that the first is better, and how their next match may end.

duel = board.decide(placed[0].item, placed[9].item)
print(f"{placed[0].item} is better than {placed[9].item} with probability {duel.better:.3f}")
print(f"next match: won {duel.wins:.0%}, even {duel.ties:.0%}, lost {duel.losses:.0%}")

# %%
# If all sides are to stand in one order, a weak prior ranks them together, and says that it pulls.

together = mq.preference.Leaderboard.fit(
    mq.answers.Battles.from_frame(matches, covariates=["home"]), prior=2
)
isle = together.standing("Isle 1")
print(f"with a prior: Isle 1 has strength {isle.strength:.2f}, {isle.place}")
print(together.notes[-1])
