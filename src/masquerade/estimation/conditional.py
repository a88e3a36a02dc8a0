"""Ratios of two figures of the same people: shares and means among those asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from masquerade.errors import ParameterError
from masquerade.estimation.curves import LevelCurve
from masquerade.estimation.figures import CONFIDENCE, Crowd, Figures, cut_of
from masquerade.estimation.sides import rising_root
from masquerade.exact.arrays import Flags, Floats

_PLACES = 33
_STEP = 1e-6  # of numerical derivatives, in widths of the range


@dataclass(frozen=True, eq=False)
class RatioCurve:
    """The curve of ratios: for a fixed ratio r, part - r whole is linear and has to be 0.

    Attributes
    ----------
    part : float array, shape (n_figures, n_symbols)
    whole : float array, shape (n_figures, n_symbols)
    """

    crowd: Crowd
    part: Floats
    whole: Floats
    low: Floats
    high: Floats
    estimate: Floats = field(init=False)
    base: Floats = field(init=False)  # estimate of the whole
    least: Floats = field(init=False)  # W before the least one is taken off

    def __post_init__(self) -> None:
        base, value = self.crowd.values(self.whole), self.crowd.values(self.part)
        ratio = np.where(base > 0, value / np.where(base > 0, base, 1.0), np.nan)
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "least", np.zeros(len(base)))
        object.__setattr__(self, "estimate", ratio)
        start = np.clip(np.nan_to_num(ratio, nan=0.0), self.low, self.high)
        if len(self.crowd.groups) > 1 and (self._raw(start) > 0).any():
            # Levels differ by more than the bound: the ratio of the least W, as for linear figures.
            found = self._likeliest(start)
            least = self._raw(found)
            clash = (self._raw(start) > 0) & (base > 0)
            object.__setattr__(self, "estimate", np.where(clash, found, ratio))
            object.__setattr__(self, "least", np.where(base > 0, least, 0.0))

    def heights(self, x: Floats) -> tuple[Floats, Floats]:
        """Return W and its slope at one place for each figure."""
        width = self.high - self.low
        step = _STEP * np.where(x > (self.low + self.high) / 2, -width, width)
        both = np.concatenate([x, x + step])
        height = self._raw(both)
        return height[: len(x)], (height[len(x) :] - height[: len(x)]) / step

    def _likeliest(self, start: Floats) -> Floats:
        """Return the ratios of the least W, by three grids, each in the best part of the last."""
        middle, width = (self.low + self.high) / 2, self.high - self.low
        part = np.linspace(-0.5, 0.5, _PLACES)[:, None]
        for _ in range(3):
            place = np.clip(middle + part * width, self.low, self.high)
            height = self._raw(place.ravel()).reshape(place.shape)
            best = np.argmin(height, axis=0)
            middle = np.take_along_axis(place, best[None], axis=0)[0]
            width = width * 2 / (_PLACES - 1)
        return np.where(self._raw(start) > self._raw(middle), middle, start)

    @property
    def possible(self) -> Floats:
        """Estimates, or the nearer end of the range."""
        return np.clip(self.estimate, self.low, self.high)

    def _figures(self, ratio: Floats) -> Figures:
        times = len(ratio) // len(self.part)
        part, whole = (np.tile(one, (times, 1)) for one in (self.part, self.whole))
        return self.crowd.tiled(times).figures(part - ratio[:, None] * whole)

    def _raw(self, ratio: Floats) -> Floats:
        figures = self._figures(ratio)
        if not isinstance(figures.curve, LevelCurve):
            return figures.statistic(0.0)
        least = np.tile(self.least, len(ratio) // len(self.part))
        return np.maximum(figures.curve.before(np.zeros(len(ratio))) - least, 0.0)

    def interval(self, cut: float) -> tuple[Floats, Floats]:
        """Return the ends of the values in the range with W at most a cut."""
        known = np.isfinite(self.estimate)
        middle = np.clip(np.where(known, self.estimate, self.low), self.low, self.high)

        def places(x: Floats) -> Floats:
            return self._raw(x.ravel()).reshape(x.shape)

        low, high = interval_around(places, middle, self.low, self.high, cut)
        return np.where(known, low, self.low), np.where(known, high, self.high)

    def exists(self) -> Flags:
        """Return whether the whole of each ratio is surely more than nobody."""
        linear = self.crowd.figures(self.whole)
        sure = linear.statistic(0.0) > cut_of(CONFIDENCE)
        return np.asarray((self.base > 0) & (sure | (self.whole.min(axis=-1) > 0)))


def interval_around(
    heights: Callable[[Floats], Floats], middle: Floats, low: Floats, high: Floats, cut: float
) -> tuple[Floats, Floats]:
    """Return where curves given by their heights reach a cut on both sides of their middles.

    `heights` takes and gives shape (n_places, n_figures).
    """
    sign = np.array([[-1.0], [1.0]])
    most = np.stack([middle - low, high - middle])

    def distance(away: Floats) -> tuple[Floats, Floats]:
        x = middle + sign * away
        # towards the middle, so that no place is outside the range
        near = np.clip(x - sign * _STEP * (high - low), low, high)
        root = np.sqrt(heights(np.concatenate([x, near])))
        here, there = root[:2], root[2:]
        rate = (here - there) / np.abs(x - near)
        return here - np.sqrt(cut), np.where((rate > 0) & (here > 0), rate, np.nan)

    away = rising_root(distance, np.zeros_like(most), most, most / 4, precision=1e-9, ends=True)
    return middle - away[0], middle + away[1]


def ratios(
    crowd: Crowd, part: ArrayLike, whole: ArrayLike, *, low: float = 0.0, high: float = 1.0
) -> Figures:
    """Return figures of some of the people: shares or means among those asked.

    Parameters
    ----------
    crowd : Crowd
    part : float array, shape (n_figures, n_symbols)
        Scores of the answers in the numerators.
    whole : float array, shape (n_symbols,) or (n_figures, n_symbols)
        1 for the answers of the people in question, 0 for the others.
    low, high : float
        Ends of the range of the ratio.

    Examples
    --------
    >>> from masquerade.estimation import Counts, Crowd
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> asked = Crowd.of([Counts.of([140, 90, 170], RandomizedResponse(3, epsilon=1))])
    >>> yes = ratios(asked, [[1, 0, 0]], [1, 1, 0]).estimates()[0]
    >>> round(yes.value, 3), round(yes.low, 3), yes.high
    (0.914, 0.662, 1.0)
    """
    above = np.atleast_2d(np.asarray(part, dtype=np.float64))
    below = np.broadcast_to(np.asarray(whole, dtype=np.float64), above.shape)
    if not low < high:
        raise ParameterError(f"the range is {low} to {high}; the high end must be above the low.")
    ends = np.zeros(len(above))
    curve = RatioCurve(crowd, above, below, ends + low, ends + high)
    safe = np.clip(np.nan_to_num(curve.estimate, nan=low), low, high)[:, None]
    linear = crowd.figures(above - safe * below)
    square = np.where(curve.base > 0, curve.base, np.nan) ** 2
    return Figures(curve, crowd.n, linear.sampling / square, linear.masks / square)


@dataclass(frozen=True, eq=False)
class RatioDifferenceCurve:
    """The curve of differences of two ratios of the same people, in groups that masks may hide.

    With p the estimated shares of the groups, ``(part1 - r whole1) / p1 - (part2 - (r - x) whole2)
    / p2`` is 0 where the ratios differ by x, and to first order whatever r is: so r is the most
    likely one, and the figure is linear. Where a group may be empty nothing is known.
    """

    first: RatioCurve
    second: RatioCurve
    variances: tuple[Floats, Floats]
    known: Flags  # whether neither group may be empty
    low: Floats = field(init=False)
    high: Floats = field(init=False)
    estimate: Floats = field(init=False)

    def __post_init__(self) -> None:
        one, other = self.first, self.second
        object.__setattr__(self, "low", one.low - other.high)
        object.__setattr__(self, "high", one.high - other.low)
        object.__setattr__(self, "estimate", one.estimate - other.estimate)

    @property
    def possible(self) -> Floats:
        """Estimates, or the nearer end of the range; 0 where nothing is known."""
        return np.clip(np.nan_to_num(self.estimate), self.low, self.high)

    def heights(self, x: Floats) -> tuple[Floats, Floats]:
        """Return W and its slope at one place for each figure."""
        step = _STEP * np.where(x > 0, -1.0, 1.0) * (self.high - self.low)
        height = self._raw(np.stack([x, x + step]))
        return height[0], (height[1] - height[0]) / step

    def interval(self, cut: float) -> tuple[Floats, Floats]:
        """Return the ends of the values in the range with W at most a cut."""
        low, high = interval_around(self._raw, self.possible, self.low, self.high, cut)
        return np.where(self.known, low, self.low), np.where(self.known, high, self.high)

    def _raw(self, x: Floats) -> Floats:
        """Return W at differences, shape (n_places, n_figures)."""
        one, other = self.first, self.second
        weight = 1 / np.maximum(self.variances[0], 1e-12), 1 / np.maximum(self.variances[1], 1e-12)
        own, shifted = np.nan_to_num(one.estimate), np.nan_to_num(other.estimate) + x
        ratio = (weight[0] * own + weight[1] * shifted) / (weight[0] + weight[1])
        ratio = np.clip(ratio, np.maximum(one.low, other.low + x), one.high)
        ratio = np.minimum(ratio, np.maximum(other.high + x, one.low))

        def linear(curve: RatioCurve, at: Floats) -> Floats:
            base = np.where(self.known, curve.base, 1.0)[:, None]
            scores: Floats = (curve.part - at[..., None] * curve.whole) / base
            return scores

        scores = linear(one, ratio) - linear(other, ratio - x)
        height = (
            one.crowd.tiled(len(x)).figures(scores.reshape(-1, scores.shape[-1])).statistic(0.0)
        )
        return np.where(self.known, height.reshape(x.shape), 0.0)


def ratio_difference(first: Figures, second: Figures) -> Figures:
    """Return differences of ratios of the same people, first minus second.

    It serves groups that only a masked answer tells apart, which are not independent of each other;
    groups that are known have the `difference` of two crowds. Where the share of a group may be 0,
    nothing is known of the difference.

    Parameters
    ----------
    first, second : Figures
        From `ratios` of one crowd.

    Examples
    --------
    >>> from masquerade.estimation import Crowd, Table
    >>> people = Crowd.of([Table.of([[30, 10], [20, 40]])])
    >>> groups = [ratios(people, [part], whole)
    ...           for part, whole in (([1, 0, 0, 0], [1, 1, 0, 0]), ([0, 0, 1, 0], [0, 0, 1, 1]))]
    >>> found = ratio_difference(*groups).estimates()[0]
    >>> round(found.value, 3), found.low > 0
    (0.417, True)
    """
    one, other = first.curve, second.curve
    if not isinstance(one, RatioCurve) or not isinstance(other, RatioCurve):
        raise ParameterError("a difference of ratios takes two figures of `ratios`.")
    if one.crowd is not other.crowd:
        raise ParameterError("the ratios are of different crowds; take their difference.")
    known = one.exists() & other.exists()
    variances = [
        np.nan_to_num(figures.sampling + figures.masks, nan=1.0) for figures in (first, second)
    ]
    curve = RatioDifferenceCurve(one, other, (variances[0], variances[1]), known)
    return Figures(curve, one.crowd.n, first.sampling + second.sampling, first.masks + second.masks)
