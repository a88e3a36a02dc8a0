"""Speed of crowd-kit's methods here and there, on the same claims, texts and comparisons.

    python benchmarks/truth_crowd_kit.py [--peer PYTHON]

PYTHON is an interpreter that has crowd-kit, ``BENCH_PEER`` where it is not given. Both read the
same data frame, with all checks, and give a result a task; the figures are processor time, the
least of up to five runs. crowd-kit's zero-based skill does all its iterations, ours ends when
nothing moves. This file is run by that interpreter too, with ``--theirs``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from card import PEER, Cards, sized

TASKS, WORKERS, EACH = sized((600, 30, 6), (6_000, 120, 8))
TEXTS = sized(60, 400)
PAIRS = sized(600, 4_000)
MOST_SECONDS = sized(2.0, 20.0)


def claims(options: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return claims of workers of different accuracy, and the truths of a tenth of the tasks."""
    rng = np.random.default_rng(1)
    accuracy, truth = rng.beta(6, 2, WORKERS), rng.integers(0, options, TASKS)
    worker = np.argsort(rng.random((TASKS, WORKERS)), axis=1)[:, :EACH].ravel()
    task = np.repeat(np.arange(TASKS), EACH)
    other = (truth[task] + rng.integers(1, options, len(task))) % options
    label = np.where(rng.random(len(task)) < accuracy[worker], truth[task], other)
    frame = pd.DataFrame({"task": task, "worker": worker, "label": label})
    return frame, pd.Series(truth[: TASKS // 2])


def lists() -> pd.DataFrame:
    """Return lists of labels: those of 6 that a worker takes to hold."""
    frame, _ = claims(64)
    bits = (frame["label"].to_numpy()[:, None] >> np.arange(6)) & 1
    frame["label"] = [[f"l{k}" for k in np.flatnonzero(row)] for row in bits]
    return frame


def texts() -> pd.DataFrame:
    """Return texts of 20 words with some lost and some changed."""
    rng, rows = np.random.default_rng(2), []
    words = np.array([f"word{k}" for k in range(200)])
    for task in range(TEXTS):
        said = rng.choice(words, 20)
        for worker in range(6):
            text = np.where(rng.random(20) < 0.1, rng.choice(words, 20), said)
            rows.append((task, worker, " ".join(text[rng.random(20) > 0.1])))
    return pd.DataFrame(rows, columns=["task", "worker", "text"])


def pairs() -> pd.DataFrame:
    """Return choices between 20 items, of workers of whom some do not look."""
    rng = np.random.default_rng(3)
    strength = np.linspace(1.5, -1.5, 20)
    pair = np.array([rng.choice(20, 2, replace=False) for _ in range(PAIRS)])
    worker = rng.integers(0, 20, PAIRS)
    margin = strength[pair[:, 0]] - strength[pair[:, 1]]
    left = rng.random(PAIRS) < np.where(worker < 15, 1 / (1 + np.exp(-margin)), 0.8)
    names = np.array([f"i{k:02}" for k in range(20)])
    chosen = names[np.where(left, pair[:, 0], pair[:, 1])]
    columns = {"worker": worker, "left": names[pair[:, 0]], "right": names[pair[:, 1]]}
    return pd.DataFrame(columns | {"label": chosen})


def vector(text: str) -> Any:
    """Return counts of letters."""
    return np.array([text.count(letter) for letter in "0123456789 w"], dtype=float)


def jobs(room: Any) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name; `room` holds the classes, ours or crowd-kit's."""
    (three, gold), (two, _) = claims(3), claims(2)
    said, several, chosen = texts(), lists(), pairs()
    outputs = said.rename(columns={"text": "output"})
    outputs["embedding"] = outputs["output"].apply(vector)

    def likeness(one: str, other: str) -> float:
        return float(one == other)

    return {
        "GoldMajorityVote": lambda: room.GoldMajorityVote().fit_predict(three, gold),
        "ZeroBasedSkill": lambda: room.ZeroBasedSkill().fit_predict(three),
        "KOS": lambda: room.KOS().fit_predict(two),
        "MMSR": lambda: room.MMSR().fit_predict(three),
        "BinaryRelevance of majority votes": lambda: room.BinaryRelevance(
            room.MajorityVote()
        ).fit_predict(several),
        "ROVER": lambda: room.ROVER(str.split, " ".join).fit_predict(said),
        "RASA": lambda: room.RASA().fit_predict(outputs),
        "HRRASA": lambda: room.HRRASA(output_similarity=likeness).fit_predict(outputs),
        "NoisyBradleyTerry": lambda: room.NoisyBradleyTerry().fit_predict(chosen),
    }


def least_seconds(job: Callable[[], Any]) -> float:
    """Return the least processor time of a few runs."""
    seconds: list[float] = []
    while len(seconds) < 5 and sum(seconds) < MOST_SECONDS:
        started = time.process_time()
        job()
        seconds.append(time.process_time() - started)
    return min(seconds)


def of_crowd_kit() -> None:
    """Print crowd-kit's seconds as JSON, null for what does not run."""
    import crowdkit.aggregation as peer

    warnings.filterwarnings("ignore")
    found: dict[str, float | None] = {}
    for name, job in jobs(peer).items():
        try:
            found[name] = least_seconds(job)
        except Exception as error:
            print(f"{name}: {error!r}", file=sys.stderr)
            found[name] = None
    print(json.dumps(found))


def main() -> None:
    """Print one line a method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", default=PEER, help="an interpreter that has crowd-kit")
    parser.add_argument("--theirs", action="store_true", help="time crowd-kit, and print JSON")
    given = parser.parse_args()
    if given.theirs:
        of_crowd_kit()
        return
    from masquerade.preference import crowd_kit as pairwise
    from masquerade.truth import crowd_kit

    theirs: dict[str, float | None] = {}
    if given.peer:
        command = [given.peer, __file__, "--theirs"]
        theirs = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    crowd_kit.NoisyBradleyTerry = pairwise.NoisyBradleyTerry  # type: ignore[attr-defined]
    sizes = {"ROVER": f"{6 * TEXTS:,} texts", "NoisyBradleyTerry": f"{PAIRS:,} comparisons"}
    sizes |= dict.fromkeys(("RASA", "HRRASA"), sizes["ROVER"])
    cards = Cards(__file__)
    for name, job in jobs(crowd_kit).items():
        what = f"{name}, {sizes.get(name, f'{TASKS * EACH:,} claims')}"
        seconds = least_seconds(job)
        cards.add(
            what,
            seconds,
            "s",
            peer="crowd-kit",
            peer_value=theirs.get(name),
            libraries=("crowd-kit",),
        )


if __name__ == "__main__":
    main()
