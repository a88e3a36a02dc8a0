"""Half of a curve: the likelihood ratio of reports for figures above their own.

A *group* is people whose reports went through one channel. Each report has a *worth*, so that the
mean worth is an unbiased estimate of a linear figure of the answers. The curve of the group,

    W(x) = min over distributions r of reports with mean worth x of 2 sum n log((n / N) / r),

is the likelihood ratio of the simplex of reports, cut at a quantile of chi-squared with one degree
of freedom. It has a closed form along one number a > 0 (Owen 1988): with d = top - worth,

    r = n / (a + d) / t,   t = sum n / (a + d),   W = 2 sum n log(t (a + d) / N),   dW/dx = 2 t.

Before that, half a person is added at the far end, whose worth is the largest possible: without it,
reports that nobody happened to send would be taken for impossible.

All functions work on batches: the last axis holds reports, the axes before it any groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from masquerade.exact.arrays import Flags, Floats

#: People added at the far end: the least number with which intervals of shares hold (measured).
HALF = 0.5

_TINY = 1e-300
_STEPS = 200
_PRECISION = 1e-13
_ROUNDING = 1e-15


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The upper side of the curves of a batch of groups, half a person included.

    Attributes
    ----------
    count, gap : float array, shape (..., n_reports)
        People who sent each report, and how far its worth is below the largest one.
    total, top : float array, shape (...)
        Number of people, and the largest worth.
    mean_gap, spread : float array, shape (...)
        Mean of the gaps, and their variance.
    """

    count: Floats
    gap: Floats
    total: Floats
    top: Floats
    mean_gap: Floats
    spread: Floats

    @classmethod
    def of(
        cls, count: Floats, worth: Floats, far: Floats | None = None, half: Floats | float = HALF
    ) -> Side:
        """Return the side of groups, adding half a person at the far end.

        Parameters
        ----------
        count, worth : float array, shape (..., n_reports)
        far : float array, shape (...), optional
            Worth of the half person; by default the largest worth of any report.
        half : float array, shape (...), optional
            How many people are added.
        """
        count, worth = np.broadcast_arrays(count, worth)
        if far is None:
            place = np.argmax(worth, axis=-1)[..., None]
            count = count.copy()
            moved = np.take_along_axis(count, place, axis=-1) + np.asarray(half)[..., None]
            np.put_along_axis(count, place, moved, axis=-1)
        else:
            added = np.broadcast_to(half, worth.shape[:-1])[..., None]
            count = np.concatenate([count, added], axis=-1)
            worth = np.concatenate([worth, far[..., None]], axis=-1)
        there = count > 0
        top = np.where(there, worth, -np.inf).max(axis=-1)
        gap = np.where(there, top[..., None] - worth, 1.0)
        total = count.sum(axis=-1)
        mean = (count * gap).sum(axis=-1) / total
        spread = (count * (gap - mean[..., None]) ** 2).sum(axis=-1) / total
        return cls(count, gap, total, top, mean, spread)

    @property
    def mean(self) -> Floats:
        """Mean worth with the half person: where the curve begins to rise."""
        mean: Floats = self.top - self.mean_gap
        return mean

    def map(self, change: Callable[[Floats], Floats]) -> Side:
        """Return the side with each array changed alike; the last axis of some is of reports."""
        return Side(*(change(getattr(self, name)) for name in self.__slots__))

    def at_slope(self, t: Floats) -> tuple[Floats, Floats, Floats]:
        """Return x, W(x) and dx/dt where the curve has the slope 2 t > 0."""
        a = self._tilt_of_slope(t)
        away = a[..., None] + self.gap
        # x = top - sum r gap
        x = self.top - (self.count * self.gap / away).sum(axis=-1) / t
        ratio = t[..., None] * away / self.total[..., None]
        height = 2 * (self.count * np.log(ratio)).sum(axis=-1)
        # x = top - N/t + a, and F(a) = t: da/dt = -1 / sum n / (a + d)**2
        rate = self.total / t**2 - 1 / (self.count / away**2).sum(axis=-1)
        return x, np.maximum(height, 0.0), np.maximum(rate, 0.0)

    def slope_at(self, x: Floats) -> Floats:
        """Return t where the curve is at x: 0 up to the mean, infinite from the top on."""
        wanted = self.top - x
        # rounding must not take a place on the mean for one beyond it
        rounding = _PRECISION * (np.abs(self.top) + np.abs(x))
        flat, beyond = wanted >= self.mean_gap - rounding, wanted <= 0
        inside = ~(flat | beyond)
        safe = np.where(inside, wanted, np.where(self.mean_gap > 0, self.mean_gap / 2, 1.0))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            t = self._slope_of_gap(safe, inside)
        return np.where(inside, t, np.where(beyond & ~flat, np.inf, 0.0))

    def _first_count(self) -> Floats:
        first: Floats = (self.count * (self.gap == 0)).sum(axis=-1)
        return first

    def _tilt_of_slope(self, t: Floats) -> Floats:
        """Solve F(a) = sum n / (a + d) = t."""
        if self.count.shape[-1] == 2:
            # Two reports: t a**2 + (t d - N) a - n0 d = 0
            d, nearest = self.gap.max(axis=-1), self._first_count()
            linear = t * d - self.total
            root = np.sqrt(linear**2 + 4 * t * nearest * d)
            a = np.where(
                linear > 0, 2 * nearest * d / (root + linear + _TINY), (root - linear) / 2 / t
            )
            return np.asarray(np.maximum(a, _TINY))
        # 1 / F is concave and rising: Newton's steps from the left never pass the root.
        a = np.maximum(self.total / t - self.mean_gap, self._first_count() / t)
        a = np.maximum(a, _TINY)
        for _ in range(_STEPS):
            part = self.count / (a[..., None] + self.gap)
            f = part.sum(axis=-1)
            g = (part / (a[..., None] + self.gap)).sum(axis=-1)
            step = (f / t - 1) * f / g
            a = np.maximum(a + step, a / 4)
            if (np.abs(step) <= _PRECISION * a).all():
                break
        return np.asarray(a)

    def _slope_of_gap(self, wanted: Floats, inside: Flags) -> Floats:
        """Solve sum r d = wanted, between 0 and the mean gap, for t."""
        nearest = self._first_count()
        if self.count.shape[-1] == 2:
            d = np.maximum(self.gap.max(axis=-1), _TINY)
            r = np.minimum(wanted / d, 1 - 1e-16)
            t: Floats = ((self.total - nearest) / r - nearest / (1 - r)) / d
            return np.asarray(np.maximum(t, _TINY))
        # The mean gap of r is N / F(a) - a: concave and rising in a.
        a = wanted * nearest / np.maximum(self.total - nearest, _TINY)
        # near its limit the mean gap is the limit less spread / a
        a = np.maximum(a, self.spread / np.maximum(self.mean_gap - wanted, _TINY) / 2)
        for _ in range(_STEPS):
            away = a[..., None] + self.gap
            part = self.count / away
            f = part.sum(axis=-1)
            mean = (part * self.gap).sum(axis=-1) / f
            rate = self.total * (part / away).sum(axis=-1) / f**2 - 1
            step = (wanted - mean) / np.maximum(rate, _TINY)
            # far out the mean gap hardly rises: steps are kept within a factor
            a = np.clip(a + step, a / 8, a * 64)
            # where many are far below the top, no step is as small: the gap is right to a rounding
            right = np.abs(wanted - mean) <= _ROUNDING * wanted
            if ((np.abs(step) <= _PRECISION * a) | right | ~inside).all():
                break
        return np.asarray((self.count / (a[..., None] + self.gap)).sum(axis=-1))


