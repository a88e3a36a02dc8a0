"""The parts of a study of a paper: jobs that measure, and an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from masquerade.datasets import DATASETS
from masquerade_papers.verdict import Comparison, Estimate, Row

#: Returns seconds of processor time.
Clock = Callable[[], float]

#: What a job measured: flat JSON objects, one a measurement.
Cells = list[dict[str, Any]]

Style = Literal["paper", "ours", "reference", "published"]


@dataclass(frozen=True, slots=True)
class Scale:
    """The size of a study: all cells or few, and the number of trials.

    Examples
    --------
    >>> Scale(quick=True, trials=5).trials
    5
    """

    quick: bool = False  # fewer cells, smaller crowds, fewer trials
    trials: int | None = None  # of each cell; None: the study's own number
    # For the figures of running times. The library has no clock of its own.
    clock: Clock | None = None

    def pick(self, full: int, quick: int) -> int:
        """Return the number of trials: the one asked for, else by `quick`."""
        return self.trials if self.trials is not None else (quick if self.quick else full)


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of measuring, done in a process of its own."""

    name: str  # unique in the study
    # A function of a module, called with `parameters` (and `extras`); returns `Cells`.
    work: Callable[..., Cells]
    # JSON values. With the name of the function and the version they are the job's identity: a
    # finished job with the same identity is not done again.
    parameters: Mapping[str, Any]
    # Further arguments that do not change the result.
    extras: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Series:
    """A line, or points, of a panel."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float] | None = None  # standard errors of `y`
    # {"paper", "ours", "reference", "published"}. What drew it: a method of the paper, one of ours,
    # a baseline, or values that the paper prints.
    style: Style = "paper"
    marks: bool = False  # points only, no line

    @classmethod
    def of(
        cls, label: str, x: Sequence[float], y: Sequence[Estimate], style: Style = "paper"
    ) -> Series:
        """Return the line of some estimates, with their standard errors."""
        return cls(label, x, [e.mean for e in y], [e.error for e in y], style)


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes; without a legend where an axis says already which series is which."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    legend: bool = True


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: a title and panels. Its numbers are a CSV, its drawing a PNG."""

    name: str
    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of measurements: a CSV."""

    name: str
    title: str
    rows: Cells


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Results of a study beside the printed ones."""

    rows: Sequence[Row]
    ours: Sequence[Comparison] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()


class Study(Protocol):
    """The module of a paper that measures."""

    CITATION: str

    @staticmethod
    def jobs(scale: Scale) -> list[Job]:
        """Return the jobs to measure."""
        ...


class Evaluator(Protocol):
    """The module of a paper that evaluates measurements."""

    @staticmethod
    def evaluate(measured: Mapping[str, Cells], scale: Scale) -> Evaluation:
        """Return the rows that follow from the measurements, by name of the job."""
        ...


def means_by(
    cells: Iterable[Mapping[str, Any]], keys: Sequence[str], measure: str
) -> dict[tuple[Any, ...], Estimate]:
    """Return the mean of a measure over the cells that have it, by the values of their keys."""
    values: dict[tuple[Any, ...], list[float]] = {}
    for cell in cells:
        if measure in cell:
            values.setdefault(tuple(cell[key] for key in keys), []).append(cell[measure])
    return {key: Estimate.of(each) for key, each in values.items()}


def real(name: str) -> bool:
    """Return whether a data set is there to be read."""
    return DATASETS[name].available()
