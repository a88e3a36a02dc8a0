"""From noisy soft counts to shares: every object is read in the light of all others.

In the normal model an object's own shares b_i lie around the crowd's mean m with covariance S, its
claims are drawn from b_i, and its counts carry the noise that was added. Where objects are narrow
and lie apart, `templates` explain the counts better and are taken. Both are working models: where
they are wrong it costs accuracy, never privacy, for they read released numbers alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.release.knots import Knots
from masquerade.release.measurement import Pool
from masquerade.release.simplex import nearest_shares, sum_free_basis
from masquerade.release.templates import Coordinates, Templates

_ROUNDS = 25
#: Share of the claims' covariance that objects differ by at the start.
_START = 0.15
#: Least share of the whole covariance that stays within objects.
_LEAST_WITHIN = 0.02
_JITTER = 1e-6
#: Two knots measure a mean, and say nothing of a shape.
_FEWEST_KNOTS = 3
#: Fewer objects say nothing of how often a template occurs.
_FEWEST_OBJECTS = 8


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


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Shares of objects, read in the light of all.

    Attributes
    ----------
    shares : float array, shape (n_objects, n_knots)
        Of each knot in each object's claims; the mean of all for an object without claims.
    shape : float array, shape (n_objects, n_cells)
        What the shares between two knots look like.
    """

    shares: Floats
    shape: Floats


def posterior_shares(noisy: NoisyCounts) -> Posterior:
    """Return the shares of each knot in each object's claims, and shapes between the knots.

    By the normal model or by templates: whichever makes the counts of all objects likelier.
    """
    basis = sum_free_basis(noisy.knots.count)
    known = noisy.total > 0
    model = _fitted(noisy, basis)
    crowd = np.maximum(1 / noisy.knots.count + basis @ model.mean, 0.0)
    shares = np.tile(crowd / crowd.sum(), (len(noisy.total), 1))
    shape = np.tile(noisy.pool, (len(noisy.total), 1))
    if not known.any():
        return Posterior(shares, shape)
    read = _read(noisy, known, basis)
    if noisy.knots.count >= _FEWEST_KNOTS and len(read.spread) >= _FEWEST_OBJECTS:
        templates = Templates.fitted(read, noisy.pool, noisy.knots)
        if templates.score > model.score:
            seen = templates.read(read)
            shares[known] = nearest_shares(seen.estimate, seen.covariance, basis)
            shape[known] = seen.shape
            return Posterior(shares, shape)
    shares[known] = _by_model(model, read, basis)
    return Posterior(shares, shape)


def _by_model(model: _Model, read: Coordinates, basis: Floats) -> Floats:
    """Return posterior means under the normal model; objects differ by S + D / n."""
    shares = np.empty((len(read.spread), len(basis)))
    # objects with equal numbers share all matrices
    for (spread, noise), members in _groups(read):
        within = model.spread + model.within * spread
        gain = within @ np.linalg.inv(within + noise * np.eye(basis.shape[1]))
        estimate = model.mean + (read.point[members] - model.mean) @ gain.T
        covariance = within - gain @ within
        shares[members] = nearest_shares(estimate, covariance[None], basis)
    return shares


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    mean: Floats  # (d,)
    spread: Floats  # S, (d, d)
    within: Floats  # D, (d, d)
    score: float


def _read(noisy: NoisyCounts, known: Flags, basis: Floats) -> Coordinates:
    total = noisy.total[known]
    coordinates = noisy.counts[known] @ basis / (noisy.knots.parts * total)[:, None]
    return Coordinates(coordinates, noisy.spread[known], noisy.noise[known] / total**2)


def _groups(read: Coordinates) -> list[tuple[tuple[float, float], Integers]]:
    pairs = np.column_stack((read.spread, read.noise))
    values, place = np.unique(pairs, axis=0, return_inverse=True)
    place = place.ravel()
    return [
        ((float(spread), float(noise)), np.flatnonzero(place == i))
        for i, (spread, noise) in enumerate(values.tolist())
    ]


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
        return _Model(start, _START * full, full, 0.0)
    read = _read(noisy, known, basis)
    anchor = _anchor(noisy, basis)
    fits = [_expectation_maximization(read, full, prior, start, anchor) for prior in priors]
    return max(fits, key=lambda fit: fit.score)


def _anchor(noisy: NoisyCounts, basis: Floats) -> tuple[Floats, Floats]:
    """Return the pool's own precision and estimate of the mean; 0 where it was not measured."""
    d = basis.shape[1]
    if noisy.measured is None:
        return np.zeros((d, d)), np.zeros(d)
    project = basis.T @ noisy.knots.hats / noisy.measured.claims
    covariance = noisy.measured.variance * project @ project.T + 1e-12 * np.eye(d)
    return np.asarray(np.linalg.inv(covariance)), project @ noisy.measured.counts


def _expectation_maximization(
    read: Coordinates, full: Floats, prior: Floats, start: Floats, anchor: tuple[Floats, Floats]
) -> _Model:
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
            right += weight @ read.point[members].sum(axis=0)
        mean = np.asarray(np.linalg.solve(precision, right))
        # E-step: moments of each object's own deviation, gain S W
        moments = np.zeros((d, d))
        for weight, (_, members) in zip(weights, groups, strict=True):
            gain = spread @ weight
            deviation = (read.point[members] - mean) @ gain.T
            moments += deviation.T @ deviation + len(members) * (spread - gain @ spread)
        # M-step of S under an inverse-Wishart prior of mean tau S0
        spread = (moments + (d + 2) * tau * prior) / (objects + d + 2)
        spread = (spread + spread.T) / 2
        tau = np.trace(spread) / np.trace(prior)
    within = _within(full, spread, lower)
    score = _log_posterior(read, groups, mean, spread, within, tau * prior)
    basis = sum_free_basis(d + 1)
    covariance: Floats = np.asarray(np.linalg.inv(precision))
    shares = nearest_shares(mean[None, :], covariance[None], basis)[0]
    return _Model(basis.T @ shares, spread, within, score)


def _within(full: Floats, spread: Floats, lower: Floats) -> Floats:
    """Return the covariance within objects: the rest beside S, some in every direction."""
    inverse = np.linalg.inv(lower)
    values, vectors = np.linalg.eigh(inverse @ (full - spread) @ inverse.T)
    scaled = lower @ vectors
    return np.asarray(scaled * np.maximum(values, _LEAST_WITHIN) @ scaled.T)


def _log_posterior(
    read: Coordinates,
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
        off = read.point[members] - mean
        inner = (off @ np.linalg.inv(covariance) * off).sum()
        total -= 0.5 * (inner + len(members) * np.linalg.slogdet(covariance)[1])
    ratio = np.linalg.solve(spread, prior)
    return float(total - (d + 2) / 2 * (np.trace(ratio) - np.linalg.slogdet(ratio)[1]))
