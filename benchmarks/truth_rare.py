"""Rare labels: F1 of the rare classes, accuracy and calibration on simulated crowds.

    python benchmarks/truth_rare.py [--crowds N] [--cells TEXT]

A crowd has 20 workers. Truths are the common label but for the rate, which the other labels share.
Workers are equal, or "varied": a Beta distribution of strength 8; "asymmetric" ones find rare
truths .15 less often, and give half as many false alarms.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np

from card import Cards, sized
from masquerade.answers import Claims
from masquerade.mechanisms import RandomizedResponse
from masquerade.truth import (
    Auto,
    BayesianCombination,
    DawidSkene,
    MajorityVote,
    OneCoinDawidSkene,
)

WORKERS, STRENGTH = 20, 8


@dataclass(frozen=True)
class Cell:
    """A kind of crowd."""

    rate: float
    answers: int
    accuracy: float
    varied: bool = False
    asymmetric: bool = False
    options: int = 2
    epsilon: float | None = None

    def __str__(self) -> str:
        words = [f"{self.rate:.1%}", f"{self.answers} answers", f"{self.accuracy:g}"]
        words += [word for word in ("varied", "asymmetric") if getattr(self, word)]
        words += [f"{self.options} options"] * (self.options > 2)
        words += [f"epsilon {self.epsilon:g}"] if self.epsilon is not None else []
        return ", ".join(words)

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        if self.epsilon is not None or self.answers == 3:
            return 1000
        return 1500 if self.rate < 0.02 else 600

    def draw(self, rng: np.random.Generator) -> tuple[Claims, np.ndarray]:
        """Return claims, and the code of each task's truth."""
        n, s = self.tasks, self.options
        rare = rng.random(n) < self.rate
        rare[0] = True  # a crowd without any rare truth has no F1
        truth = np.where(rare, rng.integers(1, s, n), 0)
        right = np.full(WORKERS, self.accuracy)
        if self.varied:
            right = rng.beta(STRENGTH * self.accuracy, STRENGTH * (1 - self.accuracy), WORKERS)
        worker = np.argsort(rng.random((n, WORKERS)), axis=1)[:, : self.answers].ravel()
        task = np.repeat(np.arange(n), self.answers)
        chance = right[worker]
        if self.asymmetric:
            chance = np.where(truth[task] > 0, chance - 0.15, 1 - (1 - chance) / 2)
        other = (truth[task] + rng.integers(1, s, len(task))) % s
        label = np.where(rng.random(len(task)) < chance, truth[task], other)
        claims = Claims.from_frame(
            {"task": task, "worker": worker, "label": label}, options=list(range(s))
        )
        return claims, truth


CELLS = [
    Cell(rate, answers, accuracy, varied, asymmetric, options)
    for rate in (0.005, 0.01, 0.02, 0.05, 0.2, 0.5)
    for answers, accuracy, varied, asymmetric, options in (
        (3, 0.95, False, False, 2),
        (4, 0.85, False, False, 2),
        (5, 0.85, True, True, 2),
        (9, 0.70, True, False, 2),
        (5, 0.85, True, False, 4),
        (5, 0.85, True, False, 10),
    )
]
MASKED = [
    Cell(rate, 9, 0.85, epsilon=epsilon) for rate in (0.02, 0.05) for epsilon in (0.5, 1.0, 2.0)
]


def methods(cell: Cell) -> dict[str, Any]:
    """Return the methods by name."""
    even = (1.0,) * cell.options
    return {
        "majority": MajorityVote(ties="first"),
        "DS": DawidSkene(),
        "one-coin DS": OneCoinDawidSkene(),
        "IBCC": BayesianCombination(trust=(1.0,), discount=even),
        "auto": Auto(),
    }


def measured(fit: Any, truth: np.ndarray) -> np.ndarray:
    """Return F1 of rare labels, accuracy, and the expected calibration error."""
    label, sure = fit.labels_, fit.solution_.posteriors.max(axis=1)
    given, hit = label > 0, label == truth
    f1 = 2 * (hit & given).sum() / max(given.sum() + (truth > 0).sum(), 1)
    place = np.minimum((sure * 10).astype(int), 9)
    size = np.bincount(place, minlength=10)
    off = np.bincount(place, sure - hit, 10)
    return np.array([f1, hit.mean(), np.abs(off).sum() / size.sum()])


def run(cell: Cell, crowds: int) -> dict[str, np.ndarray]:
    """Return the mean figures of each method, and of always answering the common label."""
    found: dict[str, list[np.ndarray]] = {}
    for seed in range(crowds):
        rng = np.random.default_rng([seed, int(cell.rate * 1000), cell.answers, cell.options])
        claims, truth = cell.draw(rng)
        mechanism = None
        if cell.epsilon is not None:
            mechanism = RandomizedResponse(cell.options, epsilon=cell.epsilon)
            claims = mechanism.simulate(claims, rng)
        for name, method in methods(cell).items():
            fit = method.fit(claims, mechanism=mechanism)
            found.setdefault(name, []).append(measured(fit, truth))
        found.setdefault("constant", []).append(np.array([0, (truth == 0).mean(), 0]))
    return {name: np.mean(rows, axis=0) for name, rows in found.items()}


def main() -> None:
    """Print one line a cell, and keep the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crowds", type=int, default=sized(3, 10))
    parser.add_argument("--cells", default="")
    given = parser.parse_args()
    rows = {}
    for cell in (*CELLS, *MASKED):
        if given.cells not in str(cell):
            continue
        rows[cell] = run(cell, given.crowds)
        each = (f"{name} {f1:.2f} {a:.3f} {e:.3f}" for name, (f1, a, e) in rows[cell].items())
        print(f"{cell}:", "; ".join(each), flush=True)
    rare = [row for cell, row in rows.items() if cell.rate <= 0.05 and cell.epsilon is None]
    cards = Cards(__file__)
    peers = ("one-coin DS", "DS", "IBCC")
    if rare:
        short = max(max(row[name][0] for name in peers) - row["auto"][0] for row in rare)
        what = (
            "F1 of auto, how much below the best of one-coin DS, DS and IBCC in any cell up to 5 %"
        )
        cards.add(what, float(short), "", at_most=0.05)
        lost = max(row["constant"][1] - row["auto"][1] for row in rare)
        what = "accuracy of auto, how much below always the frequent label in any cell up to 5 %"
        cards.add(what, float(lost), "", at_most=0.002)
    for place, what, unit in ((0, "F1 of rare labels", ""), (2, "calibration error", "")):
        if rare:
            mean = {name: np.mean([row[name][place] for row in rare]) for name in rare[0]}
            print(what, {name: round(float(value), 3) for name, value in mean.items()})
            cards.add(
                f"mean {what}, cells up to 5 %, auto",
                float(mean["auto"]),
                unit,
                peer="one-coin Dawid-Skene",
                peer_value=float(mean["one-coin DS"]),
                better="higher" if place == 0 else "lower",
            )


if __name__ == "__main__":
    main()
