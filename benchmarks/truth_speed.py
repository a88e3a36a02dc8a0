"""Speed and memory of the methods for categories.

    python benchmarks/truth_speed.py [--claims 1e6]

`peers` compares with other libraries. Claims are integer-coded and already in memory. Times are
processor time, the least of a few runs; only from Parquet it is the time on the clock.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from card import Cards, sized
from masquerade.answers import Claims
from masquerade.simulate import crowd
from masquerade.truth import (
    Auto,
    BayesianCombination,
    CategoricalEstimator,
    DawidSkene,
    MajorityVote,
    OneCoin,
    OneCoinDawidSkene,
    TruthDiscovery,
)

CARDS = Cards(__file__)
OPTIONS = 5


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=float, default=sized(1e5, 1e6))
    parser.add_argument("--skip-auto", action="store_true")
    given = parser.parse_args()
    n = int(given.claims)
    claims, _ = crowd(
        np.random.default_rng(1),
        tasks=n // 10,
        workers=max(n // 500, 50),
        options=OPTIONS,
        answers_per_task=10,
    )
    few, _ = crowd(np.random.default_rng(1), tasks=10, workers=5, options=2, answers_per_task=5)
    for method in (MajorityVote(), OneCoinDawidSkene(), DawidSkene(), TruthDiscovery(), OneCoin()):
        labels(method, few)  # libraries are loaded with the first fit
    print(f"{claims}; peak so far {peak() / n:.0f} bytes a claim (making the claims)")
    before = peak()
    stream = timed(lambda: int(claims.task.sum()) + int(claims.worker.sum()), repeat=5)
    print(f"streaming task and worker codes once: {stream:.4f} s")
    ten: dict[str, Any] = {"max_iterations": 10, "tolerance": 0}
    for name, method, repeat in (
        ("majority vote", MajorityVote(), 50),
        ("one-coin Dawid-Skene, 10 iterations", OneCoinDawidSkene(**ten), 5),
        ("Dawid-Skene, 10 iterations", DawidSkene(**ten), 5),
    ):
        seconds = timed(partial(labels, method, claims), repeat=repeat)
        CARDS.add(f"{name}, {n:,} claims", seconds, "s")
    more = {
        "truth discovery": lambda k: TruthDiscovery(max_iterations=k),
        "one-coin": lambda k: OneCoin(max_iterations=k, tolerance=1e-300),
        "Dawid-Skene": lambda k: DawidSkene(max_iterations=k, tolerance=0),
    }
    for name, make in more.items():
        each = per_iteration(make, claims)
        CARDS.add(
            f"{name}, an iteration, {n:,} claims",
            each,
            "s",
            peer="reading all codes once",
            peer_value=stream,
        )
    more_memory = (peak() - before) / n
    CARDS.add("peak memory of these fits, beyond the claims", more_memory, "bytes a claim")
    if not given.skip_auto:
        for default in (BayesianCombination(), Auto()):
            seconds = timed(partial(labels, default, claims), repeat=1)
            CARDS.add(f"{default.name}, {n:,} claims", seconds, "s")
    frame = {"task": claims.task, "worker": claims.worker, "label": claims.value}
    table = pa.table(frame)
    whole = timed(lambda: MajorityVote().fit(table).truths_, repeat=5)
    CARDS.add(f"majority vote of a table of {n:,} claims, checks and all", whole, "s")
    from_parquet(claims)
    many_labels()


def labels(method: CategoricalEstimator, claims: Claims) -> Any:
    """Fit and return labels."""
    return method.fit(claims).truths_


def timed(act: Callable[[], Any], *, repeat: int) -> float:
    """Return the least processor time of a few runs, in seconds."""
    best = np.inf
    for _ in range(repeat):
        started = time.process_time()
        act()
        best = min(best, time.process_time() - started)
    return float(best)


def per_iteration(make: Callable[[int], CategoricalEstimator], claims: Claims) -> float:
    """Return the time that more iterations take, by iteration, in seconds."""
    fits: dict[int, tuple[float, int]] = {}
    for most in (1, 6):
        method = make(most)
        fits[most] = timed(partial(method.fit, claims), repeat=20), method.iterations_
    (few, n_few), (many, n_many) = fits[1], fits[6]
    return (many - few) / max(n_many - n_few, 1)


def peak() -> int:
    """Return the most memory the process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def many_labels() -> None:
    """Time a fit of 300,000 claims on 100,000 tasks with 20,000 labels, and its memory."""
    rng = np.random.default_rng(1)
    tasks, options, workers = 100_000, 20_000, 1000
    truth, task = rng.integers(0, options, tasks), np.repeat(np.arange(tasks), 3)
    worker = rng.integers(0, workers, len(task))
    right = rng.random(len(task)) < rng.beta(8, 2, workers)[worker]
    label = np.where(right, truth[task], rng.integers(0, options, len(task)))
    table = {"task": task, "worker": worker, "label": label}
    claims = Claims.from_frame(table, options=list(range(options)), duplicates="all")
    for method in (MajorityVote(), Auto()):
        what = f"{method.name}, 300,000 claims of 20,000 labels"
        CARDS.add(what, timed(partial(labels, method, claims), repeat=1), "s", at_most=3)
        tracemalloc.start()
        labels(method, claims)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        CARDS.add(f"memory of {what}", most / 1e6, "MB", at_most=500)


def from_parquet(claims: Claims) -> None:
    """Time a file of claims, names as text, up to fitted majority votes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "claims.parquet"
        claims.write(path)
        started = time.perf_counter()
        labels(MajorityVote(), Claims.read(path))
        seconds = time.perf_counter() - started
        size = path.stat().st_size / 1e6
        CARDS.add(f"a Parquet file of {size:.0f} MB to majority votes", seconds, "s")


if __name__ == "__main__":
    main()
