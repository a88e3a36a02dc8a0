"""
From crowd-kit
==============

You will run code that was written for crowd-kit by changing one import, find workers who copy from each other, and
add a mask. You need ``pip install '.[frames,plots]'``.
"""

# %%
# Made-up claims as a pandas frame, with the columns that crowd-kit uses. Three workers copy from ``w0``.

import numpy as np
import pandas as pd

import masquerade as mq
from masquerade.truth.crowd_kit import DawidSkene, MajorityVote  # was: crowdkit.aggregation

rng = np.random.default_rng(4)
truth = pd.Series(rng.choice(["cat", "dog"], 150), index=[f"t{i}" for i in range(150)])
skill = [0.62, 0.9, 0.85, 0.8, 0.9, 0.75, 0.7]
answers = {}
for number, right in enumerate(skill):
    other = truth.map({"cat": "dog", "dog": "cat"})
    answers[f"w{number}"] = truth.where(rng.random(150) < right, other)
for copier in ("copy1", "copy2", "copy3"):
    answers[copier] = answers["w0"].copy()
df = (
    pd.DataFrame(answers)
    .rename_axis("task")
    .reset_index()
    .melt("task", var_name="worker", value_name="label")
)
df.head()

# %%
# The calls, and the form of what they return, are crowd-kit's.

votes = MajorityVote().fit_predict(df)
labels = DawidSkene(n_iter=50).fit_predict(df)
print("majority vote", (votes == truth[votes.index]).mean().round(3))
print("Dawid-Skene  ", (labels == truth[labels.index]).mean().round(3))

# %%
# Four workers who always say the same mislead both methods. The table of agreements shows them: 1 means always
# alike.

agreement = mq.truth.pairwise_agreement(df)
axes = mq.plots.agreement(agreement)
axes.figure

# %%
# The same two methods without the workers who copy.

alone = df[~df["worker"].str.startswith("copy")]
votes = MajorityVote().fit_predict(alone)
labels = DawidSkene(n_iter=50).fit_predict(alone)
print("majority vote", (votes == truth[votes.index]).mean().round(3))
print("Dawid-Skene  ", (labels == truth[labels.index]).mean().round(3))

# %%
# A mask takes two more lines. ``simulate`` has a seed; ``randomize`` is for real reports.

mechanism = mq.mechanisms.RandomizedResponse(2, epsilon=2)
claims = mq.Claims.from_frame(alone, options=["cat", "dog"])
reports = mechanism.simulate(claims, np.random.default_rng(1))
fit = DawidSkene(n_iter=50).fit(reports, mechanism=mechanism)
found = fit.labels_
print("Dawid-Skene on masked labels", (found == truth[found.index]).mean().round(3))

# %%
# How reliable the workers are, learned from their masked labels.

model = mq.truth.OneCoin().fit(reports, mechanism=mechanism)
axes = mq.plots.reliability(mq.truth.reliability_intervals(model))
axes.figure
