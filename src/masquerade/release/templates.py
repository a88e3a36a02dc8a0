"""Templates: shapes that the claims of an object may have, and how likely each is.

Where objects are narrow and lie apart, a normal model of their shares needs more claims than there
are. Templates are the pool seen through windows of several places and widths; how often each
occurs is fitted to the noisy counts of all objects. All of it is computed from released numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.release.knots import Knots
from masquerade.release.simplex import sum_free_basis

#: Places of windows, evenly over the range.
_PLACES = 41
#: Widths of windows (standard deviations), in shares of the range.
_WIDTHS = (0.015, 0.03, 0.06, 0.12, 0.24)
#: Shares of claims that lie anywhere in the pool.
_STRAYS = (0.02, 0.2)
_ROUNDS = 60
#: Objects of which the frequencies of templates are fitted, and that are read at a time.
_BLOCK = 4096
#: Least probability of a template that counts.
_LEAST = 1e-4
_JITTER = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Noisy shares of objects across the sum, with the variances of sampling and noise.

    Attributes
    ----------
    point : float array, shape (n, d)
    spread : float array, shape (n,)
        Sum of squared weights over the squared total: 1 / n for n claims.
    noise : float array, shape (n,)
        Variance in each direction.
    """

    point: Floats
    spread: Floats
    noise: Floats

    def subset(self, rows: slice) -> Coordinates:
        """Return some of the objects."""
        return Coordinates(self.point[rows], self.spread[rows], self.noise[rows])


@dataclass(frozen=True, slots=True, eq=False)
class ReadShapes:
    """Objects in the light of templates.

    Attributes
    ----------
    estimate : float array, shape (n, d)
        Posterior mean of the claims' own shares.
    covariance : float array, shape (n, d, d)
    shape : float array, shape (n, n_cells)
        Posterior mean of the shape that the claims are drawn from.
    """

    estimate: Floats
    covariance: Floats
    shape: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Templates:
    """Shapes with their frequencies.

    Attributes
    ----------
    fine : float array, shape (n_templates, n_cells)
    mean : float array, shape (n_templates, d)
        Coordinates of each shape's shares of the knots.
    values, vectors : float arrays, shapes (n_templates, d) and (n_templates, d, d)
        Of the covariance of one claim.
    frequency : float array, shape (n_templates,)
    score : float
        Log likelihood of the objects that the frequencies were fitted to.
    """

    fine: Floats
    mean: Floats
    values: Floats
    vectors: Floats
    frequency: Floats
    score: float

    @classmethod
    def fitted(cls, read: Coordinates, pool: Floats, knots: Knots) -> Templates:
        """Return templates of a pool, with the frequencies that explain the objects best."""
        fine = windows(pool)
        hats, basis = knots.hats, sum_free_basis(knots.count)
        at_knots = fine @ hats.T
        whole = np.einsum("kf,tf,lf->tkl", hats, fine, hats, optimize=True)
        whole -= at_knots[:, :, None] * at_knots[:, None, :]
        values, vectors = np.linalg.eigh(basis.T @ whole @ basis)
        even = np.full(len(fine), 1 / len(fine))
        made = cls(
            fine, at_knots @ basis, np.maximum(values, 0.0) + _JITTER, vectors, even, -np.inf
        )
        # evenly spread objects stand for all of a large number
        step = -(-len(read.spread) // _BLOCK)
        return made._with_frequencies(made._log_likelihood(read.subset(slice(None, None, step))))

    def _with_frequencies(self, likelihood: Floats) -> Templates:
        """Return the templates with frequencies from EM, one pseudo-object spread over all."""
        top = likelihood.max(axis=1, keepdims=True)
        scaled = np.exp(likelihood - top)
        frequency = self.frequency
        for _ in range(_ROUNDS):
            evidence = scaled @ frequency
            found = frequency * (scaled / evidence[:, None]).sum(axis=0)
            frequency = (found + self.frequency) / (len(scaled) + 1)
        score = float((np.log(scaled @ frequency) + top[:, 0]).sum())
        return Templates(self.fine, self.mean, self.values, self.vectors, frequency, score)

    def _log_likelihood(self, read: Coordinates) -> Floats:
        """Return the log likelihood of each object under each template, less a constant.

        Normal: c_i ~ N(m, s_i D + v_i), in the directions of the covariance D of one claim.
        """
        found = np.empty((len(read.spread), len(self.fine)))
        for t, (mean, values, vectors) in enumerate(
            zip(self.mean, self.values, self.vectors, strict=True)
        ):
            off = (read.point - mean) @ vectors
            variance = read.spread[:, None] * values + read.noise[:, None]
            found[:, t] = -0.5 * (off**2 / variance + np.log(variance)).sum(axis=1)
        return found

    def read(self, read: Coordinates) -> ReadShapes:
        """Return objects in the light of the templates."""
        parts = [
            self._read_block(read.subset(slice(start, start + _BLOCK)))
            for start in range(0, len(read.spread), _BLOCK)
        ]
        return ReadShapes(
            np.concatenate([part.estimate for part in parts]),
            np.concatenate([part.covariance for part in parts]),
            np.concatenate([part.shape for part in parts]),
        )

    def _read_block(self, read: Coordinates) -> ReadShapes:
        weight = self._log_likelihood(read) + np.log(self.frequency)
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        weight = np.where(weight > _LEAST * weight.max(axis=1, keepdims=True), weight, 0.0)
        weight /= weight.sum(axis=1, keepdims=True)
        d = read.point.shape[1]
        estimate, second = np.zeros((len(weight), d)), np.zeros((len(weight), d, d))
        for t in np.flatnonzero(weight.any(axis=0)).tolist():
            rows = np.flatnonzero(weight[:, t])
            vectors, share = self.vectors[t], weight[rows, t]
            sampling = read.spread[rows, None] * self.values[t]
            # of the claims' own shares, sampling included, and not of what they are drawn from
            gain = sampling / (sampling + read.noise[rows, None])
            off = (read.point[rows] - self.mean[t]) @ vectors
            one = self.mean[t] + (gain * off) @ vectors.T
            left = (vectors * (gain * read.noise[rows, None])[:, None, :]) @ vectors.T
            estimate[rows] += share[:, None] * one
            second[rows] += share[:, None, None] * (left + one[:, :, None] * one[:, None, :])
        second -= estimate[:, :, None] * estimate[:, None, :]
        return ReadShapes(estimate, second, weight @ self.fine)


def windows(pool: Floats) -> Floats:
    """Return the pool itself, and the pool through windows of several places and widths.

    The pool is kept under a window, so that heaps at round numbers are in every template.

    Examples
    --------
    >>> windows(np.full(101, 1 / 101)).shape
    (411, 101)
    """
    grid = np.linspace(0, 1, pool.size)
    off = grid - np.linspace(0, 1, _PLACES)[:, None]
    found = [pool[None, :]]
    for width in _WIDTHS:
        seen = pool * np.exp(-0.5 * (off / width) ** 2)
        seen /= seen.sum(axis=1, keepdims=True)
        found += [(1 - stray) * seen + stray * pool for stray in _STRAYS]
    return np.concatenate(found)
