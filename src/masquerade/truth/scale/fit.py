"""Truths of claims in partitions, as in memory: from one machine's disk to a cluster."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from masquerade.answers import Frame, Progress, Truths
from masquerade.errors import InputError, ParameterError
from masquerade.exact.arrays import Flags, Floats
from masquerade.mechanisms import CategoricalMechanism, Mechanism
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.dawid_skene import DawidSkene, DawidSkeneModel, OneCoinDawidSkene
from masquerade.truth.diagnostics import Components
from masquerade.truth.estimator import Estimator
from masquerade.truth.expectation_maximization import (
    Blocks,
    FixedPoint,
    Model,
    Posterior,
    SufficientStatistics,
    fit_blocks,
)
from masquerade.truth.expectation_maximization import entropies as block_entropies
from masquerade.truth.methods import method_named
from masquerade.truth.one_coin import OneCoin, OneCoinModel
from masquerade.truth.scale.coded_partition import Names, PartitionBlock
from masquerade.truth.scale.engines import Engine
from masquerade.truth.scale.index import Index
from masquerade.truth.scale.partitions import Partition, Partitions
from masquerade.truth.scores import chances_of_truth
from masquerade.truth.ties import Ties, chances, pick, winners
from masquerade.truth.truth_discovery import DiscoveryModel, TruthDiscovery
from masquerade.truth.voting import MajorityVote, VotingModel

#: The methods that work over partitions.
AT_SCALE: dict[type[Estimator], Any] = {
    MajorityVote: VotingModel,
    TruthDiscovery: DiscoveryModel,
    OneCoin: OneCoinModel,
    DawidSkene: DawidSkeneModel,
    OneCoinDawidSkene: DawidSkeneModel,
}


def fit_partitions(
    partitions: Partitions,
    method: str | Estimator = "truth-discovery",
    *,
    engine: Engine,
    mechanism: Mechanism | None = None,
    progress: Progress | None = None,
) -> PartitionFit:
    """Infer truths from claims in partitions.

    Parameters
    ----------
    partitions : Partitions
    method : name or estimator
        ``"majority-vote"``, ``"truth-discovery"``, ``"one-coin"``, ``"dawid-skene"`` or
        ``"one-coin-dawid-skene"``, or one of their estimators, which is not changed.
    engine : Engine
        `Stream` or `DaskCluster`; results are asked for while it is open.
    mechanism : Mechanism, optional
        What masked the claims.
    progress : callable, optional
        Called after each round with its number and the most there can be.

    Returns
    -------
    PartitionFit
        Equal to the in-memory fit of all the claims to 1e-9.

    Raises
    ------
    InputError
        A partition cannot be used (the message names file and row), or a task is in two.
    ParameterError
        The method does not work over partitions, or does not fit mechanism or claims.
    ClusterError
        The cluster is lost.

    Notes
    -----
    **Cost**: two passes to code the partitions, then one a round and one more. Memory: one
    partition at a time, some arrays over workers, and while tasks are checked to be in one
    partition each, 8 bytes a task.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from masquerade.simulate import crowd
    >>> from masquerade.truth.scale import Partitions, Stream
    >>> claims, truths = crowd(np.random.default_rng(1), tasks=20, workers=5, answers_per_task=3)
    >>> with TemporaryDirectory() as folder, Stream() as engine:
    ...     claims.write(Path(folder) / "claims.parquet")
    ...     print(fit_partitions(Partitions.at(folder), "one-coin", engine=engine).converged_)
    True
    """
    estimator = method_named(method)() if isinstance(method, str) else method
    model_of = AT_SCALE.get(type(estimator))
    if model_of is None or not isinstance(estimator, CategoricalEstimator):
        raise ParameterError(
            f"{estimator.name} does not work over partitions; choose one of "
            f"{', '.join(one.name for one in AT_SCALE)}, or fit in memory."
        )
    if not isinstance(mechanism, CategoricalMechanism | None):
        raise ParameterError(f"{mechanism} does not mask categories; choose a numeric method.")
    index = Index.of(partitions, engine)
    if mechanism is not None:
        _check(mechanism, index)
    crowd = index.crowd(mechanism)
    model: Model = model_of(estimator, crowd)
    blocks = OverPartitions(partitions, engine, index, model)
    result = fit_blocks(model, blocks, progress)
    return PartitionFit(
        estimator=estimator,
        index=index,
        converged_=result.converged,
        iterations_=result.iterations,
        orientation_ambiguous_=getattr(model, "orientation_ambiguous", crowd.orientation_ambiguous),
        _result=result,
        _blocks=blocks,
    )


class OverPartitions(Blocks):
    """Claims in partitions: a block each, which an engine visits."""

    def __init__(self, partitions: Partitions, engine: Engine, index: Index, model: Model) -> None:
        self.partitions, self.engine, self.index, self.model = partitions, engine, index, model
        self._shared = engine.share(index.names), engine.share(model)

    def fold(self, job: Any, *arguments: Any) -> Any:
        """Return the sum of what a job gives for all partitions."""
        task, files = partial(_on_block, job), self.partitions.files
        return self.engine.fold(files, task, operator.add, *self._shared, *arguments)

    def expectation_step(
        self, message: Any, earlier: Any
    ) -> tuple[SufficientStatistics, Posterior | None]:
        """See `Blocks.expectation_step`."""
        # Posteriors stay in the partitions; the message before gives them again where needed.
        before = earlier if self.model.compares else None
        return self.fold(_expectation_step, message, before), None

    def entropies(self, fit: FixedPoint) -> Floats:
        """See `Blocks.entropies`."""
        groups = (self.index.component, self.index.n_components + 1)
        total: Floats = self.fold(_entropies, fit.message, groups)
        return total

    @property
    def components(self) -> Components:
        """See `Blocks.components`."""
        return self.index.components


# Jobs are functions of a block, the model and the message that an engine may run anywhere, and
# again; what they give adds up: numbers, or lists of tables.


def _on_block(
    job: Any, partition: Partition, scratch: Path, names: Names, model: Model, *arguments: Any
) -> Any:
    return job(PartitionBlock.of(partition, scratch, names), model, *arguments)


def _expectation_step(
    block: PartitionBlock, model: Model, message: Any, earlier: Any
) -> SufficientStatistics:
    # The earlier posteriors are worked out again: a job depends on nothing but its arguments, so
    # any process can take it over at any time.
    before = None if earlier is None else model.posterior(block, earlier[0])
    return model.expectation_step(block, message, before)[1]


def _entropies(
    block: PartitionBlock, model: Model, message: Any, components: tuple[Any, int]
) -> Floats:
    return block_entropies(block, model.posterior(block, message), *components)


def _winners(block: PartitionBlock, model: Model, message: Any) -> Flags:
    return winners(model.posterior(block, message).scores, block.votes.undecided())


def _truths(
    block: PartitionBlock, model: Model, message: Any, ties: Ties, seed: int
) -> list[pa.Table]:
    codes = pick(_winners(block, model, message), block.named(), ties=ties, seed=seed)
    labels = block.options.take(pa.array(codes, mask=codes < 0))
    return [pa.table({"task": block.tasks, "label": labels})]


def _write_truths(
    block: PartitionBlock, model: Model, message: Any, ties: Ties, seed: int, folder: Path
) -> int:
    """Write ``task``, ``label`` to a file of `folder`; return 1, the number of files."""
    (table,) = _truths(block, model, message, ties, seed)
    pa_parquet.write_table(table, folder / f"part-{block.number:05}.parquet")
    return 1


def _posteriors(block: PartitionBlock, model: Model, message: Any) -> list[pa.Table]:
    shares = model.vote_shares(model.posterior(block, message))
    columns = [block.tasks, *map(pa.array, shares.T)]
    return [pa.Table.from_arrays(columns, ["task", *map(str, block.options.to_pylist())])]


def _unanswered(block: PartitionBlock, model: Model, message: Any) -> list[pa.Array]:
    return [block.tasks.take(pa.array(np.flatnonzero(block.votes.undecided())))]


def _hits(block: PartitionBlock, model: Model, message: Any, ties: Ties, truths: Truths) -> Floats:
    """Return the expected number of right labels, and of tasks scored."""
    each = chances_of_truth(
        chances(_winners(block, model, message), ties=ties), truths.codes(block.named())
    )
    return np.array([each.sum(), len(each)])


@dataclass(frozen=True, eq=False, kw_only=True)
class PartitionFit:
    """Result of a fit over partitions; names are those of an estimator fitted in memory."""

    estimator: CategoricalEstimator  # the method, with its parameters
    index: Index  # workers, options and numbers
    converged_: bool
    iterations_: int
    orientation_ambiguous_: bool
    _result: FixedPoint
    _blocks: OverPartitions

    @property
    def components_(self) -> int:
        """Number of groups of workers and tasks that share no answer with one another."""
        return self.index.n_components

    @property
    def reliability_(self) -> pa.Table:
        """``worker``, ``claims``, ``reliability``, ``weight``; see `CategoricalEstimator`."""
        reliability, weight = self._blocks.model.reliability_and_weight(self._result.parameters)
        return pa.table(
            {
                "worker": self.index.names.workers,
                "claims": self.index.answers.astype(np.int64),
                "reliability": reliability,
                "weight": weight,
            }
        )

    @cached_property
    def truths_(self) -> pa.Table:
        """``task``, ``label`` of all partitions, brought here: memory linear in tasks."""
        return pa.concat_tables(self._fold(_truths, self.estimator.ties, self.estimator.seed))

    @cached_property
    def posteriors_(self) -> pa.Table:
        """``task``, then one column per option, of all partitions, brought here."""
        return pa.concat_tables(self._fold(_posteriors))

    @cached_property
    def unanswered_(self) -> pa.Array:
        """Tasks that nobody answered."""
        return pa.concat_arrays(self._fold(_unanswered))

    def write(self, folder: str | Path) -> None:
        """Write ``task``, ``label`` as a folder of Parquet files, one a partition.

        Each is written where its partition is visited, so workers of a cluster need the folder
        under the same path.

        Raises
        ------
        ParameterError
            The folder is there and not empty.
        """
        target = Path(folder).absolute()
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise ParameterError(f"{target} is there and not an empty folder; name a new one.")
        target.mkdir(parents=True, exist_ok=True)
        self._fold(_write_truths, self.estimator.ties, self.estimator.seed, target)

    def accuracy(self, truths: Truths | Frame) -> tuple[float, int]:
        """Return the accuracy, as `masquerade.truth.accuracy`, and the number of tasks scored.

        Raises
        ------
        InputError
            No task has both a label and a truth.
        """
        hits, scored = self._fold(_hits, self.estimator.ties, Truths.of(truths))
        if scored == 0:
            raise InputError(
                "no task has both an answer and a truth; check that the two tables name tasks "
                "alike."
            )
        return float(hits / scored), int(scored)

    def _fold(self, job: Any, *arguments: Any) -> Any:
        return self._blocks.fold(job, self._result.message, *arguments)


def _check(mechanism: CategoricalMechanism, index: Index) -> None:
    if index.n_options != mechanism.options:
        raise ParameterError(
            f"{mechanism} is for {mechanism.options} options, the claims have {index.n_options} "
            f"({index.names.options.to_pylist()[:10]}); declare all options (--options on the "
            "command line), or change options= of the mechanism."
        )
    if index.nulls and not mechanism.null:
        raise ParameterError(
            f"{mechanism} cannot mask 'no answer', which {index.nulls} claims are; use null=true, "
            "or remove such rows."
        )
