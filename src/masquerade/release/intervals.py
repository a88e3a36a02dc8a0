"""Intervals of a release, for noise and for sampling, at a public level."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import stdtrit

from masquerade.exact.arrays import Floats
from masquerade.release.knots import Knots
from masquerade.release.simplex import draws_of_sum_zero, independent_draws

#: Quantiles that a summary has.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)

#: Level of the two-sided bounds from draws: above .95, for the quantile of 200,000 draws errs.
_TWO_SIDED = 0.9505
_ONE_SIDED = 0.975
#: Means of a released number at which a quantile is computed; between them it is linear.
_CENTRES = np.linspace(0, 1, 17)
#: Candidates for a ratio of two noisy numbers.
_RATIOS = np.linspace(0, 1, 1025)
#: Claims that the crowd's spread counts for in an object's own.
_BORROWED = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class NoiseQuantiles:
    """Quantiles of functions of the noise of one object's soft counts, in claims.

    Attributes
    ----------
    count : float
        Half width of the number of claims; 0 where it is public.
    cumulative : float array, shape (n_levels, n_knots)
        One-sided bound of each cumulative count, for each of `QUANTILES`; where the number of
        claims is noisy, of its distance from that part of the number.
    mean_at, share_at : float array, shape (17,)
        Half widths of a mean and of one share, times the number of claims, by the mean or share.
    """

    count: float
    cumulative: Floats
    mean_at: Floats
    share_at: Floats

    @classmethod
    def of(cls, scale: Fraction, knots: Knots, *, categories: int, hidden: bool) -> NoiseQuantiles:
        """Return the quantiles of a law of noise."""
        columns = knots.count * categories
        draws = (independent_draws if hidden else draws_of_sum_zero)(scale, columns)
        noise = draws[:, : knots.count] / knots.parts
        total = noise.sum(axis=1)
        loose = hidden or categories > 1  # the number of claims is noisy too
        one = noise[:, 0]
        return cls(
            float(np.quantile(np.abs(total), _TWO_SIDED)) if loose else 0.0,
            _cumulative(np.cumsum(noise, axis=1), total if loose else 0 * total),
            _by_ratio(noise @ knots.place, total, loose=loose),
            _by_ratio(one, total, loose=loose),
        )

    def mean_half_width(self, mean: float, claims: float) -> float:
        """Return the half width of the mean of so many claims, as a share of the domain."""
        return float(np.interp(mean, _CENTRES, self.mean_at)) / max(claims, 1.0)


def _by_ratio(noise: Floats, total: Floats, *, loose: bool) -> Floats:
    """Return a bound of ``|noise - r total|`` at each centre r; the total is 0 where not loose."""
    if not loose:
        return np.full(len(_CENTRES), float(np.quantile(np.abs(noise), _TWO_SIDED)))
    return np.array([float(np.quantile(np.abs(noise - r * total), _TWO_SIDED)) for r in _CENTRES])


def _cumulative(noise: Floats, total: Floats) -> Floats:
    bounds = [
        np.quantile(noise - level * total[:, None], _ONE_SIDED, axis=0) for level in QUANTILES
    ]
    return np.stack(bounds)


def interval_of_ratio(
    part: float, whole: float, total: float, bound_at: Floats, *, loose: bool
) -> tuple[float, float]:
    """Return the interval of a mean or share of the claims made, from 0 to 1.

    `part`: noisy sum over the claims. `whole`: noisy number of claims. `total`: that number where
    it is public (or weight), else what is released of it. `bound_at`: `mean_at` or `share_at`.

    Where the number is noisy too this is Fieller's set: at the true ratio r, ``part - r whole`` is
    noise alone, so that r is in the set of all ratios for which it is within its bound.
    """
    if total <= 0:
        return 0.0, 1.0
    if not loose:
        half = float(bound_at[0]) / total
        return max(part / total - half, 0.0), min(part / total + half, 1.0)
    over = np.abs(part - _RATIOS * whole) - np.interp(_RATIOS, _CENTRES, bound_at)
    inside = np.flatnonzero(over <= 0)
    if not inside.size:
        inside = np.array([int(over.argmin())])
    # the ends lie between a candidate inside and the next one outside
    last = len(_RATIOS) - 1
    low, high = max(int(inside[0]) - 1, 0), min(int(inside[-1]) + 1, last)
    return float(_RATIOS[low]), float(_RATIOS[high])


def interval_of_source(
    reported: float, spread: float, crowd: float, noise_half: float, claims: float
) -> tuple[float, float]:
    """Return the interval of the mean of the claims' source, from 0 to 1.

    The score interval of a bounded mean: all mu with ``(mean - mu)**2 <= noise**2 + t**2 phi mu
    (1 - mu) / n``. For yes or no, phi is 1 and this is Wilson's interval with Student's t; claims
    that are all alike have no width of 0.

    Parameters
    ----------
    spread : float
        Variance of the object's claims.
    crowd : float
        phi of all objects: their variances over ``mean (1 - mean)``.
    noise_half : float
        Half width of the noise.
    claims : float
        Number of claims, or what weighted claims are worth.
    """
    if claims < 2:
        return 0.0, 1.0
    # an object that lies at an end says nothing of its own phi
    own, borrowed = claims * reported * (1 - reported), _BORROWED / 4
    phi = min((claims * spread + borrowed * crowd) / (own + borrowed), 1.0)
    a = float(stdtrit(claims - 1, _ONE_SIDED)) ** 2 * phi / claims
    middle = (2 * reported + a) / (2 * (1 + a))
    root = max(middle**2 - (reported**2 - noise_half**2) / (1 + a), 0.0) ** 0.5
    return max(middle - root, 0.0), min(middle + root, 1.0)


def interval_of_quantile(
    counts: Floats, which: int, knots: Knots, quantiles: NoiseQuantiles, total: float
) -> tuple[float, float]:
    """Return the interval of one of `QUANTILES` of the claims made, from 0 to 1.

    The cumulative soft count at a knot is at least the number of claims up to it, and at most the
    number below the next. So the m-th claim is above a knot where even the upper bound is below m,
    and below the next one where even the lower bound reaches m. Wide with few knots.
    """
    if total <= 0:
        return 0.0, 1.0
    level, cumulative = QUANTILES[which], np.cumsum(counts)
    # a number of claims that is noisy enters with the noise that the bounds allow for
    rank = level * cumulative[-1] if quantiles.count else max(1.0, np.ceil(level * total - 1e-9))
    bound = quantiles.cumulative[which]
    # the last cumulative count is all claims, and bounds nothing
    below = np.flatnonzero((cumulative + bound)[:-1] < rank)
    above = np.flatnonzero((cumulative - bound)[:-1] >= rank)
    place = knots.place
    low = 0.0
    if below.size:
        k = int(below[-1])
        low = float(place[k + 1] if knots.hard else place[k])
    high = 1.0
    if above.size:
        k = int(above[0])
        high = float(place[k] if knots.hard else place[k + 1])
    return low, max(low, high)
