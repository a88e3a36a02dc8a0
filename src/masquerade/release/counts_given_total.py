"""Posterior means of an object's counts, given its noisy counts and the number of its claims."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from masquerade.exact.arrays import Floats, Integers, on_simplex

#: Above this number of claims the total is met by an exponential tilt, not bin by bin.
MOST_CONVOLVED = 100

_ENTRIES = 1 << 22
_TURNS = 80
_BEYOND_NOISE = 100.0


def counts_given_total(log_prior: Floats, noisy: Integers, total: int, scale: float) -> Floats:
    """Return E[counts | noisy counts, counts sum to the total], shape (n_rows, bins).

    Up to `MOST_CONVOLVED` claims this is exact, by forward and backward convolution over the bins;
    above, means under weights ``exp(t k)`` with the t at which they sum to the total. Time is
    ``bins * total**2`` a row, or ``bins * total`` with the tilt.

    Shapes: `log_prior` (n_rows or 1, bins, total + 1): log weight of each count, up to a constant.
    `noisy` (n_rows, bins), moved to 0 to `total`: beyond, the noise weighs all counts by the same
    factor more, which cancels. `scale`: of the two-sided geometric noise.
    """
    means = np.empty(noisy.shape)
    step = max(_ENTRIES // (noisy.shape[1] * (total + 1)), 1)
    k = np.arange(total + 1)
    method = _by_convolution if total <= MOST_CONVOLVED else _by_tilt
    for start in range(0, len(noisy), step):
        rows = slice(start, start + step)
        prior = log_prior if len(log_prior) == 1 else log_prior[rows]
        # P(noise = y - k) is proportional to exp(-|y - k| / scale)
        weight = prior - np.abs(noisy[rows, :, None] - k) / scale
        found = method(weight - weight.max(axis=2, keepdims=True))
        # counts that no noise explains underflow; the nearest ones are then all that is known
        lost = ~np.isfinite(found).all(axis=1)
        if lost.any():
            nearest = noisy[rows][lost].astype(np.float64)
            found[lost] = on_simplex(nearest, np.full(len(nearest), float(total)))
        means[rows] = found
    return means


def _by_convolution(log_weight: Floats) -> Floats:
    weight = np.exp(log_weight)
    rows, bins, size = weight.shape
    k = np.arange(size)
    # forward[b][row, s]: weight of the first b counts summing to s, up to a factor a row
    none = np.zeros((rows, size))
    none[:, 0] = 1.0
    forward = [none]
    for b in range(bins - 1):
        forward.append(_scaled(_convolved(forward[-1], weight[:, b])))
    backward, means = none, np.empty((rows, bins))
    with np.errstate(invalid="ignore", divide="ignore"):
        for b in reversed(range(bins)):
            # the other counts sum to total - k
            joint = weight[:, b] * _convolved(forward[b], backward)[:, ::-1]
            means[:, b] = joint @ k / joint.sum(axis=1)
            backward = _scaled(_convolved(backward, weight[:, b]))
    return means


def _convolved(one: Floats, other: Floats) -> Floats:
    """Return the convolution of each row, cut off at the total."""
    rows, size = one.shape
    padded = np.zeros((rows, 2 * size - 1))
    padded[:, size - 1 :] = one
    # window[row, s, j] = one[row, s + j + 1 - size], a view; it meets other[row, size - 1 - j]
    window = as_strided(padded, (rows, size, size), (*padded.strides, padded.strides[1]))
    return np.asarray(np.einsum("rsj,rj->rs", window, np.ascontiguousarray(other[:, ::-1])))


def _scaled(values: Floats) -> Floats:
    top = values.max(axis=1, keepdims=True)
    return np.asarray(values / np.where(top > 0, top, 1.0))


def _by_tilt(log_weight: Floats) -> Floats:
    """Return the means under weights exp(t k), t by Newton's method kept within a bracket."""
    rows, _, size = log_weight.shape
    k = np.arange(size, dtype=np.float64)
    # beyond the steepest slope of the log weights every mean is at an end
    slope = np.diff(log_weight, axis=2)
    reach = np.abs(np.where(np.isfinite(slope), slope, 0.0)).max(axis=(1, 2)) + _BEYOND_NOISE
    low, high, t = -reach, reach, np.zeros(rows)
    means = np.empty(log_weight.shape[:2])
    for _ in range(_TURNS):
        tilted = log_weight + t[:, None, None] * k
        weight = np.exp(tilted - tilted.max(axis=2, keepdims=True))
        weight /= weight.sum(axis=2, keepdims=True)
        means = weight @ k
        excess = means.sum(axis=1) - (size - 1)
        if (np.abs(excess) <= 1e-9 * size).all():
            break
        # the sum of the means grows with t: its derivative is the sum of the variances
        variance = (weight @ k**2 - means**2).sum(axis=1)
        low, high = np.where(excess < 0, t, low), np.where(excess > 0, t, high)
        newton = t - excess / np.maximum(variance, 1e-12)
        t = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
    return means
