"""Simulated crowds of labels: posteriors, reliabilities, advice, remarks, stopping."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masquerade.answers import Claims, Truths
from masquerade.mechanisms import RandomizedResponse
from masquerade.simulate import crowd
from masquerade.truth import (
    Auto,
    BayesianCombination,
    CategoricalEstimator,
    Collection,
    OneCoin,
    PosteriorStop,
    accuracy,
    reliability_intervals,
    worker_advice,
)

TASKS, WORKERS = 100, 20
#: Share of right labels by which a mean posterior may be off, beside chance.
OFF = 0.02
#: Kinds of crowds: options, answers a task, prior of accuracies, share of the first label, epsilon.
KINDS: dict[str, dict[str, Any]] = {
    "3 answers": {"answers_per_task": 3},
    "10 answers": {},
    "equal": {"accuracy": np.full(WORKERS, 0.75)},
    "equal, epsilon 2": {"accuracy": np.full(WORKERS, 0.75), "epsilon": 2},
    "all right": {"accuracy": np.full(WORKERS, 0.97)},
    "rare, 2 %": {"truth_shares": [0.98, 0.02], "accuracy": (18.0, 2.0)},
    "rare, 5 %": {"truth_shares": [0.95, 0.05], "accuracy": (18.0, 2.0)},
    "4 options": {"options": 4, "answers_per_task": 5},
}
Crowd = tuple[Claims, Truths, RandomizedResponse | None]


def crowds(kind: str, runs: int, seed: int) -> Iterator[Crowd]:
    """Yield crowds of a kind: claims, behind their mask if there is one, and truths."""
    parameters = dict(KINDS[kind])
    epsilon, options = parameters.pop("epsilon", None), parameters.get("options", 2)
    mask = None if epsilon is None else RandomizedResponse(options, epsilon=epsilon)
    rng = np.random.default_rng([seed, *kind.encode()])
    for _ in range(runs):
        claims, truths = crowd(rng, tasks=TASKS, workers=WORKERS, **parameters)
        yield claims if mask is None else mask.simulate(claims, rng), truths, mask


@cache
def fits(kind: str, runs: int, seed: int) -> list[tuple[Auto, Truths, RandomizedResponse | None]]:
    """Return fits of the default method, which several rows look at."""
    return [
        (Auto().fit(claims, mechanism=mask), truths, mask)
        for claims, truths, mask in crowds(kind, runs, seed)
    ]


def posteriors(runs: int, seed: int) -> dict[str, float]:
    """Return how often the mean posterior of the labels is the share of them that is right."""

    def holds(fit: CategoricalEstimator, truths: Truths) -> bool:
        sure = fit.solution_.posteriors[np.arange(TASKS), fit.labels_]
        chance = 1.96 * np.sqrt((sure * (1 - sure)).sum()) / TASKS
        return bool(abs(sure.mean() - accuracy(fit, truths)) <= OFF + chance)

    return {
        kind: float(np.mean([holds(fit, truths) for fit, truths, _ in fits(kind, runs, seed)]))
        for kind in KINDS
    }


def reliabilities(runs: int, seed: int) -> dict[str, float]:
    """Return the mean coverage of 90 % intervals of the workers' accuracies."""
    found = {}
    for kind, options, epsilon in (("clear", 2, None), ("4 options", 4, None), ("masked", 2, 2)):
        rng, mask = np.random.default_rng([seed, *kind.encode()]), None
        if epsilon is not None:
            mask = RandomizedResponse(options, epsilon=epsilon)
        held: list[NDArray[np.bool_]] = []
        for _ in range(runs):
            right = rng.beta(4, 2, WORKERS)
            claims, _truths = crowd(
                rng, tasks=TASKS, workers=WORKERS, options=options, accuracy=right
            )
            reports = claims if mask is None else mask.simulate(claims, rng)
            table = reliability_intervals(OneCoin().fit(reports, mechanism=mask)).to_pydict()
            own = right[[int(name[1:]) for name in table["worker"]]]
            held.append((np.array(table["low"]) <= own) & (own <= np.array(table["high"])))
        found[kind] = float(np.mean(np.concatenate(held)))
    return found


