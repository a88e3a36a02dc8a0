"""The theorems and the claim of Sun et al. (2018), from what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masquerade.reproduce.sparse_ldp import (
    CONSTANT,
    EPSILONS,
    EXACT_LAPLACE,
    OURS,
    PUBLISHED,
    QUICK_EPSILONS,
    REAL,
    SHAPES,
    TASKS_WHEN_QUICK,
)
from masquerade.reproduce.study import (
    Cells,
    Figure,
    Findings,
    Panel,
    Scale,
    Series,
    Table,
)
from masquerade.reproduce.verdict import Comparison, Estimate, Row, claim, compare, value
from masquerade.truth import (
    published_laplace_mae,
    published_response_mae,
)


def results(found: Mapping[str, Cells], scale: Scale) -> Findings:
    """Return the two numbers, what the formulas leave out, and error against epsilon."""
    epsilons = QUICK_EPSILONS if scale.quick else EPSILONS
    rows = _formulas(found["one-report"])
    ours: list[Comparison] = []
    tables, panels = [], []
    for name in [f"web-{shape}" for shape in SHAPES] + list(REAL):
        cells = [cell for job, part in found.items() if job.startswith(name) for cell in part]
        if not cells:
            continue
        means = {
            (method, epsilon): Estimate.of(
                [c["mae"] for c in cells if c["method"] == method and c["epsilon"] == epsilon]
            )
            for method in {c["method"] for c in cells}
            for epsilon in epsilons
        }
        own = name == "wsd" or (name == "adult_content" and not scale.quick)
        data = _data(name, scale)
        rows += _claim_rows(name, means, epsilons, data, own)
        ours += _comparisons(name, means, epsilons, data)
        tables.append(_table(name, data, means, epsilons, cells))
        panels.append(_panel(name, data, means, epsilons))
    return Findings(
        rows,
        ours,
        tables,
        [Figure("mae", "Error of the truth against epsilon of one cell, presence hidden; "
                "bars: two standard errors", panels)],
    )  # fmt: skip


def _formulas(cells: Cells) -> list[Row]:
    exact = "the published formula"
    simple: dict[str, Any] = {"epsilon": 1, "answered_share": 0.1, "deviation": 1}
    laplace = published_laplace_mae(range(1, 11), [1], **simple).value
    response = published_response_mae(range(10), [0], **simple).value
    normalised = published_response_mae(range(10), [0], **simple, normalised=True).value
    measured = {c["mechanism"]: Estimate(c["mae"], c["error"]) for c in cells}
    made = "simulated, 34 workers, one answer in ten"
    return [
        value("theorem 1", "bound of the mean absolute error, LP", paper=14.13, ours=laplace,
              tolerance=0.005, data=exact, own=True),
        value("theorem 2", "bound of the mean absolute error, RR", paper=3.551, ours=response,
              tolerance=0.0005, data=exact, own=True),
        value("theorem 2", "the same, normal weights scaled to sum 1", paper=3.551,
              ours=normalised, tolerance=0.0005, data=exact, own=True),
        claim("theorem 1", "14.13 minus the measured error, LP",
              [Estimate(14.13) - measured["LP"]], statement="the error is at most 14.13",
              data=made, own=True),
        claim("theorem 2", "3.551 minus the measured error, RR",
              [Estimate(3.551) - measured["RR"]], statement="the error is at most 3.551",
              data=made, own=True,
              note="theorem 2 counts the bias alone, and no answer as the number 0"),
        claim("theorems 1 and 2", "measured error: LP minus RR",
              [measured["LP"] - measured["RR"]],
              statement="LP's error is several times RR's (14.13 against 3.551)", data=made,
              own=True, note="theorem 1 is about one report, theorem 2 about the mean of all"),
    ]  # fmt: skip


Means = Mapping[tuple[str, str], Estimate]


def _claim_rows(
    name: str, means: Means, epsilons: tuple[str, ...], data: str, own: bool
) -> list[Row]:
    rows = [
        claim(f"MAE, {name}", f"mean absolute error: {other} minus MF",
              [means[other, e] - means["MF", e] for e in epsilons],
              statement=f"MF's error is smaller than {other}'s", data=data, own=own)
        for other in ("LP", "RR")
    ]  # fmt: skip
    # The constant takes its value from the truths, so it is a bar and not a method.
    rows.append(
        claim(f"MAE, {name}", "mean absolute error: best constant minus MF",
              [means[CONSTANT, e] - means["MF", e] for e in epsilons],
              statement="MF's error is small (smaller than that of one guess for all tasks)",
              data=data, own=own)
    )  # fmt: skip
    return rows


def _comparisons(name: str, means: Means, epsilons: tuple[str, ...], data: str) -> list[Comparison]:
    no_promise = "MF, for which nothing is proven,"
    return [
        compare(f"MAE, {name}", f"mean absolute error at the same epsilon: {label} minus {ours}",
                [means[other, e] - means[key, e] for e in epsilons], data=data)
        for key, ours, others in (
            ("EM", "response decoded with the mask",
             ((EXACT_LAPLACE, "LP"), ("RR", "RR"), ("MF", no_promise))),
            ("ridge", "proven factorization", (("MF", no_promise),)))
        for other, label in others
    ]  # fmt: skip


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

    def line(method: str, label: str, style: Any) -> Series:
        found = [means[method, e] for e in epsilons]
        return Series(label, x, [f.mean for f in found], [f.error for f in found], style)

    lines = [line(method, label, "paper") for method, label in PUBLISHED.items()]
    lines += [line(method, label, "ours") for method, label in OURS.items()]
    lines += [line(CONSTANT, "best constant (knows the truths)", "reference"),
              line("no mask", "no mask, algorithm 1", "reference")]  # fmt: skip
    unit = "levels" if name in REAL else "points of 1 to 5"
    return Panel(data, "epsilon of one cell, as published", f"mean absolute error, {unit}", lines)
