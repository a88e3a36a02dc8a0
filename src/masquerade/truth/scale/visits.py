"""What is done in one partition: functions that an engine may run anywhere, and again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from masquerade.answers import Truths
from masquerade.exact.arrays import Floats
from masquerade.truth.categorical import winners
from masquerade.truth.scale.block import Block, Names
from masquerade.truth.scale.partitions import Partition
from masquerade.truth.scale.rounds import Rounds, Sums
from masquerade.truth.ties import Ties, chances, pick


def round_of(
    partition: Partition,
    scratch: Path,
    names: Names,
    rounds: type[Rounds],
    parameters: Any,
    earlier: Any,
) -> Sums:
    """Return what a block says of workers, and how far its shares moved."""
    return rounds.sums(Block.of(partition, scratch, names), parameters, earlier)


def entropy(
    partition: Partition,
    scratch: Path,
    names: Names,
    rounds: type[Rounds],
    parameters: Any,
    groups: tuple[Any, int],
) -> Floats:
    """Return the summed entropy of tasks, by component."""
    block = Block.of(partition, scratch, names)
    votes = block.votes
    posterior = rounds.posteriors(block, parameters)
    entropy = -np.sum(posterior * np.log(np.maximum(posterior, 1e-300)), axis=1)
    answered = np.flatnonzero(~votes.undecided())
    first = votes.matrix.indptr[:: votes.n_options][answered]
    component, count = groups
    group = component[block.workers[votes.matrix.indices[first]]]
    return np.bincount(group, entropy[answered], count).astype(np.float64)


def truths(
    partition: Partition,
    scratch: Path,
    names: Names,
    rounds: type[Rounds],
    parameters: Any,
    ties: Ties,
    seed: int,
) -> pa.Table:
    """Return ``task``, ``label``."""
    block = Block.of(partition, scratch, names)
    candidates = winners(block.votes, rounds.scores(block, parameters))
    codes = pick(candidates, block.named(), ties=ties, seed=seed)
    labels = names.options.take(pa.array(codes, mask=codes < 0))
    return pa.table({"task": block.tasks, "label": labels})


def written(
    partition: Partition,
    scratch: Path,
    names: Names,
    rounds: type[Rounds],
    parameters: Any,
    ties: Ties,
    seed: int,
    folder: Path,
) -> None:
    """Write ``task``, ``label`` to a file of `folder`."""
    table = truths(partition, scratch, names, rounds, parameters, ties, seed)
    pa_parquet.write_table(table, folder / f"part-{partition.number:05}.parquet")


def posteriors(
    partition: Partition, scratch: Path, names: Names, rounds: type[Rounds], parameters: Any
) -> pa.Table:
    """Return ``task`` and one column per option."""
    block = Block.of(partition, scratch, names)
    columns = [block.tasks, *map(pa.array, rounds.posteriors(block, parameters).T)]
    return pa.Table.from_arrays(columns, names=["task", *map(str, names.options.to_pylist())])


def unanswered(
    partition: Partition, scratch: Path, names: Names, rounds: type[Rounds], parameters: Any
) -> pa.Array:
    """Return the tasks that nobody answered."""
    block = Block.of(partition, scratch, names)
    return block.tasks.take(pa.array(np.flatnonzero(block.votes.undecided())))


def hits(
    partition: Partition,
    scratch: Path,
    names: Names,
    rounds: type[Rounds],
    parameters: Any,
    ties: Ties,
    truths: Truths,
) -> Floats:
    """Return the expected number of right labels, and of tasks scored."""
    block = Block.of(partition, scratch, names)
    chance = chances(winners(block.votes, rounds.scores(block, parameters)), ties=ties)
    code = truths.codes(block.named())
    counted = np.flatnonzero((code != -1) & (chance.sum(axis=1) > 0))
    right = np.maximum(code[counted], 0)
    hit = np.where(code[counted] >= 0, chance[counted, right], 0.0)
    return np.array([hit.sum(), len(counted)])


def stacked(one: pa.Table, other: pa.Table) -> pa.Table:
    """Join tables."""
    return pa.concat_tables([one, other])


def appended(one: pa.Array, other: pa.Array) -> pa.Array:
    """Join arrays."""
    return pa.concat_arrays([one, other])


def nothing(one: None, other: None) -> None:
    """Join what was only written."""
