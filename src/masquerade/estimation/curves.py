"""Curves of figures: likelihood ratios of groups put together, and the intervals that they give.

`SumCurve` adds groups whose parts move freely: a difference of two surveys, the noise of two
parties as one more group. `LevelCurve` joins the privacy levels of one survey, whose own figures
are at most a bound away from the figure of all people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from masquerade.estimation.sides import Side, merged, rising_root
from masquerade.exact.arrays import Flags, Floats

_FARTHEST = 60.0  # of a logarithm of a slope
_DIRECTIONS = np.array([1.0, -1.0])


class Curve(Protocol):
    """The likelihood ratio of each of a batch of figures, least (0) at its estimate."""

    @property
    def estimate(self) -> Floats:
        """Unbiased estimates, which may lie outside the range."""
        ...

    @property
    def possible(self) -> Floats:
        """Possible figures of least W, which people read."""
        ...

    @property
    def low(self) -> Floats:
        """Low ends of the ranges."""
        ...

    @property
    def high(self) -> Floats:
        """High ends of the ranges."""
        ...

    def heights(self, x: Floats) -> tuple[Floats, Floats]:
        """Return W and its slope at one place for each figure."""
        ...

    def interval(self, cut: float) -> tuple[Floats, Floats]:
        """Return the ends of the values in the range with W at most a cut."""
        ...


@dataclass(frozen=True, eq=False)
class SumCurve:
    """The curve of a sum of independent groups, and of noise of known variance.

    Attributes
    ----------
    side : Side, shape (n_figures, 2, n_groups)
        The upper sides, then the lower sides as upper sides of the negative figure.
    noise : float array, shape (n_figures,)
        Variance of what is added to the groups' figures.
    shift : float array, shape (n_figures,)
        What the added noise came to.
    """

    estimate: Floats
    low: Floats
    high: Floats
    side: Side
    noise: Floats
    shift: Floats
    _base: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        near = np.stack([self.low, -self.high], axis=-1)
        outside = np.stack([self.estimate < self.low, self.estimate > self.high], axis=-1)
        base = np.zeros_like(near)
        if outside.any():
            # Outside the range the curve counts from its near end, so no interval is empty.
            base = np.where(outside, self._raw(near)[0], 0.0)
        object.__setattr__(self, "_base", np.where(np.isfinite(base), base, 0.0))

    def heights(self, x: Floats) -> tuple[Floats, Floats]:
        """Return W and its slope at one place for each figure."""
        signed = x[:, None] * _DIRECTIONS
        raw, slope = self._raw(signed)
        height = np.maximum(raw - np.where(raw > 0, self._base, 0.0), 0.0)
        upper = height[:, 0] >= height[:, 1]
        return np.where(upper, height[:, 0], height[:, 1]), np.where(
            upper, slope[:, 0], -slope[:, 1]
        )

    def interval(self, cut: float) -> tuple[Floats, Floats]:
        """Return the ends of the values in the range with W at most a cut."""
        target = cut + self._base
        spread = self._spread
        mean = self._mean
        start = np.log(np.sqrt(target / np.where(spread > 0, spread, 1.0)))

        def distance(x: Floats) -> tuple[Floats, Floats]:
            t = np.exp(x)
            _, height, rate = self._at(t)
            height = np.maximum(height, 1e-300)
            return np.log(height / target) / 2, t**2 * rate / height

        wide = np.full_like(start, _FARTHEST)
        t = np.exp(rising_root(distance, start - wide, start + wide, start))
        reach = np.where(spread > 0, self._at(t)[0], mean)
        inside = self.possible
        low = np.clip(-reach[:, 1], self.low, self.high)
        high = np.clip(reach[:, 0], self.low, self.high)
        return np.minimum(low, inside), np.maximum(high, inside)

    @property
    def possible(self) -> Floats:
        """Estimates, or the nearer end of the range."""
        return np.clip(self.estimate, self.low, self.high)

    @property
    def _mean(self) -> Floats:
        mean: Floats = self.side.mean.sum(axis=-1) + self.shift[:, None] * _DIRECTIONS
        return mean

    @property
    def _spread(self) -> Floats:
        spread: Floats = (self.side.spread / self.side.total).sum(axis=-1) + self.noise[:, None]
        return spread

    @property
    def variance(self) -> Floats:
        """Variance of the estimate; half a person on either side keeps it above 0."""
        variance: Floats = self._spread.mean(axis=-1)
        return variance

    def _at(self, t: Floats) -> tuple[Floats, Floats, Floats]:
        """Return x (signed by direction), W and dx/dt where all slopes are 2 t."""
        x, height, rate = self.side.at_slope(np.broadcast_to(t[..., None], self.side.top.shape))
        noise = self.noise[:, None]
        # Noise is one more group: x = shift + t s2 and W = t**2 s2
        return (
            x.sum(axis=-1) + self.shift[:, None] * _DIRECTIONS + t * noise,
            height.sum(axis=-1) + t**2 * noise,
            rate.sum(axis=-1) + noise,
        )

    def _raw(self, signed: Floats) -> tuple[Floats, Floats]:
        """Return W and slope at places signed by direction; 0 below the mean."""
        top = self.side.top.sum(axis=-1) + self.shift[:, None] * _DIRECTIONS
        mean, spread = self._mean, self._spread
        flat = signed <= mean + 1e-13 * (np.abs(mean) + np.abs(signed))
        beyond = ~flat & (((signed >= top) & (self.noise[:, None] == 0)) | (spread == 0))
        inside = ~(flat | beyond)
        if not inside.any():
            t = np.ones_like(signed)
        elif self.side.top.shape[-1] == 1 and not self.noise.any():
            moved = np.where(inside, signed, mean) - self.shift[:, None] * _DIRECTIONS
            t = self.side.slope_at(moved[..., None])[..., 0]
        else:
            wanted = np.where(inside, signed, mean)
            reach = np.where(self.noise[:, None] > 0, 1e9 * (1 + np.abs(top)), top)
            guess = np.maximum(wanted - mean, 1e-12) / np.where(spread > 0, spread, 1.0)

            def distance(log_t: Floats) -> tuple[Floats, Floats]:
                t = np.exp(log_t)
                x, _, rate = self._at(t)
                return straightened(x, t * rate, wanted, mean, reach, inside)

            start = np.log(guess)
            wide = np.full_like(start, _FARTHEST)
            t = np.exp(rising_root(distance, start - wide, start + wide, start))
        t = np.where(inside & (t > 0), t, 1.0)
        height = np.where(inside, self._at(t)[1], np.where(beyond, np.inf, 0.0))
        return height, np.where(inside, 2 * t, np.where(beyond, np.inf, 0.0))


@dataclass(frozen=True, eq=False)
class LevelCurve:
    """The curve of a figure of people at several levels of protection.

    The figure is the weighted mean of the levels' own figures, each of which is within the range
    and at most `bound` from it.

    Attributes
    ----------
    own : float array, shape (n_figures, n_levels)
        Estimate of each level by itself.
    up, down : Side, shape (n_figures, 1, n_levels)
        Both sides of the levels' curves; `down` is of the negative figure.
    weight : float array, shape (n_levels,)
        Share of each level among the people; they sum to 1.
    bound : float array, shape (n_figures,)
    """

    own: Floats
    low: Floats
    high: Floats
    up: Side
    down: Side
    weight: Floats
    bound: Floats

    @cached_property
    def estimate(self) -> Floats:
        """Weighted mean of the levels' own estimates, or where W is least."""
        linear: Floats = self.own @ self.weight
        return np.where(self._apart, self._start, linear)

    @property
    def possible(self) -> Floats:
        """Possible figures of least W: a level's own outside the range counts as its near end."""
        return self._start

    @cached_property
    def least(self) -> Floats:
        """W before the least one is taken off."""
        return self.before(self._start)

    @property
    def _within(self) -> Floats:
        return np.clip(self.own, self.low[:, None], self.high[:, None])

    @cached_property
    def _apart(self) -> Flags:
        """Whether levels differ by more than the bound."""
        away = np.abs(self._within - (self._within @ self.weight)[:, None])
        return np.asarray((away > self.bound[:, None] * (1 + 1e-12)).any(axis=1))

    @cached_property
    def _start(self) -> Floats:
        """Possible figures of least W: where levels agree, each is at its own least."""
        start: Floats = self._within @ self.weight
        return np.where(self._apart, self._likeliest(start), start) if self._apart.any() else start

    def before(self, x: Floats) -> Floats:
        """Return W at one place for each figure, before the least one is taken off."""
        height: Floats = self._raw(np.clip(x, self.low, self.high)[:, None])[0][:, 0]
        return height

    def _likeliest(self, start: Floats) -> Floats:
        """Return the figures of least W, where the slope is 0."""
        middle, width = (self.low + self.high)[:, None] / 2, (self.high - self.low)[:, None]

        def rise(x: Floats) -> tuple[Floats, Floats]:
            step = 1e-6 * np.where(x > middle, -width, width)
            slope = self._raw(np.concatenate([x, x + step], axis=1))[1]
            rate = (slope[:, 1:] - slope[:, :1]) / step
            value = np.nan_to_num(slope[:, :1], nan=0.0)
            return value, np.where((rate > 0) & (x + step != x), rate, np.nan)

        low, high = self.low[:, None], self.high[:, None]
        found: Floats = rising_root(rise, low, high, start[:, None], precision=1e-8)[:, 0]
        return found

    def heights(self, x: Floats) -> tuple[Floats, Floats]:
        """Return W and its slope at one place for each figure."""
        height, slope = self._raw(np.clip(x, self.low, self.high)[:, None])
        return np.maximum(height[:, 0] - self.least, 0.0), slope[:, 0]

    def interval(self, cut: float) -> tuple[Floats, Floats]:
        """Return the ends of the values in the range with W at most a cut."""
        start = np.stack([self._start, self._start], axis=-1)
        target = (cut + self.least)[:, None]

        # From the estimate outwards, both ends at once.
        def distance(away: Floats) -> tuple[Floats, Floats]:
            height, slope = self._raw(start + away * _DIRECTIONS)
            root = np.sqrt(np.maximum(height, 0.0))
            with np.errstate(divide="ignore", invalid="ignore"):
                rate = slope * _DIRECTIONS / (2 * root)
            return root - np.sqrt(target), np.where(height > self.least[:, None], rate, np.nan)

        most = np.stack([self.high - self._start, self._start - self.low], axis=-1)
        guess = np.sqrt(cut * self.variance)[:, None] * np.ones(2)
        away = rising_root(distance, np.zeros_like(most), most, guess, precision=1e-9, ends=True)
        return self._start - away[:, 1], self._start + away[:, 0]

    def places(self, x: Floats) -> Floats:
        """Return W at several places for each figure, shape (n_figures, n_places)."""
        height: Floats = np.maximum(self._raw(x)[0] - self.least[:, None], 0.0)
        return height

    @property
    def variance(self) -> Floats:
        """Variance of the estimate were no level's figure known to be near another's."""
        each = (self.up.spread / self.up.total + self.down.spread / self.down.total) / 2
        variance: Floats = each[:, 0] @ self.weight**2
        return variance

    def _raw(self, centre: Floats) -> tuple[Floats, Floats]:
        """Return W and its slope at figures of all people, shape (n_figures, n_places)."""
        x, common = self._figures(centre)
        upper = x > self.up.mean
        side = merged(upper, self.up, self.down)
        t = side.slope_at(np.where(upper, x, -x))
        moving = (t > 0) & np.isfinite(t)
        height = side.at_slope(np.where(moving, t, 1.0))[1]
        height = np.where(moving, height, np.where(t > 0, np.inf, 0.0))
        # By the envelope theorem, bounds that move with the centre bring its slope to sum dW_l, and
        # the ends of the range, which do not move, leave the common multiplier there.
        low, high = self.low[:, None, None], self.high[:, None, None]
        still = ((x <= low) | (x >= high)) & (self.bound[:, None] > 0)[..., None]
        slope = np.where(still, common[..., None] * self.weight, np.where(upper, t, -t))
        return height.sum(axis=-1), 2 * slope.sum(axis=-1)

    def _figures(self, centre: Floats) -> tuple[Floats, Floats]:
        """Return the levels' own figures of least W that have the centre as their weighted mean.

        Also the multiplier of that condition: half of W's slope where nothing is at a bound.
        """
        bound = self.bound[:, None]
        low = np.maximum(self.low[:, None], centre - bound)[..., None]
        high = np.minimum(self.high[:, None], centre + bound)[..., None]
        # Where W is 0, a level's figure may be anywhere between these two.
        lower = np.clip(-self.down.mean, low, high)
        upper = np.clip(self.up.mean, low, high)
        least, most = lower @ self.weight, upper @ self.weight
        # Within what is flat: a part of the way for all.
        width = np.where(most > least, most - least, 1.0)
        part = np.clip((centre - least) / width, 0.0, 1.0)[..., None]
        x = lower + part * (upper - lower)
        rising = (centre > most) | (centre < least)
        if not rising.any() or not (high > low).any():
            return x, np.zeros_like(centre)
        up = np.broadcast_to((centre > most)[..., None], x.shape)
        sign = np.where(centre > most, 1.0, -1.0)
        side = merged(up, self.up, self.down)
        first, last = np.where(up, low, -high), np.where(up, high, -low)
        wanted, mean = sign * centre, np.where(centre > most, most, -least)
        reach = np.minimum(side.top, last) @ self.weight

        def figures(log_slope: Floats) -> tuple[Floats, Floats]:
            # the levels' slopes are t w_l for one t, but for those at a bound
            t = np.exp(log_slope)[..., None] * self.weight
            value, _, rate = side.at_slope(t)
            free = (value < last) & (value > first)
            change: Floats = np.where(free, rate * t, 0.0) @ self.weight
            return np.clip(value, first, last), change

        def distance(log_slope: Floats) -> tuple[Floats, Floats]:
            value, change = figures(log_slope)
            return straightened(value @ self.weight, change, wanted, mean, reach, rising)

        spread = (side.spread / side.total) @ self.weight**2
        start = np.log(np.maximum(wanted - mean, 1e-9) / np.maximum(spread, 1e-12))
        wide = np.full_like(start, 30.0)
        log_slope = rising_root(distance, start - wide, start + wide, start)
        value = sign[..., None] * figures(log_slope)[0]
        common = np.where(rising, sign * np.exp(log_slope), 0.0)
        return np.where(rising[..., None], value, x), common


def straightened(
    x: Floats, change: Floats, wanted: Floats, mean: Floats, top: Floats, active: Flags
) -> tuple[Floats, Floats]:
    """Return the distance of x from a target, nearly linear in the logarithm of the slope.

    A figure rises like the slope above the mean, and like less than its inverse below the top, so
    the logit of its place between the two is nearly straight. `change` is the derivative of x.
    """
    above, below = np.maximum(x - mean, 1e-300), np.maximum(top - x, 1e-300)
    aim = np.log(np.maximum(wanted - mean, 1e-300)) - np.log(np.maximum(top - wanted, 1e-300))
    distance = np.log(above) - np.log(below) - aim
    return np.where(active, distance, 0.0), change * (1 / above + 1 / below)
