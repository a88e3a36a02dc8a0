"""Print crowd-kit's results for a small crowd, as JSON: the oracle of tests/truth.

    PYTHON tools/crowd_kit_golden.py > tests/vectors/crowd-kit.json

PYTHON is an interpreter that has crowd-kit 1.4 (and scikit-learn before 1.6, whose check of fitted
estimators it needs).
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

import crowdkit.aggregation as peer
import numpy as np
import pandas as pd

TASKS, WORKERS, EACH = 40, 9, 5


def crowd(options: int, seed: int) -> tuple[pd.DataFrame, Any]:
    """Return claims of workers of different accuracy, and the truths."""
    rng = np.random.default_rng(seed)
    accuracy, truth = rng.beta(5, 2, WORKERS), rng.integers(0, options, TASKS)
    rows = []
    for task in range(TASKS):
        for worker in rng.choice(WORKERS, EACH, replace=False):
            right = rng.random() < accuracy[worker]
            label = truth[task] if right else (truth[task] + rng.integers(1, options)) % options
            rows.append((f"t{task}", f"w{worker}", "abc"[label]))
    return pd.DataFrame(rows, columns=["task", "worker", "label"]), truth


def by_name(values: Any) -> dict[str, Any]:
    """Return a series as a dict."""
    return {str(key): value for key, value in values.items()}


def main() -> None:
    """Print the claims and the results of each method."""
    three, truth = crowd(3, 1)
    gold = pd.Series({f"t{task}": "abc"[truth[task]] for task in range(15)})
    result: dict[str, Any] = {
        "crowd_kit": version("crowd-kit"),
        "three": three.to_dict("list"),
        "gold": by_name(gold),
        "gold_skills": by_name(peer.GoldMajorityVote().fit(three, gold).skills_),
        "gold_labels": by_name(peer.GoldMajorityVote().fit_predict(three, gold)),
    }
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in result.items())
    sys.stdout.write("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
