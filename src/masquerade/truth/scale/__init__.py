"""Truths of more claims than memory holds: partitions streamed here or over a Dask cluster."""

from masquerade.truth.scale.engines import DaskCluster, Engine, Stream
from masquerade.truth.scale.fit import PartitionFit, fit_partitions
from masquerade.truth.scale.index import Index
from masquerade.truth.scale.partitions import Partition, Partitions, partition_by_task

__all__ = [
    "DaskCluster",
    "Engine",
    "Index",
    "Partition",
    "PartitionFit",
    "Partitions",
    "Stream",
    "fit_partitions",
    "partition_by_task",
]
