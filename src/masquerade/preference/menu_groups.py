"""Which alternatives of a menu are reported together, planned from public menus and weights alone.

Masking an answer with few options adds less noise than one with many, so alternatives that are
alike, or that hardly anybody takes, are worth reporting as one. Which ones are is read off the
menus and off weights that earlier reports gave, before anybody answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from masquerade.exact.arrays import Floats, Integers

_ALL_PARTITIONS = 6  # alternatives up to which every partition is tried: 203 of them
_BLOCK_SHARE = 8  # a block of choices is planned together, an eighth of those before it


def plan_groups(
    values: Floats, offsets: Integers, epsilons: Sequence[float], weights: Floats | None = None
) -> Integers:
    """Return the group of each alternative, 0, 1, ... in each menu, shape (n_alternatives,).

    `values` (float array, shape (n_alternatives, n_features)): public features of every alternative
    of every menu.
    `offsets` (int array, shape (n_choices + 1,)): the alternatives of choice i are
    ``offsets[i]:offsets[i + 1]``.
    `epsilons`: of each choice.
    `weights` (float array, shape (n_features,), optional): what earlier reports say of the weights.
    Default: indifference.

    Notes
    -----
    A choice's group g is kept with probability p and exchanged with q; its report has the
    information ``sum (p - q)**2 dpi_g dpi_g' / P_g`` on the weights, where ``dpi_g`` is the sum
    over the group of ``pi (x - mean)``. Menus are taken in order, each with the partition that adds
    most to the log determinant of the information so far (greedy D-optimal design, Fedorov 1972),
    so that no direction is left out, also where all menus are the same. Of five alternatives the
    best partition has .999 of what the best channel of any kind has, by linear programming
    (Kairouz, Oh and Viswanath 2014), and at indifference 2.2, 1.6 and 1.1 times the information of
    reporting each by itself at epsilon .5, 1 and 2. What is protected does not depend on the plan.
    """
    sizes, d = np.diff(offsets), values.shape[1]
    menu = np.repeat(np.arange(len(sizes)), sizes)
    utility = np.zeros(len(values)) if weights is None else values @ weights
    # Multinomial logit: P(alternative) = e**u / sum of its menu; less the largest u, against
    # overflow.
    power = np.exp(utility - np.maximum.reduceat(utility, offsets[:-1])[menu])
    chance = power / np.add.reduceat(power, offsets[:-1])[menu]
    mean = np.add.reduceat(values * chance[:, None], offsets[:-1], axis=0)
    slope = chance[:, None] * (values - mean[menu])  # d pi / d b of each alternative
    groups = np.zeros(len(values), dtype=np.int64)
    # One choice without a mask, on average: a start that favours no direction of the menus.
    start = (values - mean[menu]).T @ slope / max(len(sizes), 1)
    information = start + np.eye(d) * (float(np.trace(start)) / d * 1e-3 + 1e-12)
    loss = np.asarray(epsilons, dtype=np.float64)
    done = 0
    while done < len(sizes):
        block = np.arange(done, min(done + max(1, done // _BLOCK_SHARE), len(sizes)))
        done += len(block)
        # A gain adds trace(information^-1 gain) to the log determinant, to first order: in this
        # metric a sum of squared lengths.
        metric = np.linalg.cholesky(np.linalg.inv(information))
        for (k, epsilon), some in _alike(sizes[block], loss[block], block):
            rows = offsets[some][:, None] + np.arange(k)
            seen = slope[rows] @ metric  # [choice, alternative, feature]
            best = _best_partitions(seen, chance[rows], epsilon)
            groups[rows] = best
            # Sums of the groups' slopes, empty groups with nothing.
            member = (best[:, None, :] == np.arange(k)[:, None]).astype(np.float64)
            other, contrast = _channel(best.max(axis=1, keepdims=True) + 1, epsilon)
            reported = other + contrast * (member @ chance[rows][:, :, None])[:, :, 0]
            moved = member @ slope[rows] * (contrast / np.sqrt(reported))[:, :, None]
            information = information + np.einsum("nga,ngb->ab", moved, moved)
    return groups


def _alike(
    sizes: Integers, epsilons: Floats, choices: Integers
) -> Iterator[tuple[tuple[int, float], Integers]]:
    """Yield the choices of each size of menu and epsilon."""
    for k, epsilon in sorted(set(zip(sizes.tolist(), epsilons.tolist(), strict=True))):
        yield (k, epsilon), choices[(sizes == k) & (epsilons == epsilon)]


def _channel(groups: Integers, epsilon: float) -> tuple[Floats, Floats]:
    """Return q and p - q of randomized response among so many groups."""
    # q = 1 / (e**epsilon + m - 1); beyond 500 it is 0 to all digits.
    other: Floats = 1 / (np.expm1(min(epsilon, 500.0)) + groups)
    return other, 1 - groups * other


def _best_partitions(slope: Floats, chance: Floats, epsilon: float) -> Integers:
    """Return the most informative partition of each menu, (n_choices, k).

    `slope` (n_choices, k, n_features): of each alternative's chance, scaled so that information
    counts alike in all directions. `chance` (n_choices, k).
    """
    n, k, _ = slope.shape
    if k <= _ALL_PARTITIONS:
        partitions, subsets, parts = _partitions(k)
        # |sum of slopes|**2 and chance of every subset; a partition's gain is a sum of its parts'.
        squares = (np.einsum("si,nid->nsd", subsets, slope) ** 2).sum(axis=2)
        reported = chance @ subsets.T
        gains = []
        for m in range(2, k + 1):
            other, contrast = _channel(np.array(m), epsilon)
            gains.append((contrast**2 * squares / (other + contrast * reported)) @ parts[m - 2])
        most: Integers = partitions[np.argmax(np.concatenate(gains, axis=1), axis=1)]
        return most
    # Along each of the two longest axes of a menu, in groups of nearly equal numbers.
    _, axes = np.linalg.eigh(slope @ slope.transpose(0, 2, 1))
    best, gain = np.tile(np.arange(k), (n, 1)), np.full(n, -np.inf)
    for axis in (axes[:, :, -1], axes[:, :, -2]):
        # The rank of each alternative along the axis
        rank = np.argsort(np.argsort(axis, axis=1, kind="stable"), axis=1)
        for m in range(2, k + 1):
            groups = rank * m // k
            member = (groups[:, None, :] == np.arange(m)[:, None]).astype(np.float64)
            other, contrast = _channel(np.array(m), epsilon)
            reported = other + contrast * (member @ chance[:, :, None])[:, :, 0]
            found = (contrast**2 * ((member @ slope) ** 2).sum(axis=2) / reported).sum(axis=1)
            better = found > gain
            best[better], gain[better] = groups[better], found[better]
    return best


@cache
def _partitions(k: int) -> tuple[Integers, Floats, tuple[Floats, ...]]:
    """Return all partitions of k alternatives into two or more groups, by number of groups.

    With them the subsets of alternatives, shape (n_subsets, k), and for each number of groups which
    subsets a partition is made of, shape (n_subsets, n_partitions).
    """
    found = [[0]]
    for _ in range(k - 1):
        found = [[*each, group] for each in found for group in range(max(each) + 2)]
    found = sorted((each for each in found if max(each) > 0), key=max)
    subsets = [[code >> i & 1 for i in range(k)] for code in range(1, 2**k - 1)]
    member = np.array(subsets, dtype=np.float64)
    parts = []
    for m in range(2, k + 1):
        columns = np.zeros((len(subsets), sum(max(each) == m - 1 for each in found)))
        for place, each in enumerate(each for each in found if max(each) == m - 1):
            for group in range(m):
                columns[sum(1 << i for i in range(k) if each[i] == group) - 1, place] = 1
        parts.append(columns)
    return np.array(found, dtype=np.int64), member, tuple(parts)
