"""Shares as points: coordinates across the sum, and the nearest shares to a point."""

from __future__ import annotations

import numpy as np

from masquerade.exact.arrays import Floats

_SPLITTING_ROUNDS = 120


def sum_free_basis(count: int) -> Floats:
    """Return orthonormal columns that are orthogonal to the ones, shape (count, count - 1)."""
    columns = np.eye(count)[:, 1:] - 1 / count
    return np.asarray(np.linalg.qr(columns)[0])


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


def nearest_shares(estimate: Floats, covariance: Floats, basis: Floats) -> Floats:
    """Return the shares nearest to each estimate in the metric of its covariance.

    Alternating directions: a quadratic step in the coordinates, a projection on the simplex.
    Shapes: `estimate` (n, d); `covariance` (n, d, d), or (1, d, d) for all.
    """
    start = 1 / basis.shape[0] + estimate @ basis.T
    shares = on_simplex(start)
    outside = np.flatnonzero((start < 0).any(axis=1))
    if outside.size:
        metric = covariance[outside] if len(covariance) > 1 else covariance
        shares[outside] = _split(estimate[outside], metric, basis)
    inside = (start >= 0).all(axis=1)
    return np.where(inside[:, None], start, shares)


def _split(estimate: Floats, covariance: Floats, basis: Floats) -> Floats:
    count = basis.shape[0]
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, np.maximum(values[:, -1:], 1e-300) * 1e-9)
    # in units of a typical variance, so that the penalty is 1
    metric = np.exp(np.log(values).mean(axis=1, keepdims=True)) / values
    solve = (vectors / (metric + 1)[:, None, :]) @ vectors.transpose(0, 2, 1)
    weigh = (vectors * metric[:, None, :]) @ vectors.transpose(0, 2, 1)
    pull = (weigh @ estimate[:, :, None])[:, :, 0]
    shares = on_simplex(1 / count + estimate @ basis.T)
    dual = np.zeros_like(shares)
    for _ in range(_SPLITTING_ROUNDS):
        moved = pull + (shares - dual - 1 / count) @ basis
        point = 1 / count + (solve @ moved[:, :, None])[:, :, 0] @ basis.T
        shares = on_simplex(point + dual)
        dual += point - shares
    return shares
