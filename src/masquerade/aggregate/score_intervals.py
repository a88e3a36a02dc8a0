"""Ratios of noisy sums, each with an interval for the sampling of people and for the noise.

An interval has every value at which what was seen would be no surprise, by the variance that it has
at that value (a score interval): near the ends of the possible range an interval by the variance at
the estimate is too narrow, and of width 0 where nobody was counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from masquerade.answers.result import Result
from masquerade.errors import ParameterError


@dataclass(frozen=True, slots=True)
class SumEstimate(Result):
    """A number from noisy sums, with its uncertainty.

    Attributes
    ----------
    value : float
        To compute with; it may lie outside the possible range.
    sampling_error, noise_error : float
        Standard errors by who answered and by the parties' noise.
    low, high : float
        Ends of the confidence interval, within the possible range.
    shown : float
        `value` within the possible range, for people to read.

    Examples
    --------
    >>> from masquerade.aggregate import Design, mean_of_sum
    >>> found = mean_of_sum(250, low=1, step=1, largest=4, variance=4.0, design=Design(count=100))
    >>> found.shown, found.standard_error > found.noise_error
    (3.5, True)
    """

    value: float
    sampling_error: float
    noise_error: float
    low: float
    high: float
    shown: float

    @property
    def standard_error(self) -> float:
        """Standard error by sampling of people and by noise together."""
        return math.hypot(self.sampling_error, self.noise_error)


@dataclass(frozen=True, slots=True)
class Quadratic:
    """A quadratic of one number."""

    constant: float
    linear: float = 0.0
    square: float = 0.0

    def __call__(self, value: float) -> float:
        """Return the quadratic at a value."""
        return self.constant + value * (self.linear + value * self.square)


@dataclass(frozen=True, slots=True)
class Design:
    """Facts about a set of responses besides their sums.

    Attributes
    ----------
    count : int
        Responses added up, at least 1.
    confidence : float
        Of intervals.
    population : int or None
        How many people could have answered, where the result is about them alone: sampling
        errors are then smaller, and 0 if all answered.

    Examples
    --------
    >>> Design(count=400, population=1_000).confidence
    0.95
    """

    count: int
    confidence: float = 0.95
    population: int | None = None

    def __post_init__(self) -> None:
        if self.count < 1 or not 0 < self.confidence < 1:
            raise ParameterError(
                f"count is {self.count} and confidence {self.confidence}; expected at least 1, and "
                "between 0 and 1."
            )
        if self.population is not None and self.population < self.count:
            raise ParameterError(
                f"population is {self.population}, expected at least the {self.count} who answered."
            )

    @property
    def sampling_factor(self) -> float:
        """Factor by which sampling variances shrink in a finite population."""
        if self.population is None:
            return 1.0
        # (N - n) / (N - 1): people are drawn without replacement
        return (self.population - self.count) / max(self.population - 1, 1)

    @property
    def reach(self) -> float:
        """Standard errors from an estimate to an end of its interval."""
        from scipy.special import ndtri  # dear to load, and at a server's start no one estimates

        return float(ndtri(0.5 + self.confidence / 2))

    def ratio(
        self,
        part: float,
        base: float,
        *,
        sampling: Quadratic,
        noise: Quadratic,
        low: float,
        high: float,
    ) -> SumEstimate:
        """Return an estimate of a ratio of two sums.

        Parameters
        ----------
        part, base : float
            The sums, with noise.
        sampling, noise : Quadratic
            Variances of ``part - r base`` where the ratio is r: by who answered, and by noise.
        low, high : float
            Ends of what is possible.

        References
        ----------
        Wilson, "Probable inference, the law of succession, and statistical inference", 1927, for
        shares; Fieller, "Some problems in interval estimation", 1954, for ratios. Here the noise
        is added to their variances.
        """
        if base <= 0:
            return SumEstimate(math.nan, math.inf, math.inf, low, high, math.nan)
        value = part / base
        shown = min(max(value, low), high)
        # a value that noise moved outside has its interval at that end, and none is empty
        inside = [min(part, high * base), max(part, low * base)]
        (lower, _), (_, upper) = [self._ends(one, base, sampling, noise) for one in inside]
        return SumEstimate(
            value,
            math.sqrt(max(sampling(shown), 0.0) * self.sampling_factor) / base,
            math.sqrt(max(noise(shown), 0.0)) / base,
            min(max(lower, low), high),
            max(min(upper, high), low),
            shown,
        )

    def _ends(
        self, part: float, base: float, sampling: Quadratic, noise: Quadratic
    ) -> Sequence[float]:
        """Return between which r ``(part - r base)**2`` is at most its variance, times a factor."""
        z2, factor = self.reach**2, self.sampling_factor
        # (part - r base)**2 <= z2 (factor sampling(r) + noise(r)), is a quadratic in r:
        # square r**2 - 2 half r + constant <= 0
        square = base**2 - z2 * (factor * sampling.square + noise.square)
        half = part * base + z2 * (factor * sampling.linear + noise.linear) / 2
        constant = part**2 - z2 * (factor * sampling.constant + noise.constant)
        if square <= 0:  # the base cannot be told from nobody: every ratio may be
            return -math.inf, math.inf
        root = math.sqrt(max(half**2 - square * constant, 0.0))
        return (half - root) / square, (half + root) / square
