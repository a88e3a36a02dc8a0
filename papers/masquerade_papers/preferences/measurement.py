"""Wang et al. (2019): private preferences from pairwise choices, in three algorithms.

The synthetic electorates follow the paper's recipe, so what agrees is reproduced. Of the Moral
Machine no data grouped by voter are public: its shape is simulated, and real decisions are dealt
out to made-up voters where `MASQUERADE_DATA` has ``moral_machine``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from masquerade import datasets
from masquerade.answers import Comparisons
from masquerade.preference import SocialPreference, agreement, held_out_accuracy, made_up_voters
from masquerade.preference.metrics import expected_agreement
from masquerade_papers.preferences.epsilon_groups import EpsilonGroups
from masquerade_papers.study import Cells, Job, Scale, real
from masquerade_papers.verdict import printed_in

CITATION = (
    'T. Wang, J. Zhao, H. Yu, J. Liu, X. Yang, X. Ren, S. Shi, "Privacy-preserving crowd-guided AI '
    'decision-making in ethical dilemmas", CIKM 2019'
)

PRINTED = printed_in("preferences")
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
    records, features = MACHINE_SHAPE
    machine = {"records": records, "features": features}

    def each(label: str, work: Callable[..., Cells], parameters: dict[str, Any]) -> list[Job]:
        return [Job(f"{label}-{seed}", work, {**parameters, "seed": seed}) for seed in draws]

    some: list[Job] = []
    for n, m in product(VOTERS, RECORDS):
        size = {"voters": n, "records": m, "features": 10, "epsilons": epsilons}
        some += each(f"size-{n}-{m}", electorate, size)
    for d in dimensions:
        size = {"voters": 100, "records": 50, "features": d, "epsilons": [1, 3]}
        some += each(f"dimension-{d}", electorate, size)
    for n in VOTERS:
        some += each(f"groups-{n}", groups, {"voters": n, "quick": scale.quick})
    for n, m in ((50, 50), (100, 100)):
        size = {"voters": n, "records": m, "bounds": list(bounds)}
        some += each(f"bound-{n}-{m}", norm_bounds, size)
    for n in MACHINE_VOTERS:
        some += each(f"machine-{n}", electorate, {**machine, "voters": n, "epsilons": epsilons})
    some += each("machinegroups", groups, {**machine, "voters": 200, "quick": True})
    if real("moral_machine"):
        some += each("real", real_decisions, {"voters": 200, "epsilons": epsilons})
    return some


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
    without = {"accuracy": score(free, "r1"), "population": score(free, "r2")}
    cells: Cells = [{**shared, "mechanism": "none", "epsilon": None, **without}]
    for name, text in (MECHANISMS | OURS).items():
        for epsilon in epsilons:
            learned = SocialPreference.simulate(choices, rng, mechanism=text, epsilon=epsilon)
            promise = learned.guarantee
            cells.append(
                {
                    **shared,
                    "mechanism": name,
                    "epsilon": epsilon,
                    "accuracy": score(learned, "r1"),
                    "unit": promise.unit,
                    "voter_level_epsilon": promise.epsilon_user.epsilon,
                }
            )
    return cells


def groups(*, voters: int, seed: int, quick: bool, records: int = 50, features: int = 10) -> Cells:
    """Measure personalised epsilons (figures 6 and 9)."""
    rng = np.random.default_rng([seed, voters, 6])
    people = made_up_voters(rng, voters=voters, features=features)
    choices = people.choose(rng, records)
    half = Fraction("0.5")
    settings = [
        *(("conservative", f, EpsilonGroups(conservative=f)) for f in _some(CONSERVATIVE, quick)),
        *(("low", e, EpsilonGroups(low=_exact(e), middle=half)) for e in _some(LOW, quick)),
        *(("middle", e, EpsilonGroups(middle=_exact(e))) for e in _some(MIDDLE, quick)),
    ]
    cells: Cells = []
    for setting, x, group in settings:
        epsilons = group.draw(voters, rng)
        for label, text in (
            (THREE, MECHANISMS[THREE]),
            ("linear-knorm", "linear-knorm:weights=inverse-variance"),
        ):
            learned = SocialPreference.simulate(choices, rng, mechanism=text, epsilon=epsilons)
            score = expected_agreement(learned.weights, people.mean_weights, reference="r1")
            cell = {"voters": voters, "setting": setting, "x": x, "mechanism": label}
            cells.append({**cell, "accuracy": score.accuracy})
    return cells


def norm_bounds(*, voters: int, records: int, seed: int, bounds: Sequence[float]) -> Cells:
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
            score = expected_agreement(learned.weights, people.mean_weights, reference="r1")
            cell = {"voters": voters, "records": records, "mechanism": name, "bound": bound}
            cells.append({**cell, "accuracy": score.accuracy})
    return cells


def real_decisions(*, voters: int, seed: int, epsilons: Sequence[float]) -> Cells:
    """Deal real decisions out to made-up voters, 13 each; the others are held out."""
    table = datasets.dataset_named("moral_machine").comparisons(one_each=True)
    rng = np.random.default_rng([seed, 8])
    order = rng.permutation(len(table))
    used = voters * MACHINE_SHAPE[0]  # 13 decisions a voter, as in the paper
    differences = table.difference
    train = Comparisons.from_pairs(
        differences[order[:used]],
        # differences are given already: the other alternative is 0
        np.zeros((used, table.n_features)),
        np.arange(used) % voters,
        features=list(table.names),
    )
    # every decision is of a voter of its own here: those not dealt out are held out
    test = table.of_voters(np.sort(order[used:]))
    free = SocialPreference.learn(train, mechanism="none:fit=average")
    held_out = held_out_accuracy(free, test).accuracy
    cells: Cells = [{"mechanism": "none", "epsilon": None, "accuracy": 1.0, "held_out": held_out}]
    for name, text in (MECHANISMS | OURS).items():
        for epsilon in epsilons:
            learned = SocialPreference.simulate(train, rng, mechanism=text, epsilon=epsilon)
            alike = agreement(learned.weights, free.weights, test.difference, reference="r3")
            cells.append(
                {
                    "mechanism": name,
                    "epsilon": epsilon,
                    "accuracy": alike.accuracy,
                    "held_out": held_out_accuracy(learned, test).accuracy,
                }
            )
    return cells


def _some(values: Sequence[float], quick: bool) -> Iterable[float]:
    return values[:: len(values) - 1] if quick else values


def _exact(number: float) -> Fraction:
    return Fraction(str(number))
