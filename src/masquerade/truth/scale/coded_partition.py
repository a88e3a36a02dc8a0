"""Partitions as votes, coded once and cached on disk in the form that iterations read."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from masquerade.answers import Claims, Truths
from masquerade.exact.arrays import Codes, Floats
from masquerade.truth.expectation_maximization import VoteBlock
from masquerade.truth.problem import gold_codes
from masquerade.truth.report_mechanisms import ReportMechanisms
from masquerade.truth.samples import Split, TaskSample, UnseenClaims
from masquerade.truth.scale.partitions import Partition
from masquerade.truth.scale.report_sources import NamedSources
from masquerade.truth.ties import uniform_by_names
from masquerade.truth.votes import Votes

_FILE = "arrays"  # of all arrays of a coded partition


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """The names that all visits to partitions share: codes, known truths, held-out claims."""

    # Every worker, in order of first appearance; sources where each report has its own mechanism.
    workers: pa.Array
    options: pa.Array  # pyarrow.Array. Every label that can be given.
    gold: Truths | None = None  # known truths, also of tasks in other partitions
    sample: TaskSample | None = None  # outside which tasks are left out
    split: Split | None = None  # whose fold is held out


@dataclass(frozen=True, slots=True, eq=False)
class CodedPartition:
    """A partition coded by its own names: no other partition needs to be known."""

    votes: Votes
    # tasks, workers, options: pyarrow.Array. Names of the codes in `votes`.
    tasks: pa.Array
    workers: pa.Array
    options: pa.Array
    nulls: int  # claims that are "no answer"; they are not in `votes`
    # Where each report has its own mechanism: what `workers` are, a worker with a mechanism each.
    sources: NamedSources | None = None
    unseen: UnseenClaims | None = None  # held out of `votes`

    @property
    def n_claims(self) -> int:
        """Number of claims, "no answer" included."""
        return int(self.votes.of_task.sum()) + self.nulls

    @property
    def of_worker(self) -> Floats:
        """Number of answers of each of the partition's workers."""
        return self.votes.of_worker

    def pairs(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return task and worker of each answer."""
        matrix, votes = self.votes.matrix, self.votes
        task = np.repeat(np.arange(votes.n_tasks), np.diff(matrix.indptr[:: votes.n_options]))
        return task, matrix.indices

    @classmethod
    def of(cls, partition: Partition, scratch: Path) -> CodedPartition:
        """Return the partition, from `scratch` if it was coded before.

        The cache takes 4 bytes a claim (12 with repeated claims), 4 bytes a task and option, and
        the tasks' names. Files are read where they lie, so memory holds what is in use.
        """
        return _cached(scratch / partition.key, lambda: _coded(*partition.read()))

    @classmethod
    def part(cls, partition: Partition, scratch: Path, names: Names) -> CodedPartition:
        """Return the partition's part in a sample and less a fold, as `names` say.

        It is kept in `scratch` too: many rounds read it.
        """
        key, sample, split = partition.key, names.sample, names.split
        if sample is not None:
            key = f"{key}-sample-{sample.share.hex()}"
        # What a part is made of is not even opened where the part is there.
        if split is not None:
            rest = replace(names, split=None)
            folder = scratch / f"{key}-fold-{split.number}-{split.folds}-{split.least}"
            return _cached(folder, lambda: _without(cls.part(partition, scratch, rest), split))
        if sample is not None:
            return _cached(scratch / key, lambda: _sampled(cls.of(partition, scratch), sample))
        return cls.of(partition, scratch)

    def among(self, names: Names) -> tuple[Votes, UnseenClaims | None]:
        """Return the votes, and those held out, with the options of all partitions."""
        votes, unseen, n_options = self.votes, self.unseen, len(names.options)
        if len(self.options) == n_options:
            return votes, unseen
        where = pc.index_in(self.options, value_set=names.options).to_numpy()
        if unseen is not None:
            unseen = replace(unseen, value=where[unseen.value])
        count = np.diff(votes.matrix.indptr).reshape(votes.n_tasks, votes.n_options)
        # Both lists of options are sorted, so claims keep their places.
        spread = np.zeros((votes.n_tasks, n_options), dtype=np.int32)
        spread[:, where] = count
        pointers = np.concatenate([[0], np.cumsum(spread)])
        matrix = _matrix(votes.matrix.data, votes.matrix.indices, pointers, votes.n_workers)
        return replace(votes, matrix=matrix, n_options=n_options), unseen


@dataclass(frozen=True, eq=False)
class PartitionBlock(VoteBlock):
    """The tasks of one partition as a block, with their names."""

    # tasks, options: pyarrow.Array
    tasks: pa.Array = field(kw_only=True)
    options: pa.Array = field(kw_only=True)
    number: int = field(kw_only=True)  # place among the partitions, from 0

    @classmethod
    def of(cls, partition: Partition, scratch: Path, names: Names) -> PartitionBlock:
        """Return the partition among all others, from `scratch` if it was coded before."""
        local = CodedPartition.part(partition, scratch, names)
        codes = worker_codes(scratch / partition.key, local.workers, names)
        votes, unseen = local.among(names)
        return cls(
            votes,
            gold_codes(names.gold, _named(local.tasks, names.options)),
            codes,
            len(names.workers),
            unseen,
            tasks=local.tasks,
            options=names.options,
            number=partition.number,
        )

    def named(self) -> Claims:
        """Return the names of tasks and options as claims without rows."""
        return _named(self.tasks, self.options)


def worker_codes(folder: Path, workers: pa.Array, names: Names) -> Codes:
    """Return the codes of a partition's workers among all, kept in its folder."""
    file = folder / "codes"
    if file.exists():
        return np.fromfile(file, np.int32)
    codes = pc.index_in(workers, value_set=names.workers).to_numpy().astype(np.int32)
    draft = file.with_name(secrets.token_hex(8))
    codes.tofile(draft)
    os.replace(draft, file)  # at once: another reader finds it whole or not at all
    return np.asarray(codes)


def _named(tasks: pa.Array, options: pa.Array) -> Claims:
    none = np.empty(0, dtype=np.int32)
    return Claims(none, none, none, tasks, pa.array([], pa.string()), options)


def _cached(folder: Path, coded: Callable[[], CodedPartition]) -> CodedPartition:
    if not folder.exists():
        _write(coded(), folder)
    return _read(folder)


def _sampled(local: CodedPartition, sample: TaskSample) -> CodedPartition:
    """Return the answers on the tasks of a sample."""
    chosen, votes = sample.tasks(local.tasks), local.votes
    kept = np.repeat(chosen, votes.of_task.astype(np.int64))
    # The tasks that are left out have no answers now; their rows go too.
    rows, part = np.repeat(chosen, votes.n_options), votes.among(kept)
    pointers = np.concatenate([[0], np.cumsum(np.diff(votes.matrix.indptr)[rows])])
    data, indices = part.matrix.data, part.matrix.indices
    part = replace(
        part,
        matrix=_matrix(data, indices, pointers, votes.n_workers),
        n_tasks=int(np.count_nonzero(chosen)),
        of_task=part.of_task[chosen],
    )
    return replace(local, votes=part, tasks=local.tasks.filter(pa.array(chosen)), nulls=0)


def _without(local: CodedPartition, split: Split) -> CodedPartition:
    """Return the answers less those of a fold, and these; all claims of a task are here."""
    task, option = local.votes.cells()
    worker = local.votes.matrix.indices
    uniform = uniform_by_names(local.tasks, local.workers, task, worker, 0)
    rows = split.held_out(uniform, local.votes.of_task[task])
    unseen = UnseenClaims(task[rows], worker[rows], option[rows])
    return replace(local, votes=local.votes.among(~rows), unseen=unseen, nulls=0)


def _coded(claims: Claims, masks: ReportMechanisms | None) -> CodedPartition:
    sources = None
    if masks is not None:
        claims, sources = NamedSources.of(claims, masks)
    answered = claims.answered()
    assert claims.options is not None
    return CodedPartition(
        Votes.of(answered),
        claims.tasks,
        claims.workers,
        claims.options,
        len(claims) - len(answered),
        sources,
    )


def _matrix(data: Any, indices: Any, pointers: Any, n_workers: int) -> Any:
    shape = (len(pointers) - 1, n_workers)
    return sparse.csr_array((data, indices, pointers.astype(np.int32, copy=False)), shape=shape)


def _write(local: CodedPartition, folder: Path) -> None:
    """Write to a folder of another name first: a folder that is there is whole."""
    draft = folder.with_name(f"{folder.name}-{secrets.token_hex(8)}")
    draft.mkdir(parents=True)
    votes = local.votes
    matrix = votes.matrix
    arrays: dict[str, Any] = {
        "indices": matrix.indices.astype(np.int32, copy=False),
        "pointers": matrix.indptr.astype(np.int32, copy=False),
        "of_task": votes.of_task.astype(np.int32),
        "of_worker": votes.of_worker.astype(np.int32),
        "nulls": np.array([local.nulls]),
        "tasks": local.tasks,
        "workers": local.workers,
        "options": local.options,
    }
    if (matrix.data != 1).any():
        arrays["data"] = matrix.data
    if local.unseen is not None:
        unseen = (local.unseen.task, local.unseen.worker, local.unseen.value)
        arrays |= {f"unseen-{i}": column.astype(np.int32) for i, column in enumerate(unseen)}
    if local.sources is not None:
        arrays |= arrays_of(local.sources.table, "sources")
        arrays |= arrays_of(local.sources.masks, "masks")
    write_arrays(draft, arrays)
    try:
        os.replace(draft, folder)
    except OSError:  # somebody else was faster
        shutil.rmtree(draft, ignore_errors=True)
        if not folder.exists():
            raise


def _read(folder: Path) -> CodedPartition:
    arrays = arrays_in(folder)
    of_names = ("tasks", "workers", "options")
    tasks, workers, options = (arrays[name] for name in of_names)
    sources = sources_among(arrays)
    numbers = {
        name: column.to_numpy()
        for name, column in arrays.items()
        if name not in of_names and "." not in name  # a dot: a column of the sources
    }
    indices, pointers = numbers["indices"], numbers["pointers"]
    data = numbers["data"] if "data" in numbers else np.ones(len(indices))
    votes = Votes(
        _matrix(data, indices, pointers, len(workers)),
        len(tasks),
        len(options),
        len(workers),
        numbers["of_task"].astype(np.float64),
        numbers["of_worker"].astype(np.float64),
    )
    unseen = None
    if "unseen-0" in numbers:
        unseen = UnseenClaims(*(numbers[f"unseen-{i}"] for i in range(3)))
    return CodedPartition(votes, tasks, workers, options, int(numbers["nulls"][0]), sources, unseen)


def write_arrays(folder: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays of any lengths to one file, to be read by `arrays_in`.

    One, for each visit to a partition opens it: with small partitions, opening files is most of it.
    """
    lists = {}
    for name, column in arrays.items():
        values = column if isinstance(column, pa.Array) else pa.array(column)
        ends = pa.array([0, len(values)], pa.int64())
        lists[name] = pa.LargeListArray.from_arrays(ends, values)
    table = pa.table(lists)
    with pa.OSFile(str(folder / _FILE), "wb") as sink, pa.ipc.new_file(sink, table.schema) as out:
        out.write_table(table)


def arrays_in(folder: Path) -> dict[str, pa.Array]:
    """Return the arrays of a folder by their names, read where they lie."""
    with pa.memory_map(str(folder / _FILE)) as source:
        table = pa.ipc.open_file(source).read_all()
    return {
        name: column.chunk(0).values
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def arrays_of(table: pa.Table, name: str) -> dict[str, pa.Array]:
    """Return the columns of a table as arrays, to be read by `sources_among`."""
    return {f"{name}.{column}": table[column].combine_chunks() for column in table.column_names}


def sources_among(arrays: dict[str, pa.Array]) -> NamedSources | None:
    """Return the sources among some arrays; None where there are none."""
    if "sources.source" not in arrays:
        return None
    tables = []
    for table in ("sources", "masks"):
        names = [name for name in arrays if name.startswith(f"{table}.")]
        tables.append(pa.table({name.partition(".")[2]: arrays[name] for name in names}))
    return NamedSources(*tables)
