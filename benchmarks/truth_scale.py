"""Truth discovery on more claims than a worker's memory: time, memory, traffic, a worker killed.

Run with ``python benchmarks/truth_scale.py`` (1e6 and 1e7 claims) or ``--claims 1e7,1e8``. Each
size is made up on disk as Parquet partitions of a million claims (20 000 workers, 5 labels, 10
claims a task), then fitted with ten rounds of truth discovery on a Dask cluster of two processes of
2 GiB. Sizes that memory holds are fitted there too, and compared; 0 leaves them out. Then `auto` is
fitted to ``--auto`` claims of the same kind (1e6; 1e7 in full size, several separated by commas, 0
leaves it out), beside majority vote and up to 1e7 Dawid-Skene in the same run, in one process too
with ``--stream``, and compared with memory up to 1e6.

Traffic is what the loopback device sent, all processes of the machine together; run it with
``unshare -n sh -c 'ip link set lo up; exec python benchmarks/truth_scale.py'`` to have it alone.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from card import Cards, sized
from masquerade.answers import Claims
from masquerade.truth import Auto, TruthDiscovery
from masquerade.truth.scale import DaskCluster, PartitionFit, Partitions, Stream, fit_partitions

CARDS = Cards(__file__)
LABELS = 5
WORKERS = 20_000
PER_TASK = 10
ROUNDS = 10
PROCESSES = 2
MEMORY = "2GiB"
LARGEST_IN_MEMORY = 10_000_000
LARGEST_AUTO_IN_MEMORY = 1_000_000
LARGEST_DAWID_SKENE = 10_000_000
MEBIBYTES = 2048  # of `MEMORY`


@dataclass
class Watch:
    """Time and traffic of each round; kills a worker after a round if told to."""

    engine: Any
    kill_after: int | None = None

    def __post_init__(self) -> None:
        self.seconds: list[float] = []
        self.traffic: list[int] = []
        self.mark()

    def mark(self) -> None:
        """Begin a round."""
        self.started, self.sent = time.perf_counter(), loopback_bytes()

    def __call__(self, done: int, most: int) -> None:
        """End a round, and begin the next."""
        self.seconds.append(time.perf_counter() - self.started)
        self.traffic.append(loopback_bytes() - self.sent)
        if done == self.kill_after:
            victim = next(iter(self.engine.client.run(os.getpid).values()))
            wait = self.seconds[-1] / 2  # in the middle of the next round
            threading.Timer(wait, os.kill, (victim, signal.SIGKILL)).start()
        self.mark()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--claims", default=sized("2e5", "1e6,1e7"), help="sizes, separated by commas"
    )
    parser.add_argument(
        "--partition", type=float, default=sized(5e4, 1e6), help="claims a partition"
    )
    parser.add_argument("--auto", default=sized("1e6", "1e7"), help="claims that auto is fitted to")
    parser.add_argument("--folder", type=Path, default=None, help="where partitions are made")
    parser.add_argument("--stream", action="store_true", help="measure one process too")
    given = parser.parse_args()
    for size in _sizes(given.claims):
        with tempfile.TemporaryDirectory(dir=given.folder, prefix="truth-scale-") as folder:
            measure(size, int(given.partition), Path(folder), stream=given.stream)
    for size in _sizes(given.auto):
        with tempfile.TemporaryDirectory(dir=given.folder, prefix="truth-scale-") as folder:
            partition = min(1_000_000, size // 5)
            measure_auto(size, partition, Path(folder), stream=given.stream)


def _sizes(given: str) -> list[int]:
    return [int(float(size)) for size in given.split(",") if float(size)]


def measure(claims: int, partition: int, folder: Path, *, stream: bool) -> None:
    """Make up `claims` claims and print time and memory of their fit."""
    started = time.perf_counter()
    simulate(claims, min(partition, claims), folder)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(
        f"\n{claims:.0e} claims, {len(list(folder.iterdir()))} partitions, {size / 1e6:.0f} MB of "
        f"Parquet (made in {time.perf_counter() - started:.0f} s)"
    )
    partitions, method = Partitions.at(folder), TruthDiscovery(max_iterations=ROUNDS)
    plain = on_dask(partitions, method, None)
    killed = on_dask(partitions, method, ROUNDS // 2)
    off = largest_difference(plain, killed)
    CARDS.add("largest difference of a weight where a worker was killed", off, "", at_most=1e-9)
    if stream:
        started = time.perf_counter()
        with Stream(scratch=folder.parent) as engine:
            watch = Watch(engine)
            fit_partitions(partitions, method, engine=engine, progress=watch)
        report(f"one process, {claims:,} claims", started, watch)
        print(f"    peak memory {_peak_memory():.0f} MiB")
    if claims <= LARGEST_IN_MEMORY:
        whole = Claims.from_frame(pa_parquet.read_table(folder))
        started = time.perf_counter()
        fit = TruthDiscovery(max_iterations=ROUNDS).fit(whole)
        CARDS.add(f"in memory, {claims:,} claims", time.perf_counter() - started, "s")
        off = largest_difference(plain, fit)
        CARDS.add("largest difference to the fit in memory", off, "", at_most=1e-9)
        print(
            f"labels of {plain.truths_.num_rows} tasks equal: {plain.truths_.equals(fit.truths_)}"
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def measure_auto(claims: int, partition: int, folder: Path, *, stream: bool) -> None:
    """Print time and memory of `auto` for `claims` claims on two processes."""
    simulate(claims, min(partition, claims), folder)
    name = f"auto, two processes, {claims:,} claims"
    partitions = Partitions.at(folder)
    if stream:
        streamed(partitions, claims, folder.parent)
    with DaskCluster(workers=PROCESSES, memory_limit=MEMORY) as engine:
        seconds = {}
        others = ("majority-vote", *(("dawid-skene",) if claims <= LARGEST_DAWID_SKENE else ()))
        for method in (*others, "auto"):
            started, before = time.perf_counter(), processor_seconds(engine)
            fit = fit_partitions(partitions, method, engine=engine)
            seconds[method] = time.perf_counter() - started
            what = f"{method}, two processes, {claims:,} claims"
            CARDS.add(f"{what}, in all", seconds[method], "s")
            CARDS.add(f"{what}, processor time", processor_seconds(engine) - before, "s")
        for method in others:
            ratio = seconds["auto"] / seconds[method]
            CARDS.add(f"{name}, times {method}", ratio, "")
        peak = max(engine.client.run(_peak_memory).values())
        CARDS.add(f"{name}, peak memory of a process", peak, "MiB", at_most=MEBIBYTES)
        chosen = fit.selection_.filter(fit.selection_["chosen"])["candidate"][0]
        sample = fit.selection_["sample_claims"][0].as_py()
        on = "all claims" if sample is None else f"a sample of {sample:,} claims"
        print(f"    chosen {chosen} on {on}, rounds {fit.iterations_}, converged {fit.converged_}")
        if claims > LARGEST_AUTO_IN_MEMORY:
            return
        truths = fit.truths_
    whole = Claims.from_frame(pa_parquet.read_table(folder))
    started = time.perf_counter()
    memory = Auto().fit(whole)
    CARDS.add(f"auto, in memory, {claims:,} claims", time.perf_counter() - started, "s")
    off = largest_difference(fit, memory)
    CARDS.add("auto, largest difference of a weight to memory", off, "", at_most=1e-9)
    print(f"labels of {truths.num_rows} tasks equal: {truths.equals(memory.truths_)}")


def streamed(partitions: Partitions, claims: int, scratch: Path) -> None:
    """Print time and memory of `auto` in one process, partition by partition."""
    name = f"auto, one process, {claims:,} claims"
    with Stream(scratch=scratch) as engine:
        started, before = time.perf_counter(), time.process_time()
        fit_partitions(partitions, "auto", engine=engine)
        CARDS.add(f"{name}, in all", time.perf_counter() - started, "s")
        CARDS.add(f"{name}, processor time", time.process_time() - before, "s")
        CARDS.add(f"{name}, peak memory", _peak_memory(), "MiB")


def processor_seconds(engine: DaskCluster) -> float:
    """Return the processor time of this process and the cluster's workers so far."""
    spent: dict[str, float] = engine.client.run(time.process_time)
    return time.process_time() + sum(spent.values())


