"""Shares and means from noisy sums, each with an interval for who answered and for the noise.

The number of responses n is known exactly; every count has noise of a known variance v, the sum of
both parties' noise, independent from count to count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats


@dataclass(frozen=True, slots=True)
class SumEstimate:
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
    """

    value: float
    sampling_error: float
    noise_error: float
    low: float
    high: float
    shown: float

    @property
    def standard_error(self) -> float:
        """Standard error by who answered and by noise together."""
        return math.hypot(self.sampling_error, self.noise_error)


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

    def estimate(
        self, value: float, *, sampling: float, noise: float, low: float, high: float
    ) -> SumEstimate:
        """Return an estimate of a number from `low` to `high`, from its two variances."""
        if not math.isfinite(value):
            return SumEstimate(math.nan, math.inf, math.inf, low, high, math.nan)
        sampling = max(sampling, 0.0) * self.sampling_factor
        reach = float(ndtri(0.5 + self.confidence / 2)) * math.sqrt(sampling + noise)
        return SumEstimate(
            value,
            math.sqrt(sampling),
            math.sqrt(noise),
            # a value that noise moved outside has its interval at that end, and none is empty
            max(min(value, high) - reach, low),
            min(max(value, low) + reach, high),
            min(max(value, low), high),
        )


def share_estimates(
    counts: Sequence[int], *, variance: float, design: Design, among: ArrayLike | None = None
) -> list[SumEstimate]:
    """Return the share of each option of a question with exactly one answer.

    Parameters
    ----------
    counts : sequence of int
        Noisy counts of all options, "no answer" among them.
    variance : float
        Of the noise of each count.
    design : Design
    among : bool array, optional
        Options whose choosers are the whole, for instance all but "no answer"; the others get no
        share. By default all.

    Notes
    -----
    Of all responses, a share is count / n, with noise ``v / n**2``. Of some, it is a ratio of two
    noisy counts, with the error of its first-order expansion.

    Examples
    --------
    >>> share_estimates([300, 100], variance=40.0, design=Design(400))[0].noise_error
    0.015811388300841896
    """
    held = np.asarray(counts, dtype=np.float64)
    whole = np.ones(len(held), dtype=bool) if among is None else np.asarray(among, dtype=bool)
    return [
        _ratio(held, np.eye(len(held))[place], whole, variance, design, 0.0, 1.0)
        for place in np.flatnonzero(whole)
    ]


def mean_estimate(
    counts: Sequence[int],
    scores: Sequence[float],
    *,
    variance: float,
    design: Design,
    among: ArrayLike | None = None,
) -> SumEstimate:
    """Return the mean of the options' scores.

    Parameters
    ----------
    counts, variance, design, among
        As for `share_estimates`.
    scores : sequence of float
        One for each option; those of options that are not among the whole are not used.
    """
    held, score = np.asarray(counts, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    whole = np.ones(len(held), dtype=bool) if among is None else np.asarray(among, dtype=bool)
    score = np.where(whole, score, 0.0)
    low, high = float(score[whole].min()), float(score[whole].max())
    # Counts of all options add up to n but for the noise. Scores from the middle of the scale carry
    # the least of it.
    middle = float(score[whole].mean())
    moved = np.where(whole, score - middle, 0.0)
    return _ratio(held, moved, whole, variance, design, low, high, shift=middle)


def mean_of_sum(
    total: int, *, low: float, step: float, largest: int, variance: float, design: Design
) -> SumEstimate:
    """Return the mean of numbers ``low + step * k``, k from 0 to `largest`, from the sum of all k.

    A sum tells nothing of how people differ: the sampling error is the largest that people with
    this mean can have (Bhatia and Davis, 2000).
    """
    n, high = design.count, low + step * largest
    value = low + step * total / n
    inside = min(max(value, low), high)
    return design.estimate(
        value,
        # the largest variance between two ends with this mean, over n
        sampling=(inside - low) * (high - inside) / n,
        noise=step**2 * variance / n**2,
        low=low,
        high=high,
    )


def _ratio(
    counts: Floats,
    weights: Floats,
    whole: Flags,
    variance: float,
    design: Design,
    low: float,
    high: float,
    shift: float = 0.0,
) -> SumEstimate:
    """Return ``weights @ counts`` over the counts of the whole, plus `shift`."""
    n = design.count
    exact = bool(whole.all())  # then the denominator is n and has no noise
    base = float(n) if exact else float(counts[whole].sum())
    if base <= 0:
        return design.estimate(math.nan, sampling=0.0, noise=0.0, low=low, high=high)
    value = float(weights @ counts) / base
    residual = weights - value * whole
    noisy = weights if exact else residual
    # Var(A / B) ~ Var(A - r B) / B**2; people are independent, and A - r B is 0 in the mean.
    sampling = float(np.clip(counts, 0, None) @ residual**2) / base**2
    noise = variance * float(noisy @ noisy) / base**2
    return design.estimate(value + shift, sampling=sampling, noise=noise, low=low, high=high)
