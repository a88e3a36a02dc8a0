"""Figures of the quality of answers: calibration, agreement of workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from masquerade.plots.look import axes_for, finish, numbers, palette, table_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 30


def calibration(
    data: Any,
    *,
    axes: Axes | None = None,
    theme: str = "light",
    title: str = "Calibration of posteriors",
) -> Axes:
    """Draw how many labels are right of those that are as sure: on the line, all is as it says.

    `data`: ``mean_posterior``, ``accuracy``, ``tasks``; optionally ``low``, ``high``. See
    `masquerade.truth.calibration_table`.
    `axes` (optional): default: a new figure.
    `theme` ({"light", "dark"}): of a new figure.

    Examples
    --------
    >>> axes = calibration({"mean_posterior": [0.3, 0.7], "accuracy": [0.2, 0.75], "tasks": [5, 9]})
    >>> axes.get_title(loc="left")
    'Calibration of posteriors'
    """
    table = table_of(data, ("mean_posterior", "accuracy", "tasks"), drawing="calibration")
    axes = axes_for(axes, theme, (5.2, 4.8))
    colour, ink = palette(theme, axes)[0], axes.xaxis.label.get_color()
    sure, right = np.array(numbers(table, "mean_posterior")), np.array(numbers(table, "accuracy"))
    tasks = np.array(numbers(table, "tasks"))
    axes.plot([0, 1], [0, 1], ":", color=ink, linewidth=1, label="as sure as right")
    if {"low", "high"} <= set(table.column_names):
        ends = np.array([numbers(table, "low"), numbers(table, "high")])
        reach = np.clip([right - ends[0], ends[1] - right], 0, None)
        axes.errorbar(sure, right, yerr=reach, fmt="none", color=colour, elinewidth=1, capsize=2)
    size = 20 + 160 * tasks / tasks.max(initial=1)
    axes.scatter(sure, right, s=size, color=colour, alpha=0.85, label="labels; area: tasks")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    least = max(0.0, float(min(sure.min(initial=1), right.min(initial=1))) - 0.1)
    axes.set_xlim(least, 1.02)
    axes.set_ylim(least, 1.04)
    return finish(axes, title=title, x="posterior of the label", y="labels right", legend=True)


def agreement(
    data: Any,
    *,
    axes: Axes | None = None,
    theme: str = "light",
    title: str = "Agreement of workers",
) -> Axes:
    """Draw how often each two workers gave the same label where both answered.

    Parameters
    ----------
    data : result or table
        ``first``, ``second``, ``agreement`` (0 to 1). See `masquerade.truth.pairwise_agreement`.
    axes, theme, title
        As in `calibration`.

    Examples
    --------
    >>> axes = agreement({"first": ["x", "x"], "second": ["y", "z"], "agreement": [0.9, 0.4]})
    >>> axes.get_title(loc="left")
    'Agreement of workers'
    """
    table = table_of(data, ("first", "second", "agreement"), drawing="agreement")
    pairs = [table[name].to_pylist() for name in ("first", "second")]
    names = list(dict.fromkeys(pairs[0] + pairs[1]))
    place = {name: row for row, name in enumerate(names)}
    square = np.full((len(names), len(names)), np.nan)
    rows, columns = ([place[name] for name in side] for side in pairs)
    square[rows, columns] = square[columns, rows] = numbers(table, "agreement")
    axes = axes_for(axes, theme, (5.6, 4.8))
    ink = axes.xaxis.label.get_color()
    image = axes.imshow(square, vmin=0, vmax=1, cmap="cividis", interpolation="nearest")
    figure: Any = axes.figure
    bar = figure.colorbar(image, ax=axes, format=lambda value, _: f"{100 * value:g} %")
    bar.ax.tick_params(colors=ink, labelsize=8)
    bar.outline.set_visible(False)
    bar.set_label("same label, of tasks that both answered", color=ink, fontsize=8)
    if len(names) <= _NAMED:
        short = [str(name)[:14] for name in names]
        axes.set_xticks(range(len(names)), short, rotation=90)
        axes.set_yticks(range(len(names)), short)
    else:
        axes.set_xticks([])
        axes.set_yticks([])
    return finish(axes, title=title, x="worker", y="worker", grid="")