def on_dask(partitions: Partitions, method: TruthDiscovery, kill_after: int | None) -> PartitionFit:
    """Fit on a new cluster and print time and memory; with its truths, if they are few."""
    with DaskCluster(workers=PROCESSES, memory_limit=MEMORY) as engine:
        started = time.perf_counter()
        watch = Watch(engine, kill_after)
        fit = fit_partitions(partitions, method, engine=engine, progress=watch)
        name = "two processes" if kill_after is None else "two processes, one killed"
        report(f"{name}, {fit.index.n_claims:,} claims", started, watch)
        peaks = engine.client.run(_peak_memory).values()
        print(f"    peak memory of each process {', '.join(f'{peak:.0f} MiB' for peak in peaks)}")
        print(f"    rounds {fit.iterations_}, converged {fit.converged_}")
        if fit.index.n_claims <= LARGEST_IN_MEMORY:
            _ = fit.truths_
    return fit


def report(name: str, started: float, watch: Watch) -> None:
    """Print time and traffic."""
    total = time.perf_counter() - started
    CARDS.add(f"{name}, in all", total, "s")
    CARDS.add(f"{name}, a round", float(np.median(watch.seconds[1:])), "s")
    CARDS.add(f"{name}, traffic of a round", float(np.median(watch.traffic[1:])) / 1e6, "MB")
    # The first entry holds the two passes that code the partitions, and the first vote.
    first, rest = watch.seconds[0], watch.seconds[1:]
    print(
        f"  {name}: {total:.1f} s in all, {first:.1f} s to code and vote, a round "
        f"{np.median(rest):.2f} s (longest {max(rest):.1f} s)"
    )
    print(
        f"    traffic of a round: median {np.median(watch.traffic[1:]) / 1e6:.2f} MB, least "
        f"{min(watch.traffic[1:]) / 1e6:.2f}, most {max(watch.traffic[1:]) / 1e6:.2f}; "
        f"coding {watch.traffic[0] / 1e6:.1f} MB"
    )


