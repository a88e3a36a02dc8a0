"""From noisy soft counts to shares: every object is read in the light of all others.

The model is normal: an object's own shares b_i lie around the crowd's mean m with covariance S, its
claims are drawn from b_i, and its counts carry the noise that was added. It is a working model:
where it is wrong it costs accuracy, never privacy, for it reads released numbers alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.release.knots import Knots
from masquerade.release.pool import Pool

_ROUNDS = 25
_SPLITTING_ROUNDS = 120
#: Share of the claims' covariance that objects differ by at the start.
_START = 0.15
#: Least share of the whole covariance that stays within objects.
_LEAST_WITHIN = 0.02
_JITTER = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class NoisyCounts:
    """The inputs of a release: noisy soft counts, and public numbers.

    Attributes
    ----------
    counts : int array, shape (n_objects, n_knots)
    total : float array, shape (n_objects,)
        What the counts add to but for noise, in claims (or in weights, where these are public); at
        least 0. Released where it is not public.
    spread : float array, shape (n_objects,)
        Sum of squared weights over the squared total: 1 / n for n claims.
    noise : float array, shape (n_objects,)
        Variance of the noise of one count, across the sum, in squared claims.
    knots : Knots
    pool : float array, shape (n_cells,)
        Released shares of all claims.
    measured : Pool or None
        Where `pool` was measured apart from the counts.
    """

    counts: Integers
    total: Floats
    spread: Floats
    noise: Floats
    knots: Knots
    pool: Floats
    measured: Pool | None = None


def posterior_shares(noisy: NoisyCounts) -> Floats:
    """Return the share of each knot in each object's claims, shape (n_objects, n_knots).

    An object without claims gets the mean of all.
    """
    basis = _sum_free_basis(noisy.knots.count)
    model = _fitted(noisy, basis)
    count = noisy.knots.count
    known = noisy.total > 0
    shares = np.tile(1 / count + basis @ model.mean, (len(noisy.total), 1))
    shares = np.maximum(shares, 0.0)
    shares /= shares.sum(axis=1, keepdims=True)
    if not known.any():
        return shares
    read = _read(noisy, known, basis)
    # objects with equal numbers share all matrices
    for group, members in _groups(read):
        spread, noise = group
        within = model.spread + model.within * spread
        weight = np.linalg.inv(within + noise * np.eye(basis.shape[1]))
        gain = within @ weight
        estimate = model.mean + (read.coordinates[members] - model.mean) @ gain.T
        covariance = within - gain @ within
        shares[np.flatnonzero(known)[members]] = _nearest(estimate, covariance, basis)
    return shares


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """Coordinates of the objects that have claims, with their sampling and noise variances."""

    coordinates: Floats  # (n, d)
    spread: Floats  # (n,)
    noise: Floats  # (n,)


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    mean: Floats  # (d,)
    spread: Floats  # S, (d, d)
    within: Floats  # D, (d, d)


def _read(noisy: NoisyCounts, known: Flags, basis: Floats) -> _Read:
    total = noisy.total[known]
    coordinates = noisy.counts[known] @ basis / (noisy.knots.parts * total)[:, None]
    return _Read(coordinates, noisy.spread[known], noisy.noise[known] / total**2)


def _groups(read: _Read) -> list[tuple[tuple[float, float], Integers]]:
    pairs = np.column_stack((read.spread, read.noise))
    values, place = np.unique(pairs, axis=0, return_inverse=True)
    place = place.ravel()
    return [
        ((float(spread), float(noise)), np.flatnonzero(place == i))
        for i, (spread, noise) in enumerate(values.tolist())
    ]


def _sum_free_basis(count: int) -> Floats:
    """Return orthonormal columns that are orthogonal to the ones, shape (count, count - 1)."""
    columns = np.eye(count)[:, 1:] - 1 / count
    return np.asarray(np.linalg.qr(columns)[0])


def _fitted(noisy: NoisyCounts, basis: Floats) -> _Model:
    """Return the crowd's mean and covariances, by EM, with the prior that explains it best."""
    count = noisy.knots.count
    hats = noisy.knots.hats
    at_knots = hats @ noisy.pool
    # covariance of one claim's soft counts, over all objects
    whole = hats @ (noisy.pool[:, None] * hats.T) - np.outer(at_knots, at_knots)
    full = basis.T @ whole @ basis + _JITTER / count * np.eye(count - 1)
    priors = [full]
    if count > 3:
        root = np.sqrt(np.maximum(at_knots, 0.0))
        apart = np.subtract.outer(np.arange(count), np.arange(count))
        for length in (1, 2):
            kernel = np.exp(-(apart**2) / (2 * length**2))
            smooth = basis.T @ (np.outer(root, root) * kernel) @ basis
            priors.append(smooth + _JITTER / count * np.eye(count - 1))
    start = basis.T @ at_knots
    known = noisy.total > 0
    if not known.any():
        return _Model(start, _START * full, full)
    read = _read(noisy, known, basis)
    anchor = _anchor(noisy, basis)
    fits = [_expectation_maximization(read, full, prior, start, anchor) for prior in priors]
    return max(fits, key=lambda fit: fit[0])[1]


