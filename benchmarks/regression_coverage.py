"""Coverage of coefficients through masks, with half a person: worst of all, a row a setting.

    python benchmarks/regression_coverage.py [fits]

A survey of a yes or no, a group and a score of five points; outcome, score or both masked by
randomised response; ordinary, with some 5 % yes, and with 95 % of people who choose one option.
Outcomes of three answers, in order or not, beside a masked score; two masked predictors.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from card import Cards, sized

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.honesty.regressions import Cell, Wider, coverage, false_sentences

CARDS = Cards(__file__)
KINDS = (("outcome", "usual"), ("predictor", "usual"), ("both", "usual"), ("outcome", "rare"))
WIDER = tuple(
    Wider(model, people, epsilon)
    for model in ("multinomial", "ordered", "logistic")
    for people in (300, 1000)
    for epsilon in (1.0, 2.0, 4.0)
)
CORNERS = tuple(Cell("both", 1000, epsilon, "one option") for epsilon in (1.0, 2.0, 4.0))


def cells() -> list[Cell]:
    """Return the settings."""
    usual = [
        Cell(masked, people, epsilon, kind)
        for masked, kind in KINDS
        for people in sized((300, 1000), (300, 1000, 5000))
        for epsilon in (1.0, 2.0, 4.0)
    ]
    return [*usual, Cell("both", 1000, 2.0, "rare"), *CORNERS]


def main() -> None:
    """Print coverage of each setting, and keep the worst."""
    fits = int(sys.argv[1]) if len(sys.argv) > 1 else sized(50, 1000)
    rates = {}
    for place, cell in enumerate(cells()):
        begun = time.process_time()
        found = coverage(cell, runs=fits, seed=100 + place)
        rates[cell.name] = float(found.min())
        seconds = time.process_time() - begun
        print(f"{cell.name}: {np.round(found, 3)}; {seconds:.0f} s of {fits} fits", flush=True)
    for place, wider in enumerate(WIDER):
        found = wider.coverage(runs=fits, seed=200 + place)
        rates[wider.name] = float(found.min())
        print(f"{wider.name}: {np.round(found, 3)}", flush=True)
    worst = min(rates, key=lambda name: rates[name])
    CARDS.add(
        "coefficients through masks, worst coverage",
        rates[worst],
        "share of fits",
        better="higher",
        at_least=0.92 if fits >= 1000 else None,
        note=f"{worst}; {len(rates)} settings, {fits} fits each",
    )
    false = false_sentences(fits, 5)
    CARDS.add(
        "false sentences of regressions, worst",
        max(false.values()),
        "share of surveys",
        at_most=0.055 if fits >= 1000 else None,
        note=f"{fits} fits each",
    )


if __name__ == "__main__":
    main()
