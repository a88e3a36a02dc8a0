"""Tables 1 and 2 and figures 3 to 5 of Huai et al. (IJCAI 2019), from measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from masquerade_papers.priscrowd.measurement import (
    EPSILONS,
    LABEL,
    METHODS,
    PRINTED,
    SAMPLES,
    SIZES,
)
from masquerade_papers.study import (
    Cells,
    Evaluation,
    Figure,
    Panel,
    Scale,
    Series,
    Style,
    Table,
)
from masquerade_papers.verdict import Comparison, Estimate, Row, Statements

#: Of the printed ratio of two errors.
RATIO_TOLERANCE = 0.25

#: The errors of table 2, and what the study calls them.
MEASURES = {"ISE": "mise", "SISE": "rms"}

ENGINES: tuple[tuple[str, str, Style], ...] = (
    ("basic", "Basic, width of the domain", "paper"),
    ("hist", "hist (ours)", "ours"),
    ("pooled", "pooled (ours)", "ours"),
    ("test-honest", "the test, made honest (ours; delta 0.01)", "ours"),
)

_TIMES: tuple[tuple[str, bool, Style], ...] = (
    ("with the test", True, "paper"),
    ("without", False, "reference"),
)


def evaluate(measured: Mapping[str, Cells], scale: Scale) -> Evaluation:
    """Return tables 1 and 2, figures 3 to 5, and the engines at equal honest epsilon."""
    rows: list[Row] = []
    ours: list[Comparison] = []
    table: Cells = []
    by_samples: list[Series] = []
    density_panels: list[Panel] = []
    honest: dict[str, list[Cells]] = {}
    names = [name for name in (*SIZES, "emotion") if f"densities-{name}" in measured]
    for name in names:
        runs = [part for job, part in measured.items() if job.rsplit("-", 1)[0] == name]
        first = runs[0][0]
        data = first["data"] + (f", {first['objects']} objects" if scale.quick else "")
        # never the paper's own: `population` has other counts too, 2,351 users where it has 2,344
        paper = Statements(PRINTED["statements"], data)
        if name in SIZES:
            rows += _size_rows(paper, name, first, scale)
            rows += _ratio_rows(paper, name, runs)
        rows += _order_rows(paper, name, runs)
        rows += _sample_rows(paper, name, runs)
        table += _table_rows(name, runs, data)
        by_samples.append(_sample_series(name, runs))
        density_panels += _density_panels(name, measured[f"densities-{name}"])
        tests = [part for job, part in measured.items() if job.startswith(f"honest-{name}-")]
        if tests:
            honest[name] = tests
            ours += _comparisons(name, tests)
    rows += _time_rows(measured)
    claims, error = "synthetic claims of each object", "relative squared error"
    figures = [
        Figure(
            "figure-3",
            "Figure 3: estimated densities of two objects of each data set",
            density_panels,
        ),
        Figure(
            "figure-4",
            "Figure 4: error against released claims; bars: two standard errors",
            [Panel("PrisCrowd", claims, error, by_samples)],
        ),
        *_time_figure(measured),
        _honest_figure(honest),
    ]
    at_equal_epsilon = [
        {"set": name, **cell} for name, runs in honest.items() for run in runs for cell in run
    ]
    tables = [
        Table("table-2", "Errors of each method, multiples of PrisCrowd's", table),
        Table("honest", "Relative squared error at the same epsilon of a claim", at_equal_epsilon),
    ]
    return Evaluation(rows, ours, tables, figures)


def _each(runs: list[Cells], method: str, measure: str, samples: int = 30) -> list[float]:
    """Return one number of each run."""
    return [
        next(c[measure] for c in run if c.get("method") == method and c["samples"] == samples)
        for run in runs
    ]


def _size_rows(paper: Statements, name: str, first: Mapping[str, Any], scale: Scale) -> list[Row]:
    if scale.quick and name in ("population", "stock"):
        return []  # a part of the objects says nothing about their number
    rows = []
    for what, printed in SIZES[name].items():
        count, texts = float(first[what]), {"set": LABEL[name], "what": what}
        if first["data"].startswith("simulated"):
            rows.append(paper.given("size", count, texts, paper=float(printed)))
        else:
            allowed = 0.02 * printed
            row = paper.value("size", count, texts, paper=float(printed), tolerance=allowed)
            rows.append(row)
    return rows


def _ratio_rows(paper: Statements, name: str, runs: list[Cells]) -> list[Row]:
    rows = []
    for measure, what in MEASURES.items():
        first, *others = PRINTED["errors"][name][measure]
        base = np.array(_each(runs, "PrisCrowd", what))
        for printed, method in zip(others, METHODS[1:], strict=True):
            rows.append(
                paper.value(
                    "ratio",
                    Estimate.of(np.array(_each(runs, method, what)) / base),
                    {
                        "set": LABEL[name],
                        "measure": measure,
                        "method": method,
                        "value": printed,
                        "base": first,
                    },
                    paper=printed / first,
                    tolerance=RATIO_TOLERANCE * printed / first,
                )
            )
    return rows


def _order_rows(paper: Statements, name: str, runs: list[Cells]) -> list[Row]:
    def gap(worse: str, better: str, measure: str = "relative") -> Estimate:
        errors = np.array(_each(runs, worse, measure)) - _each(runs, better, measure)
        return Estimate.of(errors)

    uniform, own = gap("Uniform", "PrisCrowd"), gap("Uniform", "PrisCrowd", "own")
    basic = [gap(method, "PrisCrowd") for method in METHODS[2:]]
    steps = [gap("Basic 0.1", "Basic 1"), gap("Basic 1", "Basic 10")]
    artifact = "table 2" if name in SIZES else f"stand-in {name}"
    texts = {"artifact": artifact, "set": LABEL[name]}
    return [
        paper.claim("better-than-uniform", [uniform], texts),
        paper.claim("better-by-own-yardstick", [own], texts),
        paper.claim("better-than-basic", basic, texts),
        paper.claim("basic-and-epsilon", steps, texts),
    ]


def _sample_rows(paper: Statements, name: str, runs: list[Cells]) -> list[Row]:
    errors = {m: Estimate.of(_each(runs, "PrisCrowd", "relative", m)) for m in SAMPLES}
    late, early = errors[15] - errors[30], errors[1] - errors[15]
    texts = {"set": LABEL[name]}
    ratio = Estimate(late.mean / early.mean, late.error / abs(early.mean))
    return [
        paper.claim("more-claims", [errors[1] - errors[5], errors[5] - errors[15]], texts),
        paper.alike("flat", [ratio], texts),
    ]


def _table_rows(name: str, runs: list[Cells], data: str) -> Cells:
    rows: Cells = []
    for place, method in enumerate(METHODS):
        row: dict[str, Any] = {"set": name, "data": data, "method": method}
        for measure, what in MEASURES.items():
            errors = np.array(_each(runs, method, what))
            ratio = Estimate.of(errors / np.array(_each(runs, "PrisCrowd", what)))
            printed = PRINTED["errors"].get(name, {}).get(measure)
            row |= {
                measure: float(errors.mean()),
                f"{measure}_over_priscrowd": ratio.mean,
                f"{measure}_standard_error": ratio.error,
                f"{measure}_paper": printed[place] if printed else None,
                f"{measure}_paper_over_priscrowd": printed[place] / printed[0] if printed else None,
            }
        relative = Estimate.of(_each(runs, method, "relative"))
        rows.append({**row, "relative": relative.mean, "relative_error": relative.error})
    return rows


def _source(cell: Mapping[str, Any]) -> str:
    return "simulated" if cell["data"].startswith("simulated") else "real"


def _sample_series(name: str, runs: list[Cells]) -> Series:
    errors = [Estimate.of(_each(runs, "PrisCrowd", "relative", m)) for m in SAMPLES]
    return Series.of(f"{LABEL[name]} ({_source(runs[0][0])})", SAMPLES, errors)


def _density_panels(name: str, cells: Cells) -> list[Panel]:
    panels = []
    for place in dict.fromkeys(c["object"] for c in cells):
        series = []
        for c in (c for c in cells if c["object"] == place):
            known = c["density"] in ("true density", "inliers")
            style: Style = "reference" if known else "paper"
            series.append(Series(c["density"], c["x"], c["y"], None, style))
        title = f"{LABEL[name]} ({_source(cells[0])}), {place}"
        panels.append(Panel(title, "value claimed", "density", series))
    return panels


def _seconds(cells: Cells, tested: bool) -> list[list[float]]:
    """Return the seconds of the repetitions, for each number of samples."""
    return [
        [c["seconds"] for c in cells if c["samples"] == m and c["tested"] == tested]
        for m in SAMPLES
    ]


def _times(measured: Mapping[str, Cells]) -> dict[str, Cells]:
    names = ("population", "indoor")
    return {n: measured[f"times-{n}"] for n in names if f"times-{n}" in measured}


def _time_rows(measured: Mapping[str, Cells]) -> list[Row]:
    paper = Statements(PRINTED["statements"], "processor time of this machine")
    rows = []
    for name, cells in _times(measured).items():
        tested, untested = _seconds(cells, True), _seconds(cells, False)
        # the least of the repetitions: what else runs on the machine only adds
        least = [min(each) for each in tested]
        fit = float(np.corrcoef(SAMPLES, least)[0, 1]) if np.ptp(least) > 0 else 0.0
        pairs = zip(tested, untested, strict=True)
        gaps = [Estimate.of(one) - Estimate.of(other) for one, other in pairs]
        texts = {"set": LABEL[name]}
        rows += [
            paper.claim("linear-time", [Estimate(fit - 0.95)], texts),
            paper.claim("test-costs-time", gaps, texts),
        ]
    return rows


def _time_figure(measured: Mapping[str, Cells]) -> list[Figure]:
    claims, seconds = "synthetic claims of each object", "processor seconds"
    panels = []
    for name, cells in _times(measured).items():
        lines = [
            Series.of(
                label, SAMPLES, [Estimate.of(each) for each in _seconds(cells, tested)], style
            )
            for label, tested, style in _TIMES
        ]
        panels.append(Panel(LABEL[name], claims, seconds, lines))
    title = "Figure 5: time of a release; bars: two standard errors"
    return [Figure("figure-5", title, panels)] if panels else []


def _engine(runs: list[Cells], engine: str, epsilon: float | None) -> Estimate:
    cells = [c for run in runs for c in run]
    return Estimate.of(
        [c["relative"] for c in cells if c["engine"] == engine and c["epsilon"] == epsilon]
    )


def _comparisons(name: str, runs: list[Cells]) -> list[Comparison]:
    paper = Statements(PRINTED["statements"], runs[0][0]["data"])
    return [
        paper.compare(
            "ours",
            [_engine(runs, theirs, e) - _engine(runs, engine, e) for e in EPSILONS],
            {"set": LABEL[name], "theirs": theirs, "ours": engine},
        )
        for engine in ("hist", "pooled")
        for theirs in ("basic", "test-honest")
    ]


def _honest_figure(by_name: Mapping[str, list[Cells]]) -> Figure:
    ends: Sequence[float] = (EPSILONS[0], EPSILONS[-1])
    panels = []
    for name, runs in by_name.items():
        series = [
            Series.of(label, EPSILONS, [_engine(runs, engine, e) for e in EPSILONS], style)
            for engine, label, style in ENGINES
        ]
        for weights in ("combined", "uniform"):
            base = _engine(runs, f"no privacy, {weights}", None)
            label = f"no privacy, {weights} weights"
            series.append(Series.of(label, ends, (base, base), "reference"))
        title = f"{LABEL[name]} ({runs[0][0]['data']})"
        panels.append(
            Panel(title, "epsilon of one claim", "relative squared error", series, log_x=True)
        )
    title = "At the same honest epsilon; PrisCrowd itself promises none; bars: two standard errors"
    return Figure("honest", title, panels)
