"""Accuracy of every method for categories on every real set with truths.

Printed as Markdown tables.

    python benchmarks/truth_accuracy.py [DATA] [--peer PYTHON] [--out FILE]

The tables in the documentation are FILE ``docs/explanation/truth-accuracy.inc``.
DATA is the folder of sets (one folder a set with ``claims.csv.gz`` and ``truth.csv``), by default
what ``MASQUERADE_DATA`` names; at small size the sets of at most 5,000 claims are used. PYTHON is
an interpreter that has crowd-kit, ``BENCH_PEER`` where it is not given; its methods then see the
same claims in the same run. Repeated claims all count, for both. crowd-kit's own order of options
decides its ties; ours are scored in expectation.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from card import FULL, PEER, Cards
from masquerade.answers import Claims, Truths
from masquerade.truth import (
    GLAD,
    MACE,
    Auto,
    BayesianCombination,
    CategoricalEstimator,
    DawidSkene,
    MajorityVote,
    OneCoin,
    OneCoinDawidSkene,
    Subtypes,
    TruthDiscovery,
    TwoCoin,
    WeightedVote,
    accuracy,
    expected_calibration_error,
)

CARDS = Cards(__file__)
MOST_CLAIMS_IF_SMALL = 5_000
METHODS: dict[str, type[CategoricalEstimator]] = {
    "majority": MajorityVote,
    "weighted": WeightedVote,
    "truth disc.": TruthDiscovery,
    "one-coin": OneCoin,
    "one-coin DS": OneCoinDawidSkene,
    "two-coin": TwoCoin,
    "DS": DawidSkene,
    "GLAD": GLAD,
    "MACE": MACE,
    "combination": BayesianCombination,
    "subtypes": Subtypes,
    "auto": Auto,
}
PEERS = {
    "crowd-kit majority": "MajorityVote",
    "crowd-kit Wawa": "Wawa",
    "crowd-kit one-coin DS": "OneCoinDawidSkene",
    "crowd-kit DS": "DawidSkene",
}
EVERYWHERE = ("auto",)
PARTS = {
    "Votes, and methods with one accuracy a worker": (
        "majority",
        "weighted",
        "truth disc.",
        "one-coin",
        "one-coin DS",
        "auto",
    ),
    "Methods with confusions, difficulties or kinds of tasks": (
        "two-coin",
        "DS",
        "GLAD",
        "MACE",
        "combination",
        "subtypes",
        "auto",
    ),
    "crowd-kit": (*PEERS, "auto"),
}
"""Which methods stand side by side; `EVERYWHERE` in each, to compare with."""


def main() -> None:
    """Print the tables, and write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", default=os.environ.get("MASQUERADE_DATA"))
    parser.add_argument("--peer", default=PEER, help="an interpreter that has crowd-kit")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.data is None:
        print(
            "MASQUERADE_DATA is not set, and no folder of data sets is given: nothing is measured"
        )
        return
    index = json.loads((given.data / "index.json").read_text("utf-8"))
    names = sorted(name for name, facts in index.items() if "mv_accuracy" in facts)
    sets = {name: read(given.data / name) for name in names}
    if not FULL:
        sets = {n: one for n, one in sets.items() if len(one[0]) <= MOST_CLAIMS_IF_SMALL}
        names = list(sets)
    table: dict[str, dict[str, float]] = {name: {} for name in names}
    errors: dict[str, list[float]] = {}
    for name, (claims, truths) in sets.items():
        started = time.perf_counter()
        for label, method in METHODS.items():
            fit = method().fit(claims)
            table[name][label] = accuracy(fit, truths)
            errors.setdefault(label, []).append(expected_calibration_error(fit, truths))
        print(f"{name}: {time.perf_counter() - started:.1f} s", file=sys.stderr)
    columns = list(METHODS)
    if given.peer:
        for name, found in peer_scores(given.peer, sets).items():
            table[name] |= found
        columns += list(PEERS)
    text = markdown(table, columns, errors)
    print(text)
    if given.out:
        given.out.write_text(text, "utf-8")
    keep_means(table)


def keep_means(table: dict[str, dict[str, float]]) -> None:
    """Keep a card of each method's mean, beside the majority vote and crowd-kit's."""

    def mean(column: str) -> float | None:
        known = [row[column] for row in table.values() if column in row]
        return float(np.mean(known)) if len(known) == len(table) else None

    for label in METHODS:
        ours = mean(label)
        assert ours is not None
        what = f"mean accuracy over {len(table)} real sets, {label}"
        peer = f"crowd-kit {label}"
        if peer in PEERS:
            theirs, more = mean(peer), ("crowd-kit",)
            CARDS.add(what, ours, "", peer=peer, peer_value=theirs, better="higher", libraries=more)
        if label != "majority":
            vote = mean("majority")
            CARDS.add(what, ours, "", peer="majority vote", peer_value=vote, better="higher")


def read(folder: Path) -> tuple[Claims, Truths]:
    """Return a set."""
    claims = Claims.read(folder / "claims.csv.gz", kind="categorical", duplicates="all")
    return claims, Truths.read(folder / "truth.csv")


def peer_scores(python: str, sets: dict[str, tuple[Claims, Truths]]) -> dict[str, dict[str, float]]:
    """Return crowd-kit's accuracies on the same claims."""
    scores: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, (claims, _) in sets.items():
            files[name] = f"{folder}/{name}.npz"
            np.savez(files[name], task=claims.task, worker=claims.worker, value=claims.value)
        script = Path(__file__).with_name("crowd_kit_peer.py")
        done = subprocess.run(
            [python, str(script), ",".join(PEERS.values()), *files.values()],
            check=True,
            stdout=subprocess.PIPE,
        )
        found = json.loads(done.stdout)
    for name, (claims, truths) in sets.items():
        true = truths.codes(claims)
        scores[name] = {}
        for label, method in PEERS.items():
            result = found[files[name]].get(method)
            if result is None:
                continue
            tasks, labels = np.array(result["tasks"]), np.array(result["labels"])
            known = true[tasks] != -1
            scores[name][label] = float((labels[known] == true[tasks][known]).mean())
    return scores


def markdown(
    table: dict[str, dict[str, float]], columns: list[str], errors: dict[str, list[float]]
) -> str:
    """Return tables narrow enough to be read; the best of each set, over all of them, is bold."""
    parts = [
        f"**{title}**\n\n{part(table, [c for c in shown if c in columns], errors)}"
        for title, shown in PARTS.items()
        if any(c in columns for c in shown if c not in EVERYWHERE)
    ]
    return "\n".join(parts)


def part(
    table: dict[str, dict[str, float]], columns: list[str], errors: dict[str, list[float]]
) -> str:
    """Return the table of some methods."""
    lines = ["| set | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, row in table.items():
        best = max(row.values())
        cells = (
            "" if c not in row else f"**{row[c]:.3f}**" if row[c] > best - 5e-4 else f"{row[c]:.3f}"
            for c in columns
        )
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    full = [c for c in columns if all(c in row for row in table.values())]
    mean = {c: float(np.mean([row[c] for row in table.values()])) for c in full}
    worst = {c: min(row[c] - row["majority"] for row in table.values()) for c in full}
    for title, value in (("mean", mean), ("worst", worst)):
        cells = (f"{value[c]:.4f}" if c in value else "" for c in columns)
        lines.append(f"| **{title}** | " + " | ".join(cells) + " |")
    if any(c in errors for c in columns if c not in EVERYWHERE):
        calibration = (f"{np.mean(errors[c]):.3f}" if c in errors else "" for c in columns)
        lines.append("| **calibration** | " + " | ".join(calibration) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
