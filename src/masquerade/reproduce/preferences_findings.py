"""Figures 1 to 10 of Wang et al. (2019), from what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from masquerade.reproduce.preferences import (
    BOUNDS,
    CONSERVATIVE,
    EPSILONS,
    LABELS,
    LOW,
    MACHINE_VOTERS,
    MECHANISMS,
    MIDDLE,
    ONE,
    OURS,
    QUICK_BOUNDS,
    QUICK_EPSILONS,
    RECORDS,
    SYNTHETIC,
    THREE,
    TWO,
    VOTERS,
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


def findings(found: Mapping[str, Cells], scale: Scale) -> Findings:
    """Return figures 1 to 10."""
    epsilons = QUICK_EPSILONS if scale.quick else EPSILONS
    sizes = _means(found, "size-", ("voters", "records", "mechanism", "epsilon"))
    by_dimension = _means(found, "dimension-", ("features", "mechanism", "epsilon"))
    by_group = _means(found, "groups-", ("voters", "setting", "x", "mechanism"))
    by_bound = _means(found, "bound-", ("voters", "records", "mechanism", "bound"))
    machine = _means(found, "machine-", ("voters", "mechanism", "epsilon"))
    machine_groups = _means(found, "machinegroups-", ("setting", "x", "mechanism"))
    population = _means(found, "size-", ("voters", "records", "mechanism", "epsilon"), "population")
    dealt_out = _means(found, "real-", ("mechanism", "epsilon"))
    held_out = _means(found, "real-", ("mechanism", "epsilon"), "held_out")
    rows = [
        *_size_rows(sizes, epsilons),
        *_dimension_rows(by_dimension),
        *_group_rows(by_group),
        *_bound_rows(by_bound, scale.quick),
        *_machine_rows(machine, epsilons, 200, "figure 8", _shape_data()),
        *_machine_group_rows(machine_groups),
        *_ratio_rows(sizes, population, epsilons),
    ]
    if dealt_out:
        rows += _order_rows("figure 8", dealt_out, epsilons, _dealt_data(), own=False)
    figures = [
        *(_size_figure(number, mechanism, sizes, epsilons)
          for number, mechanism in ((1, ONE), (2, TWO), (3, THREE))),
        _comparison_figure(found, sizes, epsilons),
        _dimension_figure(by_dimension),
        _group_figure("figure-6", "Figure 6: personalised epsilons (synthetic, 50 records, "
                      "10 features)", dict.fromkeys(VOTERS, by_group)),
        _bound_figure(by_bound),
        _machine_figure(machine, dealt_out, held_out, epsilons),
        _group_figure("figure-9", f"Figure 9: personalised epsilons ({_shape_data()})",
                      {200: {(200, *key): each for key, each in machine_groups.items()}}),
        _ratio_figure(sizes, machine, epsilons),
    ]  # fmt: skip
    tables = [
        Table("synthetic", "Accuracy against the mean of the true weights",
              [dict(zip(("voters", "records", "mechanism", "epsilon"), key, strict=True),
                    accuracy=each.mean, standard_error=each.error)
               for key, each in sizes.items()]),
    ]  # fmt: skip
    return Findings(rows, _ours(sizes, machine, epsilons), tables, figures)


Means = Mapping[tuple[Any, ...], Estimate]


def _means(
    found: Mapping[str, Cells], start: str, names: tuple[str, ...], what: str = "accuracy"
) -> Means:
    gathered: dict[tuple[Any, ...], list[float]] = {}
    for job, cells in found.items():
        if job.startswith(start):
            for cell in cells:
                if what in cell:
                    gathered.setdefault(tuple(cell[name] for name in names), []).append(cell[what])
    return {key: Estimate.of(each) for key, each in gathered.items()}


def _size_rows(means: Means, epsilons: Sequence[float]) -> list[Row]:
    strong = [e for e in epsilons if e >= 0.1]
    rows = []
    for number, mechanism in ((1, ONE), (2, TWO), (3, THREE)):
        label = f"accuracy of {LABELS[mechanism]}"
        rows += [
            claim(f"figure {number}", f"{label}: epsilon {epsilons[-1]:g} minus {epsilons[0]:g}",
                  [means[n, m, mechanism, epsilons[-1]] - means[n, m, mechanism, epsilons[0]]
                   for n in VOTERS for m in RECORDS],
                  statement="a larger epsilon is more accurate", data=SYNTHETIC, own=True),
            claim(f"figure {number}", f"{label}: 100 voters minus 50, epsilon from 0.1",
                  [means[100, m, mechanism, e] - means[50, m, mechanism, e]
                   for m in RECORDS for e in strong],
                  statement="more voters are more accurate", data=SYNTHETIC, own=True),
            claim(f"figure {number}", f"{label}: 100 records minus 10, epsilon from 0.1",
                  [means[n, 100, mechanism, e] - means[n, 10, mechanism, e]
                   for n in VOTERS for e in strong],
                  statement="more records are more accurate", data=SYNTHETIC, own=True),
        ]  # fmt: skip
    for n in VOTERS:
        per_records = {m: {k: v for k, v in means.items() if k[0] == n and k[1] == m}
                       for m in RECORDS}  # fmt: skip
        for m in RECORDS:
            flat = {key[2:]: each for key, each in per_records[m].items()}
            rows += _order_rows(f"figure 4, {n} voters, {m} records", flat, epsilons, SYNTHETIC,
                                own=True)  # fmt: skip
    return rows


def _order_rows(
    artifact: str, means: Means, epsilons: Sequence[float], data: str, *, own: bool
) -> list[Row]:
    strong = [e for e in epsilons if e >= 0.3]
    return [
        claim(artifact, "accuracy, epsilon from 0.3: Algorithm 1 minus Algorithms 2 and 3",
              [means[ONE, e] - means[other, e] for e in strong for other in (TWO, THREE)],
              statement="Algorithm 1 is the most accurate", data=data, own=own),
        claim(artifact, "accuracy, epsilon from 0.3: Algorithm 3 minus Algorithm 2",
              [means[THREE, e] - means[TWO, e] for e in strong],
              statement="Algorithm 3 is far more accurate than Algorithm 2", data=data, own=own),
    ]  # fmt: skip


def _dimension_rows(means: Means) -> list[Row]:
    dimensions = sorted({key[0] for key in means})
    return [
        claim("figure 5", f"accuracy of {LABELS[mechanism]}: fewer features minus more",
              [means[low, mechanism, e] - means[high, mechanism, e]
               for low, high in pairwise(dimensions) for e in (1, 3)],
              statement="accuracy falls with the number of features", data=SYNTHETIC, own=True)
        for mechanism in (ONE, THREE)
    ]  # fmt: skip


def _group_rows(means: Means) -> list[Row]:
    rows = []
    for setting, values, statement, sign in (
        ("conservative", CONSERVATIVE, "more conservative voters are less accurate", -1),
        ("low", LOW, "a larger epsilon of the conservative is more accurate", 1),
        ("middle", MIDDLE, "a larger epsilon of the moderate is more accurate", 1),
    ):
        ends = (values[0], values[-1])[::sign]
        rows.append(
            claim("figure 6", f"accuracy of Algorithm 3: {setting} {ends[1]} minus {ends[0]}",
                  [means[n, setting, ends[1], THREE] - means[n, setting, ends[0], THREE]
                   for n in VOTERS],
                  statement=statement, data=SYNTHETIC, own=True)
        )  # fmt: skip
    return rows


def _bound_rows(means: Means, quick: bool) -> list[Row]:
    best = (2, 3)
    others = [b for b in (QUICK_BOUNDS if quick else BOUNDS) if b not in best]
    return [
        claim("figure 7", f"accuracy of {LABELS[mechanism]}: bound 2 and 3 minus others",
              [means[n, m, mechanism, b] - means[n, m, mechanism, o]
               for n, m in ((50, 50), (100, 100)) for b in best for o in others],
              statement="a bound of 2 or 3 is best", data=SYNTHETIC, own=True)
        for mechanism in (ONE, TWO)
    ]  # fmt: skip


def _machine_rows(
    means: Means, epsilons: Sequence[float], voters: int, artifact: str, data: str
) -> list[Row]:
    flat = {key[1:]: each for key, each in means.items() if key[0] == voters}
    rows = _order_rows(artifact, flat, epsilons, data, own=False)
    rows.append(
        claim(artifact, "accuracy, epsilon from 0.3: 200 voters minus 50, all three",
              [means[200, m, e] - means[50, m, e]
               for m in (ONE, TWO, THREE) for e in epsilons if e >= 0.3],
              statement="more voters are more accurate", data=data, own=False)
    )  # fmt: skip
    rows.append(
        value("figure 10", "accuracy without privacy, 200 voters x 13 records", paper=0.982,
              ours=means[voters, "none", None], tolerance=0.02, data=data, own=False)
    )  # fmt: skip
    return rows


def _machine_group_rows(means: Means) -> list[Row]:
    return [
        claim("figure 9", f"accuracy of Algorithm 3: {setting} {values[-1]} minus {values[0]}",
              [means[setting, values[-1], THREE] - means[setting, values[0], THREE]],
              statement=f"a larger epsilon of the {whom} is more accurate", data=_shape_data(),
              own=False)
        for setting, values, whom in (("low", LOW, "conservative"), ("middle", MIDDLE, "moderate"))
    ]  # fmt: skip


def _ratio_rows(means: Means, population: Means, epsilons: Sequence[float]) -> list[Row]:
    base = means[50, 100, "none", None]
    rows = [
        value("figure 10", "accuracy without privacy, 50 voters x 100 records, against the mean of "
              "the voters' true weights", paper=0.924, ours=base, tolerance=0.02, data=SYNTHETIC,
              own=True),
        value("figure 10", "the same, against the population's mean", paper=0.924,
              ours=population[50, 100, "none", None], tolerance=0.02, data=SYNTHETIC, own=True),
    ]  # fmt: skip
    for mechanism in (ONE, THREE):
        for least, above in ((0.8, 0.3), (0.9, 1.0)):
            rows += [
                claim("figure 10", f"{LABELS[mechanism]} over no privacy, epsilon {e:g}, minus "
                      f"{least}", [_ratio(means[50, 100, mechanism, e], base) - Estimate(least)],
                      statement=f"above {100 * least:.0f} % for epsilon above {above:g}",
                      data=SYNTHETIC, own=True)
                for e in epsilons if e > above and e <= 3
            ]  # fmt: skip
    return rows


def _ratio(one: Estimate, base: Estimate) -> Estimate:
    return Estimate(one.mean / base.mean, one.error / base.mean)


def _ours(sizes: Means, machine: Means, epsilons: Sequence[float]) -> list[Comparison]:
    strong = [e for e in epsilons if e >= 0.3]
    found = []
    for n, m in ((50, 10), (50, 100), (100, 10), (100, 100)):
        found += [
            compare(f"figure 4, {n} voters, {m} records",
                    f"accuracy at the same epsilon of a record: linear-knorm minus {LABELS[THREE]}",
                    [sizes[n, m, "linear-knorm", e] - sizes[n, m, THREE, e] for e in strong],
                    data=SYNTHETIC),
            compare(f"figure 4, {n} voters, {m} records",
                    "accuracy at the same epsilon of a voter (that of a record times the records): "
                    f"choice-response minus {LABELS[TWO]}",
                    [sizes[n, m, "choice-response", small] - sizes[n, m, TWO, large]
                     for small in epsilons for large in epsilons
                     if abs(small * m - large) < 1e-9], data=SYNTHETIC),
        ]  # fmt: skip
    found.append(
        compare("figure 8", f"accuracy at the same epsilon of a record: linear-knorm minus "
                f"{LABELS[THREE]}",
                [machine[200, "linear-knorm", e] - machine[200, THREE, e] for e in strong],
                data=_shape_data())
    )  # fmt: skip
    return found


def _shape_data() -> str:
    return "simulated in the Moral Machine's shape, normal features"


def _dealt_data() -> str:
    return "moral_machine, real decisions dealt out to made-up voters"


def _line(
    means: Means, keys: Sequence[tuple[Any, ...]], x: Sequence[float], label: str,
    style: Any = "paper",
) -> Series:  # fmt: skip
    known = [(a, means[key]) for a, key in zip(x, keys, strict=True) if key in means]
    return Series(label, [a for a, _ in known], [f.mean for _, f in known],
                  [f.error for _, f in known], style)  # fmt: skip


def _size_figure(number: int, mechanism: str, means: Means, epsilons: Sequence[float]) -> Figure:
    return Figure(
        f"figure-{number}",
        f"Figure {number}: {LABELS[mechanism]} (synthetic, 10 features); bars: two standard errors",
        [
            Panel(f"{n} voters", f"epsilon of a {'record' if mechanism == THREE else 'voter'}",
                  "accuracy against the mean true weights",
                  [*(_line(means, [(n, m, mechanism, e) for e in epsilons], epsilons,
                           f"{m} records") for m in RECORDS),
                   *(_line(means, [(n, m, "none", None)] * 2, (epsilons[0], epsilons[-1]),
                           f"no privacy, {m} records", "reference") for m in (10, 100))],
                  log_x=True)
            for n in VOTERS
        ],
    )  # fmt: skip


def _comparison_figure(
    found: Mapping[str, Cells], means: Means, epsilons: Sequence[float]
) -> Figure:
    whole = {
        (c["mechanism"], c["records"]): c["voter_level_epsilon"] / c["epsilon"]
        for job, cells in found.items() if job.startswith("size-")
        for c in cells if c.get("epsilon")
    }  # fmt: skip

    def lines(n: int, m: int, honest: bool) -> list[Series]:
        return [
            _line(means, [(n, m, k, e) for e in epsilons],
                  [e * (whole[k, m] if honest else 1) for e in epsilons], LABELS[k],
                  "ours" if k in OURS else "paper")
            for k in (*MECHANISMS, *OURS)
        ]  # fmt: skip

    return Figure(
        "figure-4",
        "Figure 4: the algorithms compared (synthetic, 10 features); bars: two standard errors",
        [
            *(Panel(f"{n} voters, {m} records", "epsilon of the mechanism's own unit",
                    "accuracy against the mean true weights", lines(n, m, False), log_x=True)
              for n, m in ((50, 50), (100, 50), (100, 100))),
            *(Panel(f"{n} voters, {m} records, at the honest loss", "epsilon of a whole voter",
                    "accuracy against the mean true weights", lines(n, m, True), log_x=True)
              for n, m in ((50, 50), (100, 50), (100, 100))),
        ],
    )  # fmt: skip


def _dimension_figure(means: Means) -> Figure:
    dimensions = sorted({key[0] for key in means})
    return Figure(
        "figure-5",
        "Figure 5: number of features (synthetic, 100 voters, 50 records); bars: two standard "
        "errors",
        [
            Panel(f"epsilon {e} of the mechanism's own unit", "features",
                  "accuracy against the mean true weights",
                  [*(_line(means, [(d, k, e) for d in dimensions], dimensions, LABELS[k],
                           "ours" if k in OURS else "paper") for k in (ONE, THREE, *OURS)),
                   _line(means, [(d, "none", None) for d in dimensions], dimensions, "no privacy",
                         "reference")])
            for e in (1, 3)
        ],
    )  # fmt: skip


def _group_figure(name: str, title: str, by_voters: Mapping[int, Means]) -> Figure:
    axes = {
        "conservative": "share of conservative voters",
        "low": "least epsilon of the conservative (greatest: 0.5)",
        "middle": "greatest epsilon of the conservative, least of the moderate",
    }
    panels = []
    for setting, label in axes.items():
        series = []
        for n, means in by_voters.items():
            x = sorted({key[2] for key in means if key[0] == n and key[1] == setting})
            series += [
                _line(means, [(n, setting, each, k) for each in x], x, f"{text}, {n} voters",
                      "paper" if k == THREE else "ours")
                for k, text in ((THREE, "Algorithm 3"),
                                ("linear-knorm", "linear-knorm, inverse variance (ours)"))
            ]  # fmt: skip
        if any(one.x for one in series):
            panels.append(Panel(label, label, "accuracy against the mean true weights", series))
    return Figure(name, f"{title}; bars: two standard errors", panels)


def _bound_figure(means: Means) -> Figure:
    bounds = sorted({key[3] for key in means})
    return Figure(
        "figure-7",
        "Figure 7: bound of the norm, epsilon 0.1 (synthetic, 10 features); bars: two standard "
        "errors",
        [
            Panel(f"{n} voters, {m} records", "bound B of the L1 norm of a voter's weights",
                  "accuracy against the mean true weights",
                  [_line(means, [(n, m, k, b) for b in bounds], bounds, LABELS[k])
                   for k in (ONE, TWO)], log_x=True)
            for n, m in ((50, 50), (100, 100))
        ],
    )  # fmt: skip


def _machine_figure(
    means: Means, dealt_out: Means, held_out: Means, epsilons: Sequence[float]
) -> Figure:
    panels = [
        Panel(f"{LABELS[k]}", "epsilon of the mechanism's own unit",
              "accuracy against the mean true weights",
              [_line(means, [(n, k, e) for e in epsilons], epsilons, f"{n} voters")
               for n in MACHINE_VOTERS], log_x=True)
        for k in MECHANISMS
    ]  # fmt: skip
    everything = (*MECHANISMS, *OURS)
    panels.append(
        Panel("compared, 200 voters (simulated)", "epsilon of the mechanism's own unit",
              "accuracy against the mean true weights",
              [_line(means, [(200, k, e) for e in epsilons], epsilons, LABELS[k],
                     "ours" if k in OURS else "paper") for k in everything], log_x=True)
    )  # fmt: skip
    for some, title, y in (
        (dealt_out, "real decisions, dealt out", "agreement with the result without privacy"),
        (held_out, "real decisions, held out", "held-out choices predicted"),
    ):
        if some:
            panels.append(
                Panel(title, "epsilon of the mechanism's own unit", y,
                      [_line(some, [(k, e) for e in epsilons], epsilons, LABELS[k],
                             "ours" if k in OURS else "paper") for k in everything], log_x=True)
            )  # fmt: skip
    return Figure(
        "figure-8",
        f"Figure 8: 13 records, 23 features ({_shape_data()}); bars: two standard errors",
        panels,
    )


def _ratio_figure(sizes: Means, machine: Means, epsilons: Sequence[float]) -> Figure:
    def lines(means: Means, base: Estimate) -> list[Series]:
        ratios = {key: _ratio(each, base) for key, each in means.items()}
        return [
            _line(ratios, [(k, e) for e in epsilons], epsilons, LABELS[k],
                  "ours" if k in OURS else "paper")
            for k in (*MECHANISMS, *OURS)
        ]  # fmt: skip

    synthetic = {key[2:]: each for key, each in sizes.items() if key[:2] == (50, 100)}
    shape = {key[1:]: each for key, each in machine.items() if key[0] == 200}
    return Figure(
        "figure-10",
        "Figure 10: accuracy over that without privacy; bars: two standard errors",
        [
            Panel("synthetic, 50 voters, 100 records", "epsilon of the mechanism's own unit",
                  "accuracy ratio", lines(synthetic, synthetic["none", None]), log_x=True),
            Panel("Moral Machine's shape (simulated), 200 voters, 13 records",
                  "epsilon of the mechanism's own unit", "accuracy ratio",
                  lines(shape, shape["none", None]), log_x=True),
        ],
    )  # fmt: skip
