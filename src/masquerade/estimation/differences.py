"""Differences between people: of two surveys or waves, and of two groups that masks may hide."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from masquerade.estimation.curves import Curve, LevelCurve, SumCurve
from masquerade.estimation.figures import Figures
from masquerade.estimation.sides import Side
from masquerade.exact.arrays import Floats

#: W up to which curves of several levels are tabulated; beyond it a p-value is below 1e-8.
_MOST = 36.0
_PLACES = 65
_FINE = 801


def difference(first: Figures, second: Figures) -> Figures:
    """Return the figures of two independent groups of people, first minus second.

    Examples
    --------
    >>> from masquerade.estimation import Counts, Crowd
    >>> clear, more = (Crowd.of([Counts.of(c)]).shares() for c in ([0, 20], [20, 980]))
    >>> found = difference(clear, more).estimates()[0]
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (-0.02, -0.031, 0.134)
    """
    one, other = first.curve, second.curve
    curve: Curve
    if isinstance(one, SumCurve) and isinstance(other, SumCurve):
        curve = SumCurve(
            one.estimate - other.estimate,
            one.low - other.high,
            one.high - other.low,
            _side_by_side(one.side, other.side.map(lambda array: array[:, ::-1])),
            one.noise + other.noise,
            one.shift - other.shift,
        )
    else:
        curve = DifferenceCurve(one, other)
    return Figures(
        curve, first.n + second.n, first.sampling + second.sampling, first.masks + second.masks
    )


def _side_by_side(first: Side, second: Side) -> Side:
    """Return the groups of two sums as those of one, shape (n_figures, 2, n_groups)."""
    most = max(first.count.shape[-1], second.count.shape[-1])

    def wide(side: Side, name: str) -> Floats:
        array: Floats = getattr(side, name)
        if name not in ("count", "gap"):
            return array
        missing = most - array.shape[-1]
        # reports that nobody sends, at a distance of 1
        return np.pad(array, [(0, 0)] * 3 + [(0, missing)], constant_values=float(name == "gap"))

    return Side(
        *(
            np.concatenate([wide(first, name), wide(second, name)], axis=2)
            for name in Side.__slots__
        )
    )


@dataclass(frozen=True, eq=False)
class DifferenceCurve:
    """The curve of a difference of two figures that have curves of their own.

    W at a difference is the least sum of the two curves at places that far apart. The curves are
    tabulated, for those of several levels take long.
    """

    first: Curve
    second: Curve
    estimate: Floats = field(init=False)
    low: Floats = field(init=False)
    high: Floats = field(init=False)
    _tables: list[tuple[Floats, Floats]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        one, other = self.first, self.second
        object.__setattr__(self, "estimate", one.estimate - other.estimate)
        object.__setattr__(self, "low", one.low - other.high)
        object.__setattr__(self, "high", one.high - other.low)
        tables = [
            _table(first, second)
            for first, second in zip(_tabulated(one), _tabulated(other), strict=True)
        ]
        object.__setattr__(self, "_tables", tables)

    @property
    def possible(self) -> Floats:
        """Differences of the possible figures of the two."""
        return self.first.possible - self.second.possible

    def heights(self, x: Floats) -> tuple[Floats, Floats]:
        """Return W and its slope at one place for each figure."""
        found, slopes = np.zeros(len(x)), np.zeros(len(x))
        for at, (place, height) in enumerate(self._tables):
            found[at] = np.interp(x[at], place, height, left=_MOST, right=_MOST)
            slopes[at] = np.interp(x[at], place, np.gradient(height, place))
        return found, slopes

    def interval(self, cut: float) -> tuple[Floats, Floats]:
        """Return the ends of the values in the range with W at most a cut."""
        ends = [_ends(place, height, cut) for place, height in self._tables]
        low, high = np.array(ends).T
        return np.minimum(low, self.possible), np.maximum(high, self.possible)


def _tabulated(curve: Curve) -> list[tuple[Floats, Floats]]:
    """Return places and heights of each figure of a curve."""
    low, high = curve.interval(_MOST)
    part = np.linspace(0.0, 1.0, _PLACES)
    place = low[:, None] + (high - low)[:, None] * part
    if isinstance(curve, LevelCurve):
        height = curve.places(place)
    else:
        height = np.stack([curve.heights(column)[0] for column in place.T], axis=-1)
    return [(x, np.where(np.isfinite(y), y, 4 * _MOST)) for x, y in zip(place, height, strict=True)]


def _table(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Return differences, and the least sum of two curves at places that far apart."""
    from scipy.interpolate import PchipInterpolator

    # the root of W is nearly straight, so little is lost between the places
    curves = []
    for place, height in (first, second):
        lowest = int(np.argmin(height))
        signed = np.sqrt(np.maximum(height, 0.0))
        signed[:lowest] *= -1
        width = place[-1] - place[0]
        spread = np.linspace(place[0], place[-1], _FINE) if width > 0 else place[:1]
        value = PchipInterpolator(place, signed)(spread) ** 2 if width > 0 else np.zeros(1)
        curves.append((spread, value))
    (x, one), (y, other) = curves
    place = np.linspace(x[0] - y[-1], x[-1] - y[0], _PLACES * 4)
    away = x[:, None] - place
    inside = (away >= y[0] - 1e-12) & (away <= y[-1] + 1e-12)
    height = np.where(inside, one[:, None] + np.interp(away, y, other), np.inf).min(axis=0)
    finite = np.isfinite(height)
    height = np.minimum(height[finite], _MOST)
    return place[finite], height - height.min()


def _ends(place: Floats, height: Floats, cut: float) -> tuple[float, float]:
    inside = np.flatnonzero(height <= cut)
    first, last = int(inside[0]), int(inside[-1])
    root = np.sqrt(height)

    def end(out: int, within: int) -> float:
        part = (np.sqrt(cut) - root[within]) / (root[out] - root[within])
        return float(place[within] + part * (place[out] - place[within]))

    low = place[0] if first == 0 else end(first - 1, first)
    high = place[-1] if last == len(place) - 1 else end(last + 1, last)
    return float(low), float(high)
