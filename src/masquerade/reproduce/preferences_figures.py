"""Figures 1 to 10 of Wang et al. (2019), drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from masquerade.reproduce.preferences import (
    LABELS,
    MACHINE_VOTERS,
    MECHANISMS,
    ONE,
    OURS,
    RECORDS,
    THREE,
    TWO,
    VOTERS,
)
from masquerade.reproduce.study import Figure, Panel, Series
from masquerade.reproduce.verdict import Estimate

Means = Mapping[tuple[Any, ...], Estimate]

SHAPE_DATA = "simulated in the Moral Machine's shape, normal features"


@dataclass(frozen=True, slots=True)
class Measured:
    """Accuracies by what was varied.

    Attributes
    ----------
    sizes : mapping
        By voters, records, mechanism and epsilon.
    dimensions : mapping
        By features, mechanism and epsilon.
    groups : mapping
        By voters, setting, its value and mechanism.
    bounds : mapping
        By voters, records, mechanism and bound.
    machine : mapping
        By voters, mechanism and epsilon.
    machine_groups : mapping
        By setting, its value and mechanism.
    dealt_out, held_out : mapping
        By mechanism and epsilon; empty without the real decisions.
    """

    sizes: Means
    dimensions: Means
    groups: Means
    bounds: Means
    machine: Means
    machine_groups: Means
    dealt_out: Means
    held_out: Means


def figures(
    measured: Measured, honest: Mapping[tuple[str, int], float], epsilons: Sequence[float]
) -> list[Figure]:
    """Return figures 1 to 10.

    Parameters
    ----------
    measured : Measured
    honest : mapping
        By mechanism and records: the loss of a whole voter over the epsilon of its own unit.
    epsilons : sequence of float
    """
    return [
        *(_size_figure(number, mechanism, measured.sizes, epsilons)
          for number, mechanism in ((1, ONE), (2, TWO), (3, THREE))),
        _comparison_figure(honest, measured.sizes, epsilons),
        _dimension_figure(measured.dimensions),
        _group_figure("figure-6", "Figure 6: personalised epsilons (synthetic, 50 records, "
                      "10 features)", dict.fromkeys(VOTERS, measured.groups)),
        _bound_figure(measured.bounds),
        _machine_figure(measured.machine, measured.dealt_out, measured.held_out, epsilons),
        _group_figure("figure-9", f"Figure 9: personalised epsilons ({SHAPE_DATA})",
                      {200: {(200, *key): each for key, each in measured.machine_groups.items()}}),
        _ratio_figure(measured.sizes, measured.machine, epsilons),
    ]  # fmt: skip


def ratio(one: Estimate, base: Estimate) -> Estimate:
    """Return one over the other; the other is taken as exact."""
    return Estimate(one.mean / base.mean, one.error / base.mean)


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
    whole: Mapping[tuple[str, int], float], means: Means, epsilons: Sequence[float]
) -> Figure:
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
            titles = {"conservative": "how many are conservative", "low": "lower end varies",
                      "middle": "upper end varies"}  # fmt: skip
            panels.append(
                Panel(titles[setting], label, "accuracy against the mean true weights", series)
            )
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
        f"Figure 8: 13 records, 23 features ({SHAPE_DATA}); bars: two standard errors",
        panels,
    )


def _ratio_figure(sizes: Means, machine: Means, epsilons: Sequence[float]) -> Figure:
    def lines(means: Means, base: Estimate) -> list[Series]:
        ratios = {key: ratio(each, base) for key, each in means.items()}
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
