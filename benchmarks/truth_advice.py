"""Advice on workers: false accusations of honest crowds, and how often odd workers are found.

    python benchmarks/truth_advice.py [--crowds N] [--data DATA]

A crowd has 15 workers and 400 tasks, of six answers where nothing else is said. Honest are all of
the kinds below; an accusation is false unless it is ``RANDOM`` of somebody who knows less than half
of what the others know, or ``BELOW_CHANCE`` of somebody who is so. A crowd with an odd worker has
others of .75 to .95.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from card import Cards, sized
from masquerade.answers import Claims
from masquerade.mechanisms import RandomizedResponse
from masquerade.truth import OneCoin, worker_advice

WORKERS, TASKS = 15, 400


@dataclass(frozen=True)
class Kind:
    """A kind of honest crowd."""

    name: str
    accuracy: float | tuple[float, float] | None = (8.0, 3.0)  # Beta; None for .75 to .95
    options: int = 2
    answers: int = 6
    rate: float | None = None  # of the rare labels
    hard: bool = False  # the second half of the tasks is harder
    random_difficulty: bool = False
    readings: bool = False  # three in ten read a fifth of the tasks the other way
    in_order: bool = False  # tasks come in the order of their truths
    epsilon: float | None = None

    def draw(self, rng: np.random.Generator) -> tuple[Claims, np.ndarray]:
        """Return claims, and the knowledge of each worker: 0 by chance, 1 if always right."""
        s = self.options
        truth = rng.integers(0, s, TASKS)
        if self.rate is not None:
            truth = np.where(rng.random(TASKS) < self.rate, rng.integers(1, s, TASKS), 0)
        if self.in_order:
            truth = np.sort(truth)
        right = rng.uniform(0.75, 0.95, WORKERS)
        if isinstance(self.accuracy, tuple):
            right = rng.beta(*self.accuracy, WORKERS)
        elif self.accuracy is not None:
            right = np.full(WORKERS, self.accuracy)
        worker = np.argsort(rng.random((TASKS, WORKERS)), axis=1)[:, : self.answers].ravel()
        task = np.repeat(np.arange(TASKS), self.answers)
        ease = np.ones(TASKS)
        if self.hard:
            ease[TASKS // 2 :] = 0.5
        if self.random_difficulty:
            ease = rng.random(TASKS)
        chance = 1 / s + (right[worker] - 1 / s) * ease[task]
        meant = truth[task]
        if self.readings:
            disputed, otherwise = rng.random(TASKS) < 0.2, rng.random(WORKERS) < 0.3
            meant = np.where(disputed[task] & otherwise[worker], (meant + 1) % s, meant)
        wrong = (meant + rng.integers(1, s, len(task))) % s
        label = np.where(rng.random(len(task)) < chance, meant, wrong)
        table = {"task": task, "worker": worker, "label": label}
        options, workers = list(range(s)), range(WORKERS)
        claims = Claims.from_frame(table, options=options, workers=workers, tasks=range(TASKS))
        return claims, (right - 1 / s) / (1 - 1 / s)


HONEST = [
    Kind("varied workers"),
    Kind("4 options", options=4),
    Kind("all .85", accuracy=0.85),
    Kind("a class of 5 %", rate=0.05, accuracy=0.9),
    Kind("a class of 2 %, workers of .97", rate=0.02, accuracy=0.97),
    Kind("easy, then hard", hard=True, accuracy=None),
    Kind("random difficulty", random_difficulty=True, accuracy=None),
    Kind("two readings, all answer", readings=True, answers=WORKERS, accuracy=None),
    Kind("two readings", readings=True, accuracy=None),
    Kind("labels in order", in_order=True),
    Kind("labels in order, a class of 20 %", in_order=True, rate=0.2),
    Kind("epsilon 2", epsilon=2.0),
    Kind("epsilon 1", epsilon=1.0),
]


def accused(kind: Kind, seed: int) -> tuple[Counter[str], Counter[str]]:
    """Return false accusations of one crowd by kind, and right ones of ``RANDOM``."""
    rng = np.random.default_rng([seed, *kind.name.encode()])
    claims, knows = kind.draw(rng)
    mask = None
    if kind.epsilon is not None:
        mask = RandomizedResponse(kind.options, epsilon=kind.epsilon)
        claims = mask.simulate(claims, rng)
    false: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for row in worker_advice(OneCoin().fit(claims, mechanism=mask), mechanism=mask).to_pylist():
        worker = int(row["worker"])
        others = np.delete(knows, worker).mean()
        little = row["advice"] == "RANDOM" and knows[worker] < others / 2
        little |= row["advice"] == "BELOW_CHANCE" and knows[worker] < 0
        (right if little else false)[row["advice"]] += 1
    return false, right


def odd_crowd(odd: str, options: int, answers: int, n: int, rng: np.random.Generator) -> Claims:
    """Return a crowd with an odd worker, or a pair: worker 0; n answers a worker."""
    tasks = n * WORKERS // answers
    truth, right = rng.integers(0, options, tasks), rng.uniform(0.75, 0.95, WORKERS)
    worker = np.argsort(rng.random((tasks, WORKERS)), axis=1)[:, :answers].ravel()
    task = np.repeat(np.arange(tasks), answers)
    chance = right[worker]
    if odd == "RANDOM":
        chance = np.where(worker == 0, 1 / options, chance)
    if odd == "DRIFTING":
        chance = np.where((worker == 0) & (task >= tasks // 2), 1 / options, chance)
    wrong = (truth[task] + rng.integers(1, options, len(task))) % options
    label = np.where(rng.random(len(task)) < chance, truth[task], wrong)
    if odd == "COPYING":  # one more worker, who copies all of worker 0
        rows = np.flatnonzero(worker == 0)
        task, label = np.append(task, task[rows]), np.append(label, label[rows])
        worker = np.append(worker, np.full(len(rows), WORKERS))
    table = {"task": task, "worker": worker, "label": label}
    return Claims.from_frame(table, options=list(range(options)))


def found(odd: str, options: int, answers: int, n: int, crowds: int) -> tuple[int, int]:
    """Return in how many crowds the odd worker is named so, and others named in all."""
    hits, others = 0, 0
    for seed in range(crowds):
        rng = np.random.default_rng([seed, options, answers, n, *odd.encode()])
        fit = OneCoin().fit(odd_crowd(odd, options, answers, n, rng))
        rows = worker_advice(fit).to_pylist()
        hits += any(r["advice"] == odd and 0 in (r["worker"], _number(r["other"])) for r in rows)
        others += sum(r["worker"] not in (0, WORKERS) for r in rows)
    return hits, others


def _number(name: str | None) -> int | None:
    return None if name is None else int(name)


def on_real_sets(folder: Path) -> None:
    """Print the workers that the advice names on real sets."""
    index: dict[str, dict[str, Any]] = json.loads((folder / "index.json").read_text("utf-8"))
    for name, facts in index.items():
        if "mv_accuracy" in facts:
            path = folder / name / "claims.csv.gz"
            claims = Claims.read(path, kind="categorical", duplicates="all")
            table = worker_advice(OneCoin().fit(claims))
            print(
                f"{name}, {claims.n_workers} workers:", dict(Counter(table["advice"].to_pylist()))
            )


def main() -> None:
    """Print one line a kind, and keep the worst."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crowds", type=int, default=sized(20, 200))
    parser.add_argument("--data", type=Path, default=os.environ.get("MASQUERADE_DATA"))
    given = parser.parse_args()
    cards, worst = Cards(__file__), 0.0
    for kind in HONEST:
        false: Counter[str] = Counter()
        right: Counter[str] = Counter()
        crowds = 0
        for seed in range(given.crowds):
            wrong, little = accused(kind, seed)
            crowds += bool(wrong)
            false, right = false + wrong, right + little
        worst = max(worst, crowds / given.crowds)
        print(
            f"{kind.name}: {crowds} of {given.crowds} honest crowds with a false accusation "
            f"{dict(false)}; named rightly: {dict(right)}",
            flush=True,
        )
    cards.add("false accusations, share of honest crowds, worst kind", worst, "", at_most=0.05)
    for odd in ("RANDOM", "COPYING", "DRIFTING"):
        for options, answers, sizes in (
            (2, 6, (60, 160, 320)),
            (2, 9, (90, 240, 480)),
            (4, 6, (60, 160, 320)),
        ):
            results = [found(odd, options, answers, n, 20) for n in sizes]
            hits = ", ".join(f"{n}: {one}" for n, (one, _) in zip(sizes, results, strict=True))
            more = sum(other for _, other in results)
            print(
                f"{odd}, {options} options, {answers} a task: found of 20 at answers a worker "
                f"{hits}; others named {more}",
                flush=True,
            )
    if given.data is not None:
        on_real_sets(Path(given.data))


if __name__ == "__main__":
    main()
