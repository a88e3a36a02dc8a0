"""Print what crowd-kit makes of a small crowd, as JSON: the oracle of tests/truth.

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


def of_texts() -> dict[str, Any]:
    """Return texts with words lost, changed and added, and what each method takes and weighs."""
    rng, rows = np.random.default_rng(4), []
    for task in range(12):
        words = list(rng.choice(list("abcdefgh"), rng.integers(1, 9)))
        for worker in range(rng.integers(1, 6)):
            said = [word if rng.random() > 0.2 else str(rng.choice(list("xyz"))) for word in words]
            said = [word for word in said if rng.random() > 0.2]
            if rng.random() < 0.4:
                said.insert(int(rng.integers(0, len(said) + 1)), "long")
            rows.append((f"t{task}", f"w{worker}", " ".join(said)))
    table = pd.DataFrame(rows, columns=["task", "worker", "text"])
    outputs = table.rename(columns={"text": "output"})
    outputs["embedding"] = outputs["output"].apply(vector)
    rover = peer.ROVER(lambda text: text.split(), lambda words: " ".join(words))
    rasa = peer.RASA()
    hrrasa = peer.HRRASA(output_similarity=lambda one, other: 0.5 * (one == other) + 0.1)
    return {
        "texts": table.to_dict("list"),
        "rover": by_name(rover.fit_predict(table)),
        "rasa": by_name(rasa.fit_predict(outputs)["output"]),
        "rasa_weights": by_name(rasa.skills_),
        "hrrasa": by_name(hrrasa.fit_predict(outputs)["output"]),
        "hrrasa_weights": by_name(hrrasa.skills_),
    }


def vector(text: str) -> Any:
    """Return a vector of a text; the tests of the project have the same."""
    counts = [len(text) + 1, text.count("a") + 0.1, text.count("b") + 0.2, text.count("l")]
    return np.array(counts, dtype=float)


def main() -> None:
    """Print the claims and what each method learns."""
    three, truth = crowd(3, 1)
    two, _ = crowd(2, 3)
    gold = pd.Series({f"t{task}": "abc"[truth[task]] for task in range(15)})
    result: dict[str, Any] = {
        "crowd_kit": version("crowd-kit"),
        "three": three.to_dict("list"),
        "two": two.to_dict("list"),
        "gold": by_name(gold),
        "gold_skills": by_name(peer.GoldMajorityVote().fit(three, gold).skills_),
        "gold_labels": by_name(peer.GoldMajorityVote().fit_predict(three, gold)),
        "zero_based_skills": by_name(peer.ZeroBasedSkill().fit(three).skills_),
        "mmsr_skills": by_name(peer.MMSR().fit(three).skills_),
        "kos_labels": by_name(peer.KOS().fit_predict(two)),
    }
    result |= of_texts()
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in result.items())
    sys.stdout.write("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
