"""
Preferences
===========

You will learn what counts for travellers from masked choices, with intervals, and see what privacy costs.
You need ``pip install '.[plots]'``.
"""

# %%
# 300 made-up people choose ten times between two train journeys. A row is the chosen journey minus the rejected
# one. The ranges come from the timetable, never from the answers.

import numpy as np

from masquerade import Comparisons, plots
from masquerade.preference import SocialPreference, fit_rankings, held_out_accuracy, split_voters

ranges = {"price": (0, 60), "minutes": (0, 240), "changes": (0, 3)}
rng = np.random.default_rng(2)
left, right = (
    np.column_stack([rng.uniform(0, 60, 3000), rng.uniform(0, 240, 3000), rng.integers(0, 4, 3000)])
    for _ in range(2)
)
true = np.array([-3 / 60, -2 / 240, -0.5 / 3])
better = (left - right) @ true + rng.normal(size=3000) > 0
difference = np.where(better[:, None], left - right, right - left)
table = {"voter": np.repeat([f"v{i}" for i in range(300)], 10)}
table |= dict(zip(ranges, difference.T, strict=True))
choices = Comparisons.from_frame(table, ranges=ranges)
choices

# %%
# Each choice is masked on the person's device at epsilon 1, and the fit knows the mask. For real people call
# ``SocialPreference.learn``, which has no seed.

learned = SocialPreference.simulate(
    choices, np.random.default_rng(1), mechanism="choice-response", epsilon=1
)
print(learned.release.statement)
learned.to_pandas()

# %%
# The weights with their intervals, and the truth beside them. A weight is multiplied by the width of its range, so
# it says how much the whole range counts.

found = learned.to_pandas()
widths = np.array([high - low for low, high in ranges.values()])
axes = plots.rankings(
    {
        "item": list(ranges) * 2,
        "strength": [*(found["weight"] * widths), *(true * widths)],
        "low": [*(found["low"] * widths), *(true * widths)],
        "high": [*(found["high"] * widths), *(true * widths)],
        "series": ["learned from masked choices"] * 3 + ["truth"] * 3,
    },
    title="What the whole range of a feature counts for",
)
axes.figure

# %%
# How often do the weights predict the choices of people who were not asked? Guessing is right half of the time.
# People's choices have a random part, so no rule is always right.

asked, others = split_voters(choices, np.random.default_rng(1))
rows = {"epsilon": [], "accuracy": []}
for epsilon in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2):
    scores = [
        held_out_accuracy(
            SocialPreference.simulate(
                asked,
                np.random.default_rng(seed),
                mechanism="choice-response",
                epsilon=str(epsilon),
            ),
            others,
        ).accuracy
        for seed in range(5)
    ]
    rows["epsilon"].append(epsilon)
    rows["accuracy"].append(float(np.mean(scores)))
axes = plots.privacy_against_accuracy(rows, title="Choices of others foretold, mean of five draws")
axes.set_xlabel("epsilon of one choice (less is more private)")
axes.set_ylabel("choices foretold")
axes.figure

# %%
# Named items instead of features: strengths from whole rankings, here without a mask.

items = ["tea", "coffee", "water", "juice"]
worth = np.array([1.0, 1.4, 0.2, 0.0])
rankings = [[items[i] for i in np.argsort(-(worth + rng.gumbel(size=4)))] for _ in range(150)]
axes = plots.rankings(fit_rankings(rankings), title="Drinks, 150 rankings")
axes.figure
