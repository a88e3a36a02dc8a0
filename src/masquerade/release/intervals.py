"""Intervals of a release, for noise and for sampling, at a public level."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import stdtrit

from masquerade.exact.arrays import Floats
from masquerade.release.knots import Knots
from masquerade.release.simplex_noise import draws_of_sum_zero, independent_draws

#: Quantiles that a summary has.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)

#: Level of the two-sided bounds from draws: above .95, for the quantile of 200,000 draws errs.
_TWO_SIDED = 0.9505
_ONE_SIDED = 0.975
#: Means of a released number at which a quantile is computed; between them it is linear.
_CENTRES = np.linspace(0, 1, 33)


@dataclass(frozen=True, slots=True, eq=False)
class NoiseQuantiles:
    """Quantiles of functions of the noise of one object's soft counts, in claims.

    Attributes
    ----------
    count, mean, share : float
        Half widths of the number of claims, and for one claim of a mean (see `mean_at`) and of one
        share.
    cumulative : float array, shape (n_levels, n_knots)
        One-sided bound of each cumulative count, for each of `QUANTILES`; where the number of
        claims is noisy, of its distance from that part of the number.
    mean_at : float array, shape (33,)
        Half width of a mean, times the number of claims, by the released mean.
    """

    count: float
    share: float
    cumulative: Floats
    mean_at: Floats

    @classmethod
    def of(cls, scale: Fraction, knots: Knots, *, categories: int, hidden: bool) -> NoiseQuantiles:
        """Return the quantiles of a law of noise."""
        columns = knots.count * categories
        draws = (independent_draws if hidden else draws_of_sum_zero)(scale, columns)
        noise = draws[:, : knots.count] / knots.parts
        total = noise.sum(axis=1)
        loose = hidden or categories > 1  # the number of claims is noisy too
        centres = _CENTRES if loose else np.zeros(1)
        weighted = noise @ knots.place
        widths = [
            float(np.quantile(np.abs(weighted - centre * total), _TWO_SIDED)) for centre in centres
        ]
        return cls(
            float(np.quantile(np.abs(total), _TWO_SIDED)) if loose else 0.0,
            float(np.quantile(np.abs(noise[:, 0]), _TWO_SIDED)),
            _cumulative(np.cumsum(noise, axis=1), total if loose else 0 * total),
            np.array(widths if loose else widths * len(_CENTRES)),
        )

    def mean_half_width(self, mean: float, claims: float) -> float:
        """Return the half width of the mean of so many claims, as a share of the domain."""
        return float(np.interp(mean, _CENTRES, self.mean_at)) / max(claims, 1.0)


def _cumulative(noise: Floats, total: Floats) -> Floats:
    bounds = [
        np.quantile(noise - level * total[:, None], _ONE_SIDED, axis=0) for level in QUANTILES
    ]
    return np.stack(bounds)


def interval_of_mean(
    counts: Floats, reported: float, knots: Knots, quantiles: NoiseQuantiles, total: float
) -> tuple[float, float]:
    """Return the interval of the mean of the claims made, from 0 to 1.

    Around the unbiased mean of the noisy counts, cut at the domain, widened to hold what is
    reported. `counts`: noisy soft counts in claims. `total`: number of claims, as it is known.
    """
    if total <= 0:
        return 0.0, 1.0
    unbiased = float(counts @ knots.place) / total
    if quantiles.count:
        # the number is noisy: sum (t - reported) y over it has noise of that mean's own
        unbiased = reported + float(counts @ (knots.place - reported)) / total
    half = quantiles.mean_half_width(reported, total)
    low, high = max(unbiased - half, 0.0), min(unbiased + half, 1.0)
    return min(low, reported), max(high, reported)


def interval_of_source(
    reported: float, spread: float, noise_half: float, claims: float
) -> tuple[float, float]:
    """Return the interval of the mean of the claims' source, from 0 to 1."""
    if claims < 2:
        return 0.0, 1.0
    sampling = float(stdtrit(claims - 1, _ONE_SIDED)) * spread / claims**0.5
    half = float(np.hypot(noise_half, sampling))
    return max(reported - half, 0.0), min(reported + half, 1.0)


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
