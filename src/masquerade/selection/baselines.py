"""Policies to compare with: by chance, by chance within levels, and the best past predictors."""

from __future__ import annotations

import numpy as np

from masquerade.exact.arrays import Floats, Integers
from masquerade.selection.history import History
from masquerade.selection.pool import Pool
from masquerade.selection.precision import while_it_lasts


def at_random(pool: Pool, *, budget: float, rng: np.random.Generator) -> Integers:
    """Return people in random order, while the money lasts."""
    return while_it_lasts(rng.permutation(_allowed(pool)), pool.cost, budget)


def stratified_random(pool: Pool, *, budget: float, rng: np.random.Generator) -> Integers:
    """Return people at random, each privacy level in proportion to its size in the pool.

    Everybody gets a random place within the own level; whoever has the lowest share of the level
    before them comes first.
    """
    allowed = rng.permutation(_allowed(pool))
    level = np.unique(
        np.asarray(pool.level, dtype=object)[allowed].astype(str), return_inverse=True
    )
    codes = level[1]
    size = np.bincount(codes)
    place = np.empty(allowed.size)
    for code in range(size.size):
        mine = np.flatnonzero(codes == code)
        place[mine] = (np.arange(mine.size) + rng.random()) / mine.size
    return while_it_lasts(allowed[np.argsort(place, kind="stable")], pool.cost, budget)


def best_predictors(pool: Pool, errors: Floats, *, budget: float) -> Integers:
    """Return whoever was closest to the crowd in the past, while the money lasts.

    Parameters
    ----------
    pool : Pool
    errors : float array, shape (n,)
        Each person's mean squared error; see `published_squared_error`.
    budget : float
    """
    allowed = _allowed(pool)
    order = allowed[np.argsort(errors[allowed], kind="stable")]
    return while_it_lasts(order, pool.cost, budget)


def published_squared_error(history: History) -> Floats:
    """Return each person's squared mean error plus variance, as published."""
    mean, variance = history.published_errors()
    return np.asarray((mean**2).sum(axis=1) + variance)


def _allowed(pool: Pool) -> Integers:
    return np.flatnonzero(pool.admissible)
