"""Weights of claims: a user's reliability over all objects, and how central a claim is in its own.

Huai et al. (2019) carry truth discovery (`global_weights`) and the robust density estimate of Kim
and Scott (2012, `local_weights`) to the space of the Gaussian kernel, and multiply the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from masquerade.answers import Progress
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.exact.number import in_range, one_of
from masquerade.release.grouped_claims import GroupedClaims
from masquerade_papers.priscrowd.batches import Atoms, Batch, batches, squared_distances

GlobalForm = Literal["sum", "count", "max"]
Combination = Literal["product", "geometric"]

_SHARE_FLOOR = 1e-9
_MAX_FLOOR, _MAX_SLACK = 1e-6, 1.02
_TOLERANCE, _ITERATIONS = 1e-6, 100
_LEAST_FOR_QUANTILES = 4
_MOST_CACHED = 1 << 22  # kernel values cached from one round to the next


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """Users' weights over all objects, learnt from their claims.

    Attributes
    ----------
    weight : float array, shape (n_users,)
        At least 0; comparable with each other only.

    Examples
    --------
    >>> Reliability(np.array([0.5, 1.0]), iterations=4, converged=True).weight.tolist()
    [0.5, 1.0]
    """

    weight: Floats
    iterations: int
    converged: bool


def global_weights(
    claims: GroupedClaims,
    bandwidth: Floats,
    *,
    form: GlobalForm = "max",
    min_claims: int = 5,
    iterations: int = _ITERATIONS,
) -> Reliability:
    """Learn how close each user's claims are to the weighted densities, over all objects.

    Alternates between densities weighted by reliability and ``-log`` of each user's share of the
    loss.

    Parameters
    ----------
    bandwidth : float array, shape (n_objects,)
    form : {"sum", "count", "max"}
        Share of a user's loss: of everybody's total (``"sum"``, as published), the mean a claim of
        everybody's total (``"count"``), or the mean a claim of 1.02 times the worst user's mean
        (``"max"``). The first two are nearly the same number for everybody where there are many
        users, and ``"sum"`` also holds a user's diligence against them.
    min_claims : int
        Users with fewer claims get the median weight of the others.
    iterations : int
        At most so many rounds; a relative change of the total below 1e-6 ends it sooner.

    References
    ----------
    Huai, Wang, Miao, Xu and Zhang, "Privacy-aware synthesizing for crowdsourced data", IJCAI 2019.

    Examples
    --------
    >>> from masquerade.release import GroupedClaims
    >>> from masquerade_papers.priscrowd.bandwidth import bandwidths
    >>> table = {"task": ["a"] * 3, "worker": ["x", "y", "z"], "value": [1.0, 1.1, 9.0]}
    >>> claims = GroupedClaims.of(table)
    >>> global_weights(claims, bandwidths(claims)).weight.shape
    (3,)
    """
    one_of(form, "global form", get_args(GlobalForm))
    atoms = Atoms.of(claims, bandwidth)
    grams = _Grams(atoms)
    n, of = claims.count, claims.object
    count = claims.objects_per_user()
    busy = count >= min_claims
    weight, before = np.ones(claims.n_users), np.inf
    done, converged = 0, False
    while done < iterations and not converged:
        done += 1
        # densities weighted by reliability, then each claim's squared distance to its object's
        share = normalised(weight[claims.user], claims)
        square = np.empty(len(atoms.value))
        in_atom = atoms.gathered(share)
        for batch, gram in grams:
            distances = squared_distances(gram, batch.take(in_atom))
            square[batch.index[batch.mask]] = distances[batch.mask]
        # square[atom], 0 to 2; of_claim[claim]
        of_claim = square[atoms.of_claim]
        loss = np.bincount(claims.user, of_claim / n[of], claims.n_users).astype(np.float64)
        mean = np.bincount(claims.user, of_claim, claims.n_users) / np.maximum(count, 1)
        # truth discovery's update: -log of the user's share of the loss
        weight = _weights_of(form, loss, mean, count)
        if busy.any() and not busy.all():
            # a few claims near the others' are luck as often as reliability
            weight[~busy] = np.median(weight[busy])
        if not (weight > 0).any():
            # a user alone has all of the loss, and -log 1 is 0
            weight = np.ones(claims.n_users)
        total = float(loss.sum())
        converged = total == 0 or abs(total - before) <= _TOLERANCE * before < np.inf
        before = total
    return Reliability(weight, done, converged)


def local_weights(
    claims: GroupedClaims,
    bandwidth: Floats,
    *,
    quantile_levels: tuple[float, float, float] = (0.5, 0.75, 0.95),
    progress: Progress | None = None,
) -> Floats:
    """Return each claim's weight in the robust density of its object, shape (n_claims,).

    They sum to 1 in an object. Reweighted least squares, first for the absolute loss and then for
    Hampel's, whose three corners are quantiles of the object's own distances. A claim beyond the
    last corner gets exactly 0; with fewer than four claims all weights are equal.

    Parameters
    ----------
    bandwidth : float array, shape (n_objects,)
    quantile_levels : three floats, 0 to 1, ascending
    progress : callable, optional
        Is told how many objects are done.

    References
    ----------
    Kim and Scott, "Robust kernel density estimation", JMLR 2012. The published text prints only a
    symbol where this weight stands; the loss itself there would favour outliers.

    Examples
    --------
    >>> from masquerade.release import GroupedClaims
    >>> from masquerade_papers.priscrowd.bandwidth import bandwidths
    >>> table = {"task": ["a"] * 3, "worker": ["x", "y", "z"], "value": [1.0, 1.1, 9.0]}
    >>> claims = GroupedClaims.of(table)
    >>> local_weights(claims, bandwidths(claims)).shape
    (3,)
    """
    low, middle, high = quantile_levels
    if not 0 <= low <= middle <= high <= 1:
        raise ParameterError(f"quantiles are {quantile_levels}, expected ascending from 0 to 1.")
    atoms = Atoms.of(claims, bandwidth)
    weight = np.empty(len(atoms.value))
    claims_of = claims.count
    done = 0
    for batch in batches(atoms.offset):
        mass = batch.take(atoms.mass)
        start = mass / mass.sum(axis=1, keepdims=True)
        enough = claims_of[batch.objects] >= _LEAST_FOR_QUANTILES
        robust = start.copy()
        if enough.any():
            gram = batch.gram(atoms)[enough]
            mask = batch.mask[enough]
            robust[enough] = _hampel(gram, mass[enough], mask, start[enough], quantile_levels)
        weight[batch.index[batch.mask]] = robust[batch.mask]
        done += len(batch.objects)
        if progress is not None:
            progress(done, len(claims_of))
    # an atom's weight is that of all claims in it together
    return weight[atoms.of_claim] / atoms.mass[atoms.of_claim]


def combined_weights(
    claims: GroupedClaims,
    local: Floats,
    reliability: Floats,
    *,
    combination: Combination = "product",
    floor: float = 0.0,
) -> Floats:
    """Return local and global weights together, shape (n_claims,), summing to 1 in an object.

    Parameters
    ----------
    local : float array, shape (n_claims,)
    reliability : float array, shape (n_users,)
    combination : {"product", "geometric"}
        ``l g`` as published, or ``sqrt(l g)``, which is what minimises the published sum of
        Kullback-Leibler divergences.
    floor : float
        Share of equal weights mixed in, 0 to 1.
    """
    one_of(combination, "combination", get_args(Combination))
    in_range(floor, "weight floor", low=0, high=1)
    joint = local * reliability[claims.user]
    # sqrt(l g), normalised, minimises KL(c || l) + KL(c || g); the paper states l g
    if combination == "geometric":
        joint = np.sqrt(joint)
    equal = 1 / np.maximum(claims.count[claims.object], 1)
    return (1 - floor) * normalised(joint, claims) + floor * equal


def normalised(weight: Floats, claims: GroupedClaims) -> Floats:
    """Return weights that sum to 1 in each object; equal ones where they were all 0."""
    of = claims.object
    total = np.bincount(of, weight, claims.n_objects)[of]
    equal = 1 / np.maximum(claims.count[of], 1)
    return np.where(total > 0, weight / np.where(total > 0, total, 1.0), equal)


class _Grams:
    """Batches with their Gram matrices, cached where they are few."""

    def __init__(self, atoms: Atoms) -> None:
        self._atoms = atoms
        size = int((np.diff(atoms.offset) ** 2).sum())
        self._cached: list[tuple[Batch, Floats]] | None = None
        if size <= _MOST_CACHED:
            self._cached = [(batch, batch.gram(atoms)) for batch in batches(atoms.offset)]
        self._batches = [batch for batch, _ in self._cached or ()] or list(batches(atoms.offset))

    def __iter__(self) -> Iterator[tuple[Batch, Floats]]:
        if self._cached is not None:
            yield from self._cached
        else:
            for batch in self._batches:
                yield batch, batch.gram(self._atoms)


def _weights_of(form: GlobalForm, loss: Floats, mean: Floats, count: Integers) -> Floats:
    total = loss.sum()
    if not total > 0:
        return np.ones(len(loss))
    if form == "max":
        # the slack leaves the worst user a weight above 0, the floor the best a finite one
        share = np.maximum(mean / (_MAX_SLACK * mean.max()), _MAX_FLOOR)
    elif form == "count":
        share = np.clip(loss / np.maximum(count, 1) / total, _SHARE_FLOOR, 1.0)
    else:
        share = np.clip(loss / total, _SHARE_FLOOR, 1.0)
    return np.where(count > 0, np.maximum(-np.log(share), 0.0), 0.0)


def _hampel(
    gram: Floats, mass: Floats, mask: Flags, start: Floats, levels: tuple[float, float, float]
) -> Floats:
    # psi(r) / r of the absolute loss is 1 / r: a robust start, from which corners are taken
    weight = _reweighted(gram, mass, start, lambda r, _: 1 / np.maximum(r, 1e-6), None)
    distance = np.sqrt(squared_distances(gram, weight))
    corners = np.stack([_level(distance, mass, mask, level) for level in levels])
    return _reweighted(gram, mass, weight, _hampel_factor, corners)


def _hampel_factor(r: Floats, corners: Floats | None) -> Floats:
    """Return psi(r) / r of Hampel's loss."""
    assert corners is not None
    a, b, c = (corner[:, None] for corner in corners)
    # r up to a, then a up to b, then falling to 0 at c
    falling = a * (c - r) / np.maximum(c - b, 1e-300)
    psi = np.where(r < a, r, np.where(r < b, a, np.where(r < c, falling, 0.0)))
    # psi(r) is r near 0, so that the ratio there is 1
    return np.where(r > 0, psi / np.where(r > 0, r, 1.0), 1.0)


