"""The look of figures: colours, markers, light and dark themes, axes and legends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from masquerade.errors import MissingExtra, ParameterError, SchemaError
from masquerade.lazy import suggestion

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Markers and dashes tell series apart where colours do not, as in print.
MARKERS = "osD^vP*X"
#: Dashes of lines, which tell series apart as the markers do.
DASHES = ("-", "--", "-.", ":")


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a figure.

    `paper`, `ink`, `faint`: of the background, of text and axes, and of what stands behind the
    data.
    `colours`: of series, in order: Okabe and Ito's (2008), those too near the paper made lighter or
    darker.

    Examples
    --------
    >>> from masquerade.plots import THEMES
    >>> THEMES["light"].paper
    '#ffffff'
    """

    paper: str
    ink: str
    faint: str
    colours: tuple[str, ...]


#: Okabe and Ito's colours on white; yellow is left out, which white paper swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31")

#: Colours of paper, ink and lines, for light and for dark pages.
THEMES = {
    "light": Theme("#ffffff", "#1a1a1a", "#d0d0d0", COLOURS),
    "dark": Theme(
        "#15171b",
        "#e8e8e8",
        "#454a52",
        (
            *("#56B4E9", "#FF8C42", "#2DC79A", "#E29BC4", "#8FC7FF", "#E69F00"),
            *("#f5f5f5", "#C9A66B"),
        ),
    ),
}
#: Inches of a figure that can be read at the width of a page.
SIZE = (6.4, 4.0)
_DPI = 140


def theme_named(name: str) -> Theme:
    """Return the theme of a name."""
    if name not in THEMES:
        raise ParameterError(
            f"theme is {name!r}, expected one of {list(THEMES)}.{suggestion(name, THEMES)}"
        )
    return THEMES[name]


def new_figure(
    *, theme: str = "light", size: tuple[float, float] = SIZE, down: int = 1, across: int = 1
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes in the look of a theme.

    Nothing of matplotlib's settings is changed, and no window opens.

    `theme` ({"light", "dark"}).
    `size`: width and height in inches.
    `down`, `across`: rows and columns of axes.

    Examples
    --------
    >>> figure, (left, right) = new_figure(theme="dark", across=2)
    >>> len(figure.axes)
    2
    """
    colours = theme_named(theme)
    try:
        drawing: Any = import_module("matplotlib.figure")
        pair: Any = import_module("matplotlib.backends.backend_agg")
    except ImportError as error:
        raise MissingExtra("figures need matplotlib", "plots") from error
    figure = drawing.Figure(figsize=size, layout="constrained", facecolor=colours.paper, dpi=_DPI)
    pair.FigureCanvasAgg(figure)
    axes = list(figure.subplots(down, across, squeeze=False).ravel())
    for each in axes:
        _dress(each, colours)
    return figure, axes


def savefig(axes: Axes, path: str | Path) -> None:
    """Write the figure of `axes` to a file: PNG, SVG or PDF by the ending.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from masquerade.plots import shares
    >>> axes = shares({"option": ["no", "yes"], "value": [0.3, 0.7]})
    >>> with TemporaryDirectory() as folder:
    ...     savefig(axes, Path(folder) / "shares.svg")
    ...     print([path.name for path in Path(folder).iterdir()])
    ['shares.svg']
    """
    figure: Any = axes.figure
    try:
        figure.savefig(path, dpi=_DPI, facecolor=figure.get_facecolor())
    except ValueError as error:
        raise ParameterError(f"{path} cannot be drawn: {error}") from error


def axes_for(axes: Axes | None, theme: str, size: tuple[float, float] = SIZE) -> Axes:
    """Return the axes to draw on: those given, or those of a new figure."""
    if axes is None:
        return new_figure(theme=theme, size=size)[1][0]
    return axes


def finish(
    axes: Axes, *, title: str, x: str, y: str, legend: bool = False, grid: str = "both"
) -> Axes:
    """Write title, labels and legend, and return the axes.

    `x`, `y`: what is along each axis, and its unit.
    `grid` ({"both", "x", "y", ""}): the axis whose values are read off.
    """
    ink = axes.xaxis.label.get_color()
    axes.set_title(title, fontsize=11, loc="left", color=ink, pad=10)
    axes.set_xlabel(x, fontsize=9)
    if y:
        axes.set_ylabel(y, fontsize=9)
    if grid:
        axes.grid(axis=grid, alpha=0.5, linewidth=0.6)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    if legend:
        drawn = axes.legend(fontsize=8, frameon=False)
        for text in drawn.get_texts():
            text.set_color(ink)
    return axes


def _dress(axes: Any, theme: Theme) -> None:
    axes.set_facecolor(theme.paper)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(theme.ink)
    axes.tick_params(colors=theme.ink, labelsize=8, which="both")
    axes.xaxis.label.set_color(theme.ink)
    axes.yaxis.label.set_color(theme.ink)
    axes.grid(color=theme.faint)
    axes.grid(False)


def table_of(data: Any, needed: Sequence[str], *, drawing: str) -> pa.Table:
    """Return data to draw as an Arrow table that has the columns it needs."""
    try:
        table = data if isinstance(data, pa.Table) else pa.table(data)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise SchemaError(
            f"{drawing} cannot draw a {type(data).__name__}; give a result, a frame that speaks "
            "Arrow, or a dictionary of columns."
        ) from error
    for name in needed:
        if name not in table.column_names:
            hint = suggestion(name, table.column_names)
            raise SchemaError(
                f"{drawing} needs a column {name!r}; the table has {table.column_names}.{hint}"
            )
    return table


def numbers(table: pa.Table, name: str) -> list[float]:
    """Return a column as numbers, NaN where there is none."""
    return [float("nan") if value is None else float(value) for value in table[name].to_pylist()]


def series_of(table: pa.Table) -> list[tuple[str, pa.Table]]:
    """Return the part of a table for each value of its column ``series``, in order; or all."""
    if "series" not in table.column_names:
        return [("", table)]
    names = table["series"].to_pylist()
    return [
        (str(name), table.take([row for row, other in enumerate(names) if other == name]))
        for name in dict.fromkeys(names)
    ]


def palette(theme: str, axes: Axes) -> tuple[str, ...]:
    """Return the colours of series: those of the theme, or that of the paper axes stand on."""
    for known in THEMES.values():
        face: Any = axes.get_facecolor()
        if known.paper == import_module("matplotlib.colors").to_hex(face):
            return known.colours
    return theme_named(theme).colours
