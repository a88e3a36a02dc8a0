"""Leaderboards from many votes: processor seconds and memory.

A million votes of 50,000 voters on 300 items, 30 % of them ties, from Parquet to ranks; and a
hundred files of as many.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from card import Cards, sized

CARDS = Cards(__file__)
VOTES, VOTERS, ITEMS = sized(100_000, 1_000_000), sized(5_000, 50_000), sized(100, 300)
FILES = sized(2, 10)
TIMES = sized(2, 10)


def arena(rng: np.random.Generator) -> pa.Table:
    """Return made-up votes with ties."""
    strengths = rng.standard_normal(ITEMS)
    first = rng.integers(0, ITEMS, VOTES)
    second = (first + rng.integers(1, ITEMS, VOTES)) % ITEMS
    half = np.exp((strengths[first] - strengths[second]) / 2)
    total, chance = half + 1 / half + 0.9, rng.random(VOTES)
    outcome = np.where(chance < half / total, 0, np.where(chance < (half + 0.9) / total, 1, 2))
    names = np.array([f"model-{place:03}" for place in range(ITEMS)])
    return pa.table(
        {
            "model_a": names[first],
            "model_b": names[second],
            "winner": np.array(["model_a", "tie", "model_b"])[outcome],
            "voter": np.char.add("v", rng.integers(0, VOTERS, VOTES).astype(str)),
            "prompt": rng.integers(0, 10**9, VOTES),
        }
    )


#: A fresh process: what it loads first is not in its seconds, and is in its memory.
MEASURE = """
import sys, time
from masquerade.answers import Battles
from masquerade.preference import Leaderboard
Leaderboard.fit({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]}, prior=1)
start = time.process_time()
path, what = sys.argv[1:]
Leaderboard.scan(path) if what == "all" else Leaderboard.fit(Battles.read(path))
seconds = time.process_time() - start
# Not `ru_maxrss`, in which the process that started this one is.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(seconds, int(status["VmHWM"].split()[0]) / 1000)
"""


def measured(path: Path, what: str) -> tuple[float, float]:
    """Return processor seconds and memory in MB of a leaderboard."""
    command = [sys.executable, "-c", MEASURE, str(path), what]
    seconds, memory = subprocess.run(command, check=True, capture_output=True).stdout.split()
    return float(seconds), float(memory)


def main() -> None:
    """Measure and print the cards."""
    with tempfile.TemporaryDirectory() as folder:
        for place in range(FILES):
            file = Path(folder) / f"votes-{place:03}.parquet"
            pq.write_table(arena(np.random.default_rng(place)), file)
        seconds, memory = measured(file, "one")
        what = f"{VOTES:,} votes, {ITEMS} items, {VOTERS:,} voters, ties"
        CARDS.add(f"{what}: from Parquet to ranks", seconds, "s", at_most=1.8)
        CARDS.add(f"{what}: memory of the process", memory, "MB", at_most=300)
        for place in range(FILES, TIMES * FILES):  # the same votes again, of the same voters
            source = Path(folder) / f"votes-{place % FILES:03}.parquet"
            (Path(folder) / f"votes-{place:03}.parquet").symlink_to(source)
        seconds, memory = measured(Path(folder), "all")
        what = f"{TIMES * FILES} files of {VOTES:,} votes"
        CARDS.add(f"{what}, one at a time", seconds, "s")
        CARDS.add(f"{what}, one at a time: memory of the process", memory, "MB", at_most=2048)


if __name__ == "__main__":
    main()
