"""Tables 1 and 2 and figures 3 to 5 of Huai et al. (IJCAI 2019), from what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from masquerade.reproduce.priscrowd import (
    ENGINES,
    EPSILONS,
    LABEL,
    METHODS,
    RATIO_TOLERANCE,
    SAMPLES,
    SIZES,
    TABLE_2,
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
from masquerade.reproduce.verdict import Comparison, Estimate, Row, alike, claim, compare, value


def results(found: Mapping[str, Cells], scale: Scale) -> Findings:
    """Return tables 1 and 2, figures 3 to 5, and the engines at equal honest epsilon."""
    rows: list[Row] = []
    ours: list[Comparison] = []
    table: Cells = []
    names = [n for n in (*SIZES, "emotion") if f"densities-{n}" in found]
    fours, panels = [], []
    for name in names:
        runs = [part for job, part in found.items() if job.rsplit("-", 1)[0] == name]
        first = runs[0][0]
        own = name == "population" and not first["data"].startswith("simulated")
        data = first["data"] + (f", {first['objects']} objects" if scale.quick else "")
        if name in SIZES:
            rows += _size_rows(name, first, data, scale, own=own)
            rows += _ratio_rows(name, runs, data, own=own and not scale.quick)
        rows += _order_rows(name, runs, data, own=own and not scale.quick)
        rows += _sample_rows(name, runs, data, own=own and not scale.quick)
        table += _table_rows(name, runs, data)
        fours.append(_sample_series(name, runs))
        panels += _density_panels(name, found[f"densities-{name}"])
    rows += _time_rows(found)
    honest_runs = {
        name: [p for j, p in found.items() if j.startswith(f"honest-{name}-")] for name in names
    }
    for name, runs in honest_runs.items():
        if runs:
            ours += _comparisons(name, runs)
    figures = [
        Figure("figure-3", "Figure 3: estimated densities of two objects of each data set", panels),
        Figure("figure-4", "Figure 4: error against released claims; bars: two standard errors",
               [Panel("PrisCrowd", "synthetic claims of each object", "relative squared error",
                      fours)]),
        *_time_figure(found),
        _honest_figure({n: r for n, r in honest_runs.items() if r}),
    ]  # fmt: skip
    tables = [
        Table("table-2", "Errors of each method, multiples of PrisCrowd's", table),
        Table("honest", "Relative squared error at the same epsilon of a claim",
              [{"set": name, **c} for name, runs in honest_runs.items() for run in runs
               for c in run]),
    ]  # fmt: skip
    return Findings(rows, ours, tables, figures)


def _each(runs: list[Cells], method: str, what: str, samples: int = 30) -> list[float]:
    return [
        next(c[what] for c in run if c.get("method") == method and c["samples"] == samples)
        for run in runs
    ]


def _size_rows(
    name: str, first: dict[str, Any], data: str, scale: Scale, *, own: bool
) -> list[Row]:
    if scale.quick and name in ("population", "stock"):
        return []  # a part of the objects says nothing about their number
    users, objects = SIZES[name]
    return [
        value("table 1", f"{LABEL[name]}: {what}", paper=float(paper), ours=float(first[what]),
              tolerance=0.02 * paper, data=data, own=own)
        for what, paper in (("users", users), ("objects", objects))
    ]  # fmt: skip


def _ratio_rows(name: str, runs: list[Cells], data: str, *, own: bool) -> list[Row]:
    rows = []
    for measure, what in (("ISE", "mise"), ("SISE", "rms")):
        printed = TABLE_2[name][measure]
        base = np.array(_each(runs, "PrisCrowd", what))
        for place, method in enumerate(METHODS[1:], start=1):
            paper = printed[place] / printed[0]
            rows.append(
                value("table 2", f"{LABEL[name]}: {measure} of {method} over PrisCrowd's",
                      paper=paper, ours=Estimate.of(np.array(_each(runs, method, what)) / base),
                      tolerance=RATIO_TOLERANCE * paper, data=data, own=own,
                      statement=f"{printed[place]:g} over {printed[0]:g}")
            )  # fmt: skip
    return rows


def _order_rows(name: str, runs: list[Cells], data: str, *, own: bool) -> list[Row]:
    def less(one: str, other: str, what: str = "relative") -> Estimate:
        a, b = (np.array(_each(runs, m, what)) for m in (one, other))
        return Estimate.of(b - a)

    artifact = "table 2" if name in SIZES else f"stand-in {name}"
    return [
        claim(artifact, f"{LABEL[name]}, relative squared error: Uniform minus PrisCrowd",
              [less("PrisCrowd", "Uniform")], statement="PrisCrowd is better than Uniform",
              data=data, own=own),
        claim(artifact, f"{LABEL[name]}, the same against PrisCrowd's own density",
              [less("PrisCrowd", "Uniform", "own")],
              statement="PrisCrowd is better than Uniform (by a yardstick of its own)",
              data=data, own=own),
        claim(artifact, f"{LABEL[name]}, relative squared error: each Basic minus PrisCrowd",
              [less("PrisCrowd", m) for m in METHODS[2:]],
              statement="PrisCrowd is better than every Basic", data=data, own=own),
        claim(artifact, f"{LABEL[name]}, relative squared error: less epsilon minus more",
              [less("Basic 1", "Basic 0.1"), less("Basic 10", "Basic 1")],
              statement="Basic is better with more epsilon", data=data, own=own),
    ]  # fmt: skip


def _sample_rows(name: str, runs: list[Cells], data: str, *, own: bool) -> list[Row]:
    errors = {m: Estimate.of(_each(runs, "PrisCrowd", "relative", m)) for m in SAMPLES}
    return [
        claim("figure 4", f"{LABEL[name]}, relative squared error: 1 claim minus 5, 5 minus 15",
              [errors[1] - errors[5], errors[5] - errors[15]],
              statement="more claims lower the error", data=data, own=own),
        alike("figure 4", f"{LABEL[name]}, change from 15 to 30 claims over that from 1 to 15",
              [_over(errors[15] - errors[30], errors[1] - errors[15])],
              statement="from some 15 claims on the error is flat", tolerance=0.1, data=data,
              own=own),
    ]  # fmt: skip


def _over(one: Estimate, base: Estimate) -> Estimate:
    return Estimate(one.mean / base.mean, one.error / abs(base.mean))


def _table_rows(name: str, runs: list[Cells], data: str) -> Cells:
    rows: Cells = []
    for place, method in enumerate(METHODS):
        row: dict[str, Any] = {"set": name, "data": data, "method": method}
        for measure, what in (("ISE", "mise"), ("SISE", "rms")):
            mine = np.array(_each(runs, method, what))
            ratio = Estimate.of(mine / np.array(_each(runs, "PrisCrowd", what)))
            printed = TABLE_2.get(name, {}).get(measure)
            row |= {
                measure: float(mine.mean()),
                f"{measure}_over_priscrowd": ratio.mean,
                f"{measure}_standard_error": ratio.error,
                f"{measure}_paper": printed[place] if printed else None,
                f"{measure}_paper_over_priscrowd": printed[place] / printed[0] if printed else None,
            }
        relative = Estimate.of(_each(runs, method, "relative"))
        rows.append({**row, "relative": relative.mean, "relative_error": relative.error})
    return rows


def _sample_series(name: str, runs: list[Cells]) -> Series:
    errors = [Estimate.of(_each(runs, "PrisCrowd", "relative", m)) for m in SAMPLES]
    data = "simulated" if runs[0][0]["data"].startswith("simulated") else "real"
    return Series(f"{LABEL[name]} ({data})", SAMPLES, [e.mean for e in errors],
                  [e.error for e in errors])  # fmt: skip


def _density_panels(name: str, cells: Cells) -> list[Panel]:
    panels = []
    for place in dict.fromkeys(c["object"] for c in cells):
        mine = [c for c in cells if c["object"] == place]
        data = "simulated" if mine[0]["data"].startswith("simulated") else "real"
        panels.append(
            Panel(f"{LABEL[name]} ({data}), {place}", "value claimed", "density",
                  [Series(c["density"], c["x"], c["y"], None,
                          "reference" if c["density"] in ("true density", "inliers") else "paper")
                   for c in mine])
        )  # fmt: skip
    return panels


def _seconds(cells: Cells, tested: bool) -> list[Estimate]:
    return [
        Estimate.of([c["seconds"] for c in cells if c["samples"] == m and c["tested"] == tested])
        for m in SAMPLES
    ]


def _time_rows(found: Mapping[str, Cells]) -> list[Row]:
    rows = []
    for name in ("population", "indoor"):
        cells = found.get(f"times-{name}")
        if cells is None:
            continue
        seconds = _seconds(cells, True)
        taken = [
            min(c["seconds"] for c in cells if c["samples"] == m and c["tested"]) for m in SAMPLES
        ]  # the least of the repetitions: what else runs on the machine only adds
        fit = float(np.corrcoef(SAMPLES, taken)[0, 1]) if np.ptp(taken) > 0 else 0.0
        data = "processor time of this machine"
        rows += [
            claim("figure 5", f"{LABEL[name]}: correlation of time and claims, minus 0.95",
                  [Estimate(fit - 0.95)], statement="time is about linear in the claims",
                  data=data, own=False),
            claim("figure 5", f"{LABEL[name]}, seconds: with the test minus without",
                  [a - b for a, b in zip(seconds, _seconds(cells, False), strict=True)],
                  statement="the test costs time", data=data, own=False),
        ]  # fmt: skip
    return rows


_TIMED: tuple[tuple[str, bool, Literal["paper", "reference"]], ...] = (
    ("with the test", True, "paper"),
    ("without", False, "reference"),
)


def _time_figure(found: Mapping[str, Cells]) -> list[Figure]:
    panels = [
        Panel(LABEL[name], "synthetic claims of each object", "processor seconds",
              [Series(label, SAMPLES, [e.mean for e in _seconds(found[f"times-{name}"], tested)],
                      [e.error for e in _seconds(found[f"times-{name}"], tested)], style)
               for label, tested, style in _TIMED])
        for name in ("population", "indoor") if f"times-{name}" in found
    ]  # fmt: skip
    title = "Figure 5: time of a release; bars: two standard errors"
    return [Figure("figure-5", title, panels)] if panels else []


def _engine(runs: list[Cells], engine: str, epsilon: float | None) -> Estimate:
    return Estimate.of(
        [c["relative"] for run in runs for c in run
         if c["engine"] == engine and c["epsilon"] == epsilon]
    )  # fmt: skip


def _comparisons(name: str, runs: list[Cells]) -> list[Comparison]:
    return [
        compare(f"honest, {LABEL[name]}",
                f"relative squared error at the same epsilon: {theirs} minus {engine}",
                [_engine(runs, theirs, e) - _engine(runs, engine, e) for e in EPSILONS],
                data=runs[0][0]["data"])
        for engine in ("hist", "pooled") for theirs in ("basic", "test-honest")
    ]  # fmt: skip


def _honest_figure(by_name: Mapping[str, list[Cells]]) -> Figure:
    panels = []
    for name, runs in by_name.items():
        series = []
        for engine in ENGINES:
            errors = [_engine(runs, engine, e) for e in EPSILONS]
            label = {"basic": "Basic, width of the domain", "hist": "hist (ours)",
                     "pooled": "pooled (ours)",
                     "test-honest": "the test, made honest (ours; delta 0.01)"}[engine]  # fmt: skip
            series.append(
                Series(label, EPSILONS, [e.mean for e in errors], [e.error for e in errors],
                       "paper" if engine == "basic" else "ours")
            )  # fmt: skip
        for weights in ("combined", "uniform"):
            base = _engine(runs, f"no privacy, {weights}", None)
            series.append(
                Series(f"no privacy, {weights} weights", (EPSILONS[0], EPSILONS[-1]),
                       (base.mean, base.mean), (base.error, base.error), "reference")
            )  # fmt: skip
        panels.append(
            Panel(f"{LABEL[name]} ({runs[0][0]['data']})", "epsilon of one claim",
                  "relative squared error", series, log_x=True)
        )  # fmt: skip
    title = "At the same honest epsilon; PrisCrowd itself promises none; bars: two standard errors"
    return Figure("honest", title, panels)
