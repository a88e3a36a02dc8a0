"""Values of numbers over partitions, as in memory: from one machine's disk to a cluster."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from masquerade.answers import Claims, Frame, Progress, Truths
from masquerade.errors import ClusterError, InputError, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import Mechanism
from masquerade.mechanisms.registry import mechanism_of
from masquerade.truth.diagnostics import Remark
from masquerade.truth.estimator import Estimator
from masquerade.truth.methods import method_named
from masquerade.truth.numeric.estimator import NumericEstimator, NumericSolution, ValueIntervals
from masquerade.truth.numeric.programs import Program, Request
from masquerade.truth.report_mechanisms import Masks
from masquerade.truth.scale.coded_partition import Names
from masquerade.truth.scale.engines import Engine
from masquerade.truth.scale.index import Index
from masquerade.truth.scale.number_partition import NumberPartition, require_reports
from masquerade.truth.scale.partitions import Partition, Partitions
from masquerade.truth.scale.replay import Finished, Joint, Lost, Replay

_ATTEMPTS = 4  # at a program, before scratch files are said to keep vanishing


@dataclass(frozen=True, slots=True, eq=False)
class NumericTask:
    """What is to be worked out of numbers, with the mechanism of all claims if they have one."""

    method: NumericEstimator
    mechanism: Mechanism | None
    figure: Literal["values", "constant"] = "values"

    def program(self, claims: Claims, masks: Masks) -> Program[Any]:
        """Return the program over a block."""
        if self.figure == "constant":
            return self.method.constant(claims)
        return self.method.program(claims, masks)

    def kept(self, result: Any) -> Any:
        """Return what all blocks know of the result: nothing of tasks."""
        if not isinstance(result, NumericSolution):
            return result
        nothing = ValueIntervals(*(np.zeros(0) for _ in range(4)))
        return replace(result, intervals=nothing, basis=None)


class NumericRun:
    """A program over all partitions, each of which an engine visits at every request."""

    def __init__(
        self,
        partitions: Partitions,
        engine: Engine,
        names: Names,
        task: NumericTask,
        progress: Progress | None = None,
    ) -> None:
        self.partitions, self.engine, self.progress = partitions, engine, progress
        self._names, self._task = engine.share(names), engine.share(task)
        self.result = self._solved()

    def _solved(self) -> Any:
        """Return what all blocks come to; begun anew where a worker died with its scratch files."""
        for _ in range(_ATTEMPTS):
            self._token = secrets.token_hex(8)
            figures, visits = None, 0
            while True:
                found = self._visited(_visit, self._task, self._token, visits, figures)
                if isinstance(found, Lost):
                    break
                visits += 1
                if self.progress is not None:
                    self.progress(visits, 0)  # how many there will be shows at the end
                if isinstance(found, Finished):
                    return found.result
                figures = found.figures
        raise ClusterError(
            "workers of the cluster keep dying with their scratch files; give them more memory, "
            "or write smaller partitions with partition_by_task."
        )

    def fold(self, job: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum of ``job(partition, claims, solution, *arguments)`` over all partitions.

        Claims and solution are those of the partition's tasks.
        """
        for _ in range(_ATTEMPTS):
            found = self._visited(_on_solution, self._token, job, *arguments)
            if not isinstance(found, Lost):
                return found
            self._solved()
        raise ClusterError("workers of the cluster keep dying with their scratch files.")

    def _visited(self, visit: Callable[..., Any], *arguments: Any) -> Any:
        files = self.partitions.files
        return self.engine.fold(files, visit, _together, self._names, *arguments)


def _together(one: Any, other: Any) -> Any:
    lost = next((part for part in (one, other) if isinstance(part, Lost)), None)
    return one + other if lost is None else lost


def _visit(
    partition: Partition,
    scratch: Path,
    names: Names,
    task: NumericTask,
    token: str,
    number: int,
    figures: tuple[Any, ...] | None,
) -> Request | Joint | Finished | Lost:
    def program() -> Program[Any]:
        claims, masks = NumberPartition.of(partition, scratch).among(names, task.mechanism)
        if not number:
            require_reports(partition, claims, masks)
        return task.program(claims, masks)

    folder = scratch / f"run-{token}" / partition.key
    return Replay.visit(folder, number, figures, program, task.kept)


