"""Figures of curves: accuracy by privacy, a ledger over time, trade-offs of tests, densities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from masquerade.plots.look import (
    DASHES,
    MARKERS,
    axes_for,
    finish,
    numbers,
    palette,
    series_of,
    table_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points of a curve that are still marked one by one.
_MARKED = 40


def privacy_against_accuracy(
    data: Any,
    *,
    axes: Axes | None = None,
    theme: str = "light",
    title: str = "Accuracy by privacy loss",
) -> Axes:
    """Draw how accurate results are at each epsilon.

    `data`: ``epsilon``, ``accuracy`` (0 to 1); optionally ``low``, ``high``, ``series``.
    `axes` (optional): default: a new figure.
    `theme` ({"light", "dark"}): of a new figure.

    Examples
    --------
    >>> axes = privacy_against_accuracy({"epsilon": [0.5, 1.0, 2.0], "accuracy": [0.6, 0.7, 0.9]})
    >>> axes.get_xscale()
    'log'
    """
    table = table_of(data, ("epsilon", "accuracy"), drawing="privacy_against_accuracy")
    axes = _curves(table, "epsilon", "accuracy", axes, theme)
    axes.set_xscale("log")
    ticks = sorted({x for x in numbers(table, "epsilon") if x > 0})
    if len(ticks) <= 12:
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    return finish(
        axes,
        title=title,
        x="epsilon of one person (less is more private)",
        y="tasks found right",
        legend="series" in table.column_names,
    )


def ledger_over_time(
    data: Any,
    *,
    cap: float | None = None,
    axes: Axes | None = None,
    theme: str = "light",
    title: str = "Privacy spent",
) -> Axes:
    """Draw the spending of a ledger, entry after entry, below its cap.

    `data`: ``spent`` (the total after each entry, in epsilon or rho); optionally ``time`` and
    ``series`` (of one person each).
    `cap` (optional): the most that may be spent.
    `axes`, `theme`, `title`: as in `privacy_against_accuracy`.

    Examples
    --------
    >>> axes = ledger_over_time({"spent": [0.5, 1.0, 2.0]}, cap=3)
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('entry of the ledger', 'epsilon')
    """
    table = table_of(data, ("spent",), drawing="ledger_over_time")
    axes = axes_for(axes, theme)
    colours = palette(theme, axes)
    timed = "time" in table.column_names
    for number, (label, part) in enumerate(series_of(table)):
        when = part["time"].to_pylist() if timed else list(range(1, len(part) + 1))
        colour, dashes = colours[number % len(colours)], DASHES[number % len(DASHES)]
        spent = numbers(part, "spent")
        axes.step(when, spent, dashes, where="post", color=colour, label=label or "spent")
        axes.plot(when, spent, "o", markersize=3, color=colour)
    if cap is not None:
        ink = axes.xaxis.label.get_color()
        axes.axhline(cap, color=ink, linewidth=1, linestyle=":", label=f"cap {cap:g}")
    axes.set_ylim(bottom=0)
    if timed and hasattr(axes.figure, "autofmt_xdate") and not isinstance(when[0], int | float):
        axes.figure.autofmt_xdate()
    return finish(
        axes, title=title, x="time" if timed else "entry of the ledger", y="epsilon", legend=True
    )


def trade_off(
    data: Any,
    *,
    axes: Axes | None = None,
    theme: str = "light",
    title: str = "What the best test can tell",
) -> Axes:
    """Draw the power of the best test of two answers against its false-positive rate.

    `data`: ``rate``, ``power`` (0 to 1); optionally ``series``.
    `masquerade.accounting.trade_off_curve` makes it.
    `axes`, `theme`, `title`: as in `privacy_against_accuracy`.

    Examples
    --------
    >>> axes = trade_off({"rate": [0.0, 0.27, 1.0], "power": [0.0, 0.73, 1.0]})
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('false-positive rate', 'power at most')
    """
    table = table_of(data, ("rate", "power"), drawing="trade_off")
    axes = _curves(table, "rate", "power", axes_for(axes, theme, (5.2, 4.8)), theme)
    ink = axes.xaxis.label.get_color()
    axes.plot([0, 1], [0, 1], ":", color=ink, linewidth=1, label="guessing")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.01)
    axes.set_aspect("equal")
    return finish(axes, title=title, x="false-positive rate", y="power at most", legend=True)


def _curves(table: pa.Table, x: str, y: str, axes: Axes | None, theme: str) -> Axes:
    axes = axes_for(axes, theme)
    colours = palette(theme, axes)
    for number, (label, part) in enumerate(series_of(table.sort_by(x))):
        colour = colours[number % len(colours)]
        across = numbers(part, x)
        axes.plot(
            across,
            numbers(part, y),
            DASHES[number % len(DASHES)],
            marker=MARKERS[number % len(MARKERS)] if len(part) <= _MARKED else None,
            markersize=4,
            color=colour,
            label=label or None,
        )
        if {"low", "high"} <= set(part.column_names):
            low, high = np.array(numbers(part, "low")), np.array(numbers(part, "high"))
            axes.fill_between(across, low, high, color=colour, alpha=0.18, linewidth=0)
    return axes


def densities(
    data: Any,
    *,
    axes: Axes | None = None,
    theme: str = "light",
    title: str = "Densities before and after release",
    unit: str = "",
) -> Axes:
    """Draw densities over the values, one curve a series.

    `data`: ``value``, ``density``; optionally ``series``, such as "before" and "after".
    `axes` (optional): default: a new figure.
    `theme` ({"light", "dark"}): of a new figure.
    `unit`: of the values.

    Examples
    --------
    >>> data = {"value": [0.0, 1.0] * 2, "density": [1.0, 0.5, 0.7, 0.7]}
    >>> axes = densities(data | {"series": ["before"] * 2 + ["after"] * 2}, unit="kg")
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('value (kg)', 'density (per kg)')
    """
    table = table_of(data, ("value", "density"), drawing="densities").sort_by("value")
    axes = axes_for(axes, theme)
    colours = palette(theme, axes)
    for number, (label, part) in enumerate(series_of(table)):
        colour, height = colours[number % len(colours)], numbers(part, "density")
        along = numbers(part, "value")
        axes.plot(along, height, DASHES[number % len(DASHES)], color=colour, label=label or None)
        axes.fill_between(along, 0, height, color=colour, alpha=0.12, linewidth=0)
    axes.set_ylim(bottom=0)
    return finish(
        axes,
        title=title,
        x=f"value ({unit})" if unit else "value",
        y=f"density (per {unit})" if unit else "density",
        legend="series" in table.column_names,
    )
