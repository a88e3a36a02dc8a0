"""Ratios of two figures of the same people: shares and means among those asked."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from masquerade.errors import ParameterError
from masquerade.estimation.figures import Crowd, Figures
from masquerade.estimation.sides import rising_root
from masquerade.exact.arrays import Floats

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

    def __post_init__(self) -> None:
        base, value = self.crowd.values(self.whole), self.crowd.values(self.part)
        ratio = np.where(base > 0, value / np.where(base > 0, base, 1.0), np.nan)
        if len(self.crowd.groups) > 1:
            ratio = np.where(base > 0, self._likeliest(ratio), np.nan)
        object.__setattr__(self, "estimate", ratio)
        object.__setattr__(self, "base", base)

    def heights(self, x: Floats) -> tuple[Floats, Floats]:
        """Return W and its slope at one place for each figure."""
        width = self.high - self.low
        step = _STEP * np.where(x > (self.low + self.high) / 2, -width, width)
        both = np.concatenate([x, x + step])
        height = self._raw(both)
        return height[: len(x)], (height[len(x) :] - height[: len(x)]) / step

    def _likeliest(self, ratio: Floats) -> Floats:
        """Return the ratios of W = 0: where levels differ too much, not those of the estimates."""
        start = np.clip(np.nan_to_num(ratio, nan=0.0), self.low, self.high)
        if (self._raw(start) <= 0).all():
            return ratio

        def below(x: Floats) -> tuple[Floats, Floats]:
            step = np.where(x > (self.low + self.high) / 2, -1e-4, 1e-4) * (self.high - self.low)
            both = self._figures(np.concatenate([x, x + step])).value
            here, there = -both[: len(x)], -both[len(x) :]
            return here, (there - here) / step

        found = rising_root(below, self.low, self.high, start, precision=1e-9, ends=True)
        return np.where(self._raw(start) > 0, found, ratio)

    def _figures(self, ratio: Floats) -> Figures:
        times = len(ratio) // len(self.part)
        part, whole = (np.tile(one, (times, 1)) for one in (self.part, self.whole))
        return self.crowd.figures(part - ratio[:, None] * whole)

    def _raw(self, ratio: Floats) -> Floats:
        return self._figures(ratio).statistic(0.0)

    def interval(self, cut: float) -> tuple[Floats, Floats]:
        """Return the ends of the values in the range whose W is at most a cut."""
        known = np.isfinite(self.estimate)
        middle = np.where(known, self.estimate, self.low)
        middle = np.clip(middle, self.low, self.high)
        sign = np.array([[-1.0], [1.0]])
        most = np.stack([middle - self.low, self.high - middle])

        def distance(away: Floats) -> tuple[Floats, Floats]:
            x = middle + sign * away
            step = sign * _STEP * (self.high - self.low)
            # towards the estimate, so that no place is outside the range
            near = np.clip(x - step, self.low, self.high)
            here = np.sqrt(self._raw(x.ravel()).reshape(x.shape))
            there = np.sqrt(self._raw(near.ravel()).reshape(x.shape))
            with np.errstate(divide="ignore", invalid="ignore"):
                rate = (here - there) / np.abs(x - near)
            return here - np.sqrt(cut), np.where((rate > 0) & (here > 0), rate, np.nan)

        away = rising_root(distance, np.zeros_like(most), most, most / 4, precision=1e-9, ends=True)
        low, high = middle - away[0], middle + away[1]
        return np.where(known, low, self.low), np.where(known, high, self.high)


def ratios(
    crowd: Crowd,
    part: ArrayLike,
    whole: ArrayLike,
    *,
    low: float = 0.0,
    high: float = 1.0,
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
    return Figures(
        curve, crowd.n, linear.sampling / square, linear.masks / square, linear.between / square
    )