def _on_solution(
    partition: Partition,
    scratch: Path,
    names: Names,
    token: str,
    job: Callable[..., Any],
    *arguments: Any,
) -> Any:
    solution = Replay.result(scratch / f"run-{token}" / partition.key)
    if isinstance(solution, Lost):
        return solution
    claims, _ = NumberPartition.of(partition, scratch).among(names, None)
    return job(partition, claims, solution, *arguments)


def fit_numbers(
    partitions: Partitions,
    method: str | Estimator = "numeric-auto",
    *,
    engine: Engine,
    mechanism: Mechanism | str | Mapping[str, Mechanism | str] | None = None,
    progress: Progress | None = None,
) -> NumericPartitionFit:
    """Infer values of numbers, or of categories that stand for numbers, from claims in partitions.

    Parameters
    ----------
    partitions : Partitions
    method : name or estimator
        Of numbers. An estimator is not changed.
    engine : Engine
        `Stream` or `DaskCluster`; results are asked for while it is open.
    mechanism : Mechanism or its text form, or mapping of str to such, optional
        What masked the claims; see `fit_partitions`.
    progress : callable, optional
        Called after each pass with its number and 0, for how many there will be is not known.

    Returns
    -------
    NumericPartitionFit
        Equal to the in-memory fit of all the claims, to 1e-9 of their scale.

    Raises
    ------
    InputError
        A partition cannot be used (the message names file and row), or a task is in two.
    ParameterError
        The method is for categories, asks for all cells of a crowd (``presence="hidden"``), or does
        not fit mechanism or claims.
    ClusterError
        The cluster is lost.

    Notes
    -----
    **Cost**: two passes to code the partitions, then one for every figure of all claims that the
    method asks for: of weighted means one a round, of `Reliability` one, of `HeavyTail` and
    `ChannelEM` two; medians of all claims four, and exact. `NumericAuto` makes all these fits.
    Memory: one partition at a time and some arrays over workers. What a method knows of a
    partition's tasks lies in scratch files between passes; where a worker of a cluster dies with
    them, the fit begins anew.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from masquerade.answers import Claims
    >>> from masquerade.truth.scale import Partitions, Stream
    >>> claims = Claims.from_frame({"task": [1, 1, 2, 2], "worker": list("xyxy"),
    ...                             "value": [1.0, 2.0, 4.0, 4.0]})
    >>> with TemporaryDirectory() as folder, Stream() as engine:
    ...     claims.write(Path(folder) / "claims.parquet")
    ...     print(fit_numbers(Partitions.at(folder), "mean", engine=engine).truths_["value"])
    [
      [
        1.5,
        4
      ]
    ]
    """
    name = method if isinstance(method, str) else method.name
    estimator = method_named(method, kind="numeric")() if isinstance(method, str) else method
    if not isinstance(estimator, NumericEstimator):
        raise ParameterError(f"{name} is for categories; fit it with fit_partitions.")
    if getattr(estimator, "presence", None) == "hidden":
        raise ParameterError(
            "presence='hidden' is checked against all tasks at once; leave it out over partitions."
        )
    masks: Mechanism | None = None
    if isinstance(mechanism, Mapping):
        partitions = partitions.masked(mechanism)
        kinds = {one.kind for _, one in partitions.files[0].levels}
    elif mechanism is None:
        partitions = partitions.masked()
        kinds = set() if partitions.files[0].masked_by is None else partitions.kinds_of_masks()
    else:
        masks = mechanism_of(mechanism)
        kinds = {masks.kind}
    if len(kinds) > 1:
        raise ParameterError("the mechanisms mask different questions; give mechanisms of one.")
    kind = kinds.pop() if kinds else "numeric"
    if kind == "categorical" and not estimator.ordinal:
        raise ParameterError(f"{name} takes numbers, and the claims are masked categories.")
    partitions = partitions.for_numbers(kind, null=masks is not None and masks.null)
    index = Index.of(partitions, engine)
    task = NumericTask(estimator.unfitted(), masks)
    run = NumericRun(partitions, engine, index.names, task, progress)
    return NumericPartitionFit(task.method, index, run.result, run)


# Jobs; see `NumericRun.fold`.


def _intervals(partition: Partition, claims: Claims, solution: NumericSolution) -> list[pa.Table]:
    return [solution.intervals.table(claims)]


def _write(partition: Partition, claims: Claims, solution: NumericSolution, folder: Path) -> int:
    """Write ``task``, ``value`` to a file of `folder`; return 1, the number of files."""
    table = _intervals(partition, claims, solution)[0].select(["task", "value"])
    pa_parquet.write_table(table, folder / f"part-{partition.number:05}.parquet")
    return 1


