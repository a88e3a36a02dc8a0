"""Figures of preferences as SVG text: estimates with intervals, decision curves."""

from __future__ import annotations

from html import escape

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.preference.alternatives import DecisionCurve

_WIDTH, _HEIGHT, _LEFT, _FOOT = 320.0, 190.0, 34.0, 22.0
_LINE, _ROW, _MARGIN = 200.0, 16.0, 6.0


def interval_figure(
    title: str, value: float, low: float, high: float, *, span: tuple[float, float]
) -> str:
    """Return an estimate as a dot on its interval, on a scale that rows of a table share.

    `title`: read out in place of the figure. `span`: ends of the scale; a line marks 0 within it.
    """

    def across(at: float) -> float:
        share = (at - span[0]) / max(span[1] - span[0], 1e-300)
        return _MARGIN + (_LINE - 2 * _MARGIN) * min(max(share, 0.0), 1.0)

    middle = _ROW / 2
    zero = ""
    if span[0] < 0 < span[1]:
        zero = f'<path class="axis" d="M{across(0):.1f} 0V{_ROW:g}"/>'
    return (
        f'<svg class="interval" viewBox="0 0 {_LINE:g} {_ROW:g}" role="img" '
        f'aria-label="{escape(title, quote=True)}">{zero}'
        f'<path class="bar" d="M{across(low):.1f} {middle:g}H{across(high):.1f}"/>'
        f'<circle class="dot" cx="{across(value):.1f}" cy="{middle:g}" r="4"/></svg>'
    )


def curve_figure(title: str, curve: DecisionCurve) -> str:
    """Return a decision curve with its band: shares from 0 to 100 % over a feature's range.

    `title`: read out in place of the figure.
    """
    low, high = float(curve.values[0]), float(curve.values[-1])
    x = _LEFT + (_WIDTH - _LEFT - 8) * (curve.values - low) / max(high - low, 1e-300)
    band = [*_points(x, curve.high), *_points(x[::-1], curve.low[::-1])]
    lines = "".join(
        f'<path class="axis" d="M{_LEFT:g} {_up(share):.1f}H{_WIDTH - 8:g}"/>'
        f'<text x="{_LEFT - 4:g}" y="{_up(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>'
        for share in (0.0, 0.5, 1.0)
    )
    labels = "".join(
        f'<text x="{at:g}" y="{_HEIGHT - 6:g}" text-anchor="{anchor}">{value:g}</text>'
        for at, anchor, value in ((_LEFT, "start", low), (_WIDTH - 8, "end", high))
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" '
        f'aria-label="{escape(title, quote=True)}">{lines}{labels}'
        f'<polygon class="band" points="{" ".join(band)}"/>'
        f'<polyline class="curve" points="{" ".join(_points(x, curve.chosen))}"/></svg>'
    )


def _up(share: float) -> float:
    return 8 + (_HEIGHT - _FOOT - 8) * (1 - share)


def _points(x: Floats, shares: Floats) -> list[str]:
    return [
        f"{at:.1f},{_up(float(share)):.1f}"
        for at, share in zip(x, np.clip(shares, 0, 1), strict=True)
    ]
