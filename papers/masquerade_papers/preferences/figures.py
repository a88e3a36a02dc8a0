"""Figures 1 to 10 of Wang et al. (2019), drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from masquerade_papers.preferences.measurement import (
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
from masquerade_papers.study import Figure, Panel, Series, Style
from masquerade_papers.verdict import Estimate

Means = Mapping[tuple[Any, ...], Estimate]

SHAPE_DATA = "simulated in the Moral Machine's shape, normal features"

_OWN_UNIT = "epsilon of the mechanism's own unit"
_ACCURACY = "accuracy against the mean true weights"
_BARS = "bars: two standard errors"


@dataclass(frozen=True, slots=True)
class Accuracies:
    """Mean accuracies by the varied parameter."""

    sizes: Means  # by voters, records, mechanism and epsilon
    dimensions: Means  # by features, mechanism and epsilon
    groups: Means  # by voters, setting, its value and mechanism
    bounds: Means  # by voters, records, mechanism and bound
    machine: Means  # by voters, mechanism and epsilon
    machine_groups: Means  # by setting, its value and mechanism
    # dealt_out, held_out: by mechanism and epsilon; empty without the real decisions.
    dealt_out: Means
    held_out: Means


def figures(
    accuracies: Accuracies, factors: Mapping[tuple[str, int], float], epsilons: Sequence[float]
) -> list[Figure]:
    """Return figures 1 to 10; `factors`: the loss of a whole voter over the epsilon of one unit."""
    sizes = accuracies.sizes
    machine_groups = {(200, *key): each for key, each in accuracies.machine_groups.items()}
    six = "Figure 6: personalised epsilons (synthetic, 50 records, 10 features)"
    nine = f"Figure 9: personalised epsilons ({SHAPE_DATA})"
    return [
        *(_size_figure(i, k, sizes, epsilons) for i, k in ((1, ONE), (2, TWO), (3, THREE))),
        _comparison_figure(factors, sizes, epsilons),
        _dimension_figure(accuracies.dimensions),
        _group_figure("figure-6", six, dict.fromkeys(VOTERS, accuracies.groups)),
        _bound_figure(accuracies.bounds),
        _machine_figure(accuracies, epsilons),
        _group_figure("figure-9", nine, {200: machine_groups}),
        _ratio_figure(sizes, accuracies.machine, epsilons),
    ]


def ratio(one: Estimate, base: Estimate) -> Estimate:
    """Return one over the other; the other is taken as exact."""
    return Estimate(one.mean / base.mean, one.error / base.mean)


def _line(
    means: Means,
    keys: Sequence[tuple[Any, ...]],
    x: Sequence[float],
    label: str,
    style: Style = "paper",
) -> Series:
    known = [(a, means[key]) for a, key in zip(x, keys, strict=True) if key in means]
    return Series.of(label, [a for a, _ in known], [e for _, e in known], style)


def _lines(means: Means, mechanisms: Sequence[str], x: Sequence[float]) -> list[Series]:
    """Return a line of each mechanism, from means by mechanism and x."""
    return [
        _line(means, [(k, e) for e in x], x, LABELS[k], "ours" if k in OURS else "paper")
        for k in mechanisms
    ]


def _size_figure(number: int, mechanism: str, means: Means, epsilons: Sequence[float]) -> Figure:
    ends = (epsilons[0], epsilons[-1])
    panels = []
    for n in VOTERS:
        lines = [
            _line(means, [(n, m, mechanism, e) for e in epsilons], epsilons, f"{m} records")
            for m in RECORDS
        ]
        for m in (10, 100):
            free, label = [(n, m, "none", None)] * 2, f"no privacy, {m} records"
            lines.append(_line(means, free, ends, label, "reference"))
        unit = f"epsilon of a {'record' if mechanism == THREE else 'voter'}"
        panels.append(Panel(f"{n} voters", unit, _ACCURACY, lines, log_x=True))
    title = f"Figure {number}: {LABELS[mechanism]} (synthetic, 10 features); {_BARS}"
    return Figure(f"figure-{number}", title, panels)


def _comparison_figure(
    factors: Mapping[tuple[str, int], float], means: Means, epsilons: Sequence[float]
) -> Figure:
    own, whole = [], []
    for n, m in ((50, 50), (100, 50), (100, 100)):
        some = {key[2:]: each for key, each in means.items() if key[:2] == (n, m)}
        mechanisms = (*MECHANISMS, *OURS)
        title = f"{n} voters, {m} records"
        own.append(
            Panel(title, _OWN_UNIT, _ACCURACY, _lines(some, mechanisms, epsilons), log_x=True)
        )
        honest = [
            _line(
                some,
                [(k, e) for e in epsilons],
                [e * factors[k, m] for e in epsilons],
                LABELS[k],
                "ours" if k in OURS else "paper",
            )
            for k in mechanisms
        ]
        title = f"{title}, at the honest loss"
        whole.append(Panel(title, "epsilon of a whole voter", _ACCURACY, honest, log_x=True))
    title = f"Figure 4: the algorithms compared (synthetic, 10 features); {_BARS}"
    return Figure("figure-4", title, [*own, *whole])


def _dimension_figure(means: Means) -> Figure:
    dimensions = sorted({key[0] for key in means})
    panels = []
    for e in (1, 3):
        some = {(key[1], key[0]): each for key, each in means.items() if key[2] in (e, None)}
        lines = _lines(some, (ONE, THREE, *OURS), dimensions)
        free = [("none", d) for d in dimensions]
        lines.append(_line(some, free, dimensions, "no privacy", "reference"))
        panels.append(
            Panel(f"epsilon {e} of the mechanism's own unit", "features", _ACCURACY, lines)
        )
    title = f"Figure 5: number of features (synthetic, 100 voters, 50 records); {_BARS}"
    return Figure("figure-5", title, panels)


#: Settings of personalised epsilons: title of the panel and label of its axis.
_SETTINGS = {
    "conservative": ("how many are conservative", "share of conservative voters"),
    "low": ("lower end varies", "least epsilon of the conservative (greatest: 0.5)"),
    "middle": (
        "upper end varies",
        "greatest epsilon of the conservative, least of the moderate",
    ),
}


def _group_figure(name: str, title: str, by_voters: Mapping[int, Means]) -> Figure:
    panels = []
    for setting, (panel, label) in _SETTINGS.items():
        series = []
        for n, means in by_voters.items():
            x = sorted({key[2] for key in means if key[:2] == (n, setting)})
            third, knorm = (
                [(n, setting, value, mechanism) for value in x]
                for mechanism in (THREE, "linear-knorm")
            )
            ours = f"linear-knorm, inverse variance (ours), {n} voters"
            series += [
                _line(means, third, x, f"Algorithm 3, {n} voters"),
                _line(means, knorm, x, ours, "ours"),
            ]
        if any(one.x for one in series):
            panels.append(Panel(panel, label, _ACCURACY, series))
    return Figure(name, f"{title}; {_BARS}", panels)


def _bound_figure(means: Means) -> Figure:
    bounds = sorted({key[3] for key in means})
    panels = []
    for n, m in ((50, 50), (100, 100)):
        some = {key[2:]: each for key, each in means.items() if key[:2] == (n, m)}
        axis = "bound B of the L1 norm of a voter's weights"
        lines = _lines(some, (ONE, TWO), bounds)
        panels.append(Panel(f"{n} voters, {m} records", axis, _ACCURACY, lines, log_x=True))
    title = f"Figure 7: bound of the norm, epsilon 0.1 (synthetic, 10 features); {_BARS}"
    return Figure("figure-7", title, panels)


def _machine_figure(accuracies: Accuracies, epsilons: Sequence[float]) -> Figure:
    means = accuracies.machine
    panels = []
    for k in MECHANISMS:
        lines = [
            _line(means, [(n, k, e) for e in epsilons], epsilons, f"{n} voters")
            for n in MACHINE_VOTERS
        ]
        panels.append(Panel(LABELS[k], _OWN_UNIT, _ACCURACY, lines, log_x=True))
    largest = {key[1:]: each for key, each in means.items() if key[0] == 200}
    free = "agreement with the result without privacy"
    for some, title, y in (
        (largest, "compared, 200 voters (simulated)", _ACCURACY),
        (accuracies.dealt_out, "real decisions, dealt out", free),
        (accuracies.held_out, "real decisions, held out", "held-out choices predicted"),
    ):
        if some:
            lines = _lines(some, (*MECHANISMS, *OURS), epsilons)
            panels.append(Panel(title, _OWN_UNIT, y, lines, log_x=True))
    return Figure("figure-8", f"Figure 8: 13 records, 23 features ({SHAPE_DATA}); {_BARS}", panels)


def _ratio_figure(sizes: Means, machine: Means, epsilons: Sequence[float]) -> Figure:
    synthetic = {key[2:]: each for key, each in sizes.items() if key[:2] == (50, 100)}
    shape = {key[1:]: each for key, each in machine.items() if key[0] == 200}
    panels = []
    for means, title in (
        (synthetic, "synthetic, 50 voters, 100 records"),
        (shape, "Moral Machine's shape (simulated), 200 voters, 13 records"),
    ):
        ratios = {key: ratio(each, means["none", None]) for key, each in means.items()}
        lines = _lines(ratios, (*MECHANISMS, *OURS), epsilons)
        panels.append(Panel(title, _OWN_UNIT, "accuracy ratio", lines, log_x=True))
    title = f"Figure 10: accuracy over that without privacy; {_BARS}"
    return Figure("figure-10", title, panels)
