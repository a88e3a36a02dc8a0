"""Runs of studies: in parallel, taking up finished parts, written as tables and figures."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any, cast

import pyarrow as pa

from masquerade.answers.frames import write_table
from masquerade.answers.result import Progress, Result
from masquerade.errors import ParameterError
from masquerade.exact.number import in_range
from masquerade_papers.figures import NO_DRAWING, can_draw, draw, write_numbers
from masquerade_papers.study import Cells, Evaluation, Evaluator, Job, Scale, Study
from masquerade_papers.verdict import Comparison, Row

#: The papers by name, and the package of each: its ``measurement`` and its ``evaluation``.
PAPERS: Mapping[str, str] = {
    "two-layer": "masquerade_papers.two_layer",
    "priscrowd": "masquerade_papers.priscrowd",
    "preferences": "masquerade_papers.preferences",
    "sparse-ldp": "masquerade_papers.sparse_ldp",
    "loki": "masquerade_papers.loki",
}

#: Changes when measurements change their meaning, so that older parts are not taken up.
FORMAT = 1

_LOGGER = logging.getLogger(__name__)

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Reproduction(Result):
    """The outcome of a run."""

    rows: dict[str, tuple[Row, ...]]  # by paper
    ours: dict[str, tuple[Comparison, ...]]  # by paper: our methods beside the paper's
    artifacts: tuple[Path, ...]  # files written, tables and figures
    taken_up: int  # parts that were there already
    done: int  # parts that were measured now
    remarks: tuple[str, ...] = ()

    def to_arrow(self) -> pa.Table:
        """Return a row for each number that a paper prints, with ours beside it."""
        rows = [
            {"of": paper, **row_json(row)} for paper, found in self.rows.items() for row in found
        ]
        return pa.Table.from_pylist(rows)


def reproduce(
    papers: Sequence[str],
    out: str | Path,
    *,
    scale: Scale | None = None,
    processes: int = 1,
    progress: Progress | None = None,
) -> Reproduction:
    """Measure the printed values of papers, and write tables and figures.

    `papers`: keys of `PAPERS`.
    `out`: a folder; made where it is not there. Parts that an earlier run finished with the same
    parameters are taken up from it.
    `processes`: at least 1; with 1 everything happens in this process.

    Raises `ParameterError` (a name is unknown or a number out of range).
    """
    unknown = [name for name in papers if name not in PAPERS]
    if unknown or not papers:
        raise ParameterError(
            f"paper {unknown[0] if unknown else ''!r} is unknown; expected some of "
            f"{', '.join(PAPERS)}."
        )
    in_range(processes, "processes", low=1)
    chosen = scale or Scale()
    if chosen.trials is not None and chosen.trials < 2:
        raise ParameterError(
            f"trials is {chosen.trials}, expected at least 2, for a standard error."
        )
    folder = Path(out)
    studies = {name: cast(Study, import_module(f"{PAPERS[name]}.measurement")) for name in papers}
    evaluators = {
        name: cast(Evaluator, import_module(f"{PAPERS[name]}.evaluation")) for name in papers
    }
    jobs = {name: study.jobs(chosen) for name, study in studies.items()}
    measured, taken_up = _measure(jobs, folder, processes, progress)
    rows: dict[str, tuple[Row, ...]] = {}
    ours: dict[str, tuple[Comparison, ...]] = {}
    artifacts: list[Path] = []
    for name, study in studies.items():
        evaluation = evaluators[name].evaluate(measured[name], chosen)
        rows[name], ours[name] = tuple(evaluation.rows), tuple(evaluation.ours)
        artifacts += _write(evaluation, folder / name, name, study.CITATION)
    return Reproduction(
        rows,
        ours,
        tuple(artifacts),
        taken_up,
        sum(map(len, jobs.values())) - taken_up,
        () if can_draw() else (NO_DRAWING,),
    )


def _measure(
    jobs: Mapping[str, Sequence[Job]], folder: Path, processes: int, progress: Progress | None
) -> tuple[dict[str, dict[str, Cells]], int]:
    measured: dict[str, dict[str, Cells]] = {name: {} for name in jobs}
    todo: list[tuple[str, Job, Path]] = []
    for name, some in jobs.items():
        for job in some:
            path = folder / "parts" / f"{name}-{job.name}-{identity(job)}.json"
            earlier = _read_part(path)
            if earlier is None:
                todo.append((name, job, path))
            else:
                measured[name][job.name] = earlier
    total = sum(map(len, jobs.values()))
    done = taken_up = total - len(todo)
    if progress is not None:
        progress(done, total)
    for name, job, path, cells in _results(todo, processes):
        _write_part(path, job, cells)
        measured[name][job.name] = cells
        done += 1
        _LOGGER.info("measured %s %s, %d of %d", name, job.name, done, total)
        if progress is not None:
            progress(done, total)
    return measured, taken_up


def _results(
    todo: Sequence[tuple[str, Job, Path]], processes: int
) -> Iterator[tuple[str, Job, Path, Cells]]:
    if processes == 1 or len(todo) < 2:
        for name, job, path in todo:
            yield name, job, path, job.work(**job.parameters, **job.extras)
        return
    # Fresh processes: a fork would copy threads' locks, and read the limit of threads too late.
    with _one_thread_each():
        pool = ProcessPoolExecutor(
            processes, mp_context=get_context("spawn"), initializer=_end_with_parent
        )
        waiting: dict[Future[Cells], tuple[str, Job, Path]] = {}
        try:
            for name, job, path in todo:
                future = pool.submit(job.work, **job.parameters, **job.extras)
                waiting[future] = (name, job, path)
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    # taken out, so that the results of finished parts are not held twice
                    yield (*waiting.pop(future), future.result())
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """Let this process end when the one that started it does, however that ends."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        # at once and without cleaning up: nobody is left to take results
        os._exit(1)

    Thread(target=watch, daemon=True).start()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = earlier


