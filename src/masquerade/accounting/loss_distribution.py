"""Privacy loss distributions: the exact composition of masks with one known worst pair.

The loss of a report is the log ratio of its probabilities in two neighbouring worlds. Losses of
separate reports add, so that the distribution of the sum is a convolution, and delta at any
epsilon is read off it: ``E[(1 - e**(epsilon - loss))+]``. Here every number is an upper bound:

- A loss between two points of the grid is split over both so that the probability is kept in
  *both* worlds. Merging the two outcomes again gives the original, so the split pair is at least
  as easy to tell apart, and composes to an upper bound (the "connect the dots" of Doroshenko et
  al., 2022, equals this split).
- Mass in tails that are cut goes up: to the lowest point kept, or to an infinite loss.
- Convolutions are sums of products of positive numbers, without Fourier transforms, so that
  rounding stays a relative error of every single probability; how large it can be is carried along.

The mechanisms are composed for a fixed list; what an adaptive choice among mechanisms needs is the
filter of `masquerade.accounting.Caps`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np
import pyarrow as pa

from masquerade.answers.result import Result
from masquerade.exact import Micro
from masquerade.exact.arrays import Floats
from masquerade.exact.pairs import Pair, Points

_POINTS = 4096  # of the grid, over the losses that matter
_FINE_POINTS, _FEW = 16384, 4  # a few reports have a few sharp losses, and are added up quickly
_TAIL = 1e-22  # probability that may be cut at each convolution and end
_ULP = 2.0**-52  # twice what one operation can be off, relatively
_SINGLE_ERROR = 256 * _ULP  # of a probability of one report, relative
_ERROR = 1e-9  # of the losses on the grid: relative, far above their rounding
_DEVIATIONS = 14
_EXACT = 3  # losses of a response: one size, nothing, the same below 0
_HALVINGS = 100


@dataclass(frozen=True, slots=True, eq=False)
class LossDistribution(Result):
    """Probabilities of losses on a grid.

    Attributes
    ----------
    step : float
        Distance of the grid, in epsilon.
    start : int
        Grid index of the first probability.
    probability : float array, shape (n_points,)
    infinite : float
        Probability of an infinite loss.
    error : float
        By how much, relatively, rounding can have made any probability too small.

    Examples
    --------
    >>> from masquerade.accounting import composed
    >>> from masquerade.exact import Micro
    >>> from masquerade.exact.pairs import KnownPair
    >>> found = composed({KnownPair(Micro(1_000_000)): 10})
    >>> round(found.epsilon(1e-6), 2)
    10.0
    """

    step: float
    start: int
    probability: Floats
    infinite: float
    error: float

    def to_arrow(self) -> pa.Table:
        """Return ``loss`` (in epsilon) and ``probability`` of each point of the grid."""
        loss = (self.start + np.arange(len(self.probability))) * self.step
        return pa.table({"loss": loss, "probability": self.probability})

    def delta(self, epsilon: float) -> float:
        """Return delta at `epsilon`, rounded up."""
        loss = (self.start + np.arange(len(self.probability))) * self.step
        # delta(epsilon) = sum over losses above epsilon of P(loss) (1 - e**(epsilon - loss))
        above = loss > epsilon
        gain = -np.expm1(epsilon - loss[above])
        # every gain and the sum of so many positive terms may be rounded down
        error = self.error + (len(gain) + 8) * _ULP
        sound = (float(self.probability[above] @ gain) + self.infinite) * (1 + error)
        return min(1.0, sound)

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon at `delta`, rounded up; infinity where there is none."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, (self.start + len(self.probability)) * self.step
        if self.delta(high) > delta:
            return math.inf
        # delta falls with epsilon, and the upper end stays where it is at most delta: a sound
        # bound.
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high

    def quantile(self, chance: float) -> float:
        """Return a loss that is exceeded with a probability of at most `chance`, rounded up."""
        # each probability may be rounded down, and so their sum
        more = 1 + self.error + len(self.probability) * _ULP
        above = np.cumsum(self.probability[::-1])[::-1] * more
        within = np.flatnonzero(above + self.infinite <= chance)
        if not len(within):
            return math.inf if self.infinite > chance else (self.start + len(above) - 1) * self.step
        return float((self.start + within[0] - 1) * self.step)

    def loss(self, delta: Fraction) -> Micro:
        """Return the epsilon at `delta` as an amount, rounded up."""
        epsilon = self.epsilon(float(delta) * (1 - _ERROR))
        # Above the rounding of the losses and of the grid, below the unit of amounts.
        return Micro.of_bound(epsilon, error=(1 + epsilon) * _ERROR if epsilon else 0.0)

    def __add__(self, other: LossDistribution) -> LossDistribution:
        """Return the distribution of the sum of independent losses."""
        return _trimmed(
            LossDistribution(
                self.step,
                self.start + other.start,
                np.convolve(self.probability, other.probability),
                # an upper bound: infinite if either loss is
                self.infinite + other.infinite,
                self.error
                + other.error
                + min(len(self.probability), len(other.probability)) * _ULP,
            )
        )

    def times(self, count: int) -> LossDistribution:
        """Return the distribution of the sum of `count` independent losses, at least 1."""
        if count == 1:
            return self
        half = self.times(count // 2)
        # by doubling: log2(count) convolutions, so that rounding errors stay few
        return half + half + self if count % 2 else half + half


def composed(counts: Mapping[Pair, int]) -> LossDistribution | None:
    """Return the loss distribution of all masks together; None where a pair's is not known.

    Parameters
    ----------
    counts : mapping of Pair to int
        How often each was used, at least once.

    Notes
    -----
    What is known by its epsilon alone is composed as two-option randomized response, its worst case
    (Kairouz, Oh and Viswanath, 2015). A smaller change of an answer under discrete Gaussian or
    Laplace noise is never easier to tell: for a shift of a log-concave distribution the best tests
    are thresholds, and their power grows with the shift.

    Cost: about 0.1 s for thousands of reports.

    Examples
    --------
    >>> from masquerade.exact import Micro
    >>> from masquerade.exact.pairs import KnownPair
    >>> round(composed({KnownPair(Micro(1_000_000)): 10}).epsilon(1e-6), 2)
    10.0
    """
    points = {pair: pair.points() for pair in counts}
    known = {pair: one for pair, one in points.items() if one is not None}
    if not counts or len(known) < len(counts):
        return None
    alone = next(iter(known.values())) if len(known) == 1 else None
    if alone is not None and len(alone.loss) <= _EXACT:
        step = float(alone.loss[0])  # every loss is on this grid, without a split
    else:
        rho = sum(float(pair.rho) * count for pair, count in counts.items())
        size = _FINE_POINTS if sum(counts.values()) <= _FEW else _POINTS
        # losses of Gaussian noise have mean rho and variance 2 rho
        step = (rho + _DEVIATIONS * math.sqrt(2 * rho)) / size
    if step == 0:
        return LossDistribution(1.0, 0, np.ones(1), 0.0, 0.0)
    parts = [_single(known[pair], step).times(count) for pair, count in counts.items()]
    return reduce(LossDistribution.__add__, parts)


def _single(points: Points, step: float) -> LossDistribution:
    """Return the loss distribution of one use, on a grid."""
    on_grid = _on_grid(points.loss, points.probability, step)
    infinite = on_grid.infinite + points.beyond
    error = on_grid.error + len(points.loss) * _ULP  # the sum of the weights
    return LossDistribution(step, on_grid.start, on_grid.probability, infinite, error)


def _on_grid(loss: Floats, probability: Floats, step: float) -> LossDistribution:
    """Return losses split over the grid; see the module's docstring."""
    below = np.floor(loss / step).astype(np.int64)
    rest = np.clip(loss - below * step, 0.0, step)
    # keeps P, and Q = P e**-loss: of the mass, (1 - e**-rest) / (1 - e**-step) goes up
    upper_share = np.expm1(-rest) / math.expm1(-step)
    start = int(below.min())
    total = np.zeros(int(below.max()) - start + 2)
    np.add.at(total, below - start, probability * (1 - upper_share))
    np.add.at(total, below - start + 1, probability * upper_share)
    return _trimmed(LossDistribution(step, start, total, 0.0, _SINGLE_ERROR))


def _trimmed(distribution: LossDistribution) -> LossDistribution:
    probability = distribution.probability
    # Cut on both sides to keep convolutions short.
    first = int(np.searchsorted(np.cumsum(probability), _TAIL))
    last = len(probability) - int(np.searchsorted(np.cumsum(probability[::-1]), _TAIL))
    margin = 1 + len(probability) * _ULP
    kept = probability[first:last].copy()
    # small losses up to the lowest point kept, large ones to infinity: both make delta larger
    kept[0] += probability[:first].sum() * margin
    lost = float(probability[last:].sum()) * margin
    return LossDistribution(
        distribution.step,
        distribution.start + first,
        kept,
        distribution.infinite + lost,
        distribution.error,
    )
