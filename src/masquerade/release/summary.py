"""Summaries of objects: counts, means, quantiles and shares with intervals, and rows that agree.

All of it is computed from the released measurement alone: equal measurements give equal files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.exact.arrays import Floats, Integers
from masquerade.release.fine_shares import fine_shares, means_of, quantile_cells, rows_of
from masquerade.release.intervals import (
    QUANTILES,
    NoiseQuantiles,
    interval_of_mean,
    interval_of_quantile,
    interval_of_source,
)
from masquerade.release.measurement import Measured
from masquerade.release.posterior_shares import NoisyCounts, posterior_shares


@dataclass(frozen=True, slots=True)
class Bounded:
    """A number with the ends of its interval, from 0 to 1."""

    number: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """The summary of one object, or of one object in one combination of categories.

    Attributes
    ----------
    claims : int
        Public number of claims, or the released one, at least 0.
    claims_low, claims_high : float
    mean, quantiles : Bounded
        On the domain from 0 to 1; the mean of the claims made.
    source_low, source_high : float
        Interval of the mean of what the claims were drawn from.
    shares : float array, shape (n_cells,)
    share_error : float
        Half width of each share, where a cell is a knot; NaN elsewhere.
    noisy_shares : float array, shape (n_cells,) or (0,)
        Unbiased shares, around which the intervals stand.
    rows : float array, shape (claims,)
        Places on the grid.
    """

    claims: int
    claims_low: float
    claims_high: float
    mean: Bounded
    source_low: float
    source_high: float
    quantiles: tuple[Bounded, ...]
    shares: Floats
    share_error: float
    noisy_shares: Floats
    rows: Floats


def summaries_of(measured: Measured) -> list[list[Summary]]:
    """Return the summary of each object and combination of categories."""
    objects, categories, _ = measured.counts.shape
    totals = _totals(measured)
    squares = np.repeat(measured.squares, categories)
    if categories > 1 or measured.hidden:
        squares = 1 / np.maximum(totals.ravel(), 1.0)
    read = posterior_shares(
        NoisyCounts(
            measured.counts.reshape(objects * categories, -1),
            totals.ravel(),
            squares,
            np.repeat(measured.variance, categories) / measured.knots.parts**2,
            measured.knots,
            measured.pool,
            measured.measured_pool,
        )
    )
    fine = fine_shares(read.shares, read.shape, measured.knots)
    means = means_of(read.shares, measured.knots)
    numbers = _numbers_of_rows(measured, totals)
    laws = {
        scale: NoiseQuantiles.of(
            scale, measured.knots, categories=categories, hidden=measured.hidden
        )
        for scale in set(measured.scale)
    }
    return [
        [
            _summary(
                measured,
                (i, k),
                laws[measured.scale[i]],
                (fine[i * categories + k], float(means[i * categories + k])),
                (float(totals[i, k]), int(numbers[i, k])),
            )
            for k in range(categories)
        ]
        for i in range(objects)
    ]


def _totals(measured: Measured) -> Floats:
    """Return the number (or weight) of claims of each cell, at least 0, (n_objects, n_cells)."""
    parts = measured.knots.parts
    if measured.counts.shape[1] == 1:
        return measured.total[:, None].astype(np.float64)
    noisy = np.maximum(measured.counts.sum(axis=2) / parts, 0.0)
    if measured.hidden:
        return np.asarray(np.rint(noisy))
    # the number of all categories together is public
    whole = noisy.sum(axis=1, keepdims=True)
    even = np.full_like(noisy, 1 / noisy.shape[1])
    share = np.where(whole > 0, noisy / np.where(whole > 0, whole, 1.0), even)
    return np.asarray(share * measured.total[:, None])


def _numbers_of_rows(measured: Measured, totals: Floats) -> Integers:
    """Return how many rows each cell gets: of an object as many as it has claims."""
    if measured.hidden:
        return np.rint(totals).astype(np.int64)
    whole = np.maximum(totals.sum(axis=1, keepdims=True), 1e-300)
    exact = measured.claims[:, None] * totals / whole
    number = np.floor(exact + 1e-9).astype(np.int64)
    left = measured.claims[:, None] - number.sum(axis=1, keepdims=True)
    # the largest remainders get what is left, the first of equals first
    rank = np.argsort(np.argsort(number - exact, axis=1, kind="stable"), axis=1)
    return np.asarray(number + (rank < left))


def _summary(
    measured: Measured,
    place: tuple[int, int],
    law: NoiseQuantiles,
    read: tuple[Floats, float],
    numbers: tuple[float, int],
) -> Summary:
    knots, (fine, mean), (total, rows) = measured.knots, read, numbers
    counts = measured.counts[place] / knots.parts
    known = total if not law.count else max(total, 1.0)
    last = measured.pool.size - 1
    low, high = interval_of_mean(counts, mean, knots, law, known)
    grid = np.arange(last + 1) / last
    spread = max(float(fine @ grid**2) - float(fine @ grid) ** 2, 0.0) ** 0.5
    half = law.mean_half_width(mean, known)
    source = interval_of_source(mean, spread, half, float(measured.claims[place[0]]))
    released = float(counts.sum())
    return Summary(
        claims=rows,
        claims_low=max(released - law.count, 0.0) if law.count else float(rows),
        claims_high=max(released + law.count, 0.0) if law.count else float(rows),
        mean=Bounded(mean, low, high),
        source_low=min(source[0], mean),
        source_high=max(source[1], mean),
        quantiles=_quantiles(measured, counts, fine, law, known),
        shares=fine,
        share_error=law.share / max(known, 1.0) if knots.hard else np.nan,
        noisy_shares=counts / max(known, 1.0) if knots.hard else np.empty(0),
        rows=rows_of(fine, rows, mean * last, answers=measured.answers),
    )


def _quantiles(
    measured: Measured, counts: Floats, fine: Floats, law: NoiseQuantiles, total: float
) -> tuple[Bounded, ...]:
    last = measured.pool.size - 1
    places = quantile_cells(fine, np.array(QUANTILES))
    if measured.answers:
        places = np.maximum(np.ceil(places - 0.5 - 1e-12), 0.0)
    places = np.clip(places, 0, last) / last
    found = []
    for which, place in enumerate(places.tolist()):
        low, high = interval_of_quantile(counts, which, measured.knots, law, total)
        found.append(Bounded(place, min(low, place), max(high, place)))
    return tuple(found)
