"""Figures of estimates with their intervals: shares, rankings, reliabilities of workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from masquerade.errors import SchemaError
from masquerade.plots.look import MARKERS, axes_for, finish, numbers, palette, series_of, table_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Rows whose names can still be read; of more, every row is drawn and none is named.
_NAMED = 40
_ROW_HEIGHT = 0.3
#: Part of the range from which on an interval stands for its point.
_WIDEST = 0.25
_LEAST_HEIGHT, _MOST_HEIGHT = 2.2, 9.0


def shares(
    data: Any, *, axes: Axes | None = None, theme: str = "light", title: str = "Shares of answers"
) -> Axes:
    """Draw the share of each option with its interval, on an axis from 0 to 1.

    `data`: ``option``, ``value``, ``low``, ``high``; optionally ``shown`` (the share to read, drawn
    in place of the unbiased value) and ``series``. A share whose interval is wider than a quarter
    of the range has an interval and no dot.
    `axes` (optional): default: a new figure.
    `theme` ({"light", "dark"}): of a new figure.

    Examples
    --------
    >>> data = {"option": ["no", "yes"], "value": [0.3, 0.7], "low": [0.2, 0.6], "high": [0.4, 0.8]}
    >>> shares(data).get_title(loc="left")
    'Shares of answers'
    """
    table = table_of(data, ("option", "value"), drawing="shares")
    middle = "shown" if "shown" in table.column_names else "value"
    axes = _dots(table, "option", middle, axes, theme, ends=(0.0, 1.0))
    axes.set_xlim(-0.02, 1.02)
    _percent(axes.xaxis)
    return finish(axes, title=title, x=f"share{_interval(table)}", y="", **_legend(table, "x"))


def rankings(
    data: Any, *, axes: Axes | None = None, theme: str = "light", title: str = "Ranking of items"
) -> Axes:
    """Draw items by strength, the strongest at the top, with intervals where they are known.

    `data`: ``item``, ``strength``; optionally ``low``, ``high``, ``series``.
    `axes`, `theme`, `title`: as in `shares`.

    Examples
    --------
    >>> axes = rankings({"item": ["tea", "coffee"], "strength": [0.4, -0.4]})
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['tea', 'coffee']
    """
    table = table_of(data, ("item", "strength"), drawing="rankings")
    table = table.sort_by([("strength", "descending")])
    axes = _dots(table, "item", "strength", axes, theme)
    return finish(axes, title=title, x=f"strength{_interval(table)}", y="", **_legend(table, "x"))


def reliability(
    data: Any,
    *,
    axes: Axes | None = None,
    theme: str = "light",
    title: str = "Reliability of workers",
) -> Axes:
    """Draw how reliable each worker is, the most reliable at the top.

    `data`: ``worker``, ``reliability`` (0 to 1); optionally ``low``, ``high``.
    `axes`, `theme`, `title`: as in `shares`.

    Examples
    --------
    >>> axes = reliability({"worker": ["ann", "bob"], "reliability": [0.9, 0.6]})
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['ann', 'bob']
    """
    table = table_of(
        getattr(data, "reliability_", data), ("worker", "reliability"), drawing="reliability"
    )
    table = table.sort_by([("reliability", "descending")])
    axes = _dots(table, "worker", "reliability", axes, theme)
    _percent(axes.xaxis)
    x = f"chance that an answer is right{_interval(table)}"
    return finish(axes, title=title, x=x, y="", grid="x")


def estimates(
    data: Any, *, axes: Axes | None = None, theme: str = "light", title: str = "Estimates"
) -> Axes:
    """Draw the first numbers of a table against its first names, with intervals if it has them.

    `data`: a column of texts, a column of numbers; optionally ``low``, ``high``.
    `axes`, `theme`, `title`: as in `shares`.

    Examples
    --------
    >>> data = {"name": ["a", "b"], "value": [1.5, 2.5], "low": [1.0, 2.0], "high": [2.0, 3.0]}
    >>> axes = estimates(data)
    >>> axes.get_xlabel()
    'value, with its interval'
    """
    table = table_of(data, (), drawing="estimates")
    value = _first(table, lambda kind: pa.types.is_floating(kind))
    value = value or _first(table, lambda kind: pa.types.is_integer(kind))
    if value is None:
        raise SchemaError(
            f"there is nothing to draw: the table has no column of numbers: {table.column_names}."
        )
    name = _first(table, lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind))
    if name is None or len(table) == 1:
        name, rows = "", [value] if len(table) == 1 else [str(i + 1) for i in range(len(table))]
        table = table.append_column(name, pa.array(rows))
    axes = _dots(table, name, value, axes, theme)
    label = value.replace("_", " ")
    return finish(axes, title=title, x=f"{label}{_interval(table)}", y="", grid="x")


def _dots(
    table: pa.Table,
    name: str,
    value: str,
    axes: Axes | None,
    theme: str,
    *,
    ends: tuple[float, float] | None = None,
) -> Axes:
    """Draw a row for each name, from the top down, with a dot and its interval.

    `ends` (optional): range of what is possible. Nothing is drawn outside it, and no dot where the
    interval is wider than a quarter of it.
    """
    names = list(dict.fromkeys(str(other) for other in table[name].to_pylist()))
    place = {other: row for row, other in enumerate(names)}
    height = min(max(_LEAST_HEIGHT, 1.2 + _ROW_HEIGHT * len(names)), _MOST_HEIGHT)
    axes = axes_for(axes, theme, (6.4, height))
    colours, parts = palette(theme, axes), series_of(table)
    for number, (label, part) in enumerate(parts):
        rows = np.array([place[str(other)] for other in part[name].to_pylist()], dtype=float)
        rows += (number - (len(parts) - 1) / 2) * 0.6 / len(parts)  # beside each other
        middle = np.array(numbers(part, value))
        reach = None
        if {"low", "high"} <= set(part.column_names):
            low, high = np.array(numbers(part, "low")), np.array(numbers(part, "high"))
            wide = None if ends is None else high - low > _WIDEST * (ends[1] - ends[0])
            if wide is not None and wide.any():
                # The interval is all that is known: a line from end to end.
                axes.hlines(rows[wide], low[wide], high[wide], color=colours[number % len(colours)])
                middle = np.where(wide, np.nan, middle)
            # An estimate may lie outside the range that its interval is cut to.
            reach = np.clip(np.nan_to_num([middle - low, high - middle]), 0, None)
        axes.errorbar(
            middle if ends is None else np.clip(middle, *ends),
            rows,
            xerr=reach,
            fmt=MARKERS[number % len(MARKERS)],
            color=colours[number % len(colours)],
            markersize=4 if len(names) <= _NAMED else 2,
            elinewidth=1.4 if len(names) <= _NAMED else 0.6,
            capsize=2 if len(names) <= _NAMED else 0,
            label=label or None,
        )
    axes.set_ylim(len(names) - 0.4, -0.6)
    if len(names) <= _NAMED:
        axes.set_yticks(range(len(names)), [_short(other) for other in names])
    else:
        axes.set_yticks([])
        axes.set_ylabel(f"{len(names)} rows")
    return axes


def _short(text: str) -> str:
    return text if len(text) <= 32 else f"{text[:31]}…"


def _percent(axis: Any) -> None:
    axis.set_major_formatter(lambda value, _: f"{100 * value:g} %")


def _interval(table: pa.Table) -> str:
    return ", with its interval" if {"low", "high"} <= set(table.column_names) else ""


def _legend(table: pa.Table, grid: str) -> dict[str, Any]:
    return {"legend": "series" in table.column_names, "grid": grid}


def _first(table: pa.Table, wanted: Callable[[pa.DataType], bool]) -> str | None:
    ends = ("low", "high")
    found = (f.name for f in table.schema if wanted(f.type) and f.name not in ends)
    return next(found, None)
