"""The default policy: precision for money and privacy, with seats for every privacy level."""

from __future__ import annotations

import math

import numpy as np

from masquerade.exact.arrays import Floats, Integers
from masquerade.selection.pool import Pool

LEAST_SEATS = 8
LEAST_SHARE = 0.05


def by_precision(
    pool: Pool,
    score: Floats,
    *,
    budget: float,
    quotas: bool = True,
    precision_target: float | None = None,
) -> Integers:
    """Return the people chosen, best first.

    With a weighted estimate, what people tell adds up: each adds `Pool.precision`. So the best use
    of a budget is a knapsack: people are taken by precision over score while the money lasts, then
    whoever still fits; a single better person beats all of them, if there is one.

    Parameters
    ----------
    pool : Pool
    score : float array, shape (n,)
        See `Pool.score`.
    budget : float
    quotas : bool
        Give each privacy level of the pool 8 seats or a twentieth of all, whichever is more, if
        there are so many and they can be paid. Without seats for noisy levels nobody could tell
        whether people at different levels think differently, and those without protection would
        be asked again and again.
    precision_target : float, optional
        Stop as soon as the predicted standard error, in widths, is this small.

    Notes
    -----
    Cost: sorting, O(n log n).
    """
    allowed = np.flatnonzero(pool.admissible & (pool.cost <= budget))
    value = pool.precision
    order = allowed[np.argsort(-(value / score)[allowed], kind="stable")]
    chosen = while_it_lasts(order, pool.cost, budget)
    if allowed.size:
        best = int(allowed[np.argmax(value[allowed])])
        if value[best] > value[chosen].sum():
            order = np.concatenate(([best], order[order != best]))
            chosen = while_it_lasts(order, pool.cost, budget)
    if quotas and len(set(pool.level)) > 1:
        seats = _seats(pool, order, chosen.size, budget)
        rest = order[~np.isin(order, seats)]
        left = budget - float(pool.cost[seats].sum())
        chosen = np.concatenate((seats, while_it_lasts(rest, pool.cost, left)))
    if precision_target is not None:
        chosen = _until_precise(pool, chosen, precision_target)
    return chosen


def predicted_error(pool: Pool, chosen: Integers) -> float:
    """Return the expected root-mean-square error of the weighted estimate, in widths.

    ``MSE = sum of w**2 ((within + bias variance) (1 - |S| / |U|) + noise variance)``, with the
    weights ``w`` proportional to `Pool.precision`; the crowd whose mean is wanted is the pool.
    NaN where nobody is chosen.
    """
    if not chosen.size:
        return math.nan
    return math.sqrt(_squared(pool, chosen)[-1])


def _squared(pool: Pool, chosen: Integers) -> Floats:
    """Return the expected squared error of each prefix of `chosen`."""
    weight = pool.precision[chosen]
    total = np.cumsum(weight)
    persons = pool.within + pool.bias_variance[chosen]
    outside = 1 - np.arange(1, chosen.size + 1) / len(pool)
    own = np.cumsum(weight**2 * persons) * outside
    return np.asarray((own + np.cumsum(weight**2 * pool.noise_variance[chosen])) / total**2)


def _until_precise(pool: Pool, chosen: Integers, target: float) -> Integers:
    enough = np.flatnonzero(_squared(pool, chosen) <= target**2) if chosen.size else chosen
    return chosen[: int(enough[0]) + 1] if enough.size else chosen


def while_it_lasts(order: Integers, cost: Floats, budget: float) -> Integers:
    """Return, in order, whoever can still be paid when their turn comes."""
    taken = []
    left = budget
    while order.size:
        paid = np.cumsum(cost[order])
        fit = int(np.searchsorted(paid, left * (1 + 1e-12), side="right"))
        if fit:
            taken.append(order[:fit])
            left -= float(paid[fit - 1])
        order = order[fit + 1 :]  # the next one does not fit
        order = order[cost[order] <= left * (1 + 1e-12)]
    return np.concatenate(taken) if taken else np.array([], dtype=np.int64)


def _seats(pool: Pool, order: Integers, size: int, budget: float) -> Integers:
    """Return who sits on the levels' seats: in turns, so that all get some where money is short."""
    each = max(LEAST_SEATS, math.ceil(LEAST_SHARE * size))
    level = np.asarray(pool.level, dtype=object)[order]
    queues = [order[level == name][:each] for name in sorted(set(level))]
    seats: list[int] = []
    left = budget
    for turn in range(each):
        for queue in queues:
            if turn < queue.size and pool.cost[queue[turn]] <= left:
                seats.append(int(queue[turn]))
                left -= float(pool.cost[queue[turn]])
    return np.array(seats, dtype=np.int64)
