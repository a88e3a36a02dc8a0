"""Noisy numbers with bounded influence: a cap on a liar's effect, at next to no cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from masquerade.exact.arrays import Floats
from masquerade.mechanisms import DiscreteGaussian

#: Sigmas beyond the ends of the range at which reports are cut, at the least.
NEAREST_CUT = 1.0

#: Most that cutting can bias a level's mean, in standard errors of that mean.
BIAS = 0.05

_FARTHEST_CUT = 8.0
_CUTS = np.arange(NEAREST_CUT, _FARTHEST_CUT + 0.125, 0.125)
_REACH = 10.0  # sigmas; the noise lies farther with probability below 1e-22
_FINE = 200.0  # points a sigma where the noise is nearly continuous
_ANSWERS = 17  # answers from end to end at which the bias is looked at


@dataclass(frozen=True, slots=True)
class BoundedReport:
    """A value of one noisy report that no report can move far, and that is right on average.

    A report is cut `cut` sigmas beyond the ends of the range, and what is left is stretched around
    the middle so that answers at both ends and in the middle are right on average again; between
    them the bias is at most `bias`. Without liars that costs `efficiency`; a liar counts at most
    as a report at the cut, wherever the liar's own lies.

    Attributes
    ----------
    middle, half : float
        Of the range of answers, on the question's scale.
    reach : float
        Distance from the middle at which reports are cut.
    stretch : float
        At least 1.
    cut : float
        In sigmas beyond the ends.
    bias : float
        Most that the value of an answer is off on average, on the question's scale.
    variance : float
        Of the value of one report, at most, given the answer.
    efficiency : float
        Variance of the noise itself over `variance`.

    Examples
    --------
    >>> from masquerade.mechanisms import DiscreteGaussian
    >>> counted = BoundedReport.of(DiscreteGaussian(1, 5, sigma=3), 100)
    >>> counted.middle, counted.half
    (3.0, 2.0)
    """

    middle: float
    half: float
    reach: float
    stretch: float
    cut: float
    bias: float
    variance: float
    efficiency: float

    @classmethod
    def of(cls, mechanism: DiscreteGaussian, n: int) -> BoundedReport:
        """Return the value of reports of a mask of which there are `n`.

        The more reports, the smaller their standard error and the farther the cut, so that its
        bias is never more than a twentieth of that error.
        """
        return _bounded(mechanism, int(n))

    def values(self, reports: ArrayLike) -> Floats:
        """Return the value of each report; both on the question's scale."""
        away = np.asarray(reports, dtype=np.float64) - self.middle
        value: Floats = self.middle + self.stretch * np.clip(away, -self.reach, self.reach)
        return value

    @property
    def most(self) -> float:
        """Most by which one report's value can be from any answer in the range."""
        return self.stretch * self.reach + self.half


@lru_cache(maxsize=512)
def _bounded(mechanism: DiscreteGaussian, n: int) -> BoundedReport:
    lattice = mechanism.lattice
    step = float(lattice.step)
    half = float(lattice.high - lattice.low) / 2
    sigma = float(mechanism.sigma)
    # The distribution of the noise, step by step or, where steps are many, nearly so.
    size = max(step, sigma / _FINE)
    far = int(np.ceil(_REACH * sigma / size)) + 1
    noise = size * np.arange(-far, far + 1)
    chance = np.exp(-((noise / sigma) ** 2) / 2)
    chance /= chance.sum()
    places = np.unique(np.rint(np.linspace(0, lattice.points - 1, _ANSWERS)))
    answer = step * places - half
    own = float(mechanism.variance())
    # From near to far: the first cut of small bias leaves a liar the least influence.
    for cut in _CUTS:
        reach = half + cut * sigma
        value = np.clip(answer[:, None] + noise, -reach, reach)
        mean = value @ chance
        # The mean of an answer at the end becomes that end again; the middle is right by symmetry.
        stretch = half / float(mean[-1])
        bias = float(np.abs(stretch * mean - answer).max())
        if bias <= BIAS * np.sqrt(own / max(n, 1)):
            break
    # E[value**2] - E[value]**2 at each answer; the worst one counts
    spread = stretch**2 * ((value**2) @ chance - mean**2)
    variance = float(spread.max())
    middle = float(lattice.low) + half
    return BoundedReport(
        middle, half, reach, stretch, float(cut), bias, variance, own / max(variance, 1e-300)
    )
