"""The index of all partitions: names, numbers and connected components, in two passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from masquerade.answers import Truths
from masquerade.errors import DuplicateClaim, MixedTypes
from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.mechanisms import CategoricalMechanism
from masquerade.truth.diagnostics import Components
from masquerade.truth.expectation_maximization import Crowd
from masquerade.truth.scale.coded_partition import CodedPartition, Names, worker_codes
from masquerade.truth.scale.engines import Engine
from masquerade.truth.scale.partitions import Partition, Partitions
from masquerade.truth.scale.report_sources import GlobalSources, NamedSources
from masquerade.truth.ties import digest


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Names and numbers of all partitions together."""

    names: Names
    # n_tasks, n_claims, nulls: claims include `nulls`, those that are "no answer".
    n_tasks: int
    n_claims: int
    nulls: int
    answers: Floats  # float array, shape (n_workers,). Number of answers of each worker.
    component: Codes  # int32 array, shape (n_workers,). As `Components.of_worker`.
    n_components: int
    masked: GlobalSources | None = None  # where each report has its own mechanism
    reports: dict[str, int] | None = None  # number of reports of each mechanism then

    def crowd(self, mechanism: CategoricalMechanism | None) -> Crowd:
        """Return the numbers of the claims that an M-step may know."""
        return Crowd(
            self.n_options,
            self.answers,
            self.nulls / self.n_claims,
            mechanism,
            lambda: self.components,
            None if self.masked is None else self.masked.sources.levels,
        )

    @property
    def components(self) -> Components:
        """The groups of workers that share no answer; tasks stay in their partitions."""
        return Components(self.n_components, np.zeros(0, dtype=np.int32), self.component)

    @property
    def workers(self) -> pa.Array:
        """Every worker, in order of first appearance."""
        return self.names.workers if self.masked is None else self.masked.workers

    @property
    def people(self) -> pa.Array:
        """The name of the worker behind each of `answers`, which may be a worker's sources."""
        if self.masked is None:
            return self.names.workers
        return self.masked.workers.take(pa.array(self.masked.sources.worker_of))

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return len(self.workers)

    @property
    def answers_by_worker(self) -> Floats:
        """Number of answers of each of `workers`, behind all masks."""
        if self.masked is None:
            return self.answers
        return self.masked.sources.total(self.answers, self.n_workers)

    @property
    def n_groups(self) -> int:
        """Number of groups of workers and tasks that share no answer, a worker's sources joined."""
        if self.masked is None:
            return self.n_components
        active = self.answers > 0
        worker = self.n_components + self.masked.sources.worker_of[active]
        size = self.n_components + self.n_workers
        graph = sparse.coo_array(
            (np.ones(len(worker), np.int8), (self.component[active], worker)), shape=(size, size)
        )
        group = _components(graph)
        return len(np.unique(group[: self.n_components]))

    @property
    def n_options(self) -> int:
        """Number of options."""
        return len(self.names.options)

    @classmethod
    def of(cls, partitions: Partitions, engine: Engine, *, gold: Truths | None = None) -> Index:
        """Visit all partitions twice; known truths are for later visits.

        Raises
        ------
        InputError
            A partition cannot be used.
        MixedTypes
            Partitions have ids or labels of different types.
        ParameterError
            Mechanisms of reports do not fit together, or the options.
        DuplicateClaim
            A task has claims in two partitions.
        """
        contents: _Contents = engine.fold(partitions.files, _contents, _joined)
        _refuse_split_tasks(contents, partitions.files, engine)
        # Sorted, as in memory; declared options keep the order they were declared in.
        options = contents.options.take(pc.sort_indices(contents.options))
        declared = partitions.files[0].options
        names = Names(contents.workers, options if declared is None else contents.options)
        shared = engine.share(names)
        links: _Links = engine.fold(partitions.files, _link, _linked, shared)
        component, count = links.components()
        masked = contents.sources
        return cls(
            replace(names, gold=gold),
            len(contents.digests),
            contents.n_claims,
            contents.nulls,
            links.answers,
            component,
            count,
            None if masked is None else masked.resolved(len(options)),
            None if masked is None else masked.reports,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Contents:
    """Names and numbers of some partitions."""

    workers: pa.Array
    options: pa.Array
    task_type: pa.DataType
    digests: NDArray[np.uint64]  # of every task's name
    n_claims: int
    nulls: int
    first: str  # name of the first file
    sources: NamedSources | None


def _contents(partition: Partition, scratch: Path) -> _Contents:
    local = CodedPartition.of(partition, scratch)
    return _Contents(
        local.workers,
        local.options,
        local.tasks.type,
        digest(local.tasks),
        local.n_claims,
        local.nulls,
        partition.path.name,
        local.sources,
    )


def _joined(one: _Contents, other: _Contents) -> _Contents:
    for what, kind, another in (
        ("task", one.task_type, other.task_type),
        ("worker", one.workers.type, other.workers.type),
        ("label", one.options.type, other.options.type),
    ):
        if kind != another:
            raise MixedTypes(
                f"{other.first}: column {what!r} holds {another} while {one.first} holds {kind}; "
                "write all partitions with the same types."
            )
    sources = one.sources
    if sources is not None and other.sources is not None:
        sources = sources.joined(other.sources, one.first, other.first)
    return _Contents(
        pc.unique(pa.concat_arrays([one.workers, other.workers])),
        pc.unique(pa.concat_arrays([one.options, other.options])),
        one.task_type,
        np.concatenate([one.digests, other.digests]),
        one.n_claims + other.n_claims,
        one.nulls + other.nulls,
        one.first,
        sources,
    )


def _refuse_split_tasks(contents: _Contents, files: Sequence[Partition], engine: Engine) -> None:
    # Eight bytes a task are held here, not names: tasks of all partitions need not fit in memory.
    ordered = np.sort(contents.digests)
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if len(twice) == 0:
        return
    # Two names may have one digest by chance, so the names themselves decide.
    places: dict[Any, list[str]] = engine.fold(files, _places_of, _places_joined, twice)
    split = {name: where for name, where in places.items() if len(where) > 1}
    if split:
        name, where = next(iter(split.items()))
        raise DuplicateClaim(
            f"task {name!r} has claims in {where[0]} and in {where[1]} ({len(split)} tasks are in "
            "several partitions); write the claims anew so that each task is in one: "
            "partition_by_task in Python, --repartition on the command line."
        )


def _places_of(
    partition: Partition, scratch: Path, digests: NDArray[np.uint64]
) -> dict[Any, list[str]]:
    tasks = CodedPartition.of(partition, scratch).tasks
    repeated = tasks.filter(pa.array(np.isin(digest(tasks), digests)))
    return {name: [partition.path.name] for name in repeated.to_pylist()}


def _places_joined(one: dict[Any, list[str]], other: dict[Any, list[str]]) -> dict[Any, list[str]]:
    return {name: one.get(name, []) + other.get(name, []) for name in {**one, **other}}


@dataclass(frozen=True, slots=True, eq=False)
class _Links:
    """Answers of each worker, and a connected worker of each: itself at least."""

    answers: Floats
    root: Integers  # the least code of those known to be connected

    def components(self) -> tuple[Codes, int]:
        """Return each worker's component (their number, without answers) and how many."""
        active = self.answers > 0
        # Who answered nothing is in no component, and would count as one of its own.
        _, first = np.unique(self.root[active], return_inverse=True)
        count = int(first.max(initial=-1)) + 1
        component = np.full(len(self.root), count, dtype=np.int32)
        component[active] = first
        return component, count


def _link(partition: Partition, scratch: Path, names: Names) -> _Links:
    local = CodedPartition.of(partition, scratch)
    codes = worker_codes(scratch / partition.key, local.workers, names)
    task, worker = local.pairs()
    n = len(local.workers)
    nodes = n + len(local.tasks)
    # Workers, then tasks: an answer joins two.
    graph = sparse.coo_array((np.ones(len(task), np.int8), (worker, n + task)), shape=(nodes,) * 2)
    group = _components(graph)
    root, answers = np.arange(len(names.workers)), np.zeros(len(names.workers))
    root[codes] = _least(group[:n], codes)
    answers[codes] = local.of_worker
    return _Links(answers, root)


def _linked(one: _Links, other: _Links) -> _Links:
    n = len(one.root)
    # Everybody is joined to both roots: the components are those of all claims together.
    everyone = np.arange(n)
    graph = sparse.coo_array(
        (np.ones(2 * n, np.int8), (np.tile(everyone, 2), np.concatenate([one.root, other.root]))),
        shape=(n, n),
    )
    group = _components(graph)
    return _Links(one.answers + other.answers, _least(group, everyone))


def _components(graph: sparse.coo_array) -> Codes:
    """Return the component of each node of a graph without directions."""
    from scipy.sparse.csgraph import connected_components  # dear to load

    group: Codes = connected_components(graph, directed=False)[1]
    return group


def _least(group: Codes, codes: NDArray[Any]) -> Integers:
    """Return for everybody the least code in the same component."""
    # Component numbers differ from partition to partition; the least code is the same in all.
    least = np.full(int(group.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, group, codes)
    return least[group]
