"""From shares of knots to shares of cells, and to rows that stand for them."""

from __future__ import annotations

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.release.knots import Knots

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
