"""
Teaching local privacy
======================

A lesson for a class with coins: everybody can deny that what they said is true, and still the class learns its share.
You will see the estimate by hand, its interval, and how privacy is spent. You need ``pip install '.[plots]'``.
"""

# %%
# The rule: flip a coin twice. If the first shows heads, answer truthfully. If it shows tails, say "yes" where the
# second shows heads, and "no" where it shows tails. So a true "yes" is said with probability 3/4 and a true "no"
# also becomes "yes" with probability 1/4. The odds change by a factor of 3 at most, and ln 3 = 1.0986 is epsilon.

from fractions import Fraction

import numpy as np

import masquerade as mq

mechanism = mq.mechanisms.RandomizedResponse(2, flip_probability=Fraction(1, 4))
print("epsilon:", mechanism.guarantee().epsilon_single)

# %%
# 400 made-up pupils, 30 % of whom have copied homework. We see what they say.

rng = np.random.default_rng(8)
copied = rng.random(400) < 0.3
tells_truth = rng.random(400) < 0.5
says_yes = np.where(tells_truth, copied, rng.random(400) < 0.5)
print(f"{copied.mean():.3f} copied, {says_yes.mean():.3f} say so")

# %%
# By hand: said = 1/4 + truth / 2, hence truth = 2 (said - 1/4). This also doubles the sampling error.

said = says_yes.mean()
estimate = 2 * (said - 0.25)
error = 2 * np.sqrt(said * (1 - said) / 400)
print(
    f"estimate {estimate:.3f}, 95 % interval {estimate - 1.96 * error:.3f} to {estimate + 1.96 * error:.3f}"
)

# %%
# Classes of other sizes. Intervals shrink slowly: half the width takes four times the people.

sizes, rows = (25, 100, 400, 1600), {"option": [], "value": [], "low": [], "high": []}
for size in sizes:
    true = rng.random(size) < 0.3
    said = np.where(rng.random(size) < 0.5, true, rng.random(size) < 0.5).mean()
    middle, reach = 2 * (said - 0.25), 1.96 * 2 * np.sqrt(said * (1 - said) / size)
    for key, value in zip(
        rows, (f"{size:,} pupils", middle, middle - reach, middle + reach), strict=True
    ):
        rows[key].append(value)
axes = mq.plots.shares(rows, title="Share that copied, estimated (truth: 30 %)")
axes.axvline(0.3, color="black", linewidth=0.8, linestyle=":")
axes.figure

# %%
# Asking again costs again. A person who answers the same question many times gives the answer away: the losses
# add up. A ledger counts them and refuses what does not fit under the cap.

spent, total = [], 0.0
for _ in range(4):
    total += float(mechanism.guarantee().epsilon_single.epsilon)
    spent.append(total)
axes = mq.plots.ledger_over_time({"spent": spent}, cap=5, title="Four answers by the coin rule")
axes.figure

# %%
# Somebody suspects you with even odds, and then hears your "yes". How sure can this person become? The chance
# that the "yes" is true rises from 1/2 to 3/4, and no further.

epsilons = np.linspace(0, 5, 51)
figure, (axes,) = mq.plots.new_figure()
axes.plot(epsilons, np.exp(epsilons) / (1 + np.exp(epsilons)), color=mq.plots.COLOURS[0])
axes.plot([np.log(3)], [0.75], "o", color=mq.plots.COLOURS[1])
axes.annotate("the coin rule", (np.log(3), 0.75), (1.5, 0.68), fontsize=9)
axes.set(xlabel="epsilon", ylabel="belief after one report", ylim=(0.5, 1))
axes.set_title("Belief of somebody who gave even odds", loc="left", fontsize=11)
figure
