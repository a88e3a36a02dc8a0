"""
Releases
========

You will publish summaries of measurements, and synthetic measurements that agree with them, and see how much they keep
at each epsilon. You need ``pip install '.[plots]'``.
"""

# %%
# Made-up measurements on a scale from 0 to 10: 20 wards, 200 claims about each.

import numpy as np

from masquerade import Claims, plots
from masquerade.release import (
    GroupedClaims,
    errors_of,
    guarantee_sentence,
    simulate_release,
    summaries,
)

rng = np.random.default_rng(3)
centres = rng.uniform(2, 8, 20)
claims = Claims.from_frame(
    {
        "task": np.repeat([f"ward {i:02}" for i in range(20)], 200),
        "worker": np.tile([f"u{i}" for i in range(200)], 20),
        "value": rng.normal(np.repeat(centres, 200), 0.7).clip(0, 10),
    }
)
claims

# %%
# ``simulate_release`` takes a seed, for studies. For a publication call ``summaries``, which draws from the operating
# system and can charge a ledger. Only what ``summaries`` makes carries a promise.

print(guarantee_sentence(summaries(claims, epsilon=1, domain=(0, 10)).guarantee))
release = simulate_release(claims, np.random.default_rng(1), epsilon=1, domain=(0, 10))
release.summary.to_pandas().head()

# %%
# One ward before and after. The published points stand for no real person.

published = release.rows.to_pandas()
real = claims.to_pandas()
edges = np.linspace(0, 10, 41)
middle = (edges[1:] + edges[:-1]) / 2


def density(values):
    return np.histogram(values, edges, density=True)[0]


before = real.loc[real["task"] == "ward 00", "value"]
after = published.loc[published["task"] == "ward 00", "value"]
axes = plots.densities(
    {
        "value": np.tile(middle, 2),
        "density": np.concatenate([density(before), density(after)]),
        "series": ["before: 200 claims"] * 40 + ["after: 200 synthetic claims"] * 40,
    },
    title="One ward, epsilon 1 a claim",
)
axes.figure

# %%
# The distance of the synthetic claims to the real ones, and the error of the means, in units of the scale. The
# comparison reads the raw claims, so it is for you and not for publication.

real_claims = GroupedClaims.of(claims)
rows = []
for aim in ("claims", "means"):
    for epsilon in ("0.1", "0.2", "0.5", "1", "2"):
        made = simulate_release(
            claims, np.random.default_rng(1), epsilon=epsilon, domain=(0, 10), aim=aim
        )
        errors = errors_of(made, real_claims)
        rows.append((aim, float(epsilon), errors.wasserstein, errors.mean))
figure, (axes,) = plots.new_figure()
for (aim, measure), colour, marker in zip(
    (("claims", 2), ("means", 2), ("claims", 3), ("means", 3)),
    plots.COLOURS,
    plots.MARKERS,
    strict=False,
):
    part = [(row[1], row[measure]) for row in rows if row[0] == aim]
    label = f"{'rows' if measure == 2 else 'means'}, for {aim}"
    axes.plot(*zip(*part, strict=True), marker=marker, color=colour, label=label)
axes.set(
    xscale="log", yscale="log", xlabel="epsilon of a claim", ylabel="error, in units of the scale"
)
axes.set_xticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
axes.minorticks_off()
axes.set_title("Errors of two releases", loc="left", fontsize=11)
axes.legend(frameon=False, fontsize=8)
figure

# %%
# A release for means has better means, and rows whose shapes are borrowed from all wards.
