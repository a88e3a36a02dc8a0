"""Truths of claims in partitions: the same as in memory, from one machine's disk to a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.answers import Truths
from masquerade.errors import InputError, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism, Mechanism
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.dawid_skene import DawidSkene, OneCoinDawidSkene
from masquerade.truth.estimator import Estimator
from masquerade.truth.majority_vote import MajorityVote
from masquerade.truth.methods import method_named
from masquerade.truth.one_coin import OneCoin
from masquerade.truth.scale import visits
from masquerade.truth.scale.census import Census
from masquerade.truth.scale.confusion_rounds import ConfusionRounds
from masquerade.truth.scale.engines import Engine
from masquerade.truth.scale.partitions import Partitions
from masquerade.truth.scale.rounds import (
    Discovery,
    Learnt,
    OneCoinRounds,
    Rounds,
    Sums,
    Voting,
)
from masquerade.truth.truth_discovery import TruthDiscovery

_SURELY_LARGER = 1e-6

Progress = Callable[[int, int], object]
"""Is told the rounds done and the most there will be."""

AT_SCALE: dict[type[Estimator], Any] = {
    MajorityVote: Voting,
    TruthDiscovery: Discovery,
    OneCoin: OneCoinRounds,
    DawidSkene: ConfusionRounds,
    OneCoinDawidSkene: ConfusionRounds,
}
"""The methods that work over partitions."""


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
        Called after each round.

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
    """
    estimator = method_named(method)() if isinstance(method, str) else method
    make = AT_SCALE.get(type(estimator))
    if make is None or not isinstance(estimator, CategoricalEstimator):
        raise ParameterError(
            f"{estimator.name} does not work over partitions; choose one of "
            f"{', '.join(one.name for one in AT_SCALE)}, or fit in memory."
        )
    if not isinstance(mechanism, CategoricalMechanism | None):
        raise ParameterError(f"{mechanism} does not mask categories; choose a numeric method.")
    census = Census.of(partitions, engine)
    if mechanism is not None:
        _check(mechanism, census)
    rounds: Rounds = make(estimator, census, mechanism)
    names = engine.share(census.names)
    run = _Run(partitions, engine, rounds, names, progress)
    tracks = [run.track(start) for start in rounds.starts]
    found = tracks[0]
    if len(tracks) > 1:
        found = run.best(tracks[0], tracks[1])
    return PartitionFit(
        estimator=estimator,
        census=census,
        converged_=found.converged,
        iterations_=found.iterations,
        orientation_ambiguous_=rounds.orientation_ambiguous,
        _found=found,
        _run=run,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Track:
    """Where the rounds from one start led."""

    parameters: Any  # of the result
    workers: Learnt  # how workers are judged
    evidence: Floats | None  # log evidence of each worker's votes
    converged: bool
    iterations: int


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A method on its way over the partitions."""

    partitions: Partitions
    engine: Engine
    rounds: Rounds
    names: Any
    progress: Progress | None

    def fold(self, visit: Any, combine: Any, *shared: Any) -> Any:
        """Visit all partitions."""
        return self.engine.fold(self.partitions.files, visit, combine, self.names, *shared)

    def track(self, start: Any) -> _Track:
        """Do rounds from `start` until shares stop changing."""
        rounds = self.rounds
        sums: Sums = self.fold(visits.round_of, Sums.__add__, type(rounds), start, None)
        learnt = following = rounds.learn(sums.total, None)
        parameters = start
        converged, iterations = rounds.max_iterations == 0, int(rounds.max_iterations == 0)
        while not converged and iterations < rounds.max_iterations:
            iterations += 1
            learnt, earlier = following, parameters
            parameters = learnt.parameters
            if not rounds.compares:
                earlier = None
            before = sums
            sums = self.fold(visits.round_of, Sums.__add__, type(rounds), parameters, earlier)
            following = rounds.learn(sums.total, learnt.state)
            converged = rounds.converged(sums, before, iterations)
            if self.progress is not None:
                self.progress(iterations, rounds.max_iterations)
        workers = following if rounds.looks_again else learnt
        return _Track(parameters, workers, following.log_evidence, converged, iterations)

    def best(self, first: _Track, second: _Track) -> _Track:
        """Return, for each component, what the start with the larger evidence bound led to."""
        census = self.rounds.census
        bounds = []
        groups = (census.component, census.n_components + 1)
        for track in (first, second):
            assert track.evidence is not None
            entropy = self.fold(visits.entropy, np.add, type(self.rounds), track.parameters, groups)
            bounds.append(entropy + np.bincount(census.component, track.evidence, len(entropy)))
        swapped = bounds[1] > bounds[0] + _SURELY_LARGER * (1 + np.abs(bounds[0]))
        swapped[census.n_components] = False  # workers without any answer
        if not swapped.any():
            return first
        mine, other = first.workers, second.workers
        turned = swapped[census.component]  # all voters of a task are of one component
        return _Track(
            np.where(turned, second.parameters, first.parameters),
            Learnt(
                None,
                np.where(turned, other.reliability, mine.reliability),
                np.where(turned, other.weight, mine.weight),
            ),
            None,
            second.converged and (first.converged or bool(swapped[:-1].all())),
            max(first.iterations, second.iterations),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class PartitionFit:
    """What was inferred from claims in partitions; names as of an estimator fitted in memory.

    Attributes
    ----------
    estimator : Estimator
        The method, with its parameters.
    census : Census
        Workers, options and numbers.
    converged_ : bool
    iterations_ : int
    orientation_ambiguous_ : bool
    """

    estimator: CategoricalEstimator
    census: Census
    converged_: bool
    iterations_: int
    orientation_ambiguous_: bool
    _found: _Track
    _run: _Run

    @property
    def components_(self) -> int:
        """Number of groups of workers and tasks that share no answer with one another."""
        return self.census.n_components

    @property
    def reliability_(self) -> pa.Table:
        """``worker``, ``claims``, ``reliability``, ``weight``; see `CategoricalEstimator`."""
        return pa.table(
            {
                "worker": self.census.names.workers,
                "claims": self.census.answers.astype(np.int64),
                "reliability": self._found.workers.reliability,
                "weight": self._found.workers.weight,
            }
        )

    @cached_property
    def truths_(self) -> pa.Table:
        """``task``, ``label`` of all partitions, brought here: memory linear in tasks."""
        return self._fold(visits.truths, visits.stacked, self.estimator.ties, self.estimator.seed)

    @cached_property
    def posteriors_(self) -> pa.Table:
        """``task``, then one column per option, of all partitions, brought here."""
        return self._fold(visits.posteriors, visits.stacked)

    @cached_property
    def unanswered_(self) -> pa.Array:
        """Tasks that nobody answered."""
        return self._fold(visits.unanswered, visits.appended)

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
        self._fold(visits.written, visits.nothing, self.estimator.ties, self.estimator.seed, target)

    def accuracy(self, truths: Truths) -> tuple[float, int]:
        """Return the accuracy, as `masquerade.truth.accuracy`, and the number of tasks scored.

        Raises
        ------
        InputError
            No task has both a label and a truth.
        """
        hits, scored = self._fold(visits.hits, np.add, self.estimator.ties, truths)
        if scored == 0:
            raise InputError(
                "no task has both an answer and a truth; check that the two tables name tasks "
                "alike."
            )
        return float(hits / scored), int(scored)

    def _fold(self, visit: Any, combine: Any, *shared: Any) -> Any:
        run = self._run
        return run.fold(visit, combine, type(run.rounds), self._found.parameters, *shared)


def _check(mechanism: CategoricalMechanism, census: Census) -> None:
    if census.n_options != mechanism.options:
        raise ParameterError(
            f"{mechanism} is for {mechanism.options} options, the claims have {census.n_options} "
            f"({census.names.options.to_pylist()[:10]}); declare all options (--options on the "
            "command line), or change options= of the mechanism."
        )
    if census.nulls and not mechanism.null:
        raise ParameterError(
            f"{mechanism} cannot mask 'no answer', which {census.nulls} claims are; use null=true, "
            "or remove such rows."
        )
