"""
An export in pandas
===================

You will read the reports that a survey server exports, see why their plain percentages are wrong, and compute the
result that its page shows. You need ``pip install '.[frames,plots]'``.
"""

# %%
# A survey with two levels of protection, and 1,500 made-up people. Their answers are masked here as their devices
# would do it, with a seed in place of the operating system's randomness.

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from masquerade import plots
from masquerade.results import (
    Codebook,
    SurveyResult,
    cross_table,
    group_difference,
    read_reports,
    write_reports,
)
from masquerade.surveys import Choice
from masquerade.surveys.survey import Survey

survey = Survey.at_levels(
    title="Work",
    questions=(
        Choice("ill", "Have you worked while ill?", ("Yes", "No")),
        Choice("boss", "Does your boss know?", ("Yes", "No", "Not sure")),
    ),
    levels=("medium", "low"),
)
codebook = Codebook("0123456789abcdef", survey, survey.content_hash())
rng = np.random.default_rng(11)
ill = (rng.random(1500) < 0.62).astype(int)  # 1: yes
answers = np.column_stack([1 - ill, rng.choice(3, size=1500, p=[0.2, 0.5, 0.3])])


def masked(person, level):
    mechanisms = survey.level(level).mechanisms
    row = []
    for answer, mechanism in zip(person, mechanisms, strict=True):
        chances = np.array(mechanism.channel().matrix(), dtype=float)[answer]
        row.append(int(rng.choice(len(chances), p=chances / chances.sum())))
    return row


rows = []
for number, person in enumerate(answers):
    level = "medium" if number % 3 == 0 else "low"
    rows.append((f"p{number:05}", level, json.dumps(masked(person, level))))

folder = Path(tempfile.mkdtemp())
with (folder / "reports.csv").open("wb") as file:
    file.writelines(write_reports(codebook, [rows], kind="csv"))
(folder / "codebook.json").write_text(json.dumps(codebook.to_json()))

# %%
# The file has a row for each person and question. ``report`` is what left the device. It is not the answer. ``mech`` and ``param`` name the mask.

frame = pd.read_csv(folder / "reports.csv")
frame.head(6)

# %%
# Code 0 is "Yes". The masks move the plain percentages of reports towards the middle.

ill_alone = frame[frame["question_id"] == "ill"]
ill_alone.groupby("level_id")["report"].value_counts(normalize=True).unstack()

# %%
# ``SurveyResult`` undoes the masks. It is the same computation as on the result page of the server.

reports = read_reports(folder / "reports.csv", codebook=folder / "codebook.json")
table = SurveyResult.of(reports).to_pandas()
columns = ["option", "estimator", "level", "value", "low", "high", "n"]
table.loc[table["question"] == "ill", columns].round(3)

# %%
# Here the truth is known: the share of these 1,500 people who have worked while ill.

first = table[(table["question"] == "ill") & table["estimator"].isin(["within", "reported"])]
first = first[first["option"].isin(["Yes", "No"])]
truth = pd.DataFrame({"option": ["Yes", "No"], "value": [ill.mean(), 1 - ill.mean()]})
drawn = pd.concat(
    [
        truth.assign(low=truth["value"], high=truth["value"], series="truth"),
        first[first["estimator"] == "reported"].assign(
            low=lambda t: t["value"], high=lambda t: t["value"], series="plain percentages"
        ),
        first[first["estimator"] == "within"].assign(series="estimate"),
    ]
)[["option", "value", "low", "high", "series"]]
axes = plots.shares(drawn, title="Have you worked while ill?")
axes.figure

# %%
# Two questions together. The estimate undoes both masks, so a table needs more people than one question alone.

crossed = cross_table(reports, "ill", "boss")
crossed.to_pandas()

# %%

cells = crossed.to_pandas().dropna()
axes = plots.estimates(
    {
        "cell": "ill " + cells["row"] + ", boss " + cells["column"],
        "share": cells["value"],
        "low": cells["low"],
        "high": cells["high"],
    },
    title="Shares of people by two answers",
)
axes.figure

# %%
# Do those whose boss knows work while ill more often than those whose boss does not? Nobody's group is known. The
# difference between the groups is estimated from the masked reports, with its interval.

group_difference(reports, "ill", by="boss", groups=("Yes", "No"), option="Yes").to_pandas()
