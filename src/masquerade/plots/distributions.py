"""Figures of densities, such as those of claims before and after a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from masquerade.plots.look import DASHES, axes_for, finish, numbers, palette, series_of, table_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
