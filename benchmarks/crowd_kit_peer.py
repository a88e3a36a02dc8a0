"""Run crowd-kit on files of claims, in an interpreter that has it, and print JSON.

Usage: ``PYTHON crowd_kit_peer.py METHODS FILE...``; a file is a ``.npz`` with the integer arrays
``task``, ``worker``, ``value``. Prints ``{file: {method: {"seconds": s, "labels": [...]}}}``, where
the seconds are processor time, the least of up to ten runs (one where runs take seconds).
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import crowdkit.aggregation as peer
import numpy as np
import pandas as pd

from card import sized

MOST_SECONDS = sized(0.3, 3.0)
METHODS = {
    "MajorityVote": lambda: peer.MajorityVote(),
    "Wawa": lambda: peer.Wawa(),
    "OneCoinDawidSkene": lambda: peer.OneCoinDawidSkene(),
    "DawidSkene": lambda: peer.DawidSkene(),
    "GLAD": lambda: peer.GLAD(),
    "MACE": lambda: peer.MACE(random_state=0),
}


def main() -> None:
    """Print the truths of every method for every file."""
    warnings.filterwarnings("ignore")
    methods, *files = sys.argv[1:]
    result: dict[str, dict[str, object]] = {}
    for file in files:
        arrays = np.load(file)
        frame = pd.DataFrame(
            {"task": arrays["task"], "worker": arrays["worker"], "label": arrays["value"]}
        )
        result[file] = {}
        for name in methods.split(","):
            if name in ("GLAD", "MACE") and len(frame) > 30_000:
                continue  # minutes
            try:
                labels, seconds = timed(name, frame)
            except Exception as error:
                print(f"{name} on {file}: {error!r}", file=sys.stderr)
                continue
            result[file][name] = {
                "seconds": seconds,
                "tasks": labels.index.tolist() if len(labels) < 50_000 else [],
                "labels": labels.tolist() if len(labels) < 50_000 else [],
            }
    print(json.dumps(result))


def timed(name: str, frame: pd.DataFrame) -> tuple[pd.Series, float]:
    """Return a method's labels and its least time."""
    seconds: list[float] = []
    while len(seconds) < 10 and sum(seconds) < MOST_SECONDS:
        started = time.process_time()
        labels = METHODS[name]().fit_predict(frame)
        seconds.append(time.process_time() - started)
    return labels, min(seconds)


if __name__ == "__main__":
    main()