def _anchor(noisy: NoisyCounts, basis: Floats) -> tuple[Floats, Floats]:
    """Return the pool's own precision and estimate of the mean; 0 where it was not measured."""
    d = basis.shape[1]
    if noisy.measured is None:
        return np.zeros((d, d)), np.zeros(d)
    project = basis.T @ noisy.knots.hats / noisy.measured.claims
    covariance = noisy.measured.variance * project @ project.T + 1e-12 * np.eye(d)
    return np.asarray(np.linalg.inv(covariance)), project @ noisy.measured.counts


def _expectation_maximization(
    read: _Read, full: Floats, prior: Floats, start: Floats, anchor: tuple[Floats, Floats]
) -> tuple[float, _Model]:
    d = len(start)
    anchor_weight, anchor_mean = anchor
    mean = start
    tau = _START * np.trace(full) / np.trace(prior)
    spread = tau * prior
    groups = _groups(read)
    objects = len(read.spread)
    lower: Floats = np.asarray(np.linalg.cholesky(full))
    precision = np.eye(d)
    for _ in range(_ROUNDS):
        within = _within(full, spread, lower)
        weights = [
            np.linalg.inv(spread + within * s + v * np.eye(d)) for (s, v), _members in groups
        ]
        # M-step of the mean: precision-weighted, the pool's estimate beside the objects'
        precision = anchor_weight.copy()
        right = anchor_weight @ anchor_mean
        for weight, (_, members) in zip(weights, groups, strict=True):
            precision += len(members) * weight
            right += weight @ read.coordinates[members].sum(axis=0)
        mean = np.asarray(np.linalg.solve(precision, right))
        # E-step: moments of each object's own deviation, gain S W
        moments = np.zeros((d, d))
        for weight, (_, members) in zip(weights, groups, strict=True):
            gain = spread @ weight
            deviation = (read.coordinates[members] - mean) @ gain.T
            moments += deviation.T @ deviation + len(members) * (spread - gain @ spread)
        # M-step of S under an inverse-Wishart prior of mean tau S0
        spread = (moments + (d + 2) * tau * prior) / (objects + d + 2)
        spread = (spread + spread.T) / 2
        tau = np.trace(spread) / np.trace(prior)
    within = _within(full, spread, lower)
    score = _log_posterior(read, groups, mean, spread, within, tau * prior)
    basis = _sum_free_basis(d + 1)
    shares = _nearest(mean[None, :], np.asarray(np.linalg.inv(precision)), basis)[0]
    return score, _Model(basis.T @ shares, spread, within)


def _within(full: Floats, spread: Floats, lower: Floats) -> Floats:
    """Return the covariance within objects: the rest beside S, some in every direction."""
    inverse = np.linalg.inv(lower)
    values, vectors = np.linalg.eigh(inverse @ (full - spread) @ inverse.T)
    scaled = lower @ vectors
    return np.asarray(scaled * np.maximum(values, _LEAST_WITHIN) @ scaled.T)


def _log_posterior(
    read: _Read,
    groups: list[tuple[tuple[float, float], Integers]],
    mean: Floats,
    spread: Floats,
    within: Floats,
    prior: Floats,
) -> float:
    d = len(mean)
    total = 0.0
    for (s, v), members in groups:
        covariance = spread + within * s + v * np.eye(d)
        off = read.coordinates[members] - mean
        inner = (off @ np.linalg.inv(covariance) * off).sum()
        total -= 0.5 * (inner + len(members) * np.linalg.slogdet(covariance)[1])
    ratio = np.linalg.solve(spread, prior)
    return float(total - (d + 2) / 2 * (np.trace(ratio) - np.linalg.slogdet(ratio)[1]))


def _nearest(estimate: Floats, covariance: Floats, basis: Floats) -> Floats:
    """Return the shares nearest to each estimate in the metric of its covariance.

    Alternating directions: a quadratic step in the coordinates, a projection on the simplex.
    """
    count = basis.shape[0]
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, max(values[-1], 1e-300) * 1e-9)
    # in units of a typical variance, so that the penalty is 1
    unit = float(np.exp(np.log(values).mean()))
    metric = unit / values
    solve = (vectors / (metric + 1)) @ vectors.T
    pull = estimate @ ((vectors * metric) @ vectors.T)
    start = 1 / count + estimate @ basis.T
    shares = on_simplex(start)
    inside = (start >= 0).all(axis=1)
    dual = np.zeros_like(start)
    for _ in range(_SPLITTING_ROUNDS if not inside.all() else 0):
        x = (pull + (shares - dual - 1 / count) @ basis) @ solve
        point = 1 / count + x @ basis.T
        shares = on_simplex(point + dual)
        dual += point - shares
    return np.where(inside[:, None], start, shares)


def on_simplex(points: Floats) -> Floats:
    """Return the nearest shares to each row, none negative, adding to 1.

    Examples
    --------
    >>> on_simplex(np.array([[0.5, 0.7, -0.2]])).round(3).tolist()
    [[0.4, 0.6, 0.0]]
    """
    count = points.shape[1]
    descending = -np.sort(-points, axis=1)
    excess = np.cumsum(descending, axis=1) - 1
    rank = np.arange(1, count + 1)
    used = (descending * rank > excess).sum(axis=1)
    threshold = excess[np.arange(len(points)), used - 1] / used
    return np.asarray(np.maximum(points - threshold[:, None], 0.0))
