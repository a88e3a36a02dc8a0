"""Wang et al. (2019): private preferences from pairwise choices, in three algorithms.

The synthetic electorates follow the paper's recipe, so what agrees is reproduced. Of the Moral
Machine no data grouped by voter are public: its shape is simulated, and real decisions are dealt
out to made-up voters where `MASQUERADE_DATA` has ``moral_machine``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from masquerade import datasets
from masquerade.answers import Comparisons
from masquerade.preference import (
    EpsilonGroups,
    SocialPreference,
    agreement,
    expected_agreement,
    held_out_accuracy,
    made_up_voters,
)
from masquerade.reproduce.study import (
    Cells,
    Job,
    Scale,
    real,
)

CITATION = (
    'T. Wang, J. Zhao, H. Yu, J. Liu, X. Yang, X. Ren, S. Shi, "Privacy-preserving crowd-guided AI '
    'decision-making in ethical dilemmas", CIKM 2019'
)

EPSILONS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 3, 5, 10)
QUICK_EPSILONS = (0.01, 0.1, 0.3, 0.5, 1, 2, 10)
VOTERS, RECORDS = (50, 100), (10, 20, 50, 100)
DIMENSIONS, QUICK_DIMENSIONS = (2, 5, 10, 15, 20, 30), (2, 5, 10, 20)
BOUNDS, QUICK_BOUNDS = (0.25, 0.5, 1, 2, 3, 5, 12, 20), (0.5, 1, 2, 3, 12)
CONSERVATIVE = (0.1, 0.2, 0.3, 0.4, 0.54, 0.6)
LOW, MIDDLE = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5), (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)

ONE, TWO, THREE = "central-laplace", "local-laplace", "local-functional"
MECHANISMS = {
    ONE: "central-laplace:bound=2",
    TWO: "local-laplace:bound=2",
    THREE: "local-functional:sensitivity=published",
}
OURS = {
    "linear-knorm": "linear-knorm",
    "choice-response": "choice-response",
    "direction-selection": "direction-selection",
}
LABELS = {
    ONE: "Algorithm 1 (a voter, trusted aggregator)",
    TWO: "Algorithm 2 (a voter, local)",
    THREE: "Algorithm 3 (a record, local)",
    "linear-knorm": "linear-knorm (ours; a record, local)",
    "choice-response": "choice-response (ours; a choice, local)",
    "direction-selection": "direction-selection (ours; a voter, local)",
}
MACHINE_SHAPE, MACHINE_VOTERS = (13, 23), (50, 100, 200)
SYNTHETIC = "synthetic, by the paper's recipe"


def jobs(scale: Scale) -> list[Job]:
    """Return one job an electorate."""
    draws = range(scale.pick(12, 4))
    epsilons = list(QUICK_EPSILONS if scale.quick else EPSILONS)
    dimensions = QUICK_DIMENSIONS if scale.quick else DIMENSIONS
    bounds = QUICK_BOUNDS if scale.quick else BOUNDS
    found = [
        Job(f"size-{n}-{m}-{seed}", electorate,
            {"voters": n, "records": m, "features": 10, "seed": seed, "epsilons": epsilons})
        for n in VOTERS for m in RECORDS for seed in draws
    ]  # fmt: skip
    found += [
        Job(f"dimension-{d}-{seed}", electorate,
            {"voters": 100, "records": 50, "features": d, "seed": seed, "epsilons": [1, 3]})
        for d in dimensions for seed in draws
    ]  # fmt: skip
    found += [
        Job(f"groups-{n}-{seed}", groups, {"voters": n, "seed": seed, "quick": scale.quick})
        for n in VOTERS
        for seed in draws
    ]
    found += [
        Job(f"bound-{n}-{m}-{seed}", bounded,
            {"voters": n, "records": m, "seed": seed, "bounds": list(bounds)})
        for n, m in ((50, 50), (100, 100)) for seed in draws
    ]  # fmt: skip
    records, features = MACHINE_SHAPE
    found += [
        Job(f"machine-{n}-{seed}", electorate,
            {"voters": n, "records": records, "features": features, "seed": seed,
             "epsilons": epsilons})
        for n in MACHINE_VOTERS for seed in draws
    ]  # fmt: skip
    found += [
        Job(f"machinegroups-{seed}", groups,
            {"voters": 200, "seed": seed, "quick": True, "records": records, "features": features})
        for seed in draws
    ]  # fmt: skip
    if real("moral_machine"):
        found += [
            Job(f"real-{seed}", dealt, {"voters": 200, "seed": seed, "epsilons": epsilons})
            for seed in draws
        ]
    return found


def electorate(
    *, voters: int, records: int, features: int, seed: int, epsilons: Sequence[float]
) -> Cells:
    """Measure every mechanism at every epsilon on one made-up electorate."""
    rng = np.random.default_rng([seed, voters, records, features])
    people = made_up_voters(rng, voters=voters, features=features)
    choices = people.choose(rng, records)
    shared = {"voters": voters, "records": records, "features": features}

    def score(learned: SocialPreference, reference: str) -> float:
        target = people.mean_weights if reference == "r1" else people.population
        return expected_agreement(learned.weights, target, reference=reference).accuracy

    free = SocialPreference.learn(choices, mechanism="none:fit=average")
    cells: Cells = [
        {**shared, "mechanism": "none", "epsilon": None, "accuracy": score(free, "r1"),
         "population": score(free, "r2")}
    ]  # fmt: skip
    for name, text in (MECHANISMS | OURS).items():
        for epsilon in epsilons:
            learned = SocialPreference.simulate(choices, rng, mechanism=text, epsilon=epsilon)
            promise = learned.guarantee
            cells.append(
                {**shared, "mechanism": name, "epsilon": epsilon, "accuracy": score(learned, "r1"),
                 "unit": promise.unit,
                 "voter_level_epsilon": promise.voter_level_epsilon.epsilon}
            )  # fmt: skip
    return cells


def groups(*, voters: int, seed: int, quick: bool, records: int = 50, features: int = 10) -> Cells:
    """Measure personalised epsilons (figures 6 and 9)."""
    rng = np.random.default_rng([seed, voters, 6])
    people = made_up_voters(rng, voters=voters, features=features)
    choices = people.choose(rng, records)
    settings: list[tuple[str, float, EpsilonGroups]] = []
    settings += [
        ("conservative", f, EpsilonGroups(conservative=f)) for f in _some(CONSERVATIVE, quick)
    ]
    settings += [
        ("low", e, EpsilonGroups(low=_fraction(e), middle=_fraction(0.5)))
        for e in _some(LOW, quick)
    ]
    settings += [("middle", e, EpsilonGroups(middle=_fraction(e))) for e in _some(MIDDLE, quick)]
    cells: Cells = []
    for setting, x, group in settings:
        epsilons = group.draw(voters, rng)
        for label, text in (
            (THREE, MECHANISMS[THREE]),
            ("linear-knorm", "linear-knorm:weights=inverse-variance"),
        ):
            learned = SocialPreference.simulate(choices, rng, mechanism=text, epsilon=epsilons)
            found = expected_agreement(learned.weights, people.mean_weights, reference="r1")
            cells.append({"voters": voters, "setting": setting, "x": x, "mechanism": label,
                          "accuracy": found.accuracy})  # fmt: skip
    return cells


def bounded(*, voters: int, records: int, seed: int, bounds: Sequence[float]) -> Cells:
    """Measure algorithms 1 and 2 at epsilon 0.1 for several bounds of the norm (figure 7)."""
    rng = np.random.default_rng([seed, voters, records, 7])
    people = made_up_voters(rng, voters=voters, features=10)
    choices = people.choose(rng, records)
    cells: Cells = []
    for bound in bounds:
        for name in (ONE, TWO):
            learned = SocialPreference.simulate(
                choices, rng, mechanism=f"{name}:bound={bound:g}", epsilon=0.1
            )
            found = expected_agreement(learned.weights, people.mean_weights, reference="r1")
            cells.append({"voters": voters, "records": records, "mechanism": name, "bound": bound,
                          "accuracy": found.accuracy})  # fmt: skip
    return cells


def dealt(*, voters: int, seed: int, epsilons: Sequence[float]) -> Cells:
    """Deal real decisions out to made-up voters, 13 each; the others are held out."""
    table = datasets.dataset_named("moral_machine").comparisons(one_each=True)
    rng = np.random.default_rng([seed, 8])
    order = rng.permutation(len(table))
    used = voters * MACHINE_SHAPE[0]
    differences = table.difference
    train = Comparisons.from_pairs(
        differences[order[:used]],
        np.zeros((used, table.n_features)),
        np.arange(used) % voters,
        features=list(table.names),
    )
    test = table.of_voters(np.sort(order[used:]))
    free = SocialPreference.learn(train, mechanism="none:fit=average")
    cells: Cells = [
        {"mechanism": "none", "epsilon": None, "accuracy": 1.0,
         "held_out": held_out_accuracy(free, test).accuracy}
    ]  # fmt: skip
    for name, text in (MECHANISMS | OURS).items():
        for epsilon in epsilons:
            learned = SocialPreference.simulate(train, rng, mechanism=text, epsilon=epsilon)
            alike = agreement(learned.weights, free.weights, test.difference, reference="r3")
            cells.append(
                {"mechanism": name, "epsilon": epsilon, "accuracy": alike.accuracy,
                 "held_out": held_out_accuracy(learned, test).accuracy}
            )  # fmt: skip
    return cells


def _some(values: Sequence[float], quick: bool) -> Iterable[float]:
    return values[:: len(values) - 1] if quick else values


def _fraction(number: float) -> Any:
    from fractions import Fraction

    return Fraction(str(number))
