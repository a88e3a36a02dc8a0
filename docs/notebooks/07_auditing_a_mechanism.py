"""
Auditing a mechanism
====================

You will test whether a mechanism keeps the epsilon that it claims: first a correct one, then one with a mistake.
You need ``pip install '.[plots]'``.
"""

# %%
# A coin that tells the truth three times in four. Its loss is ln 3 = 1.0986. The audit sees only its reports.

from fractions import Fraction

import numpy as np

from masquerade import plots
from masquerade.accounting import audit, pure_loss, trade_off_curve
from masquerade.accounting.audit_custom import Randomizer
from masquerade.exact import Micro
from masquerade.mechanisms import RandomizedResponse


def coin(answer, size, rng):
    return np.where(rng.random(size) < 0.75, answer, 1 - answer)


honest = Randomizer(coin, inputs=(0, 1), claimed_epsilon="1.0987")
found = audit(honest, samples=20_000, rng=np.random.default_rng(1))
print(found.verdict, "| the true loss is at least", round(found.sampled_lower_bound, 3))
print("not looked at:", *found.not_looked_at, sep="\n- ")

# %%
# "Not refuted" does not mean proven: reports alone cannot prove a claim. A claim of 1 for the same coin is refuted. A
# true claim is refuted with a probability of one in a million at most.

bold = Randomizer(coin, inputs=(0, 1), claimed_epsilon=1)
found = audit(bold, rng=np.random.default_rng(1))
print(found.verdict)
print(*found.reasons, sep="\n")

# %%
# A mistake that is easy to make: one report in fifty is the answer in clear.


def careless(answer, size, rng):
    reports = coin(answer, size, rng)
    return np.where(rng.random(size) < 0.02, answer + 10, reports)


found = audit(Randomizer(careless, inputs=(0, 1), claimed_epsilon=2), rng=np.random.default_rng(1))
print(found.verdict)
print(*found.reasons, sep="\n")

# %%
# A mechanism of the library has an exact table of probabilities, so the audit can say "holds".

mechanism = RandomizedResponse(2, epsilon=1)
found = audit(mechanism, rng=np.random.default_rng(1))
print(found.verdict, "| exact epsilon", found.exact_epsilon)

# %%
# What an epsilon means: the power of the best test that tells two answers apart. A line close to "guessing" means
# good protection.

curves = {"rate": [], "power": [], "series": []}
for epsilon in ("0.5", "1", "2"):
    curve = trade_off_curve(loss=pure_loss(Micro.of_amount(Fraction(epsilon))))
    curves["rate"] += curve["rate"].to_pylist()
    curves["power"] += curve["power"].to_pylist()
    curves["series"] += [f"epsilon {epsilon}"] * len(curve)
axes = plots.trade_off(curves)
axes.figure
