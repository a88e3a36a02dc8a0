"""Summaries of objects: counts, means, quantiles and shares with intervals, and rows that agree.

All of it is computed from the released measurement alone: equal measurements give equal files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.exact.arrays import Floats, Integers
from masquerade.release.intervals import (
    QUANTILES,
    NoiseQuantiles,
    interval_of_quantile,
    interval_of_ratio,
    interval_of_source,
)
from masquerade.release.knots import Knots
from masquerade.release.measurement import Measured
from masquerade.release.posterior_shares import NoisyCounts, posterior_shares

#: What is left of the shape in every object's shares, so that a solution exists.
_BLEND = 0.01
_NEWTON_ROUNDS = 40
_LARGEST_STEP = 8.0
_HALVINGS = 30
_CLOSE = 1e-11
#: Phases of the rows, tried from the middle outwards.
_PHASES = tuple(sorted(((2 * k + 1) / 64 for k in range(32)), key=lambda u: (abs(u - 0.5), u)))


def fine_shares(shares: Floats, shape: Floats, knots: Knots) -> Floats:
    """Return the share of each cell, shape (n_objects, n_cells).

    The shares nearest to an object's shape (in Kullback-Leibler divergence) that count at the knots
    as `shares` do, but for a hundredth: ``p ~ shape exp(hats' lambda)``. So heaps at round numbers,
    which the shape has, stay between two knots.

    `shape`: above 0, shape (n_objects, n_cells), or (n_cells,) for all.
    """
    if knots.hard:
        return shares
    hats = knots.hats
    target = (1 - _BLEND) * shares + _BLEND * (shape @ hats.T)
    # the last multiplier is 0, for the hats of a cell add to 1
    free, wanted = hats[:-1], target[:, :-1]
    multipliers = np.zeros_like(wanted)
    log_shape = np.log(shape)
    tilted, value = _tilted(multipliers, free, log_shape, wanted)
    for _ in range(_NEWTON_ROUNDS):
        slope = tilted @ free.T - wanted
        if np.abs(slope).max() < _CLOSE:
            break
        curve = np.einsum("kf,nf,lf->nkl", free, tilted, free, optimize=True)
        means = tilted @ free.T
        curve -= means[:, :, None] * means[:, None, :]
        curve += 1e-12 * np.eye(len(free))
        step = -np.linalg.solve(curve, slope[:, :, None])[:, :, 0]
        step *= np.minimum(1.0, _LARGEST_STEP / np.maximum(np.abs(step).max(axis=1), 1e-300))[
            :, None
        ]
        multipliers, tilted, value = _line_search(
            multipliers, step, value, (free, log_shape, wanted)
        )
    return tilted


def _tilted(
    multipliers: Floats, free: Floats, log_shape: Floats, wanted: Floats
) -> tuple[Floats, Floats]:
    """Return the tilted shares, and the convex function to minimise."""
    exponent = log_shape + multipliers @ free
    top = exponent.max(axis=1, keepdims=True)
    weight = np.exp(exponent - top)
    total = weight.sum(axis=1, keepdims=True)
    value = (np.log(total) + top)[:, 0] - (multipliers * wanted).sum(axis=1)
    return weight / total, value


def _line_search(
    multipliers: Floats, step: Floats, value: Floats, problem: tuple[Floats, Floats, Floats]
) -> tuple[Floats, Floats, Floats]:
    """Return where a step ends, halved for each object until it goes down."""
    size = np.ones(len(value))
    for _ in range(_HALVINGS):
        moved = multipliers + size[:, None] * step
        tilted, reached = _tilted(moved, *problem)
        worse = reached > value + 1e-12 * (1 + np.abs(value))
        if not worse.any():
            break
        size[worse] /= 2
    return moved, tilted, reached


def quantile_cells(shares: Floats, levels: Floats) -> Floats:
    """Return quantiles of shares as places on the grid; a whole number is the middle of a cell.

    Within a cell they are linear, from half a cell below to half a cell above its middle.
    """
    cumulative = np.cumsum(shares)
    cumulative = cumulative / cumulative[-1]
    cell = np.minimum(np.searchsorted(cumulative, levels, side="left"), shares.size - 1)
    before = np.where(cell > 0, cumulative[np.maximum(cell - 1, 0)], 0.0)
    inside = (levels - before) / np.maximum(cumulative[cell] - before, 1e-300)
    return np.asarray(cell + np.clip(inside, 0.0, 1.0) - 0.5)


def rows_of(shares: Floats, count: int, mean: float, *, answers: bool) -> Floats:
    """Return `count` places on the grid that stand for shares, with a mean near `mean`.

    Quantiles at evenly spaced levels; their common phase is the one, tried from the middle
    outwards, whose mean is nearest. No coins: what is random was drawn before.

    `answers`: whether only whole places can be answered.
    """
    best: Floats = np.empty(0)
    distance = np.inf
    for phase in _PHASES if count else ():
        levels = (np.arange(count) + phase) / count
        rows = quantile_cells(shares, levels)
        rows = np.rint(_whole_cells(rows)) if answers else np.clip(rows, 0, shares.size - 1)
        off = abs(float(rows.mean()) - mean)
        if off < distance - 1e-12:
            best, distance = rows, off
    return best


def _whole_cells(places: Floats) -> Floats:
    """Return the cell of each place; one that ends a cell belongs to it."""
    return np.asarray(np.maximum(np.ceil(places - 0.5 - 1e-12), 0.0))


def means_of(shares: Floats, knots: Knots) -> Floats:
    """Return the mean of each object as a place from 0 to 1, shape (n_objects,)."""
    return np.asarray(shares @ knots.place)


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
    share_ends : pair of float arrays, shape (n_cells,) each
        Intervals of the shares where a cell is a knot; NaN elsewhere.
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
    share_ends: tuple[Floats, Floats]
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
    spreads = _variances(fine)
    apart = float((means * (1 - means)).sum())
    crowd = min(float(spreads.sum()) / apart, 1.0) if apart > 0 else 1.0
    if measured.knots.count == 2:
        # two knots measure no spread: the widest that a mean allows
        spreads, crowd = means * (1 - means), 1.0
    return [
        [
            _summary(
                measured,
                (i, k),
                laws[measured.scale[i]],
                _Read(fine[row], float(means[row]), float(spreads[row]), crowd),
                (float(totals[i, k]), float(1 / max(squares[row], 1e-300)), int(numbers[i, k])),
            )
            for k, row in enumerate(range(i * categories, (i + 1) * categories))
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


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """An object's shares, mean and variance, and the crowd's spread."""

    fine: Floats
    mean: float
    spread: float
    crowd: float


def _variances(fine: Floats) -> Floats:
    grid = np.linspace(0, 1, fine.shape[1])
    return np.asarray(np.maximum(fine @ grid**2 - (fine @ grid) ** 2, 0.0))


def _summary(
    measured: Measured,
    place: tuple[int, int],
    law: NoiseQuantiles,
    read: _Read,
    numbers: tuple[float, float, int],
) -> Summary:
    """Return a summary; `numbers` of claims: as known, worth, and of rows."""
    knots, (total, worth, rows) = measured.knots, numbers
    counts, mean = measured.counts[place] / knots.parts, read.mean
    loose = law.count > 0
    known = max(total, 1.0) if loose else total
    last = measured.pool.size - 1
    released = float(counts.sum())
    low, high = interval_of_ratio(
        float(counts @ knots.place), released, known, law.mean_at, loose=loose
    )
    half = law.mean_half_width(mean, known)
    source = interval_of_source(mean, read.spread, read.crowd, half, worth)
    return Summary(
        claims=rows,
        claims_low=max(released - law.count, 0.0) if loose else float(rows),
        claims_high=max(released + law.count, 0.0) if loose else float(rows),
        mean=Bounded(mean, min(low, mean), max(high, mean)),
        source_low=min(source[0], mean),
        source_high=max(source[1], mean),
        quantiles=_quantiles(measured, counts, read.fine, law, known),
        shares=read.fine,
        share_ends=_share_ends(measured, counts, read.fine, law, known),
        rows=rows_of(read.fine, rows, mean * last, answers=measured.answers),
    )


def _share_ends(
    measured: Measured, counts: Floats, fine: Floats, law: NoiseQuantiles, total: float
) -> tuple[Floats, Floats]:
    if not measured.knots.hard:
        unknown = np.full(len(fine), np.nan)
        return unknown, unknown
    whole = float(counts.sum())
    ends = np.array(
        [
            interval_of_ratio(part, whole, total, law.share_at, loose=law.count > 0)
            for part in counts.tolist()
        ]
    )
    return np.minimum(ends[:, 0], fine), np.maximum(ends[:, 1], fine)


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
