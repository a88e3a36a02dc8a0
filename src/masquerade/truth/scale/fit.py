"""Truths of claims in partitions, as in memory: from one machine's disk to a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from masquerade.answers import Frame, Progress, Truths
from masquerade.errors import InputError, ParameterError
from masquerade.exact.arrays import Flags, Floats
from masquerade.mechanisms import CategoricalMechanism, Mechanism
from masquerade.mechanisms.registry import mechanism_of
from masquerade.truth.block_solution import BlockSolution
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.confusions import Member, mean_shares
from masquerade.truth.diagnostics import Remark
from masquerade.truth.estimator import Estimator, option_columns
from masquerade.truth.methods import method_named, registered
from masquerade.truth.problem import Gold
from masquerade.truth.rare_labels import MOST_OPTIONS, given_and_expected, low_rates, rare_table
from masquerade.truth.report_mechanisms import label_mechanism
from masquerade.truth.scale.blocks import PartitionedClaims
from masquerade.truth.scale.coded_partition import PartitionBlock
from masquerade.truth.scale.engines import Engine
from masquerade.truth.scale.index import Index
from masquerade.truth.scale.partition_files import FilePath, file_path, make_folder, opened
from masquerade.truth.scale.partitions import Partitions
from masquerade.truth.scale.report_sources import check_domain
from masquerade.truth.scores import chances_of_truth
from masquerade.truth.ties import Ties, chances, known_winners, pick, winners


def fit_partitions(
    partitions: Partitions,
    method: str | Estimator = "truth-discovery",
    *,
    engine: Engine,
    mechanism: Mechanism | str | Mapping[str, Mechanism | str] | None = None,
    gold: Gold | None = None,
    progress: Progress | None = None,
) -> PartitionFit:
    """Infer truths from claims in partitions.

    Parameters
    ----------
    partitions : Partitions
    method : name or estimator
        Of labels, one that streams. An estimator is not changed.
    engine : Engine
        `Stream` or `DaskCluster`; results are asked for while it is open.
    mechanism : Mechanism or its text form, or mapping of str to such, optional
        What masked the claims. Of reports that went through several: the mechanism of each level,
        named in the partitions' column ``level``. By default the partitions' column ``mechanism``
        of text forms, where they have one.
    gold : Truths, table with ``task`` and ``truth``, pandas series or dict, optional
        Truths that are known of some tasks; see `CategoricalEstimator.fit`. They are sent to
        everyone.
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
    if not isinstance(estimator, CategoricalEstimator) or not estimator.streams:
        able = [one.name for one in registered().values() if getattr(one, "streams", False)]
        raise ParameterError(
            f"{estimator.name} does not work over partitions; choose one of {', '.join(able)}, or "
            "fit in memory."
        )
    mask: CategoricalMechanism | None = None
    if isinstance(mechanism, Mapping):
        partitions = partitions.masked(mechanism)
    elif mechanism is None:
        partitions = partitions.masked()
    else:
        mask = label_mechanism(mechanism_of(mechanism))
    index = Index.of(partitions, engine, gold=None if gold is None else Truths.of(gold))
    if mask is not None:
        check_domain(mask, index.n_options, index.nulls, index.names.options)
    claims = PartitionedClaims(partitions, engine, index, mask, progress)
    solution = estimator.solve_blocks(claims)
    if index.masked is not None:
        solution = solution.by_worker(index.masked.sources, index.answers, index.n_workers)
    return PartitionFit(
        estimator=estimator.unfitted(), index=index, solution=solution, _claims=claims
    )


# Jobs; see `PartitionedClaims.fold`.


def _judged(block: PartitionBlock, members: tuple[Member, ...]) -> tuple[Floats, Floats]:
    """Return the scores that decide, and the rows of ``posteriors_``."""
    if len(members) > 1:
        shares = mean_shares(members, block)
        return shares, shares
    model, posterior = members[0].model, members[0].on(block)
    return model.decision_scores(posterior), block.anchored(model.vote_shares(posterior))


def _winners(block: PartitionBlock, members: tuple[Member, ...]) -> Flags:
    scores, _ = _judged(block, members)
    return known_winners(winners(scores, block.votes.undecided()), block.gold)


