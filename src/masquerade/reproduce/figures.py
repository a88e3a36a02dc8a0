"""Figures as files: their numbers always, their drawing where matplotlib is installed."""

from __future__ import annotations

import importlib
import importlib.util
import math
from pathlib import Path
from typing import Any

import pyarrow as pa

from masquerade.answers.frames import write_table
from masquerade.reproduce.study import Figure, Panel, Series

NO_DRAWING = (
    "no PNG was drawn, for matplotlib is not installed; the numbers of each figure are in its CSV "
    "('pip install masquerade[figures]')"
)

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31")
_MARKERS = "osD^vP*X"
_DASHES = {"paper": "-", "ours": "--", "reference": ":", "published": "-."}
_COLUMNS = 3
_WIDTH, _HEIGHT = 5.2, 4.2


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
    """Draw a figure as PNG. Error bars are two standard errors.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    drawing = importlib.import_module("matplotlib.figure")
    count = len(figure.panels)
    across = min(count, _COLUMNS)
    down = math.ceil(count / across)
    sheet = drawing.Figure(figsize=(_WIDTH * across, _HEIGHT * down + 0.6), layout="constrained")
    axes = sheet.subplots(down, across, squeeze=False).ravel()
    for place, panel in zip(axes, figure.panels, strict=False):
        _draw_panel(place, panel)
    for unused in axes[count:]:
        unused.set_axis_off()
    sheet.suptitle(figure.title, fontsize=11)
    sheet.savefig(path, dpi=110)


def _draw_panel(axes: Any, panel: Panel) -> None:
    for number, series in enumerate(panel.series):
        colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
        points = [(x, y, e) for x, y, e in _points(series) if math.isfinite(y)]
        if not points:
            continue
        x, y, errors = (list(column) for column in zip(*points, strict=True))
        known = [2 * e if e is not None and math.isfinite(e) else 0.0 for e in errors]
        plain = len(points) > 60 and not series.marks
        axes.errorbar(
            x,
            y,
            yerr=known if any(known) else None,
            label=series.label,
            color=colour,
            marker="none" if plain else marker,
            markersize=4,
            linewidth=1.4,
            linestyle="none" if series.marks else _DASHES[series.style],
            capsize=2,
        )
    axes.set_title(panel.title, fontsize=9.5)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:
        axes.set_yscale("log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=6.5)


def _points(series: Series) -> list[tuple[float, float, float | None]]:
    errors: list[float | None] = (
        [None] * len(series.x) if series.error is None else list(series.error)
    )
    return list(zip(series.x, series.y, errors, strict=True))
