"""Simultaneous intervals of ranks, and the items that may be first.

Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks with applications to mobility across
neighbourhoods and academic achievement across countries", Review of Economic Studies 2024; the step
down is that of Romano and Wolf (2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats, Integers

CONFIDENCE = 0.95
_DRAWS, _FEWER_DRAWS, _MANY_ITEMS = 1000, 400, 1000
_MOST_STEPS = 4
#: An interval over more than this share of the table places an item nowhere.
_NOWHERE = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class RankIntervals:
    """Ranks that are possible at a confidence that holds for all items together.

    Attributes
    ----------
    better : bool array, shape (n_items, n_items)
        Whether it is decided that the row's item is better than the column's.
    low, high : int array, shape (n_items,)
        Ends of the interval of an item's rank, 1 the best: among the placed items, or, for an item
        that is not placed, among all.
    may_be_first : bool array, shape (n_items,)
        A set that holds the best of the placed items, at the same confidence.
    placed : bool array, shape (n_items,)
        False where the interval spans more than nine tenths of all ranks.
    critical : float
        How many standard errors decide a pair, when all pairs are looked at.
    """

    better: Flags
    low: Integers
    high: Integers
    may_be_first: Flags
    placed: Flags
    critical: float


def rank_intervals(
    strengths: Floats, covariance: Floats, *, seed: int = 0, confidence: float = CONFIDENCE
) -> RankIntervals:
    """Return intervals of the ranks of strengths that are estimated with normal errors.

    Parameters
    ----------
    strengths : float array, shape (n_items,)
    covariance : float array, shape (n_items, n_items)
        Of every difference above 0.
    seed : int
        Of the simulated largest differences; 1000 draws, 400 above 1000 items.
    confidence : float

    Notes
    -----
    The critical value c is the quantile of the largest of all ordered differences over their
    standard errors. Pairs that it decides leave the family, and the quantile of those that are left
    decides more, at most three times. **Cost**: draws times the square of items.

    Examples
    --------
    >>> found = rank_intervals(np.array([1, .8, .3, 0]), 0.01 * np.eye(4))
    >>> found.low.tolist(), found.high.tolist(), found.may_be_first.tolist()
    ([1, 1, 3, 3], [2, 2, 4, 4], [True, True, False, False])
    """
    m = len(strengths)
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence is {confidence}, expected a number between 0 and 1.")
    if m < 2:
        one = np.ones(m, dtype=np.int64)
        flag = np.ones(m, dtype=np.bool_)
        return RankIntervals(np.zeros((m, m), np.bool_), one, one, flag, flag, 0.0)
    variance = np.diag(covariance)
    inverse = _inverse_errors(variance[:, None] + variance - 2 * covariance)
    apart = (strengths[:, None] - strengths) * inverse  # T_ij of row over column
    draws = _normal_draws(covariance, seed)
    largest, behind = _largest(draws, inverse, behind=True)
    critical = float(np.quantile(largest, confidence))
    better = apart > critical
    for _ in range(_MOST_STEPS - 1):
        left = np.where(better, 0.0, inverse)
        largest, _ = _largest(draws, left, behind=False)
        more = apart > float(np.quantile(largest, confidence))
        if (more <= better).all():
            break
        better |= more
    low = 1 + better.sum(axis=0)
    high = m - better.sum(axis=1)
    placed = (high - low + 1) <= _NOWHERE * m if m > 2 else high == low
    first = behind_best(apart, behind, confidence)
    if placed.any() and not placed.all():
        # The same decisions hold for all pairs at once, so also among fewer items.
        inside = np.ix_(placed, placed)
        low = np.where(placed, 1 + better[placed].sum(axis=0), 1)
        high = np.where(placed, placed.sum() - better[:, placed].sum(axis=1), m)
        _, behind = _largest(draws[:, placed], inverse[inside], behind=True)
        first = np.zeros(m, dtype=np.bool_)
        first[placed] = behind_best(apart[inside], behind, confidence)
    return RankIntervals(better, low, high, first, placed, critical)


def behind_best(apart: Floats, behind: Floats, confidence: float) -> Flags:
    """Return which items may be the best: no other is ahead by more than chance.

    `apart` (n_items, n_items): row over column in standard errors. `behind` (n_draws, n_items): by
    how much the best other item is ahead, by chance alone. Only the best item has to be kept, so
    that the number of items costs no confidence.
    """
    flags: Flags = apart.max(axis=0) <= np.quantile(behind, confidence, axis=0)
    return flags


def _inverse_errors(variance: Floats) -> Floats:
    """Return one over the standard errors of differences; 0 where there is no difference."""
    floor = 1e-14 * max(float(np.abs(variance).max(initial=0)), 1e-300)
    return np.where(variance > floor, 1 / np.sqrt(np.maximum(variance, floor)), 0.0)


def _normal_draws(covariance: Floats, seed: int) -> Floats:
    """Return draws of normal errors, shape (n_draws, n_items)."""
    m = len(covariance)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    many = _FEWER_DRAWS if m > _MANY_ITEMS else _DRAWS
    normal = np.random.default_rng(seed).standard_normal((many, m))
    draws: Floats = normal @ root.T
    return draws


def _largest(draws: Floats, inverse: Floats, *, behind: bool) -> tuple[Floats, Floats]:
    """Return the largest difference of each draw, and the largest by which each item is behind."""
    many, m = draws.shape
    largest = np.empty(many)
    by_item = np.empty((many, m) if behind else (0, m))
    scratch = np.empty((m, m))
    # One draw at a time: a table of all pairs stays in the processor's cache.
    for place, draw in enumerate(draws):
        np.subtract(draw[:, None], draw, out=scratch)
        np.multiply(scratch, inverse, out=scratch)
        if behind:
            np.max(scratch, axis=0, out=by_item[place])
            largest[place] = by_item[place].max()
        else:
            largest[place] = scratch.max()
    return largest, by_item
