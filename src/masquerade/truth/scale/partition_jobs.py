"""Jobs of an engine on one partition: functions that it may run anywhere, and again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from masquerade.answers import Truths
from masquerade.exact.arrays import Flags, Floats
from masquerade.truth.expectation_maximization import Model, SufficientStatistics
from masquerade.truth.expectation_maximization import entropies as block_entropies
from masquerade.truth.scale.coded_partition import Names, PartitionBlock
from masquerade.truth.scale.partitions import Partition
from masquerade.truth.ties import Ties, chances, pick, winners


def expectation_step(
    partition: Partition, scratch: Path, names: Names, model: Model, message: Any, earlier: Any
) -> SufficientStatistics:
    """Return the sufficient statistics of a partition's tasks.

    The earlier posteriors are worked out again: a task depends on nothing but its arguments, so any
    process can take it over at any time.
    """
    block = PartitionBlock.of(partition, scratch, names)
    before = None if earlier is None else model.posterior(block, earlier[0])
    return model.expectation_step(block, message, before)[1]


def entropies(
    partition: Partition,
    scratch: Path,
    names: Names,
    model: Model,
    message: Any,
    components: tuple[Any, int],
) -> Floats:
    """Return the summed entropy of tasks, by component of workers."""
    block = PartitionBlock.of(partition, scratch, names)
    return block_entropies(block, model.posterior(block, message), *components)


def truths(
    partition: Partition,
    scratch: Path,
    names: Names,
    model: Model,
    message: Any,
    ties: Ties,
    seed: int,
) -> pa.Table:
    """Return ``task``, ``label``."""
    block = PartitionBlock.of(partition, scratch, names)
    codes = pick(_winners(block, model, message), block.named(), ties=ties, seed=seed)
    labels = names.options.take(pa.array(codes, mask=codes < 0))
    return pa.table({"task": block.tasks, "label": labels})


def write_truths(
    partition: Partition,
    scratch: Path,
    names: Names,
    model: Model,
    message: Any,
    ties: Ties,
    seed: int,
    folder: Path,
) -> None:
    """Write ``task``, ``label`` to a file of `folder`."""
    table = truths(partition, scratch, names, model, message, ties, seed)
    pa_parquet.write_table(table, folder / f"part-{partition.number:05}.parquet")


def posteriors(
    partition: Partition, scratch: Path, names: Names, model: Model, message: Any
) -> pa.Table:
    """Return ``task`` and one column per option."""
    block = PartitionBlock.of(partition, scratch, names)
    shares = model.vote_shares(model.posterior(block, message))
    columns = [block.tasks, *map(pa.array, shares.T)]
    return pa.Table.from_arrays(columns, names=["task", *map(str, names.options.to_pylist())])


def unanswered(
    partition: Partition, scratch: Path, names: Names, model: Model, message: Any
) -> pa.Array:
    """Return the tasks that nobody answered."""
    block = PartitionBlock.of(partition, scratch, names)
    return block.tasks.take(pa.array(np.flatnonzero(block.votes.undecided())))


def hits(
    partition: Partition,
    scratch: Path,
    names: Names,
    model: Model,
    message: Any,
    ties: Ties,
    truths: Truths,
) -> Floats:
    """Return the expected number of right labels, and of tasks scored."""
    block = PartitionBlock.of(partition, scratch, names)
    chance = chances(_winners(block, model, message), ties=ties)
    code = truths.codes(block.named())
    counted = np.flatnonzero((code != -1) & (chance.sum(axis=1) > 0))
    right = np.maximum(code[counted], 0)
    hit = np.where(code[counted] >= 0, chance[counted, right], 0.0)
    return np.array([hit.sum(), len(counted)])


def _winners(block: PartitionBlock, model: Model, message: Any) -> Flags:
    return winners(model.posterior(block, message).scores, block.votes.undecided())


def join_tables(one: pa.Table, other: pa.Table) -> pa.Table:
    """Join tables."""
    return pa.concat_tables([one, other])


def join_arrays(one: pa.Array, other: pa.Array) -> pa.Array:
    """Join arrays."""
    return pa.concat_arrays([one, other])


def join_nothing(one: None, other: None) -> None:
    """Join results that were written only."""
