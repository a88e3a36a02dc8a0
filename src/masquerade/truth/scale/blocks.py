"""The claims in partitions as blocks of tasks, for every method that works block by block."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masquerade.answers import Claims, Progress
from masquerade.exact.arrays import Codes, Floats
from masquerade.mechanisms import CategoricalMechanism
from masquerade.truth.diagnostics import Components
from masquerade.truth.expectation_maximization import (
    Blocks,
    ClaimBlocks,
    Crowd,
    FixedPoint,
    Model,
    Posterior,
    SufficientStatistics,
    VoteBlock,
)
from masquerade.truth.expectation_maximization import entropies as block_entropies
from masquerade.truth.problem import Problem, gold_codes
from masquerade.truth.samples import Split, TaskSample
from masquerade.truth.scale.coded_partition import Names, PartitionBlock
from masquerade.truth.scale.engines import Engine
from masquerade.truth.scale.index import Index
from masquerade.truth.scale.partitions import Partition, Partitions

_HERE = 1_000_000  # claims, up to which a sample is held by one process: a partition's worth


class PartitionedClaims(ClaimBlocks):
    """Claims in partitions, each of which an engine visits as a block."""

    def __init__(
        self,
        partitions: Partitions,
        engine: Engine,
        index: Index,
        mechanism: CategoricalMechanism | None,
        progress: Progress | None = None,
        *,
        sample: TaskSample | None = None,
        split: Split | None = None,
    ) -> None:
        self.partitions, self.engine, self.index = partitions, engine, index
        self.mechanism, self.progress, self._sample = mechanism, progress, sample
        self._names = engine.share(replace(index.names, sample=sample, split=split))
        self._is_whole = sample is None and split is None

    @cached_property
    def crowd(self) -> Crowd:
        """See `ClaimBlocks.crowd`."""
        crowd = self.index.crowd(self.mechanism)
        if self._is_whole:
            return crowd
        # What is kept are answers: "no answer" is neither held out nor kept.
        return replace(crowd, answers=self.fold(_answers), null_share=0.0)

    @property
    def people(self) -> pa.Array:
        """See `ClaimBlocks.people`."""
        return self.index.people

    @property
    def options(self) -> pa.Array:
        """See `ClaimBlocks.options`."""
        return self.index.names.options

    @property
    def has_sources(self) -> bool:
        """See `ClaimBlocks.has_sources`."""
        return self.index.masked is not None

    @cached_property
    def has_known(self) -> bool:
        """See `ClaimBlocks.has_known`."""
        return self.index.names.gold is not None and bool(self.fold(_known))

    def fold(self, job: Any, *arguments: Any) -> Any:
        """See `ClaimBlocks.fold`."""
        task, files = partial(_on_block, job), self.partitions.files
        return self.engine.fold(files, task, operator.add, self._names, *arguments)

    def blocks(self, model: Model) -> OverPartitions:
        """See `ClaimBlocks.blocks`."""
        return OverPartitions(self, model)

    def without(self, split: Split) -> PartitionedClaims:
        """See `ClaimBlocks.without`."""
        return PartitionedClaims(
            self.partitions,
            self.engine,
            self.index,
            self.mechanism,
            sample=self._sample,
            split=split,
        )

    def sample(self, sample: TaskSample) -> ClaimBlocks | None:
        """See `ClaimBlocks.sample`; a small one travels to this process, in one partition's place.

        Rounds cost a message to everyone there and back, which is more than such a sample does.
        """
        claims = sample.claims if sample.is_whole else self.fold(_sample_size, sample)
        if not sample.fits(claims):
            return None
        if claims <= _HERE:
            return self._here(self.fold(_answers_on, sample))
        if sample.is_whole:
            return self
        return PartitionedClaims(
            self.partitions, self.engine, self.index, self.mechanism, sample=sample
        )

    def _here(self, parts: list[_Answers]) -> Problem:
        """Return the answers on some tasks of all partitions as claims in memory."""
        names, masked = self.index.names, self.index.masked
        first = np.cumsum([0, *(len(part.tasks) for part in parts)])
        claims = Claims(
            np.concatenate([part.task + n for part, n in zip(parts, first, strict=False)]),
            np.concatenate([part.worker for part in parts]),
            np.concatenate([part.value for part in parts]),
            pa.concat_arrays([part.tasks for part in parts]),
            names.workers,
            names.options,
        )
        levels = None if masked is None else masked.sources.levels
        gold = gold_codes(names.gold, claims)
        return Problem(claims, self.mechanism, gold, levels=levels)


class OverPartitions(Blocks):
    """Claims in partitions for the iteration of a model."""

    def __init__(self, claims: PartitionedClaims, model: Model) -> None:
        self.claims, self.model = claims, model
        self._shared = claims.engine.share(model)
        self._latest: tuple[Any, ...] = ()  # handles on the messages of the round before

    def expectation_step(
        self, message: Any, earlier: Any
    ) -> tuple[SufficientStatistics, Posterior | None]:
        """See `Blocks.expectation_step`."""
        share = self.claims.engine.share
        now = share(message)
        if earlier is None or not self.model.compares:
            self._latest = (now,)
            return self.claims.fold(_expectation_step, self._shared, now), None
        # Posteriors stay in the partitions; the message before gives them again where needed. It
        # was sent in the round before, whose handle on it is kept until here.
        before = share(earlier[0])
        self._latest = (now, before)
        return self.claims.fold(_compared_step, self._shared, now, before), None

    def entropies(self, fit: FixedPoint) -> Floats:
        """See `Blocks.entropies`."""
        index = self.claims.index
        groups = (index.component, index.n_components + 1)
        total: Floats = self.claims.fold(_entropies, self._shared, fit.message, groups)
        return total

    @property
    def components(self) -> Components:
        """See `Blocks.components`."""
        return self.claims.index.components


# Jobs are functions of a block and shared values that an engine may run anywhere, and again; what
# they give adds up: numbers, or lists of tables.


def _on_block(job: Any, partition: Partition, scratch: Path, names: Names, *arguments: Any) -> Any:
    return job(PartitionBlock.of(partition, scratch, names), *arguments)


def _answers(block: VoteBlock) -> Floats:
    return block.spread(block.sorted_votes.of_worker)


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """The answers of one partition on some of its tasks."""

    # task, worker, value: int32 array, shape (n_claims,). Codes among `tasks`, all workers and all
    # options.
    task: Codes
    worker: Codes
    value: Codes
    tasks: pa.Array


def _sample_size(block: PartitionBlock, sample: TaskSample) -> int:
    return int(block.votes.of_task[sample.tasks(block.tasks)].sum())


def _answers_on(block: PartitionBlock, sample: TaskSample) -> list[_Answers]:
    chosen = sample.tasks(block.tasks)
    votes = block.sorted_votes
    task, value = votes.cells()
    rows = chosen[task]
    place = np.cumsum(chosen) - 1  # of a task among those chosen
    own = votes.matrix.indices[rows]
    worker = own if block.workers is None else block.workers[own]
    rest = block.tasks.filter(pa.array(chosen))
    return [_Answers(_codes(place[task[rows]]), _codes(worker), _codes(value[rows]), rest)]


def _codes(places: NDArray[Any]) -> Codes:
    return places.astype(np.int32)


def _known(block: VoteBlock) -> int:
    return int(np.count_nonzero(block.gold >= 0))


def _expectation_step(block: VoteBlock, model: Model, message: Any) -> SufficientStatistics:
    return model.expectation_step(block, message)[1]


def _compared_step(
    block: VoteBlock, model: Model, message: Any, earlier: Any
) -> SufficientStatistics:
    # The earlier posteriors are worked out again: a job depends on nothing but its arguments, so
    # any process can take it over at any time.
    return model.expectation_step(block, message, model.posterior(block, earlier))[1]


def _entropies(block: VoteBlock, model: Model, message: Any, components: tuple[Any, int]) -> Floats:
    return block_entropies(block, model.posterior(block, message), *components)