def _truths(
    block: PartitionBlock, members: tuple[Member, ...], ties: Ties, seed: int
) -> list[pa.Table]:
    codes = pick(_winners(block, members), block.named(), ties=ties, seed=seed)
    labels = block.options.take(pa.array(codes, mask=codes < 0))
    return [pa.table({"task": block.tasks, "label": labels})]


def _write_truths(
    block: PartitionBlock, members: tuple[Member, ...], ties: Ties, seed: int, folder: FilePath
) -> int:
    """Write ``task``, ``label`` to a file of `folder`; return 1, the number of files."""
    (table,) = _truths(block, members, ties, seed)
    with opened(folder / f"part-{block.number:05}.parquet", "wb") as file:
        pa_parquet.write_table(table, file)
    return 1


def _posteriors(block: PartitionBlock, members: tuple[Member, ...]) -> list[pa.Table]:
    _, shares = _judged(block, members)
    columns = [block.tasks, *map(pa.array, shares.T)]
    return [pa.Table.from_arrays(columns, ["task", *option_columns(block.options, "task")])]


def _given_and_expected(block: PartitionBlock, members: tuple[Member, ...]) -> Floats | None:
    _, shares = _judged(block, members)
    # Of several levels of trust, the highest is the model whose shares are estimates.
    own = shares if len(members) == 1 else mean_shares(members[:1], block)
    return given_and_expected(shares, own, ~block.votes.undecided())


def _unanswered(block: PartitionBlock, members: tuple[Member, ...]) -> list[pa.Array]:
    return [block.tasks.take(pa.array(np.flatnonzero(block.votes.undecided())))]


def _hits(block: PartitionBlock, members: tuple[Member, ...], ties: Ties, truths: Truths) -> Floats:
    """Return the expected number of right labels, and of tasks scored."""
    each = chances_of_truth(
        chances(_winners(block, members), ties=ties), truths.codes(block.named())
    )
    return np.array([each.sum(), len(each)])


@dataclass(frozen=True, eq=False, kw_only=True)
class PartitionFit:
    """Result of a fit over partitions; names are those of an estimator fitted in memory."""

    estimator: CategoricalEstimator  # the method, with its parameters
    index: Index  # workers, options and numbers
    solution: BlockSolution
    _claims: PartitionedClaims

    @property
    def converged_(self) -> bool:
        """Whether the result stopped changing before the last iteration allowed."""
        return self.solution.converged

    @property
    def iterations_(self) -> int:
        """Number of iterations done."""
        return self.solution.iterations

    @property
    def orientation_ambiguous_(self) -> bool:
        """Whether labels are known only up to swapping; see `CategoricalEstimator`."""
        return self.solution.orientation_ambiguous

    @property
    def remarks_(self) -> tuple[Remark, ...]:
        """Remarks of the method, and on rare labels; those on shape are made in memory only."""
        return (*self.solution.remarks, *low_rates(self.index.names.options, self._expected))

    @property
    def rare_labels_(self) -> pa.Table:
        """Labels of less than 5 % of tasks; see `CategoricalEstimator.rare_labels_`."""
        return rare_table(self.index.names.options, self._expected)

    @cached_property
    def _expected(self) -> Floats | None:
        if not self.estimator.gives_probabilities or self.index.n_options > MOST_OPTIONS:
            return None
        expected: Floats = self._fold(_given_and_expected)
        return expected

    @property
    def selection_(self) -> pa.Table:
        """Why `Auto` chose the model; see `Auto.selection_`.

        Raises
        ------
        ParameterError
            The method is another, which chooses nothing.
        """
        if self.solution.selection is None:
            raise ParameterError(f"{self.estimator.name} chooses no model; auto does.")
        return self.solution.selection

    @property
    def components_(self) -> int:
        """Number of groups of workers and tasks that share no answer with one another."""
        return self.index.n_groups

    @property
    def reliability_(self) -> pa.Table:
        """``worker``, ``claims``, ``reliability``, ``weight``; see `CategoricalEstimator`."""
        solution = self.solution
        return pa.table(
            {
                "worker": self.index.workers,
                "claims": self.index.answers_by_worker.astype(np.int64),
                "reliability": solution.reliability,
                "weight": solution.weight,
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
        under the same path. An address that fsspec knows is the same everywhere.

        Raises
        ------
        ParameterError
            The folder is there and not empty.
        """
        target = file_path(folder)
        target = target.absolute() if isinstance(target, Path) else target
        make_folder(target)
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
        return self._claims.fold(job, self.solution.members, *arguments)
