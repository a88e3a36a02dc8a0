"""Li et al. (KDD 2018): one and two layers of randomized response, votes and truth discovery.

Neither data set is public. Both are simulated in their sizes; ``rte`` and ``bluebird`` stand beside
them where `MASQUERADE_DATA` has them.
"""

from __future__ import annotations

import numpy as np

from masquerade import datasets
from masquerade.answers import Claims, Truths
from masquerade.mechanisms import TwoLayer
from masquerade.simulate import study
from masquerade.truth import MajorityVote, OneCoin, TruthDiscovery
from masquerade.truth.scores import hits
from masquerade_papers import simulated_crowds
from masquerade_papers.study import Cells, Job, Scale, real
from masquerade_papers.two_layer.question_sampling import QuestionSampling
from masquerade_papers.verdict import Estimate, printed_in

CITATION = (
    "Y. Li, C. Miao, L. Su, J. Gao, Q. Li, B. Ding, Z. Qin, K. Ren, "
    '"An efficient two-layer mechanism for privacy-preserving truth discovery", KDD 2018'
)

PRINTED = printed_in("two-layer")
EPSILONS: tuple[str, ...] = tuple(PRINTED["tables"]["peer-grading"])
CROWDS = {
    "peer-grading": simulated_crowds.peer_grading,
    "duchenne-smile": simulated_crowds.duchenne_smile,
}
STAND_INS = ("rte", "bluebird")
MECHANISMS = ("one-layer", "two-layer")
MV, TD, CA, SAMPLED = "majority-vote", "truth-discovery", "one-coin", "sampled"
METHODS = (MajorityVote(), TruthDiscovery(floor=None), OneCoin())

QUICK_EPSILONS = ("1", "0.5", "0.3", "0.1", "0")
LABEL = {"peer-grading": "Peer grading", "duchenne-smile": "Duchenne smile"}


def jobs(scale: Scale) -> list[Job]:
    """Return one job a made-up crowd, and one a real set and mechanism."""
    epsilons = QUICK_EPSILONS if scale.quick else EPSILONS
    trials = scale.pick(100, 45)
    some: list[Job] = []
    for name in CROWDS:
        crowds = max(2, min(20, trials // 3))
        each = max(1, trials // crowds)
        shared = {"epsilons": list(epsilons), "crowd": name, "trials": each}
        some += [Job(f"{name}-{s}", simulated_crowd, {**shared, "seed": s}) for s in range(crowds)]
    for name in filter(real, STAND_INS):
        each = max(2, trials if name == "bluebird" else trials // 2)
        shared = {"epsilons": list(epsilons), "name": name, "trials": each}
        some += [
            Job(f"{name}-{mechanism}", real_set, {**shared, "mechanism": mechanism})
            for mechanism in MECHANISMS
        ]
    some.append(Job("weights", weights, {"seed": 1, "epsilon": "0.5", "workers": 10}))
    return some


def simulated_crowd(*, crowd: str, seed: int, epsilons: list[str], trials: int) -> Cells:
    """Measure both mechanisms on one made-up crowd."""
    claims, truths = CROWDS[crowd](np.random.default_rng([seed, 2018]))
    cells = _sizes(claims, truths)
    for mechanism in MECHANISMS:
        cells += _masked(claims, truths, mechanism, epsilons, trials, seed)
    return cells


def real_set(*, name: str, mechanism: str, epsilons: list[str], trials: int) -> Cells:
    """Measure one mechanism on a real set."""
    data = datasets.dataset_named(name)
    claims, truths = data.claims(duplicates="last"), data.truths()
    return _sizes(claims, truths) + _masked(claims, truths, mechanism, epsilons, trials, 0)


def weights(*, seed: int, epsilon: str, workers: int) -> Cells:
    """Compare workers' weights before and after the two-layer mask (figure 2)."""
    cells: Cells = []
    for crowd, draw in CROWDS.items():
        rng = np.random.default_rng([seed, 2])
        claims, _ = draw(rng)
        reports = TwoLayer.from_epsilon_single(epsilon, 2).simulate(claims, rng)
        flipped = np.bincount(claims.worker, reports.value != claims.value, claims.n_workers)
        # flipped answers of a worker over all answers of that worker
        share = flipped / np.bincount(claims.worker, minlength=claims.n_workers)
        before, after = (
            TruthDiscovery(floor=None).fit(each).solution_.weight for each in (claims, reports)
        )
        drawn = set(rng.permutation(claims.n_workers)[:workers].tolist())
        for i in range(claims.n_workers):
            cell = {"crowd": crowd, "worker": i, "flipped": float(share[i]), "shown": i in drawn}
            cells.append({**cell, "before": float(before[i]), "after": float(after[i])})
    return cells


def _sizes(claims: Claims, truths: Truths) -> Cells:
    return [
        {"size": name, "count": count}
        for name, count in (
            ("questions", claims.n_tasks),
            ("users", claims.n_workers),
            ("answers", len(claims)),
            ("truths", len(truths)),
        )
    ]


def _masked(
    claims: Claims, truths: Truths, mechanism: str, epsilons: list[str], trials: int, seed: int
) -> Cells:
    rows = study(
        claims,
        truths,
        mechanism=mechanism,
        epsilons=epsilons,
        methods=METHODS,
        trials=trials,
        seed=seed,
    )
    cells = []
    for place, row in enumerate(rows.to_pylist()):
        # rows come epsilon by epsilon, with one row a method
        epsilon = epsilons[place // len(METHODS)]
        cells.append({**row, "mechanism": mechanism, "epsilon": epsilon, "published": True})
        if mechanism == "two-layer" and row["method"] == TD and row["epsilon_user"] > 0:
            ours = _sampled(claims, truths, row["epsilon_user"], trials, seed + place)
            extra = {"method": SAMPLED, "accuracy": ours.mean, "standard_error": ours.error}
            cells.append({**cells[-1], **extra})
    return cells


def _sampled(claims: Claims, truths: Truths, epsilon: float, trials: int, seed: int) -> Estimate:
    """Return the accuracy of few clear answers at the same loss of a person.

    A question that nobody reports on counts half.
    """
    mechanism = QuestionSampling(2, epsilon=epsilon)
    accuracies = []
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial, 7])
        right = hits(TruthDiscovery(seed=trial).fit(mechanism.simulate(claims, rng)), truths)
        accuracies.append((right.sum() + 0.5 * (len(truths) - len(right))) / len(truths))
    return Estimate.of(accuracies)
