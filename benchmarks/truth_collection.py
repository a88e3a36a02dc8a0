"""Labels from fewer answers: real answers replayed, the next task chosen after each batch.

    python benchmarks/truth_collection.py [DATA] [--seeds N]

DATA is the folder of sets, by default what ``MASQUERADE_DATA`` names. Each task first has one
answer; then batches of a tenth of the tasks follow, each task at most once in a batch. A task's
next answer is the next of its recorded ones in random order, so the worker is not chosen. What is
collected is judged by `Auto`, beside as many and more answers spread evenly; in clear, and through
randomized response at epsilon 2.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np

from card import Cards, sized
from masquerade.answers import Claims, Truths
from masquerade.mechanisms import CategoricalMechanism, RandomizedResponse
from masquerade.truth import Auto, Collection, TotalStop, accuracy

CARDS = Cards(__file__)
SETS = ("rte", "temp", "wsd", "sentiment_popularity_amt", "weather_sentiment_amt", "face")
FEW, MANY = 3.5, 5
EPSILON = 2


def main() -> None:
    """Print one line a set, and keep the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", default=os.environ.get("MASQUERADE_DATA"))
    parser.add_argument("--seeds", type=int, default=sized(1, 5))
    given = parser.parse_args()
    if given.data is None:
        print("MASQUERADE_DATA is not set, and no folder of sets is given: nothing is measured")
        return
    for epsilon in (None, EPSILON):
        rows = {name: replayed(given.data / name, epsilon, given) for name in SETS}
        for name, row in rows.items():
            print(name, "clear" if epsilon is None else f"epsilon {epsilon}", *row.round(4))
        chosen, few, many = np.mean(list(rows.values()), axis=0)
        how = "in clear" if epsilon is None else f"at epsilon {epsilon}"
        for answers, evenly in ((FEW, few), (MANY, many)):
            CARDS.add(
                f"mean accuracy over {len(SETS)} sets {how}, {FEW} answers a task",
                chosen,
                "",
                peer=f"{answers} a task evenly",
                peer_value=evenly,
                better="higher",
            )


def replayed(folder: Path, epsilon: int | None, given: Any) -> np.ndarray:
    """Return mean accuracies: chosen, as many evenly, and five evenly."""
    claims = Claims.read(folder / "claims.csv.gz", kind="categorical", duplicates="first")
    truths = Truths.read(folder / "truth.csv")
    found = []
    for seed in range(given.seeds):
        rng = np.random.default_rng(seed)
        mechanism = None
        reports = claims
        if epsilon is not None:
            mechanism = RandomizedResponse(claims.n_options, epsilon=epsilon)
            reports = mechanism.simulate(claims, rng)
        # place[task] lists the rows of its answers in random order
        order = rng.permutation(len(claims))
        place = [order[claims.task[order] == task].tolist() for task in range(claims.n_tasks)]
        rows = [chosen_rows(reports, place, mechanism)]
        rows += [evenly(place, answers, rng) for answers in (FEW, MANY)]
        found.append([judged(reports, one, truths, mechanism) for one in rows])
    return np.asarray(np.mean(found, axis=0))


def chosen_rows(
    reports: Claims, place: list[list[int]], mechanism: CategoricalMechanism | None
) -> list[int]:
    """Return the answers that are asked for, batch by batch."""
    table = reports.to_arrow()
    tasks = reports.tasks.to_pylist()
    collection = Collection(
        tasks=tasks,
        options=reports.options.to_pylist() if reports.options is not None else [],
        mechanism=mechanism,
        stop=TotalStop(answers_per_task=FEW, most=1_000_000),
        public_answers=True,
    )
    code, used = {name: i for i, name in enumerate(tasks)}, [0] * len(tasks)
    rows: list[int] = []
    batch = list(range(len(tasks)))  # one answer a task first
    total = round(FEW * len(tasks))
    while batch:
        new = [place[task][used[task]] for task in batch]
        for task in batch:
            used[task] += 1
        rows += new
        collection.partial_fit(table.take(new))
        left = [
            t for t in (code[name] for name in collection.open_tasks_) if used[t] < len(place[t])
        ]
        batch = left[: min(len(tasks) // 10 + 1, total - len(rows))]
    return rows


def evenly(place: list[list[int]], answers: float, rng: np.random.Generator) -> list[int]:
    """Return as many answers of each task; of a fraction, one more of random tasks."""
    whole, part = divmod(answers, 1)
    more = rng.random(len(place)).argsort() < part * len(place)
    return [row for rows, one in zip(place, more, strict=True) for row in rows[: int(whole) + one]]


def judged(
    reports: Claims, rows: list[int], truths: Truths, mechanism: CategoricalMechanism | None
) -> float:
    """Return the accuracy of the default on some of the reports."""
    keep = np.zeros(len(reports), dtype=np.bool_)
    keep[rows] = True
    return accuracy(Auto().fit(reports.among(keep), mechanism=mechanism), truths)


if __name__ == "__main__":
    main()
