"""How often the audit refutes a mechanism that keeps its promise: it must be never.

Each mechanism, with several parameters and for one and for more answers of a person, is audited
with many seeds at the false-alarm rate of one in a million, and with each tenth seed also at one in
ten, where a rate that were not kept would show. ``AUDIT_SEEDS`` says how many seeds, 1,000 in full;
``AUDIT_FIRST`` from which on; ``AUDIT_SUBJECTS=main`` takes one of each kind of mechanism, which
costs a fifth of all.
"""

from __future__ import annotations

import os
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from card import Cards, sized
from masquerade.accounting import audit
from masquerade.accounting.audit_custom import Randomizer
from masquerade.mechanisms import parse_mechanism

SEEDS = int(os.environ.get("AUDIT_SEEDS", sized(20, 1_000)))
FIRST = int(os.environ.get("AUDIT_FIRST", 0))
MAIN_ALONE = os.environ.get("AUDIT_SUBJECTS") == "main"
SAMPLES = 2_000
LOOSE_EACH = 10
MAIN = (
    ("randomized-response:options=4,epsilon=1", 1),
    ("randomized-response:options=12,epsilon=3,null=true", 1),
    ("two-layer:options=2,low=0,high=0.5379", 1),
    ("two-layer:options=3,low=0.2,high=0.7", 2),
    ("discrete-gaussian:low=1,high=5,sigma=6", 1),
    ("discrete-laplace:low=1,high=5,epsilon=1", 1),
    ("quantised-response:low=-20,high=20,epsilon=2,null=true", 1),
)
OTHERS = (
    ("randomized-response:options=2,epsilon=0.1", 1),
    ("randomized-response:options=4,epsilon=1", 3),
    ("randomized-response:options=60,epsilon=2", 1),
    ("two-layer:options=2,low=0,high=1", 4),
    ("discrete-gaussian:low=0,high=1,step=0.1,sigma=0.7", 2),
    ("discrete-laplace:low=0,high=20,epsilon=5", 1),
    ("discrete-laplace:low=0,high=1,step=0.1,epsilon=1/3,null=true,fill=uniform", 2),
    ("quantised-response:low=0,high=1,step=0.1,epsilon=1,levels=4", 3),
)


def choice(answer: str, size: int, rng: np.random.Generator) -> Any:
    """Return texts: the answer with probability 3/4, else the other."""
    other = "no" if answer == "yes" else "yes"
    return np.where(rng.random(size) < 0.75, answer, other)


def spread(answer: float, size: int, rng: np.random.Generator) -> Any:
    """Return uniform float noise on a grid: two answers 1 apart differ with delta 2**-11."""
    return answer + rng.integers(-(1 << 40), 1 << 40, size) * 2.0**-30


def main() -> None:
    """Audit all of them with all seeds, and say how many were refuted."""
    cards = Cards(__file__)
    taken = MAIN if MAIN_ALONE else MAIN + OTHERS
    subjects: list[tuple[str, Any, int]] = [
        (text, parse_mechanism(text), answers) for text, answers in taken
    ]
    wide = Randomizer(spread, inputs=(0.0, 1.0), claimed_epsilon=0.5, claimed_delta=0.01)
    coin = Randomizer(choice, inputs=("yes", "no"), claimed_epsilon=Fraction("1.0987"))
    subjects += [("uniform float noise", wide, 1), ("a sampler of texts", coin, 1)]
    start = time.perf_counter()
    refuted = {1e-6: 0, 0.1: 0}
    runs = {1e-6: 0, 0.1: 0}
    for seed in range(FIRST, FIRST + SEEDS):
        for name, mechanism, answers in subjects:
            for rate in (1e-6, 0.1) if seed % LOOSE_EACH == 0 else (1e-6,):
                rng = np.random.default_rng([seed, round(1 / rate)])
                found = audit(
                    mechanism, answers=answers, samples=SAMPLES, rng=rng, false_alarm=rate
                )
                runs[rate] += 1
                if found.verdict == "refuted":
                    refuted[rate] += 1
                    sys.stderr.write(f"{name}, {answers} answers, seed {seed}, {rate}: ")
                    sys.stderr.write(f"{found.reasons}\n")
        spent, used = time.perf_counter() - start, time.process_time()
        sys.stderr.write(
            f"seed {seed}: {refuted[1e-6]} of {runs[1e-6]} refuted at 1e-6, {refuted[0.1]} of "
            f"{runs[0.1]} at 0.1, {spent:.0f} s, {used:.0f} s of processor\n"
        )
    cards.add("sound mechanisms refuted at 1e-6", refuted[1e-6], f"of {runs[1e-6]}", at_most=0)
    share = refuted[0.1] / max(runs[0.1], 1)
    cards.add("sound mechanisms refuted at 0.1", share, f"share of {runs[0.1]}", at_most=0.1)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
