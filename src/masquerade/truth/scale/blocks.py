"""The claims in partitions as blocks of tasks, for every method that works block by block."""

from __future__ import annotations

import operator
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from masquerade.answers import Progress
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism
from masquerade.truth.diagnostics import Components
from masquerade.truth.expectation_maximization import (
    Blocks,
    ClaimBlocks,
    Crowd,
    FixedPoint,
    Model,
    Posterior,
    Split,
    SufficientStatistics,
    VoteBlock,
)
from masquerade.truth.expectation_maximization import entropies as block_entropies
from masquerade.truth.scale.coded_partition import Names, PartitionBlock
from masquerade.truth.scale.engines import Engine
from masquerade.truth.scale.index import Index
from masquerade.truth.scale.partitions import Partition, Partitions


class PartitionedClaims(ClaimBlocks):
    """Claims in partitions, each of which an engine visits as a block."""

    def __init__(
        self,
        partitions: Partitions,
        engine: Engine,
        index: Index,
        mechanism: CategoricalMechanism | None,
        progress: Progress | None = None,
        split: Split | None = None,
    ) -> None:
        self.partitions, self.engine, self.index = partitions, engine, index
        self.mechanism, self.progress = mechanism, progress
        self._names = engine.share(replace(index.names, split=split))
        self._is_whole = split is None

    @cached_property
    def numbers(self) -> Crowd:
        """See `ClaimBlocks.numbers`."""
        crowd = self.index.crowd(self.mechanism)
        if self._is_whole:
            return crowd
        # What is kept are answers: "no answer" is neither held out nor kept.
        return replace(crowd, answers=self.fold(_answers), null_share=0.0)

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
            self.partitions, self.engine, self.index, self.mechanism, split=split
        )


class OverPartitions(Blocks):
    """Claims in partitions for the iteration of a model."""

    def __init__(self, claims: PartitionedClaims, model: Model) -> None:
        self.claims, self.model = claims, model
        self._shared = claims.engine.share(model)

    def expectation_step(
        self, message: Any, earlier: Any
    ) -> tuple[SufficientStatistics, Posterior | None]:
        """See `Blocks.expectation_step`."""
        # Posteriors stay in the partitions; the message before gives them again where needed.
        before = earlier if self.model.compares else None
        return self.claims.fold(_expectation_step, self._shared, message, before), None

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


def _known(block: VoteBlock) -> int:
    return int(np.count_nonzero(block.gold >= 0))


def _expectation_step(
    block: VoteBlock, model: Model, message: Any, earlier: Any
) -> SufficientStatistics:
    # The earlier posteriors are worked out again: a job depends on nothing but its arguments, so
    # any process can take it over at any time.
    before = None if earlier is None else model.posterior(block, earlier[0])
    return model.expectation_step(block, message, before)[1]


def _entropies(block: VoteBlock, model: Model, message: Any, components: tuple[Any, int]) -> Floats:
    return block_entropies(block, model.posterior(block, message), *components)