def _reweighted(
    gram: Floats,
    mass: Floats,
    start: Floats,
    factor: Callable[[Floats, Floats | None], Floats],
    corners: Floats | None,
) -> Floats:
    """Iterate the weights of each object until they stop changing, dropping those that have."""
    weight = start.copy()
    alive = np.arange(len(weight))
    for _ in range(_ITERATIONS):
        # reweighted least squares (Kim and Scott 2012): weights proportional to psi(r) / r
        distance = np.sqrt(squared_distances(gram, weight[alive]))
        raw = mass * factor(distance, corners)
        total = raw.sum(axis=1, keepdims=True)
        equal = mass / mass.sum(axis=1, keepdims=True)
        new = np.where(total > 0, raw / np.where(total > 0, total, 1.0), equal)
        moving = (np.abs(new - weight[alive]) / np.maximum(mass, 1.0)).max(axis=1) >= _TOLERANCE
        weight[alive] = new
        if not moving.any():
            break
        # copying the Gram matrices pays only where half of them or more can be dropped
        if moving.sum() <= len(alive) // 2:
            alive, gram, mass = alive[moving], gram[moving], mass[moving]
            corners = None if corners is None else corners[:, moving]
    return weight


def _level(distance: Floats, mass: Floats, mask: Flags, level: float) -> Floats:
    """Return a quantile of the distances of each object, atoms counted as often as claims."""
    order = np.argsort(np.where(mask, distance, np.inf), axis=1)
    ordered = np.take_along_axis(distance, order, axis=1)
    cumulative = np.cumsum(np.take_along_axis(mass, order, axis=1), axis=1)
    position = (cumulative[:, -1] - 1) * level
    below = np.floor(position)

    def at(rank: Floats) -> Floats:
        index = (cumulative <= rank[:, None]).sum(axis=1)
        return np.take_along_axis(ordered, index[:, None], axis=1)[:, 0]

    # as `quantiles` interpolates, atoms being as many claims as they gather
    low, high = at(below), at(np.minimum(below + 1, cumulative[:, -1] - 1))
    return low + (high - low) * (position - below)
