"""
Leaderboards from votes
=======================

A made-up arena of twelve systems: people vote on two answers, a third of the votes are ties, answers with lists win more
often whatever they say, and people differ. You will see which ranks the votes allow, take the effect of lists out,
and publish the leaderboard without telling how anybody voted. You need ``pip install '.[plots,frames]'``.
"""

# %%
# 6,000 votes of 300 people. Each person likes the systems a little differently (a standard deviation of .5), and a
# list is worth .6 in log-odds.

import numpy as np

import masquerade as mq

rng = np.random.default_rng(11)
names = np.array([f"system {letter}" for letter in "ABCDEFGHIJKL"])
strengths = np.concatenate([[1.1, 1.0, 0.9], np.linspace(0.4, -1.4, 9)])
voter = rng.integers(0, 300, 6000)
own = strengths + 0.5 * rng.standard_normal((300, 12))
first = rng.integers(0, 12, 6000)
second = (first + rng.integers(1, 12, 6000)) % 12
uses_lists = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]) * 0.5 + 0.25
lists = (rng.random(6000) < uses_lists[first]).astype(int) - (rng.random(6000) < uses_lists[second])
advantage = own[voter, first] - own[voter, second] + 0.6 * lists
size = np.exp([advantage / 2, np.log(0.9) + 0 * advantage, -advantage / 2])
outcome = (rng.random(6000) > np.cumsum(size / size.sum(axis=0), axis=0)).sum(axis=0)
votes = {
    "model_a": names[first],
    "model_b": names[second],
    "winner": np.array(["model_a", "tie", "model_b"])[outcome],
    "voter": voter,
    "lists": lists,
}
print(f"{np.mean(outcome == 1):.0%} of the votes are ties")

# %%
# The first systems cannot be told apart, and the leaderboard says so: the intervals of all ranks hold together.

board = mq.preference.Leaderboard.fit(mq.answers.Battles.from_frame(votes, covariates=["lists"]))
for one in board.standings:
    print(f"{one.item}: rating {one.rating:.0f}, {one.place}")
print("may be first:", ", ".join(board.first))
axes = board.plot()

# %%
# The effect of lists is taken out of the strengths. Without that, systems that use them stand too high.

print(f"a list is worth {board.effects[0].low:.2f} to {board.effects[0].high:.2f}")
plain = mq.preference.Leaderboard.fit(votes)
with_lists = [item for item, share in zip(names, uses_lists, strict=True) if share > 0.5]
shift = np.mean([plain.standing(item).rating - board.standing(item).rating for item in with_lists])
print(f"without the covariate, systems that use lists gain {shift:.0f} points")

# %%
# Ties counted as halves make strengths too small; Davidson's model has a parameter for them.

halves = mq.preference.Leaderboard.fit(votes, ties="halves")
print(
    f"spread of the ratings: {np.std([one.rating for one in plain.standings]):.0f} with a model of ties,"
)
print(f"{np.std([one.rating for one in halves.standings]):.0f} with ties as halves")

# %%
# The same votes, with each hidden at epsilon 1: nobody who sees the leaderboard learns how a person voted. The public
# parts are the items and who was shown what.

from masquerade.preference.private_leaderboard import PrivateLeaderboard

table = mq.answers.Battles.from_frame(votes, items=names.tolist())
private = PrivateLeaderboard(epsilon=1).simulate(table, np.random.default_rng(1))
off = [private.standing(item).rating - plain.standing(item).rating for item in names]
print(f"ratings differ by {np.mean(np.abs(off)):.0f} points on average")
print("may be first:", ", ".join(private.first))
