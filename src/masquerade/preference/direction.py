"""Noise in a direction: a vector whose length is not estimated and is published as 1."""

from __future__ import annotations

import numpy as np

from masquerade.exact.arrays import Floats


def direction(raw: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Return the direction of a noisy vector, of length 1, and the covariance of its noise.

    Parameters
    ----------
    raw : float array, shape (n_features,)
    covariance : float array, shape (n_features, n_features)
        Of the noise in `raw`.

    Returns
    -------
    weights : float array, shape (n_features,)
        Zeros where `raw` is zero.
    covariance : float array, shape (n_features, n_features)

    Notes
    -----
    Where noise is small, a direction has none along itself: `covariance` divided by the squared
    length, without the part along the weights (the delta method). Where noise is all there is, that
    part counts in full: a decision between alternatives that differ along the weights is then as
    uncertain as any other, which only the vector of its own length can tell (Fieller, 1954). In
    between, the part along the weights counts by the share of noise in the squared length,
    ``(1 + 1 / n_features) trace(covariance) / length**2``, at most 1.
    """
    squared = float(raw @ raw)
    d = len(raw)
    if squared == 0:
        return np.zeros(d), np.zeros((d, d))
    weights = raw / np.sqrt(squared)
    along = np.outer(weights, weights)
    share = min(1.0, (1 + 1 / d) * float(np.trace(covariance)) / squared)
    kept = np.eye(d) - (1 - np.sqrt(share)) * along
    return weights, kept @ covariance @ kept / squared
