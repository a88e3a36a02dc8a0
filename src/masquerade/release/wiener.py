"""Wiener shrinkage of noisy shares: smooth parts of a histogram are kept, rough ones are noise."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.fft import dct, idct

from masquerade.exact.arrays import Floats, on_simplex

#: What densities should resemble: the claims that were made, or what they are drawn from.
Target = Literal["claims", "source"]

#: With fewer objects the variance of a coefficient over objects says too little.
LEAST_OBJECTS = 8


def wiener_shares(
    noisy: Floats,
    noise: Floats,
    sampling: Floats,
    target: Target = "claims",
    least_objects: int = LEAST_OBJECTS,
) -> Floats:
    """Return the shares of objects with equally many bins, each shrunk towards the mean of all.

    Shapes: `noisy` (n_objects, bins): noisy shares, unclamped. `noise` (n_objects,): variance of
    the noise on a share. `sampling` (n_objects,): 1 over the number of claims, or the sum of their
    squared weights over the squared sum.
    """
    objects, bins = noisy.shape
    if objects < least_objects:
        return on_simplex(noisy)
    # an orthonormal transform leaves the noise's variance as it is in every coefficient
    coefficient = dct(noisy, axis=1, norm="ortho")
    mean = coefficient.mean(axis=0)
    power = coefficient.var(axis=0, ddof=1)
    # E sum_b share**2, the noise taken off; at least that of even shares
    squares = max(float((noisy**2).sum(axis=1).mean() - bins * noise.mean()), 1 / bins)
    drawn = max(1 - squares, 0.0) * sampling / bins
    signal = np.maximum(power - noise.mean() - drawn.mean(), 0.0)
    signal[0] = 0.0  # the shares of every object sum to 1
    padded = np.concatenate((signal[1:2], signal[1:], signal[-1:]))
    # the spectrum of a density falls: binomial smoothing, then the running minimum
    smooth = 0.25 * padded[:-2] + 0.5 * padded[1:-1] + 0.25 * padded[2:]
    signal[1:] = np.minimum.accumulate(smooth)
    # E[wanted | noisy] = mean + S / (S + noise) (noisy - mean); claims vary by sampling too
    wanted = signal + (drawn[:, None] if target == "claims" else 0.0)
    everything = signal + (drawn + noise)[:, None]
    kept = np.where(everything > 0, wanted / np.where(everything > 0, everything, 1.0), 1.0)
    shrunk = mean + kept * (coefficient - mean)
    return on_simplex(idct(shrunk, axis=1, norm="ortho"))