def largest_difference(one: Any, other: Any) -> float:
    """Return the largest difference of two fits' weights."""
    first, second = (dict(zip(*_weights(fit), strict=True)) for fit in (one, other))
    return max(abs(first[worker] - second[worker]) for worker in first)


def _weights(fit: Any) -> tuple[list[str], list[float]]:
    table = fit.reliability_
    return table["worker"].to_pylist(), table["weight"].to_pylist()


def _peak_memory() -> float:
    """Return this process's peak in MiB (getrusage would count the parent's before it)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def loopback_bytes() -> int:
    """Return the bytes that the loopback device has sent so far."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        if line.strip().startswith("lo:"):
            return int(line.split()[9])
    return 0


def simulate(claims: int, partition: int, folder: Path) -> None:
    """Write partitions of `partition` claims each."""
    rng = np.random.default_rng(4)
    ability = rng.beta(4, 4, WORKERS)
    workers = pa.array([f"w{worker}" for worker in range(WORKERS)])
    labels = pa.array([f"label {label}" for label in range(LABELS)])
    for number in range(claims // partition):
        n_tasks = partition // PER_TASK
        task = np.repeat(np.arange(n_tasks, dtype=np.int32), PER_TASK)
        # different workers on a task: a start and a stride
        start = rng.integers(0, WORKERS, n_tasks)
        stride = rng.integers(1, WORKERS // PER_TASK, n_tasks)
        worker = (start[:, None] + stride[:, None] * np.arange(PER_TASK)) % WORKERS
        truth = rng.integers(0, LABELS, n_tasks)[task]
        wrong = rng.random(len(task)) >= ability[worker.ravel()]
        label = (truth + wrong * rng.integers(1, LABELS, len(task))) % LABELS
        tasks = pa.array([f"t{number * n_tasks + i}" for i in range(n_tasks)])
        columns = ((task, tasks), (worker.ravel(), workers), (label, labels))
        table = pa.table(
            [
                pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names).cast(
                    pa.string()
                )
                for codes, names in columns
            ],
            names=["task", "worker", "label"],
        )
        pa_parquet.write_table(table, folder / f"part-{number:05}.parquet")


if __name__ == "__main__":
    main()
