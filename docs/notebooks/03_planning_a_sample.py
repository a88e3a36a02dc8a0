"""
Planning a sample
=================

You will find how many people a survey needs before anybody is asked, for three ways of protecting them.
You need ``pip install '.[plots]'``.
"""

# %%
# Three designs for a yes-or-no question: no mask, a mask on each device, and sums between two parties.
# A mask adds noise to each person's answer. Two parties add their noise once for the whole survey.

import pyarrow as pa

from masquerade import plots
from masquerade.mechanisms import RandomizedResponse
from masquerade.selection import TwoPartySums, precision_of

designs = {
    "no mask": RandomizedResponse(2, flip_probability=0),
    "mask on the device, epsilon 1": RandomizedResponse(2, epsilon=1),
    "two parties, rho 0.5, ten questions": TwoPartySums(questions=10, options=2, rho="0.5"),
}
needed = {name: precision_of(plan).participants(0.05) for name, plan in designs.items()}
for name, people in needed.items():
    print(f"{people:6,} people for plus or minus 5 points: {name}")

# %%
# The margin is half of the 95 % interval. It falls with the square root of the number of people. Between two
# parties it falls faster at first, because the noise is added only once.

rows = []
for name, plan in designs.items():
    precision = precision_of(plan)
    for people in (50, 100, 200, 400, 800, 1_600, 3_200):
        rows.append({"people": people, "margin": precision.margins(people)[0], "series": name})
table = pa.Table.from_pylist(rows)
figure, (axes,) = plots.new_figure()
for name, colour, dashes in zip(designs, plots.COLOURS, plots.DASHES, strict=False):
    part = [row for row in rows if row["series"] == name]
    axes.plot(
        [row["people"] for row in part],
        [100 * row["margin"] for row in part],
        dashes,
        color=colour,
        label=name,
    )
axes.set(xscale="log", yscale="log", xlabel="people who answer", ylabel="margin in points")
axes.set_xticks(
    [50, 100, 200, 400, 800, 1600, 3200], ["50", "100", "200", "400", "800", "1,600", "3,200"]
)
axes.set_yticks([1, 2, 5, 10, 20, 40], ["1", "2", "5", "10", "20", "40"])
axes.minorticks_off()
axes.set_title("Half of the 95 % interval", loc="left", fontsize=11)
axes.legend(frameon=False, fontsize=8)
figure

# %%
# The people needed for stronger and weaker masks. From epsilon 1 to 0.5 the number more than triples. From 3 to 4
# it changes little.

epsilons = ("0.5", "1", "2", "3", "4")
axes = plots.estimates(
    {
        "mask": [f"epsilon {epsilon}" for epsilon in epsilons],
        "people_needed": [
            float(precision_of(RandomizedResponse(2, epsilon=epsilon)).participants(0.05))
            for epsilon in epsilons
        ],
    },
    title="People needed for plus or minus 5 points",
)
axes.figure
