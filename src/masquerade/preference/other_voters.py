"""Sampling errors of masked sums, under drawing other voters.

A voter's own part of a masked sum is private, so its spread over voters is not there to be looked
at where an aggregator adds the noise; it is then taken from public numbers and the release. Reports
of devices show it, together with their noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.preference.composition import Reports
from masquerade.preference.masked_choices import at_least_zero

#: Below so many reports their spread says little; public numbers stand in for it.
FEWEST_REPORTS = 10


class DirectionSpread(NamedTuple):
    """A direction of length 1, and three covariances of it, each (n_features, n_features)."""

    weights: Floats
    noise: Floats
    sampling: Floats
    shrinkage: Floats


def reports_show_spread(reports: Reports) -> bool:
    """Return whether there is a report a voter, and enough of them to show how voters differ."""
    return len(reports.rows) == len(reports.shares) >= FEWEST_REPORTS


def spread_of_reports(values: Floats, shares: Floats) -> Floats:
    """Return the covariance of ``shares @ values`` by how the values differ between voters.

    `values` (n_voters, size): what each voter's report adds. It holds the noise of devices and the
    differences between voters, whatever these are.
    """
    apart = (values - shares @ values / shares.sum()) * shares[:, None]
    spread: Floats = apart.T @ apart * (len(values) / (len(values) - 1))
    return spread


def explained_share(total: Floats, inverse: Floats, noise: Floats, records: float) -> float:
    """Return how much smaller than the sum of products the variance of chosen directions is.

    `total`: the sum of chosen directions, with noise of covariance `noise`. `inverse`: of the sum
    of the directions' products. Choices are signs, whose regression on a normal margin explains
    2 / pi of their variance at most. Across the weights less of it counts, by ``d / (d + 2)`` (the
    fourth moments of a sphere): directions have length 1, so those across have small margins.
    """
    d = len(total)
    found = float(total @ inverse @ total) - float(np.trace(inverse @ noise))
    return min(max(found / max(records, 1e-9), 0.0), 2 / np.pi) * d / (d + 2)


def direction(raw: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Return the direction of a noisy vector, of length 1, and the covariance of its noise.

    Both covariances have shape (n_features, n_features); the direction is zeros where `raw` is.

    Notes
    -----
    Where noise is small, a direction has none along itself: `covariance` divided by the squared
    length, without the part along the weights (the delta method). Where noise is all there is, that
    part counts in full: a decision between alternatives that differ along the weights is then as
    uncertain as any other, which only the vector of its own length can tell (Fieller, 1954). In
    between, the part along the weights counts by the share of noise in the squared length,
    ``(1 + 1 / n_features) trace(covariance) / length**2``, at most 1.
    """
    squared = float(raw @ raw)
    d = len(raw)
    if squared == 0:
        return np.zeros(d), np.zeros((d, d))
    weights = raw / np.sqrt(squared)
    along = np.outer(weights, weights)
    # How much of the length is noise's own; its expected square is the trace.
    share = min(1.0, (1 + 1 / d) * float(np.trace(covariance)) / squared)
    # The projection off the weights at share 0 (delta method), none at share 1.
    across = np.eye(d) - (1 - np.sqrt(share)) * along
    return weights, across @ covariance @ across / squared


def spread_of_direction(
    raw: Floats, noise: Floats, sampling: Floats, bias: Floats | None = None
) -> DirectionSpread:
    """Return the direction of a vector, with its covariances carried onto the sphere.

    `raw` (float array, shape (n_features,)).
    `noise`, `sampling` (float array, shape (n_features, n_features)): of `raw`, under masking again
    and under other voters.
    `bias` (float array, shape (n_features, n_features), optional): mean square by which a ridge may
    have moved `raw`.

    Notes
    -----
    The delta method says how far a direction turns while errors are small. Where errors are a share
    s of the squared length, the published direction is off by ``2 (1 - sqrt(1 - s))`` in the mean
    square, s to first order and 2 where errors are all there is; what this exceeds s by counts as
    shrinkage, for then the direction says less than its length of 1.
    """
    weights, own = direction(raw, noise)
    bias = np.zeros_like(noise) if bias is None else bias
    together = noise + sampling + bias
    _, every = direction(raw, together)
    squared = float(raw @ raw)
    if squared == 0:
        return DirectionSpread(weights, own, own, np.eye(len(raw)))
    share = min(1.0, float(np.trace(together)) / squared)
    beyond = 2 * (1 - np.sqrt(1 - share)) / share - 1 if share > 0 else 0.0
    _, pulled = direction(raw, noise + sampling)
    return DirectionSpread(
        weights, own, at_least_zero(pulled - own), at_least_zero(every - pulled) + beyond * every
    )
