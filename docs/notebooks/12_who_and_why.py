"""
Who and why, through masks
==========================

You will regress a masked answer on a masked score, see how far the plain regression is off, and draw both. You need
``pip install '.[frames,plots]'``.
"""

# %%
# A made-up survey of 3,000 people. Who is stressed works while ill more often: the odds are 1.6 times as high for
# each point. Both answers are masked on the device, with epsilon 2 each.

import numpy as np
import pandas as pd

from masquerade import plots
from masquerade.analysis import odds_sample, regress

rng = np.random.default_rng(3)
people = 3000
stress = rng.choice(5, people, p=[0.1, 0.2, 0.4, 0.2, 0.1])
ill = (rng.random(people) < 1 / (1 + np.exp(1 - 0.5 * (stress - 2)))).astype(int)
female = rng.integers(0, 2, people)


def masked(answers, options, epsilon):
    kept = (np.exp(epsilon) - 1) / (np.exp(epsilon) + options - 1)
    return np.where(rng.random(people) < kept, answers, rng.integers(0, options, people))


survey = pd.DataFrame({"ill": masked(ill, 2, 2), "stress": masked(stress, 5, 2), "female": female})
survey.head()

# %%
# The regression knows both channels. Each term has its interval, and beside it what one would have said by taking
# reports for answers.

masks = {
    "ill": "randomized-response:options=2,epsilon=2",
    "stress": "randomized-response:options=5,epsilon=2",
}
fit = regress(survey, "ill ~ stress + female", mechanisms=masks)
fit.to_pandas().round(3)

# %%
# The sentence that the answers allow:

print(fit.sentence())

# %%
# The truth is 0.5 for stress and 0 for being female. The naive coefficient of stress lies far below.

terms = fit.to_pandas().query("name != '(constant)'")
drawn = pd.concat(
    [
        terms.assign(value=terms["estimate"], series="through the masks"),
        terms.assign(value=terms["naive"], low=terms["naive"], high=terms["naive"], series="naive"),
    ]
)[["name", "value", "low", "high", "series"]]
axes = plots.estimates(drawn, title="Log-odds of having worked while ill")
axes.figure

# %%
# By how much more often, in points of 100:

fit.effects().to_pandas().query("answer == '1'").round(3)

# %%
# What the mask costs: people needed to find odds of 1.5 in half of the people, by epsilon.

pd.DataFrame(
    {
        "epsilon": epsilon,
        "people": odds_sample(
            f"randomized-response:options=2,epsilon={epsilon}", odds=1.5, share=0.3
        ).people,
    }
    for epsilon in (0.5, 1, 2, 4)
)
