"""The cost of a command: processor seconds of help, and of small jobs, start included.

Run with ``python benchmarks/command_line.py``. Each figure is the median of several runs of the
program itself, in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from card import Cards, sized
from first_minutes import of_children

CARDS = Cards(__file__)
RUNS = sized(3, 9)
HELP, JOB = 0.4, 0.6
COMMANDS = (
    *(
        "",
        "truth",
        "collect",
        "prefer",
        "release",
        "results",
        "randomize",
        "privacy",
        "audit",
        "plan",
    ),
    *("plan", "select", "answer", "me", "caps", "demo", "serve", "backup", "restore", "migrate"),
    *("new-key", "doctor", "user", "helper", "simulate"),
)
MASK = "randomized-response:options=2,epsilon=1"


def main() -> None:
    """Measure and print."""
    times = {name: processor_seconds(*filter(None, [name]), "--help") for name in COMMANDS}
    slowest = max(times, key=lambda name: times[name])
    CARDS.add(
        f"--help of {len(times)} commands, the slowest ({slowest or 'masquerade'})",
        times[slowest],
        "s of processor",
        at_most=HELP,
    )
    CARDS.add("--help, median command", median(times.values()), "s of processor", at_most=HELP)
    with tempfile.TemporaryDirectory() as folder:
        claims, out = Path(folder) / "claims.csv", str(Path(folder) / "out.csv")
        rows = (f"t{task},w{worker},{task % 2}" for task in range(50) for worker in range(5))
        claims.write_text("task,worker,label\n" + "\n".join(rows) + "\n")
        many = Path(folder) / "many.csv"
        simulate_many = ["simulate", "crowd", "--tasks", "1000", "--answers-per-task", "8"]
        run([*simulate_many, "--workers", "100", "--out", str(many)])
        numbers, choices = str(Path(folder) / "numbers.csv"), str(Path(folder) / "choices.csv")
        values = (f"o{o},u{u},{(o + u) % 10}" for o in range(3) for u in range(50))
        Path(numbers).write_text("task,worker,value\n" + "\n".join(values) + "\n")
        anew = ("--out", out, "--overwrite")
        simulate = ["simulate", "comparisons", "--out", choices, "--voters", "20"]
        jobs = {
            "truth of 250 claims": ["truth", str(claims)],
            "truth of 8,000 claims": ["truth", str(many)],
            "truth of 250 claims, majority vote": [
                *("truth", str(claims), "--method", "majority-vote")
            ],
            "privacy of a mechanism": ["privacy", MASK, "--answers", "20"],
            "plan of a sample": ["plan", MASK, "--margin", "0.05"],
            "randomize 250 claims": [
                *("randomize", str(claims), "--mechanism", MASK, "--options", "0,1", *anew)
            ],
            "simulate comparisons of 20 voters": simulate,
            "prefer, 1,000 choices of 20 voters": [
                *("prefer", choices, "--mechanism", "linear-knorm", "--epsilon", "1")
            ],
            "release of 150 numbers": [
                *("release", numbers, "--epsilon", "1", "--domain", "0", "10", *anew)
            ],
        }
        for what, words in jobs.items():
            CARDS.add(what, processor_seconds(*words), "s of processor", at_most=JOB)


def processor_seconds(*words: str) -> float:
    """Return the median processor time of a command, its start included.

    The first run is not counted: it may compile modules, as pip does when it installs them.
    """
    times = []
    for _ in range(RUNS + 1):
        before = of_children()
        run(words)
        times.append(of_children() - before)
    return median(times[1:])


def run(words: Sequence[str]) -> None:
    """Run a command with one thread for sums, keeping compiled modules even where images forbid."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(
        [sys.executable, "-m", "masquerade", *words],
        check=True,
        stdout=subprocess.DEVNULL,
        env=environment,
    )


if __name__ == "__main__":
    main()
