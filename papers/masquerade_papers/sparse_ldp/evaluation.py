"""The theorems and the claim of Sun et al. (2018), from measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masquerade_papers.sparse_ldp.measurement import (
    CONSTANT,
    EPSILONS,
    EXACT_LAPLACE,
    OURS,
    PRINTED,
    PUBLISHED,
    QUICK_EPSILONS,
    REAL,
    SHAPES,
    TASKS_WHEN_QUICK,
)
from masquerade_papers.sparse_ldp.published_mae import published_laplace_mae, published_response_mae
from masquerade_papers.study import (
    Cells,
    Evaluation,
    Figure,
    Panel,
    Scale,
    Series,
    Style,
    Table,
    means_by,
)
from masquerade_papers.verdict import Comparison, Estimate, Row, Statements

#: Mean absolute errors by method and epsilon.
Means = Mapping[tuple[Any, ...], Estimate]

_NOTHING_PROVEN = "MF, for which nothing is proven,"
#: Comparisons: our method and its label, the paper's and its label.
_PAIRS = (
    ("EM", "response decoded with the mask", EXACT_LAPLACE, "LP"),
    ("EM", "response decoded with the mask", "RR", "RR"),
    ("EM", "response decoded with the mask", "MF", _NOTHING_PROVEN),
    ("ridge", "proven factorization", "MF", _NOTHING_PROVEN),
)


def evaluate(measured: Mapping[str, Cells], scale: Scale) -> Evaluation:
    """Return the two numbers, the omissions of the formulas, and error against epsilon."""
    epsilons = QUICK_EPSILONS if scale.quick else EPSILONS
    rows = _formula_rows(measured["one-report"])
    ours: list[Comparison] = []
    tables, panels = [], []
    for name in [f"web-{shape}" for shape in SHAPES] + list(REAL):
        cells = [cell for job, part in measured.items() if job.startswith(name) for cell in part]
        if not cells:
            continue
        means = means_by(cells, ("method", "epsilon"), "mae")
        # the one set with all the counts of the paper's; `adult_content` has another sparsity
        paper = Statements(PRINTED["statements"], _data(name, scale), own=name == "wsd")
        rows += _factorization_rows(paper, name, means, epsilons)
        ours += [
            paper.compare(
                "ours",
                [means[theirs, e] - means[mine, e] for e in epsilons],
                {"set": name, "theirs": their_label, "ours": my_label},
            )
            for mine, my_label, theirs, their_label in _PAIRS
        ]
        tables.append(_table(name, paper.data, means, epsilons, cells))
        panels.append(_panel(name, paper.data, means, epsilons))
    title = (
        "Error of the truth against epsilon of one cell, presence hidden; bars: two standard errors"
    )
    return Evaluation(rows, ours, tables, [Figure("mae", title, panels)])


def _formula_rows(cells: Cells) -> list[Row]:
    formula = Statements(PRINTED["statements"], "the published formula", own=True)
    crowd = Statements(PRINTED["statements"], "simulated, 34 workers, one answer in ten", own=True)
    simple: dict[str, Any] = {"epsilon": 1, "answered_share": 0.1, "deviation": 1}
    laplace = published_laplace_mae(range(1, 11), [1], **simple).value
    response = published_response_mae(range(10), [0], **simple).value
    normalised = published_response_mae(range(10), [0], **simple, normalised=True).value
    error = {c["mechanism"]: Estimate(c["mae"], c["error"]) for c in cells}
    return [
        formula.value("bound-LP", laplace),
        formula.value("bound-RR", response),
        formula.value("bound-RR-normalised", normalised),
        crowd.claim("measured-LP", [Estimate(14.13) - error["LP"]]),
        crowd.claim("measured-RR", [Estimate(3.551) - error["RR"]]),
        crowd.claim("LP-over-RR", [error["LP"] - error["RR"]]),
    ]


def _factorization_rows(
    paper: Statements, name: str, means: Means, epsilons: tuple[str, ...]
) -> list[Row]:
    def gaps(other: str) -> list[Estimate]:
        return [means[other, e] - means["MF", e] for e in epsilons]

    return [
        *(paper.claim("MF-is-best", gaps(o), {"set": name, "other": o}) for o in ("LP", "RR")),
        paper.claim("MF-is-good", gaps(CONSTANT), {"set": name}),
    ]


def _data(name: str, scale: Scale) -> str:
    if name.startswith("web-"):
        return f"simulated, 34 x 177, {name.removeprefix('web-')} truths"
    if name == "adult_content" and scale.quick:
        return f"adult_content, {TASKS_WHEN_QUICK} of its 11,040 tasks"
    return f"{name}, the paper's own by all its counts" if name == "wsd" else name


def _table(name: str, data: str, means: Means, epsilons: tuple[str, ...], cells: Cells) -> Table:
    facts = {(c["method"], c["epsilon"]): (c["epsilon_event"], c["status"]) for c in cells}
    rows = [
        {
            "epsilon": epsilon,
            "method": method,
            "ours": method in OURS,
            "epsilon_event": facts[method, epsilon][0],
            "status": facts[method, epsilon][1],
            "mean_absolute_error": means[method, epsilon].mean,
            "standard_error": means[method, epsilon].error,
        }
        for epsilon in epsilons
        for method in (*PUBLISHED, EXACT_LAPLACE, *OURS, "no mask", CONSTANT)
    ]
    return Table(f"mae-{name}", f"Mean absolute error on {data}", rows)


def _panel(name: str, data: str, means: Means, epsilons: tuple[str, ...]) -> Panel:
    x = [float(e) for e in epsilons]

    def line(method: str, label: str, style: Style) -> Series:
        return Series.of(label, x, [means[method, e] for e in epsilons], style)

    lines = [
        *(line(method, label, "paper") for method, label in PUBLISHED.items()),
        *(line(method, label, "ours") for method, label in OURS.items()),
        line(CONSTANT, "best constant (knows the truths)", "reference"),
        line("no mask", "no mask, algorithm 1", "reference"),
    ]
    unit = "levels" if name in REAL else "points of 1 to 5"
    return Panel(data, "epsilon of one cell, as published", f"mean absolute error, {unit}", lines)
