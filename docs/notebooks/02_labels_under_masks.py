"""
Labels under masks
==================

You will see how much accuracy is lost if each label is masked, and how much of it a method that knows the mask
wins back. You need ``pip install '.[plots]'``.
"""

# %%
# A crowd whose truths are known: 300 tasks with two options, 60 workers, ten answers a task.

import numpy as np

import masquerade as mq

claims, truths = mq.simulate.crowd(np.random.default_rng(7), tasks=300, workers=60)
claims

# %%
# The study masks the same claims again and again at each epsilon, and fits three methods to the reports.
# Epsilon is that of one answer.

table = mq.simulate.study(
    claims,
    truths,
    mechanism="one-layer",
    epsilons=("4", "3", "2", "1.5", "1", "0.5"),
    methods=("majority-vote", "one-coin", "bayesian-combination"),
    trials=4,
)
table.to_pandas().head()

# %%
# A smaller epsilon is more private. The curves fall towards guessing, which is right half of the time.

frame = table.to_pandas()
axes = mq.plots.privacy_against_accuracy(
    {
        "epsilon": frame["epsilon_single"],
        "accuracy": frame["accuracy"],
        "series": frame["method"],
    },
    title="Labels found right, ten masked answers a task",
)
axes.set_xlabel("epsilon of one answer (less is more private)")
axes.figure

# %%
# One fit at epsilon 2. ``mechanism=`` tells the method which mask made the reports.

mechanism = mq.mechanisms.RandomizedResponse(2, epsilon=2)
reports = mechanism.simulate(claims, np.random.default_rng(1))
fit = mq.truth.BayesianCombination().fit(reports, mechanism=mechanism)
vote = mq.truth.MajorityVote().fit(reports, mechanism=mechanism)
print("majority vote       ", round(mq.truth.accuracy(vote, truths), 3))
print("Bayesian combination", round(mq.truth.accuracy(fit, truths), 3))

# %%
# Labels with a posterior of 0.8 should be right in 80 of 100 tasks. On the line, posterior and accuracy are equal.

axes = mq.plots.calibration(mq.truth.calibration_table(fit, truths))
axes.figure

# %%
# The reliability of workers, as learned from masked reports alone.

axes = mq.plots.reliability(mq.truth.reliability_intervals(fit).slice(0, 25))
axes.figure
