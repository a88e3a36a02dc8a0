"""Templates of an object's density, one bump or two, as shares of the bins of a histogram."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, xlog1py, xlogy

from masquerade.exact.arrays import Flags, Floats, Integers

#: Parts of a bin in which a template is released.
PARTS_OF_BIN = 4

#: Standard deviations of a bump, in parts of the domain.
WIDTHS = tuple(1 / np.array([160, 113, 80, 56, 40, 28, 20, 14, 10, 7]))

#: Shares of claims that are spread over the whole domain and belong to no bump.
STRAY_SHARES = (0.0, 0.1, 0.25)

#: Shares of the left one of two bumps.
SPLITS = (0.3, 0.5, 0.7)

#: One bump of each width and stray share, and two bumps of every other width and each split.
SMOOTH_FAMILIES = len(WIDTHS) * len(STRAY_SHARES) + len(WIDTHS[::2]) * len(SPLITS)

_LEVELS = 128
_CACHE_ENTRIES, _LEAST_TEMPLATES = 1 << 16, 256  # of sums worked on at a time
_TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class Templates:
    """One bump with stray claims around it, or two bumps, at every place in the domain."""

    # float32 array, shape (n_templates, PARTS_OF_BIN * bins). Shares of the parts of bins, stray
    # claims left out.
    bump: NDArray[np.float32]
    # float array, shape (n_templates, bins). Shares of the bins, stray claims included.
    share: Floats
    # uint8 array, shape (bins, n_templates). The nearest tabulated level of each share.
    level: NDArray[np.uint8]
    # int array, shape (n_templates,). Templates of one family differ in place alone.
    family: Integers
    # int array, shape (n_templates, 2). The bins in which the bumps stand; the same one twice for a
    # single bump.
    places: Integers
    pair: Flags  # bool array, shape (n_templates,). Whether there are two bumps.
    width: Floats  # float array, shape (n_templates,). Of each bump, in parts of the grid.

    def prior(self, places: Floats) -> Floats:
        """Return each shape's probability within its family, given that of a bump in each bin."""
        left, right = self.places.T
        weight = places[left] * np.where(self.pair, places[right], 1.0)
        return np.asarray(weight / np.bincount(self.family, weight)[self.family])


@lru_cache(maxsize=8)
def templates_for(bins: int) -> Templates:
    """Return the templates for a number of bins, at least 4; bumps stand at quarters of a bin."""
    edges = np.linspace(0, 1, bins * PARTS_OF_BIN + 1)
    middle = (np.arange(2 * bins) + 0.5) / (2 * bins)
    left, right = np.triu_indices(2 * bins, 2)
    bumps, shares, families, places, pairs, widths = [], [], [], [], [], []
    number = 0

    def add(bump: Floats, stray: float, home: Integers, *, pair: bool) -> None:
        nonlocal number
        in_bins = bump.reshape(len(bump), bins, PARTS_OF_BIN).sum(axis=2)
        bumps.append(bump.astype(np.float32))
        shares.append((1 - stray) * in_bins + stray / bins)
        families.append(np.full(len(bump), number))
        places.append(home)
        pairs.append(np.full(len(bump), pair))
        widths.append(np.full(len(bump), width))
        number += 1

    for i, width in enumerate(WIDTHS):
        # the normal probability of each part of a bin, cut off at the ends of the domain
        one = np.diff(ndtr((edges - middle[:, None]) / width), axis=1)
        one /= one.sum(axis=1, keepdims=True)
        home = np.arange(2 * bins) // 2
        for stray in STRAY_SHARES:
            add(one, stray, np.stack((home, home), axis=1), pair=False)
        if i % 2 == 0:
            for split in SPLITS:
                two = split * one[left] + (1 - split) * one[right]
                add(two, 0.0, np.stack((left // 2, right // 2), axis=1), pair=True)
    share = np.concatenate(shares)
    return Templates(
        np.concatenate(bumps),
        share,
        np.ascontiguousarray(np.rint(np.sqrt(share.T) * (_LEVELS - 1)).astype(np.uint8)),
        np.concatenate(families),
        np.concatenate(places),
        np.concatenate(pairs),
        np.concatenate(widths),
    )


def log_likelihoods(
    noisy: Integers, count: int, scale: float, templates: Templates
) -> NDArray[np.float32]:
    """Return log P(noisy counts | template), shape (n_rows, n_templates).

    A count is binomial, its noise two-sided geometric; bins are taken for independent.

    `noisy` (n_rows, bins): of objects with `count` claims each, moved to 0 to `count`; beyond, all
    templates lose the same factor. `scale`: of the noise.
    """
    # P(y | share) = sum_k Binomial(k; count, share) P(noise = y - k), tabulated once for 128 shares
    # table[level of share, noisy count]
    table = np.log(with_noise(_binomial(count), scale) + _TINY).astype(np.float32)
    columns = [np.take(table, noisy[:, b], axis=1) for b in range(noisy.shape[1])]
    rows, number = len(noisy), len(templates.share)
    total = np.empty((rows, number), dtype=np.float32)
    # some templates at a time, so that their sums stay in the cache
    step = max(_CACHE_ENTRIES // max(rows, 1), _LEAST_TEMPLATES)
    for start in range(0, number, step):
        level = templates.level[:, start : start + step].astype(np.intp)
        sums = np.take(columns[0], level[0], axis=0)  # [template, row]
        for column, at in zip(columns[1:], level[1:], strict=True):
            sums += np.take(column, at, axis=0)
        total[:, start : start + step] = sums.T
    return total


def with_noise(law: Floats, scale: float) -> Floats:
    """Return P(count + noise = y) for y from 0 to n, from P(count = k), shape (..., n + 1) each.

    The noise is two-sided geometric: ``(1 - r) / (1 + r) r**|x|`` with ``r = exp(-1 / scale)``.
    """
    ratio = np.exp(-1 / scale)
    below, above = law.copy(), np.zeros_like(law)
    # sum_k P(k) r**|y - k|: two recursions, n steps in place of n**2
    for y in range(1, law.shape[-1]):
        below[..., y] += ratio * below[..., y - 1]
        above[..., -1 - y] = ratio * (above[..., -y] + law[..., -y])
    return np.asarray((1 - ratio) / (1 + ratio) * (below + above))


def _binomial(count: int) -> Floats:
    """Return P(k of `count` | share) for each level of share, shape (levels, count + 1)."""
    share = (np.linspace(0, 1, _LEVELS) ** 2)[:, None]
    k = np.arange(count + 1.0)
    log_choose = np.concatenate(
        ([0.0], np.cumsum(np.log(np.arange(count, 0, -1.0)) - np.log(np.arange(1.0, count + 1))))
    )
    return np.asarray(np.exp(log_choose + xlogy(k, share) + xlog1py(count - k, -share)))
