"""Policies of selection: by precision with quotas (the default), and by chance."""

from __future__ import annotations

import math

import numpy as np

from masquerade.exact.arrays import Floats, Integers
from masquerade.selection.pool import Pool

# A level's quota: so many people or this share of all chosen, whichever is more.
LEAST_QUOTA = 8
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

    `score` (n,): see `Pool.score`. `quotas`: give each privacy level of the pool a quota of 8
    people or a twentieth of all, whichever is more, if there are so many and they can be paid.
    Without quotas of noisy levels nobody could tell whether people at different levels think
    differently, and those without protection would be asked again and again. `precision_target`:
    stop as soon as the predicted standard error, in widths, is this small.

    Notes
    -----
    Cost: sorting, O(n log n).
    """
    allowed = np.flatnonzero(pool.admissible & (pool.cost <= budget))
    value = pool.precision
    # The knapsack by value over price, at least half as good as the best set (Dantzig, 1957),
    # with the single best person as the alternative.
    order = allowed[np.argsort(-(value / score)[allowed], kind="stable")]
    chosen = while_it_lasts(order, pool.cost, budget)
    if allowed.size:
        best = int(allowed[np.argmax(value[allowed])])
        if value[best] > value[chosen].sum():
            order = np.concatenate(([best], order[order != best]))
            chosen = while_it_lasts(order, pool.cost, budget)
    if quotas and len(set(pool.level)) > 1:
        first = _first_of_levels(pool, order, chosen.size, budget)
        rest = order[~np.isin(order, first)]
        left = budget - float(pool.cost[first].sum())
        chosen = np.concatenate((first, while_it_lasts(rest, pool.cost, left)))
    if precision_target is not None:
        chosen = _until_precise(pool, chosen, precision_target)
    return chosen


def predicted_error(pool: Pool, chosen: Integers) -> float:
    """Return the expected root-mean-square error of the weighted estimate, in widths.

    With weights ``w`` proportional to `Pool.precision`, which sum to 1 and are 0 for others, and N
    people in the pool, whose mean is wanted: ``MSE = sum over the pool of (w - 1 / N)**2 (within +
    bias variance) + sum of w**2 noise variance``.
    NaN where nobody is chosen.

    Examples
    --------
    >>> from masquerade.selection import Pool
    >>> pool = Pool(["ann", "bob", "cem"], cost=[1.0, 2.0, 1.0], noise_variance=[0.0, 0.5, 2.0])
    >>> round(predicted_error(pool, np.array([0, 1])), 3)
    0.188
    """
    if not chosen.size:
        return math.nan
    return math.sqrt(_squared(pool, chosen)[-1])


def _squared(pool: Pool, chosen: Integers) -> Floats:
    """Return the expected squared error of each prefix of `chosen`."""
    weight = pool.precision[chosen]
    total = np.cumsum(weight)
    persons = pool.within + pool.bias_variance[chosen]
    # The mean that is wanted is the pool's own: each person's answer counts w - 1 / N too much.
    size = len(pool)
    everybody = size * pool.within + float(pool.bias_variance.sum())
    own = np.cumsum(weight**2 * persons) / total**2
    own += everybody / size**2 - 2 * np.cumsum(weight * persons) / (total * size)
    noise = np.cumsum(weight**2 * pool.noise_variance[chosen]) / total**2
    return np.asarray(np.maximum(own, 0.0) + noise)


def _until_precise(pool: Pool, chosen: Integers, target: float) -> Integers:
    enough = np.flatnonzero(_squared(pool, chosen) <= target**2) if chosen.size else chosen
    return chosen[: int(enough[0]) + 1] if enough.size else chosen


def while_it_lasts(order: Integers, cost: Floats, budget: float) -> Integers:
    """Return, in order, the people that can still be paid when their turn comes."""
    batches = []
    left = budget
    while order.size:
        # Rounding of the sum must not refuse the last one who can be paid.
        paid = np.cumsum(cost[order])
        fit = int(np.searchsorted(paid, left * (1 + 1e-12), side="right"))
        if fit:
            batches.append(order[:fit])
            left -= float(paid[fit - 1])
        order = order[fit + 1 :]  # the next one does not fit
        order = order[cost[order] <= left * (1 + 1e-12)]
    return np.concatenate(batches) if batches else np.array([], dtype=np.int64)


def _first_of_levels(pool: Pool, order: Integers, size: int, budget: float) -> Integers:
    """Return people to fill the levels' quotas, in turns, so that all get some of the money."""
    each = max(LEAST_QUOTA, math.ceil(LEAST_SHARE * size))
    level = np.asarray(pool.level, dtype=object)[order]
    queues = [order[level == name][:each] for name in sorted(set(level))]
    first: list[int] = []
    left = budget
    for turn in range(each):
        for queue in queues:
            if turn < queue.size and pool.cost[queue[turn]] <= left:
                first.append(int(queue[turn]))
                left -= float(pool.cost[queue[turn]])
    return np.array(first, dtype=np.int64)


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
        # One random offset a level decides fairly which level comes first.
        place[mine] = (np.arange(mine.size) + rng.random()) / mine.size
    return while_it_lasts(allowed[np.argsort(place, kind="stable")], pool.cost, budget)


def _allowed(pool: Pool) -> Integers:
    return np.flatnonzero(pool.admissible)
