"""Truths of more claims than memory holds: partitions streamed here or over a Dask cluster."""

from masquerade.truth.scale.engines import DaskCluster, Engine, Stream
from masquerade.truth.scale.fit import PartitionFit, fit_partitions
from masquerade.truth.scale.index import Index
from masquerade.truth.scale.numeric_fit import NumericErrors, NumericPartitionFit, fit_numbers
from masquerade.truth.scale.partitions import Partition, Partitions, partition_by_task
from masquerade.truth.scale.solvers import AT_SCALE

__all__ = [
    "AT_SCALE",
    "DaskCluster",
    "Engine",
    "Index",
    "NumericErrors",
    "NumericPartitionFit",
    "Partition",
    "PartitionFit",
    "Partitions",
    "Stream",
    "fit_numbers",
    "fit_partitions",
    "partition_by_task",
]
