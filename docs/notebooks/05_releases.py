"""
Releases
========

You will publish synthetic measurements in place of real ones, and see how much they keep of the real distribution
at each epsilon. You need ``pip install 'masquerade[plots]'``.
"""

# %%
# Made-up measurements on a scale from 0 to 10: 20 wards, 200 claims about each.

import numpy as np

from masquerade import Claims, plots
from masquerade.release import fit_density, guarantee_sentence, ise, parse_engine, simulate, synthesize

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
# ``simulate`` takes a seed, for studies. For a publication call ``synthesize``, which draws from the operating
# system and can charge a ledger. Only what ``synthesize`` makes carries a promise.

engine = parse_engine("claims", epsilon=1, domain=(0, 10))
print(guarantee_sentence(synthesize(claims, engine=engine, samples=200).guarantee))
release = simulate(claims, np.random.default_rng(1), engine=engine, samples=200)

# %%
# One ward before and after. The published points stand for no real person.

published = release.to_pandas()
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
# The relative error compares the published distribution with the real one: 0 is perfect, 1 is as bad as releasing
# nothing. The comparison reads the raw claims, so it is for you and not for publication.

model = fit_density(claims)
rows = []
for name in ("claims", "pooled", "hist"):
    for epsilon in ("0.1", "0.2", "0.5", "1", "2"):
        made = simulate(
            claims,
            np.random.default_rng(1),
            engine=parse_engine(name, epsilon=epsilon, domain=(0, 10)),
        )
        rows.append((name, float(epsilon), ise(model, made).rel_ise))
figure, (axes,) = plots.new_figure()
for name, colour, marker in zip(("claims", "pooled", "hist"), plots.COLOURS, plots.MARKERS, strict=False):
    part = [(epsilon, error) for one, epsilon, error in rows if one == name]
    axes.plot(*zip(*part, strict=True), marker=marker, color=colour, label=name)
axes.set(xscale="log", xlabel="epsilon of a claim", ylabel="relative error (0 to 1)", ylim=(0, 1.05))
axes.set_xticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
axes.minorticks_off()
axes.set_title("Error of three engines", loc="left", fontsize=11)
axes.legend(frameon=False, fontsize=8)
figure

# %%
# ``hist`` is the plain noisy histogram. The two others read each object in the light of all.
