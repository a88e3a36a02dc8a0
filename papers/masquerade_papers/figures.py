"""Figures as files: their numbers always, their drawing where matplotlib is installed."""

from __future__ import annotations

import importlib
import importlib.util
import math
import textwrap
from pathlib import Path
from typing import Any

import pyarrow as pa

from masquerade.answers.frames import write_table
from masquerade.lazy import install_command
from masquerade_papers.study import Figure, Panel, Series

NO_DRAWING = (
    "no PNG was drawn, for matplotlib is not installed; the numbers of each figure are in its CSV "
    f"({install_command('plots')})"
)

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31")
_MARKERS = "osD^vP*X"
_DASHES = {"paper": "-", "ours": "--", "reference": ":", "published": "-."}
_COLUMNS = 2
#: Inches of a panel: two beside each other can be read at the width of a page.
_WIDTH, _HEIGHT = 4.3, 3.5
#: Letters of a figure's title that fit on an inch.
_TITLE_LETTERS = 12
#: Letters of a label of which two fit below a panel.
_LABEL_LETTERS = 30
#: Points between series at the same place, so that their error bars do not hide each other.
_DODGE = 1.1


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def write_numbers(figure: Figure, path: Path) -> None:
    """Write the points of a figure as CSV: panel, series, style, x, y, standard_error."""
    rows = [
        {
            "panel": panel.title,
            "series": series.label,
            "style": series.style,
            "x": float(x),
            "y": float(y),
            "standard_error": None if error is None or math.isnan(error) else float(error),
        }
        for panel in figure.panels
        for series in panel.series
        for x, y, error in _points(series)
    ]
    columns = ("panel", "series", "style", "x", "y", "standard_error")
    write_table(pa.table({name: [row[name] for row in rows] for name in columns}), path)


def draw(figure: Figure, path: Path) -> None:
    """Draw a figure as PNG. Error bars are two standard errors."""
    drawing = importlib.import_module("matplotlib.figure")
    count = len(figure.panels)
    across = min(count, _COLUMNS)
    down = math.ceil(count / across)
    labels = [[series.label for series in panel.series] for panel in figure.panels]
    shared = count > 1 and all(each == labels[0] for each in labels)
    # Labels beside each other must fit below their panel, or the layout shrinks the panels.
    legend_columns = [1 if max(map(len, each)) > _LABEL_LETTERS else 2 for each in labels]
    lines = max(math.ceil(len(each) / n) for each, n in zip(labels, legend_columns, strict=True))
    room = 0.0 if shared else 0.17 * lines
    sheet = drawing.Figure(
        figsize=(_WIDTH * across, (_HEIGHT + room) * down + 0.9), layout="constrained"
    )
    axes = sheet.subplots(down, across, squeeze=False).ravel()
    for panel_axes, panel, columns in zip(axes, figure.panels, legend_columns, strict=False):
        _draw_panel(sheet, panel_axes, panel)
        if not shared and panel.legend:
            panel_axes.legend(
                fontsize=7,
                loc="upper center",
                bbox_to_anchor=(0.5, -0.14),
                ncols=columns,
                frameon=False,
                handlelength=2.6,
            )
    for unused in axes[count:]:
        unused.set_axis_off()
    if shared and figure.panels[0].legend:
        handles, names = axes[0].get_legend_handles_labels()
        sheet.legend(
            handles,
            names,
            fontsize=7.5,
            loc="outside lower center",
            ncols=across,
            frameon=False,
            handlelength=2.6,
        )
    letters = max(int(_TITLE_LETTERS * _WIDTH * across), 1)
    sheet.suptitle(textwrap.fill(figure.title, letters), fontsize=10.5)
    sheet.savefig(path, dpi=140)


def _draw_panel(sheet: Any, axes: Any, panel: Panel) -> None:
    transforms = importlib.import_module("matplotlib.transforms")
    middle = (len(panel.series) - 1) / 2
    for number, series in enumerate(panel.series):
        colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
        points = [(x, y, e) for x, y, e in _points(series) if math.isfinite(y)]
        if not points:
            continue
        x, y, errors = (list(column) for column in zip(*points, strict=True))
        reach = [2 * e if e is not None and math.isfinite(e) else 0.0 for e in errors]
        below = series.marks and number == 0 and len(panel.series) == 2  # seen under the others
        aside = (number - middle) * _DODGE / 72 if any(reach) else 0.0
        bars = axes.errorbar(
            x,
            y,
            yerr=reach if any(reach) else None,
            label=series.label,
            color=colour,
            marker="none" if len(points) > 60 and not series.marks else marker,
            markersize=6.5 if below else 3.5,
            markerfacecolor="none" if below else colour,
            linewidth=1.3,
            elinewidth=0.8,
            linestyle="none" if series.marks else _DASHES[series.style],
            capsize=1.5,
        )
        shift = transforms.ScaledTranslation(aside, 0, sheet.dpi_scale_trans)
        for part in bars.get_children():
            part.set_transform(part.get_transform() + shift)
    axes.set_title(textwrap.fill(panel.title, 50), fontsize=9)
    axes.set_xlabel(panel.x, fontsize=8)
    axes.set_ylabel(panel.y, fontsize=8)
    axes.tick_params(labelsize=7.5)
    if panel.log_x:
        axes.set_xscale("log")
        _label_log(axes.xaxis, axes.get_xlim())
    if panel.log_y:
        axes.set_yscale("log")
    axes.grid(alpha=0.3)


def _label_log(axis: Any, limits: tuple[float, float]) -> None:
    """Write ticks of a logarithmic axis as plain numbers, between the powers too if it is short."""
    ticker = importlib.import_module("matplotlib.ticker")
    low, high = limits
    if low <= 0 or low < 1e-4:
        return
    short = high / low < 200
    axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0) if short else (1.0,)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda number, _: f"{number:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def _points(series: Series) -> list[tuple[float, float, float | None]]:
    errors: list[float | None] = (
        [None] * len(series.x) if series.error is None else list(series.error)
    )
    return list(zip(series.x, series.y, errors, strict=True))