def rising_root(
    function: Callable[[Floats], tuple[Floats, Floats]],
    low: Floats,
    high: Floats,
    start: Floats,
    *,
    precision: float = 1e-11,
    ends: bool = False,
) -> Floats:
    """Return where rising functions are 0, for a batch: Newton's steps, kept within a bracket.

    Where a function does not reach 0 in its bracket, the nearer end of it.

    Parameters
    ----------
    function : callable
        From a float array to values and derivatives.
    low, high, start : float array
        All of one shape.
    ends : bool
        Whether a step beyond the high end is one to it, for there may be no root before it.
    """
    low, high = low.copy(), high.copy()
    under, over = np.full(low.shape, -np.inf), np.full(low.shape, np.inf)
    untried, end = np.full(low.shape, ends), high
    x = np.clip(start, low, high)
    found = np.zeros(low.shape, dtype=bool)
    for number in range(_STEPS):
        with np.errstate(all="ignore"):
            value, rate = function(x)
            left, right = value < 0, value > 0
            # an end that stays has half its value (Illinois), so that the other one moves too
            over = np.where(right, value, np.where(left, over / 2, over))
            under = np.where(left, value, np.where(right, under / 2, under))
            low, high = np.where(left, x, low), np.where(right, x, high)
            untried &= ~(right | (x >= high))
            both = np.isfinite(under) & np.isfinite(over)
            secant = np.where(both, low - under * (high - low) / (over - under), np.nan)
            # at the end itself functions may be infinitely steep
            steady = np.isfinite(rate) & ~(ends & (x >= end))
            after = np.where(steady, x - value / rate, secant)
            middle = (low + high) / 2
            inside = np.isfinite(after) & (after >= low) & (after <= high)
            # each eighth step halves the bracket, so the root is found whatever the function
            halved = np.where(inside & (number % 8 != 7), after, middle)
            after = np.where(untried & ~(after <= high), high, halved)
            newton = np.where(steady, np.abs(value / rate), np.inf)
            # what is found stays, whatever the others of the batch still need
            found |= (value == 0) | (newton <= precision * (1 + np.abs(x)))
            found |= high - low <= precision * (1 + np.abs(x))
        x = np.where(found, x, after)
        if found.all():
            break
    return x


def merged(flag: Flags, first: Side, second: Side) -> Side:
    """Return one side or the other, group by group."""

    def pick(name: str) -> Floats:
        one, other = getattr(first, name), getattr(second, name)
        chosen = flag[..., None] if name in ("count", "gap") else flag
        return np.asarray(np.where(chosen, one, other))

    return Side(*(pick(name) for name in Side.__slots__))