def accusations(runs: int, seed: int) -> dict[str, float]:
    """Return how often any advice names a worker of an honest crowd that knows something."""
    return {
        kind: float(
            np.mean(
                [
                    worker_advice(fit, mechanism=mask).num_rows > 0
                    for fit, _, mask in fits(kind, runs, seed)
                ]
            )
        )
        for kind in ("equal", "equal, epsilon 2", "all right", "rare, 2 %", "rare, 5 %")
    }


def prior_only(runs: int, seed: int) -> dict[str, float]:
    """Return how often claims of a crowd that knows something are said to tell nothing."""
    return {
        kind: float(np.mean(["PRIOR_ONLY" in _codes(fit) for fit, _, _ in fits(kind, runs, seed)]))
        for kind in ("10 answers", "all right", "4 options")
    }


def rare_labels(runs: int, seed: int) -> dict[str, float]:
    """Return how often a label of half or a quarter of the tasks is called rare."""
    return {
        kind: float(np.mean(["RARE_LABEL" in _codes(fit) for fit, _, _ in fits(kind, runs, seed)]))
        for kind in ("3 answers", "10 answers", "all right", "4 options", "equal, epsilon 2")
    }


def expected_of_rare(runs: int, seed: int) -> dict[str, float]:
    """Return how often expected counts of a rare label's hits are within chance and one of theirs.

    Of the tasks that are given the label, and of those whose truth it is.
    """
    found: dict[str, list[bool]] = {"given": [], "truth": []}
    for kind in ("rare, 2 %", "rare, 5 %"):
        for fit, truths, _ in fits(kind, runs, seed):
            code = truths.codes(fit.claims_)
            for row in fit.rare_labels_.to_pylist():
                options: Any = fit.claims_.options
                label = options.index(row["label"]).as_py()
                given, true = fit.labels_ == label, code == label
                hits, share = int((given & true).sum()), row["precision"]
                chance = 1 + 1.96 * np.sqrt(row["given"] * share * (1 - share))
                found["given"].append(bool(abs(hits - row["given"] * share) <= chance))
                missed, share = int((true & ~given).sum()), row["given"] * row["precision"]
                expected = share / max(row["recall"], 1e-9) - share
                found["truth"].append(bool(abs(missed - expected) <= 1 + 1.96 * expected**0.5))
    return {name: float(np.mean(held)) for name, held in found.items()}


def _codes(fit: CategoricalEstimator) -> set[str]:
    return {remark.code for remark in fit.remarks_}


def stopped(runs: int, seed: int) -> dict[str, float]:
    """Return the share of right labels where tasks stop at a posterior of .98."""
    found = {}
    for name, right in (("all right in .8", np.full(10, 0.8)), ("varied", (4.0, 2.0))):
        rng, shares = np.random.default_rng([seed, *name.encode()]), []
        for _ in range(runs):
            people = rng.beta(*right, 10) if isinstance(right, tuple) else right
            shares.append(_collected(people, rng))
        found[name] = float(np.mean(shares))
    return found


def _collected(right: NDArray[np.float64], rng: np.random.Generator) -> float:
    truth = {f"t{place}": int(rng.integers(2)) for place in range(20)}
    collection = Collection(
        tasks=list(truth), options=[0, 1], stop=PosteriorStop(), public_answers=True
    )
    while True:
        rows = [
            (task, f"w{worker}", truth[task] ^ int(rng.random() >= chance))
            for worker, chance in enumerate(right)
            for task in collection.next_tasks(f"w{worker}", count=4)
        ]
        if not rows:
            break
        task, worker, label = zip(*rows, strict=True)
        collection.partial_fit({"task": task, "worker": worker, "label": label})
    fit = BayesianCombination().fit(collection.claims_)
    return accuracy(fit, {"task": list(truth), "truth": list(truth.values())})
