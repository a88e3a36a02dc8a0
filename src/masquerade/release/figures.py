"""Figures of densities as SVG text: no scripts, no fonts, no outside references."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from masquerade.exact.arrays import Floats

WIDTH, HEIGHT = 360, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 8, 352, 12, 150
_MOST_POINTS = 200


def density_figure(
    title: str,
    grid: ArrayLike,
    curves: Mapping[str, ArrayLike],
    *,
    points: ArrayLike = (),
) -> str:
    """Return a figure of densities over one grid, as SVG text.

    Curves differ by dash as well as by colour; the colours come from the classes ``curve-0``,
    ``curve-1``, ..., so that a page can set them, and fall back to the text's own.

    Parameters
    ----------
    title : str
        Read out in place of the figure.
    grid : float array, shape (n,), ascending
    curves : mapping of str to float array, shape (n,)
    points : float array
        Drawn as ticks below the axis, at most 200 of them, those within the grid.
    """
    x = np.asarray(grid, dtype=np.float64)
    drawn = {name: np.asarray(curve, dtype=np.float64) for name, curve in curves.items()}
    top = max((float(curve.max()) for curve in drawn.values()), default=0.0) or 1.0
    low, high = float(x[0]), float(x[-1])
    lines = [
        _curve(i, name, (x - low) / (high - low), curve / top)
        for i, (name, curve) in enumerate(drawn.items())
    ]
    ticks = _ticks((np.asarray(points, dtype=np.float64) - low) / (high - low))
    labels = "".join(
        f'<text x="{_across(share):.1f}" y="{HEIGHT - 8}" text-anchor="{anchor}">'
        f"{_label(low + share * (high - low))}</text>"
        for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    )
    described = escape(f"{title}: {', '.join(drawn)}", quote=True)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{described}" '
        'xmlns="http://www.w3.org/2000/svg" font-size="14" fill="currentColor">'
        f'<path class="axis" d="M{_LEFT} {_BOTTOM}H{_RIGHT}" stroke="currentColor" '
        f'stroke-opacity=".5" fill="none"/>{"".join(lines)}{ticks}{labels}</svg>'
    )


def _label(value: float) -> str:
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def _across(share: float | Floats) -> float | Floats:
    return _LEFT + share * (_RIGHT - _LEFT)


_DASHES = ("", ' stroke-dasharray="6 4"', ' stroke-dasharray="2 3"')


def _curve(number: int, name: str, across: Floats, height: Floats) -> str:
    x = np.asarray(_across(across))
    y = _BOTTOM - height * (_BOTTOM - _TOP)
    path = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<path class="curve-{number}" d="M{path}" fill="none" stroke="currentColor" '
        f'stroke-width="2"{_DASHES[number % len(_DASHES)]}><title>{escape(name)}</title></path>'
    )


def _ticks(across: Floats) -> str:
    inside = across[(across >= 0) & (across <= 1)]
    if len(inside) > _MOST_POINTS:
        inside = np.sort(inside)[:: len(inside) // _MOST_POINTS + 1]
    if not inside.size:
        return ""
    path = "".join(f"M{_across(float(share)):.1f} {_BOTTOM + 4}v10" for share in inside)
    return f'<path class="ticks" d="{path}" stroke="currentColor" stroke-opacity=".55"/>'
