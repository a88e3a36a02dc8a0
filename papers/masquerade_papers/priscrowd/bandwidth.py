"""Bandwidths of bumps, one an object: from its claims, or from the private shares of its bins."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.number import in_range
from masquerade.release.grouped_claims import GroupedClaims

BandwidthRule = Literal["robust", "scott", "silverman", "mad"]
RULES = ("robust", "scott", "silverman", "mad")

_NORMAL_MAD = 1.4826  # standard deviation of a normal over its median absolute deviation
_NORMAL_IQR = 1.349  # its interquartile range over its standard deviation
_LEAST_SHARE = 1e-3
_HALF = 0.5 - 1e-12  # a sum that rounding leaves short of a half may not reach beyond a gap


def bandwidths(
    claims: GroupedClaims,
    rule: BandwidthRule | ArrayLike = "robust",
    *,
    least: float | None = None,
    width: ArrayLike | None = None,
) -> Floats:
    """Return the bandwidth of each object, shape (n_objects,), above 0.

    Parameters
    ----------
    rule : {"robust", "scott", "silverman", "mad"}, or float or array of shape (n_objects,)
        ``"robust"``: ``1.06 s n**(-1/5)`` with s the first that is positive of 1.4826 times the
        median absolute deviation, the interquartile range over 1.349, and the standard deviation.
        ``"scott"``: the same with the standard deviation alone. ``"silverman"``: ``0.9 min(sd,
        iqr / 1.349) n**(-1/5)``. ``"mad"``: the median absolute deviation as it is. Numbers are
        taken as given; they are public only if they were chosen without looking at the claims.
    least : float, optional
        Bandwidth of an object whose claims show no spread. Default: a thousandth of `width`, else
        of the median's size (of 1 where the median is nearer to 0).
    width : float or array of shape (n_objects,), optional
        High end of the domain minus the low end.

    Notes
    -----
    On made-up data with known densities this choice matters more than any weighting: the relative
    error of the standard deviation's rule was four times that of the robust one, because a single
    outlier widens every bump.

    Examples
    --------
    >>> from masquerade.release import GroupedClaims
    >>> table = {"task": ["a"] * 3, "worker": ["x", "y", "z"], "value": [1.0, 2.0, 3.0]}
    >>> claims = GroupedClaims.of(table)
    >>> bool(bandwidths(claims)[0] > 0)
    True
    """
    if not isinstance(rule, str):
        return _checked_numbers(claims, rule)
    if rule not in RULES:
        raise ParameterError(
            f"bandwidth is {rule!r}, expected one of {', '.join(RULES)}, or numbers."
        )
    if least is not None:
        in_range(least, "least bandwidth", above=0, below=math.inf)
    n = claims.count
    # values[claim], ascending within each object; n, median, mad, iqr and spread[object]
    values = claims.sorted_values()
    median = quantiles(values, claims.offset, 0.5)
    deviation = np.abs(values - np.repeat(median, n))
    # `quantiles` reads ascending values, and deviations have another order than values
    order = np.lexsort((deviation, claims.object))
    mad = quantiles(deviation[order], claims.offset, 0.5)
    iqr = quantiles(values, claims.offset, 0.75) - quantiles(values, claims.offset, 0.25)
    spread = _standard_deviation(values, claims)
    if rule == "mad":
        bandwidth = mad
    elif rule == "scott":  # Scott (1992): 1.06 sd n**(-1/5)
        bandwidth = 1.06 * spread * _shrink(n)
    elif rule == "silverman":  # Silverman (1986), eq. 3.31: 0.9 min(sd, iqr / 1.349) n**(-1/5)
        bandwidth = 0.9 * _least_positive(spread, iqr / _NORMAL_IQR) * _shrink(n)
    else:
        # where more than half of the claims are equal the MAD is 0, and the next measure is taken
        sigma = _first_positive(_NORMAL_MAD * mad, iqr / _NORMAL_IQR, spread)
        bandwidth = 1.06 * sigma * _shrink(n)
    if least is None:
        floor = _LEAST_SHARE * (
            np.maximum(np.abs(median), 1.0) if width is None else np.asarray(width, np.float64)
        )
    else:
        floor = np.asarray(least, np.float64)
    # equal claims, or one alone: a bump of no width would have no density
    return np.where(bandwidth > 0, bandwidth, floor)


def own_bandwidth(share: Floats, width: Floats, n: Floats) -> Floats:
    """Return the robust bandwidth of a density that is even within each bin, shape (n_objects,).

    ``1.06 * 1.4826 MAD n**(-1/5)``, the rule ``"robust"`` of `bandwidths`, with the median and the
    median absolute deviation of the shares of the bins: nothing but the shares is used, so that it
    is as private as they are.

    Shapes: `share` (n_objects, bins), sums to 1. `width` (n_objects,): of a bin. `n` (n_objects,):
    number of claims.
    """
    bins, rows = share.shape[1], np.arange(len(share))
    cumulative = np.concatenate((np.zeros((len(share), 1)), np.cumsum(share, axis=1)), axis=1)

    def mass_below(at: Floats) -> Floats:
        # minimum and maximum, for `clip` and `take_along_axis` take most of the time of few objects
        bin_of = np.minimum(np.maximum(np.floor(at), 0), bins - 1).astype(np.int64)
        inside = np.minimum(np.maximum(at, 0), bins) - bin_of
        return np.asarray(cumulative[rows, bin_of] + inside * share[rows, bin_of])

    # in bins: the least value with half of the mass below, which lies in the first bin whose upper
    # edge has it
    of = np.minimum((cumulative[:, 1:] < _HALF).sum(axis=1), bins - 1)
    start = cumulative[rows, of]
    median = of + _part_of_way(start, start + share[rows, of])
    mad = _half_radius(lambda m: mass_below(median + m) - mass_below(median - m), median, bins)
    return np.asarray(1.06 * _NORMAL_MAD * mad * width * _shrink(n))


def _half_radius(mass: Callable[[Floats], Floats], median: Floats, bins: int) -> Floats:
    """Return the least radius with half of the mass inside, which grows in straight lines.

    They meet where the distance to an edge, on either side, is reached: at ``a, b, a + 1, b + 1,
    ...`` with the two distances within the median's bin. The line is found by bisection over them.
    """
    after = median - np.floor(median)
    near, far = np.minimum(after, 1 - after), np.maximum(after, 1 - after)

    def radius(k: Integers) -> Floats:
        return np.maximum(np.where(k % 2, far, near) + k // 2, 0.0)  # k = -1: no radius at all

    low, top = np.full(len(median), -1), np.full(len(median), 2 * bins)
    for _ in range((2 * bins).bit_length()):
        middle = (low + top) // 2
        short = mass(radius(middle)) < _HALF
        low, top = np.where(short, middle, low), np.where(short, top, middle)
    one, other = radius(low), radius(top)
    return np.asarray(one + (other - one) * _part_of_way(mass(one), mass(other)))


def _part_of_way(start: Floats, end: Floats) -> Floats:
    """Return how far between two masses, one below a half and the other not, a half is reached."""
    gap = end - start
    return np.asarray(np.minimum((0.5 - start) / np.where(gap > 0, gap, 1.0), 1.0))


def quantiles(values: Floats, offset: Integers, level: float) -> Floats:
    """Return a quantile of each object, linearly interpolated; 0 where there are no claims.

    Shapes: `offset` (n_objects + 1,). `values`: ascending within each object. `level`: 0 to 1.
    """
    count = np.diff(offset)
    # rank (n - 1) * level, between two claims: linear interpolation (type 7 of Hyndman and Fan)
    rank = np.maximum(count - 1, 0) * level
    below = np.floor(rank).astype(np.int64)
    share = rank - below
    above = np.minimum(below + 1, np.maximum(count - 1, 0))
    # the offset of an empty object at the end lies behind the last value; its result is not used
    last = max(len(values) - 1, 0)
    low = values[np.minimum(offset[:-1] + below, last)]
    high = values[np.minimum(offset[:-1] + above, last)]
    return np.where(count > 0, low * (1 - share) + high * share, 0.0)


def _checked_numbers(claims: GroupedClaims, rule: ArrayLike) -> Floats:
    try:
        numbers = np.asarray(rule, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"bandwidth is {rule!r}, expected a rule or numbers.") from error
    if numbers.ndim > 1 or (numbers.ndim == 1 and len(numbers) != claims.n_objects):
        raise ParameterError(
            f"there are {numbers.size} bandwidths for {claims.n_objects} objects; give one number "
            "or one for each object, in the order of their names."
        )
    if not (np.isfinite(numbers) & (numbers > 0)).all():
        raise ParameterError("a bandwidth is not above 0 and finite; correct it.")
    return np.broadcast_to(numbers, claims.n_objects).copy()


def _standard_deviation(values: Floats, claims: GroupedClaims) -> Floats:
    n, of = claims.count, claims.object
    mean = np.bincount(of, values, claims.n_objects) / np.maximum(n, 1)
    squares = np.bincount(of, (values - mean[of]) ** 2, claims.n_objects)
    spread = np.sqrt(squares / np.maximum(n - 1, 1))
    # equal claims: the rounding of their mean is no spread
    ends = quantiles(values, claims.offset, 1.0) - quantiles(values, claims.offset, 0.0)
    return np.where(ends > 0, spread, 0.0)


def _shrink(n: Integers | Floats) -> Floats:
    # n**(-1/5); an object without claims has no bumps, so that any number does for it
    return np.asarray(np.maximum(n, 1) ** -0.2)


def _first_positive(*candidates: Floats) -> Floats:
    first = candidates[-1]
    for candidate in reversed(candidates[:-1]):
        first = np.where(candidate > 0, candidate, first)
    return first


def _least_positive(one: Floats, other: Floats) -> Floats:
    return np.where(other > 0, np.where(one > 0, np.minimum(one, other), other), one)
