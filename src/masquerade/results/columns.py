"""Columns of a result's table: order, names and texts, for files, pages and documentation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from masquerade.results.question_figures import Figure

Cell = str | float | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table, in which each row is a figure.

    Attributes
    ----------
    name : str
        In files and frames.
    text : str
        What it holds, for the documentation.
    of : callable or None
        Gives its number of a figure; None of what names the row.
    heading : str
        On pages, whose tables have the columns that have one; with ``{masks}`` for what was added.
    """

    name: str
    text: str
    of: Callable[[Figure], float | None] | None = None
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: name and numbers of a figure.

    `together`: ends of the interval that holds for all options of the question at once.
    `known`: the value of made-up people.
    """

    question: str
    option: str
    estimator: str
    figure: Figure
    n: int
    level: str = "all"
    together: tuple[float | None, float | None] = (None, None)
    known: float | None = None


NAMES = (
    Column("survey", "the survey's token"),
    Column(
        "question",
        "the question's id; empty for items of pairs; `first × second` of a table that two parties "
        "counted",
    ),
    Column(
        "option",
        "the option; an item of pairs; `(mean)`, `(first quartile)`, `(median)`, `(third "
        "quartile)`; `(levels alike)`, `(honest reports)` of a test",
    ),
    Column(
        "estimator",
        "`within`, `own` or `alike`, by how far levels may differ; `answered`: of those who "
        "answered; `reported`: masks and all; `level`; `quartile`; `test`: the probability of such "
        "reports where levels are alike, or devices honest; `cell`: of a table of two parties; "
        "`label`: an inferred label, with its "
        "probability; `strength`: of an item of pairs; `rating`: the same on the scale of chess; "
        "`rank`: the ranks that it may have, from `low` to `high`; `mean-rank`: of an item of a "
        "ranking, 1 the best; `model-first`: its share of first choices if one set of strengths "
        "fits everybody; `model-strength`: its strength in that model; "
        "`first-choice`: the same, as two parties counted it",
    ),
    Column("level", "`all`, or the level of an estimate of one level"),
)
COUNT = Column("n", "people")
FIGURES = (
    Column("value", "the estimate, within its interval", lambda f: f.value),
    Column("se", "standard error of the unbiased estimate", lambda f: f.standard_error),
    Column("low", "lower end of the interval", lambda f: f.low),
    Column("high", "upper end of the interval", lambda f: f.high),
    Column("sampling_error", "error by who answered", lambda f: f.sampling_error, "± people"),
    Column("mechanism_error", "error by masks or noise", lambda f: f.mechanism_error, "± {masks}"),
    Column("shown", "`value` where a point is to be read; else empty", lambda f: f.shown),
)
BESIDE = (
    Column("simultaneous_low", "lower end of the interval that holds for all options at once"),
    Column("simultaneous_high", "upper end of the same"),
    Column("known", "the value of made-up people; else empty"),
)
#: All columns of files, in their order; the number of people stands after the interval.
COLUMNS = (*NAMES, *FIGURES[:4], COUNT, *FIGURES[4:], *BESIDE)


def numbers(line: Line) -> list[Cell]:
    """Return the cells of a row, from the value on."""
    cells = [None if column.of is None else column.of(line.figure) for column in FIGURES]
    return [*cells[:4], line.n, *cells[4:], *line.together, line.known]


#: Columns that a page's table has beside estimate and interval.
PAGE_COLUMNS = tuple(column for column in FIGURES if column.heading)


def documented() -> str:
    """Return the columns as a table of the documentation."""
    lines = ["| column | what it holds |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{one.name}` | {one.text} |" for one in COLUMNS)])
