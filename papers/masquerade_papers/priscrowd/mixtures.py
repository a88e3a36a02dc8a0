"""Mixtures of Gaussian bumps, one an object: densities, inner products in closed form, samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource

_PAIRS = 1 << 21


@dataclass(frozen=True, slots=True, eq=False)
class Mixtures:
    """One mixture of Gaussian bumps for each object.

    Attributes
    ----------
    offset : int array, shape (n_objects + 1,)
        The bumps of object i are those from ``offset[i]`` to ``offset[i + 1]``; none: the density
        is 0 everywhere.
    location, weight, width : float arrays, shape (n_bumps,)
        Mean, share, and standard deviation (above 0).

    Examples
    --------
    >>> one = Mixtures.of_points([0, 1], [0.0], [1.0])
    >>> round(float(one.inner(one)[0]), 6)
    0.282095
    """

    offset: Integers
    location: Floats
    weight: Floats
    width: Floats

    @classmethod
    def of_points(cls, offset: ArrayLike, points: ArrayLike, bandwidth: ArrayLike) -> Mixtures:
        """Return kernel density estimates with equal weights.

        Parameters
        ----------
        offset : int array, shape (n_objects + 1,)
        points : float array, shape (n_points,)
        bandwidth : float array, shape (n_objects,)
        """
        offset = np.asarray(offset, dtype=np.int64)
        count = np.diff(offset)
        width = np.repeat(np.asarray(bandwidth, dtype=np.float64), count)
        weight = np.repeat(1 / np.maximum(count, 1), count)
        return cls(offset, np.asarray(points, dtype=np.float64), weight, width)

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return len(self.offset) - 1

    def density(self, index: int, at: ArrayLike) -> Floats:
        """Return the density of one object at some values, shape of `at`."""
        points = np.asarray(at, dtype=np.float64)
        bumps = slice(int(self.offset[index]), int(self.offset[index + 1]))
        total = np.zeros(points.size)
        flat = points.ravel()
        step = max(_PAIRS // max(bumps.stop - bumps.start, 1), 1)
        for start in range(0, flat.size, step):
            part = flat[start : start + step, None]
            distance = (part - self.location[bumps]) / self.width[bumps]
            # exp(-800) is 0 in floats, so that the cut changes nothing and no square overflows
            kernel = np.exp(-0.5 * np.clip(distance, -40, 40) ** 2)
            total[start : start + step] = kernel @ (self.weight[bumps] / self.width[bumps])
        return (total / math.sqrt(2 * math.pi)).reshape(points.shape)

    def inner(self, other: Mixtures) -> Floats:
        """Return the integral of the product of two densities, shape (n_objects,).

        Cost: the product of the numbers of bumps of each object; memory is bounded.
        """
        if self.n_objects != other.n_objects:
            raise ParameterError(
                f"there are densities of {self.n_objects} and of {other.n_objects} objects; "
                "compare densities of the same objects."
            )
        mine, theirs = np.diff(self.offset), np.diff(other.offset)
        total = np.zeros(self.n_objects)
        # by the number of pairs, so that a large object fills no array of small ones
        order = np.argsort(mine * theirs, kind="stable")
        order = order[(mine * theirs)[order] > 0]
        cumulative = np.cumsum((mine * theirs)[order])
        start = 0
        while start < len(order):
            # objects with few pairs go together, so that memory stays below _PAIRS
            before = cumulative[start - 1] if start else 0
            stop = max(int(np.searchsorted(cumulative, before + _PAIRS, side="right")), start + 1)
            chosen = order[start:stop]
            if len(chosen) == 1:
                total[chosen[0]] = self._inner_in_parts(other, int(chosen[0]))
            else:
                total[chosen] = self._inner_of_many(other, chosen)
            start = stop
        return total

    def sample(self, samples: Integers, source: WordSource) -> Floats:
        """Draw points from each object's mixture, object by object.

        Parameters
        ----------
        samples : int array, shape (n_objects,)
            How many of each; 0 where a mixture has no bumps.
        """
        of = np.repeat(np.arange(self.n_objects), samples)
        cumulative = np.concatenate(([0.0], np.cumsum(self.weight)))
        first, last = cumulative[self.offset[of]], cumulative[self.offset[of + 1]]
        # inverse of the cumulative weights; rounding must not lead into a neighbouring object
        target = first + uniforms(source, len(of)) * (last - first)
        bump = np.searchsorted(cumulative, target, side="right") - 1
        bump = np.clip(bump, self.offset[of], self.offset[of + 1] - 1)
        return np.asarray(self.location[bump] + self.width[bump] * normals(source, len(of)))

    def bumps(self, index: int) -> dict[str, Any]:
        """Return one object's bumps as a JSON object."""
        bumps = slice(int(self.offset[index]), int(self.offset[index + 1]))
        return {
            name: getattr(self, name)[bumps].tolist() for name in ("location", "weight", "width")
        }

    def _inner_of_many(self, other: Mixtures, chosen: Integers) -> Floats:
        """Return the inner products of some objects, all their pairs of bumps in one array."""
        mine, theirs = np.diff(self.offset)[chosen], np.diff(other.offset)[chosen]
        pairs = mine * theirs
        of = np.repeat(np.arange(len(chosen)), pairs)
        inside = np.arange(len(of)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
        # a[pair], b[pair]: every bump of mine with every bump of theirs, object by object
        a = self.offset[chosen][of] + inside // theirs[of]
        b = other.offset[chosen][of] + inside % theirs[of]
        # int N(x; m, s^2) N(x; n, t^2) dx = N(m - n; 0, s^2 + t^2)
        variance = self.width[a] ** 2 + other.width[b] ** 2
        values = self.weight[a] * other.weight[b]
        values *= _normal(self.location[a] - other.location[b], variance)
        return np.bincount(of, values, len(chosen)).astype(np.float64)

    def _inner_in_parts(self, other: Mixtures, index: int) -> float:
        """Return the inner product of one object that has too many pairs for one array."""
        mine = slice(int(self.offset[index]), int(self.offset[index + 1]))
        theirs = slice(int(other.offset[index]), int(other.offset[index + 1]))
        step = max(_PAIRS // (theirs.stop - theirs.start), 1)
        total = 0.0
        for start in range(mine.start, mine.stop, step):
            part = slice(start, min(start + step, mine.stop))
            variance = self.width[part, None] ** 2 + other.width[None, theirs] ** 2
            kernel = _normal(self.location[part, None] - other.location[None, theirs], variance)
            total += float(self.weight[part] @ kernel @ other.weight[theirs])
        return total


def uniforms(source: WordSource, size: int) -> Floats:
    """Return floats above 0 and below 1, multiples of 2**-54, from uniform words.

    Not exact, and so only for what is computed from a private result, or promises nothing.
    """
    # the upper 53 bits, as many as a float holds
    words = source.words(size) >> np.uint64(11)
    # The largest word would round up to 1.
    return np.minimum((words.astype(np.float64) + 0.5) * 2.0**-53, 1 - 2.0**-53)


def normals(source: WordSource, size: int) -> Floats:
    """Return standard normal floats from uniform words; see `uniforms`."""
    return np.asarray(ndtri(uniforms(source, size)))


def _normal(distance: Floats, variance: Floats) -> Floats:
    """Return the normal density with mean 0 at `distance`."""
    deviation = np.sqrt(variance)
    standard = np.clip(distance / deviation, -40, 40)
    return np.asarray(np.exp(-0.5 * standard**2) / (deviation * math.sqrt(2 * math.pi)))