def _distances(
    partition: Partition,
    claims: Claims,
    solution: NumericSolution,
    truths: Truths,
    constant: float,
) -> Floats:
    """Return sums over scored tasks: number, distance, its square, distance of the constant."""
    value, truth = solution.intervals.value, truths.numbers(claims)
    rows = ~np.isnan(value) & ~np.isnan(truth)
    off = value[rows] - truth[rows]
    apart = np.abs(constant - truth[rows]).sum()
    return np.array([rows.sum(), np.abs(off).sum(), (off**2).sum(), apart])


@dataclass(frozen=True, slots=True)
class NumericErrors:
    """Errors of values against known truths.

    Attributes
    ----------
    scored : int
        Tasks that have both a value and a truth.
    mean_absolute, root_mean_squared : float
        Distances of values from truths, in the claims' unit.
    constant : float
        Mean absolute error of giving one and the same value to all tasks.

    Examples
    --------
    >>> NumericErrors(2, 0.5, 0.7, 2.0).scored
    2
    """

    scored: int
    mean_absolute: float
    root_mean_squared: float
    constant: float


@dataclass(frozen=True, eq=False)
class NumericPartitionFit:
    """Result of a fit of numbers over partitions; names are those of an estimator in memory."""

    estimator: NumericEstimator  # the method, with its parameters
    index: Index  # workers and numbers
    solution: NumericSolution  # without anything of tasks
    _run: NumericRun

    @property
    def converged_(self) -> bool:
        """Whether the result stopped changing before the last iteration allowed."""
        return self.solution.converged

    @property
    def iterations_(self) -> int:
        """Number of iterations done; 1 where nothing is iterated."""
        return self.solution.iterations

    @property
    def components_(self) -> int:
        """Number of groups of workers and tasks that share no answer with one another."""
        return self.index.n_components

    @property
    def remarks_(self) -> tuple[Remark, ...]:
        """Remarks of the method itself; those on the claims' shape are made in memory only."""
        return self.solution.remarks

    @property
    def selection_(self) -> pa.Table:
        """Why `NumericAuto` chose the methods; see `NumericAuto.selection_`.

        Raises
        ------
        ParameterError
            The method is another, which chooses nothing.
        """
        if self.solution.selection is None:
            raise ParameterError(f"{self.estimator.name} chooses no method; numeric-auto does.")
        return self.solution.selection

    @property
    def reliability_(self) -> pa.Table:
        """``worker``, ``claims``, and what the method knows of workers."""
        columns = {name: pa.array(column) for name, column in self.solution.workers.items()}
        counted = self.index.answers.astype(np.int64)
        return pa.table({"worker": self.index.workers, "claims": counted, **columns})

    @cached_property
    def intervals_(self) -> pa.Table:
        """``task``, ``value``, ``claims``, ``standard_error``, ``low``, ``high``, brought here.

        Memory linear in tasks.
        """
        return pa.concat_tables(self._run.fold(_intervals))

    @property
    def truths_(self) -> pa.Table:
        """The values found: ``task``, ``value``; null for a task without any answer."""
        return self.intervals_.select(["task", "value"])

    @property
    def unanswered_(self) -> pa.Array:
        """Tasks that nobody answered (all reports are "no answer")."""
        claims = self.intervals_["claims"].to_numpy()
        return self.intervals_["task"].combine_chunks().take(pa.array(np.flatnonzero(claims == 0)))

    @cached_property
    def constant_(self) -> float:
        """The best guess that does not tell tasks apart: what to compare an error with."""
        if self.solution.constant is not None:
            return self.solution.constant
        run, task = self._run, NumericTask(self.estimator, None, "constant")
        return float(NumericRun(run.partitions, run.engine, self.index.names, task).result)

    def write(self, folder: str | Path) -> None:
        """Write ``task``, ``value`` as a folder of Parquet files, one a partition.

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
        self._run.fold(_write, target)

    def errors(self, truths: Truths | Frame) -> NumericErrors:
        """Return how far values are from known truths, and how far `constant_` is.

        Raises
        ------
        InputError
            No task has both a value and a truth.
        """
        size, absolute, squares, constant = self._run.fold(
            _distances, Truths.of(truths), self.constant_
        )
        if not size:
            raise InputError("no task has both a value and a truth.")
        return NumericErrors(int(size), absolute / size, math.sqrt(squares / size), constant / size)