def identity(job: Job) -> str:
    """Return twelve digits that change with the function and the parameters of a job."""
    whole = [FORMAT, job.work.__module__, job.work.__qualname__, dict(job.parameters)]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:12]


def _read_part(path: Path) -> Cells | None:
    try:
        part = json.loads(path.read_text(encoding="utf-8"))
        cells = part["cells"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return cells if isinstance(cells, list) else None


def _write_part(path: Path, job: Job, cells: Cells) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = {"job": job.name, "parameters": dict(job.parameters), "cells": cells}
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps(part), encoding="utf-8")
    unfinished.replace(path)  # a part is whole or not there


def _write(evaluation: Evaluation, folder: Path, paper: str, citation: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "verdicts.csv"]
    write_table(pa.Table.from_pylist([asdict(row) for row in evaluation.rows]), written[0])
    if evaluation.ours:
        written.append(folder / "ours.csv")
        write_table(pa.Table.from_pylist([asdict(each) for each in evaluation.ours]), written[-1])
    for table in evaluation.tables:
        written.append(folder / f"{table.name}.csv")
        write_table(_table(table.rows), written[-1])
    for figure in evaluation.figures:
        written.append(folder / f"{figure.name}.csv")
        write_numbers(figure, written[-1])
        if can_draw():
            written.append(folder / f"{figure.name}.png")
            draw(figure, written[-1])
    summary = {
        "paper": paper,
        "citation": citation,
        "rows": [row_json(row) for row in evaluation.rows],
        "ours": [row_json(each) for each in evaluation.ours],
        "tables": {table.name: table.title for table in evaluation.tables},
        "figures": {figure.name: figure.title for figure in evaluation.figures},
    }
    written.append(folder / "findings.json")
    text = json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False)
    written[-1].write_text(text + "\n", encoding="utf-8")
    return written


def _table(rows: Cells) -> pa.Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def row_json(row: Row | Comparison) -> dict[str, Any]:
    """Return a row as a JSON object, with null in place of infinite numbers and NaN.

    Examples
    --------
    >>> row = Row("table 2", "accuracy", 0.8, "", 0.81, 0.01, "simulated", "reproduced", "")
    >>> row_json(row)["verdict"]
    'reproduced'
    """
    return {
        key: None if isinstance(each, float) and not math.isfinite(each) else each
        for key, each in asdict(row).items()
    }
