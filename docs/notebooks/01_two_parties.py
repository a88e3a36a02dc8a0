"""
A survey between two parties
============================

You will split 300 answers between two parties, add them up without anybody seeing an answer, and compare the result
with the truth. You need ``pip install '.[parties,plots]'``.
"""

# %%
# Two questions, and the answers of 300 people. The answers are made up, so the truth is known.

import numpy as np

from masquerade import plots
from masquerade.aggregate import GivenSeeds, SumNoise, prio3_survey, verification_key
from masquerade.results import estimate_sums
from masquerade.surveys import Choice, Encoding, Rating

rng = np.random.default_rng(5)
encoding = Encoding(
    (
        Rating("mood", "How is the mood in your team?"),
        Choice("stay", "Will you still be here in a year?", ("Yes", "No")),
    )
)
people = [
    {"mood": int(mood), "stay": "Yes" if stay else "No"}
    for mood, stay in zip(
        rng.choice([1, 2, 3, 4, 5], size=300, p=[0.1, 0.15, 0.25, 0.3, 0.2]),
        rng.random(300) < 0.7,
        strict=True,
    )
]

# %%
# A device turns one response into two shares. Each share alone consists of random numbers. On a real device
# ``vdaf.shard`` draws from the operating system; ``simulate`` takes seeds, for studies like this one.

vdaf = prio3_survey(encoding.blocks)
key, context = verification_key(bytes(32), bytes(32)), b"a survey"


def split(person):
    seeds = GivenSeeds(rng.bytes(16), tuple(rng.bytes(32) for _ in range(vdaf.seeds_needed)))
    return vdaf.simulate(encoding.measurement(person), context=context, seeds=seeds)


reports = [split(person) for person in people]
[len(share) for share in reports[0].input_shares]

# %%
# The parties check each report together. A malformed report would raise ``InvalidReport`` here. Then each party
# adds up its own shares.


def check(report):
    states, verifiers = zip(
        *(
            vdaf.verify_init(key, context, party, report.nonce, report.public_share, share)
            for party, share in enumerate(report.input_shares)
        ),
        strict=True,
    )
    message = vdaf.verifier_message(context, verifiers)
    return [vdaf.verify_next(state, message) for state in states]


leader, helper = zip(*map(check, reports), strict=True)

# %%
# Each party adds noise to its sums, once for the whole survey. Rho measures privacy loss: a person's whole
# response costs a rho of 0.5. The noisy sums are put together and become estimates with intervals.

noise = SumNoise.of_rho(encoding.blocks, "0.5")
shown = [noise.simulate(vdaf.aggregate(shares), rng) for shares in (leader, helper)]
sums = vdaf.unshard(shown, count=len(reports))
mood, stay = estimate_sums(encoding, sums, noise=noise, people=len(reports))

options = ["1", "2", "3", "4", "5"]
true = [sum(str(person["mood"]) == option for person in people) / 300 for option in options]
axes = plots.shares(
    {
        "option": options * 2,
        "value": true + [share.shown for share in mood.shares],
        "low": true + [share.low for share in mood.shares],
        "high": true + [share.high for share in mood.shares],
        "series": ["these 300 people"] * 5 + ["estimate between two parties"] * 5,
    },
    title="Mood in the team, 300 people",
)
axes.figure

# %%
# The promise to each person: the loss of the whole response, and the assumptions of the promise.

promise = noise.guarantee()
print("trust:", promise.trust, "| status:", promise.status)
print(f"epsilon {float(promise.epsilon_user.epsilon):.2f} at delta {float(promise.delta):.0e}")
for assumption in promise.assumptions:
    print("-", assumption)
