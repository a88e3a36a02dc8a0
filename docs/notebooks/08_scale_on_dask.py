"""
Scale on Dask
=============

You will fit a method to more claims than you want in memory, first in one process, then on a Dask cluster, with the
same result. You need ``pip install '.[dask,plots]'``.
"""

# %%
# 40,000 made-up claims, written as eight partitions. All claims of a task are in one partition.

import tempfile
from pathlib import Path

import numpy as np
from dask.distributed import LocalCluster

import masquerade as mq
from masquerade.truth.scale import (
    DaskCluster,
    Partitions,
    Stream,
    fit_partitions,
    partition_by_task,
)

folder = Path(tempfile.mkdtemp())
claims, truths = mq.simulate.crowd(np.random.default_rng(1), tasks=4_000, workers=40, options=3)
(folder / "collected").mkdir()
claims.write(folder / "collected" / "all.parquet")
partition_by_task(folder / "collected", folder / "claims", partitions=8)
sorted(path.name for path in (folder / "claims").iterdir())

# %%
# One process reads one partition at a time, and needs memory for one partition only.

with Stream() as engine:
    streamed = fit_partitions(Partitions.at(folder / "claims"), "one-coin", engine=engine)
    streamed.write(folder / "streamed")
streamed.converged_, streamed.reliability_.num_rows

# %%
# A small cluster inside this process. Elsewhere pass the scheduler's address, as in
# ``DaskCluster(scheduler="tcp://10.0.0.5:8786")``. Only sums over workers cross the network.

cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
)
with cluster, DaskCluster(scheduler=cluster.scheduler_address) as engine:
    spread = fit_partitions(Partitions.at(folder / "claims"), "one-coin", engine=engine)


def by_worker(fit):
    table = fit.reliability_
    return dict(zip(table["worker"].to_pylist(), table["reliability"].to_pylist(), strict=True))


one, two = by_worker(streamed), by_worker(spread)
print("largest difference:", max(abs(one[worker] - two[worker]) for worker in one))

# %%
# The same fit in memory, which easily holds 40,000 claims.

whole = mq.truth.OneCoin().fit(claims)
three = by_worker(whole)
print("largest difference:", max(abs(one[worker] - three[worker]) for worker in one))
print("labels found right:", round(mq.truth.accuracy(whole, truths), 3))

# %%
# The workers, the most reliable at the top.

axes = mq.plots.reliability(whole, title="40 workers, 40,000 claims")
axes.figure
