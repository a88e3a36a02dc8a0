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

from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats


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


def bit_estimates(
    counts: Sequence[int],
    *,
    variance: float,
    design: Design,
    among: tuple[int, float] | None = None,
) -> list[SumEstimate]:
    """Return the share of each option of a question with several answers.

    Parameters
    ----------
    counts : sequence of int
        Noisy count of each option.
    variance : float
        Of the noise of each count.
    design : Design
    among : pair of int and float, optional
        Noisy count of those who answered, and the variance of its noise; by default all did.

    Examples
    --------
    >>> both = bit_estimates([300, 200], variance=40.0, design=Design(400))
    >>> [one.value for one in both]
    [0.75, 0.5]
    """
    n = float(design.count)
    base, noise = (n, 0.0) if among is None else (float(among[0]), among[1])
    found = []
    for count in counts:
        share = count / base if base > 0 else math.nan
        held = min(max(share, 0.0), 1.0)
        found.append(
            design.estimate(
                share,
                # of those who answered: the first-order expansion of a ratio, as in `_ratio`
                sampling=held * (1 - held) / base if base > 0 else 0.0,
                noise=(variance + held**2 * noise) / base**2 if base > 0 else 0.0,
                low=0.0,
                high=1.0,
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class Quantile(Result):
    """A quantile from noisy counts, with its interval.

    Attributes
    ----------
    share : float
        Share of people at or below it.
    value : float
        NaN where nobody seems to have answered.
    low, high : float
        Ends of the confidence interval: possible answers.
    """

    share: float
    value: float
    low: float
    high: float


def quantile_estimate(
    counts: Sequence[int],
    ends: Sequence[tuple[float, float]],
    share: float,
    *,
    variance: float,
    design: Design,
) -> Quantile:
    """Return the smallest answer that at least a share of the people stay at or below.

    Parameters
    ----------
    counts : sequence of int
        Noisy counts of all ranges, then of those who did not answer.
    ends : sequence of pairs of numbers
        First and last answer of each range, in ascending order.
    share : float
        Between 0 and 1.
    variance : float
        Of the noise of each count.
    design : Design

    Notes
    -----
    The interval inverts those of the cumulative shares (Woodruff, 1952): it begins at the first
    range whose share and all below can reach `share`, and ends at the first from which on they
    cannot miss it. Each end fails with half of the error allowed, whatever the noise. The value is
    where the cumulative shares cross, made to rise (isotonic regression) and straight within a
    range.

    Examples
    --------
    >>> half = quantile_estimate([30, 50, 20], [(1, 1), (2, 2), (3, 3)], 0.5,
    ...                          variance=4.0, design=Design(100))
    >>> half.value, half.low, half.high
    (2.0, 2.0, 2.0)
    """
    held = np.asarray(counts, dtype=np.float64)
    ranges = len(ends)
    whole = np.arange(len(held)) < ranges
    below: list[SumEstimate] = []
    for last in range(ranges - 1):
        weights = (np.arange(len(held)) <= last).astype(np.float64)
        # From the end that has fewer noisy counts: the other one is what is left of 1.
        shift = 0.0
        if 2 * (last + 1) > ranges:
            weights, shift = weights - whole, 1.0
        below.append(_ratio(held, weights, whole, variance, design, 0.0, 1.0, shift=shift))
    values = [one.value for one in below]
    if not all(map(math.isfinite, values)):
        return Quantile(share, math.nan, ends[0][0], ends[-1][1])
    reach = float(ndtri(0.5 + design.confidence / 2))
    upper = [one.value + reach * one.standard_error for one in below]
    lower = [one.value - reach * one.standard_error for one in below]
    first = next((place for place, end in enumerate(upper) if end >= share), ranges - 1)
    missing = [place for place, end in enumerate(lower) if end < share]
    last = missing[-1] + 1 if missing else 0
    rising = [0.0, *np.clip(_isotonic(np.array(values)), 0.0, 1.0).tolist(), 1.0]
    place = next(at for at in range(ranges) if rising[at + 1] >= share)
    part = (share - rising[place]) / max(rising[place + 1] - rising[place], 1e-12)
    start, stop = ends[place]
    low, high = float(ends[first][0]), float(ends[max(last, first)][1])
    value = min(max(start + (stop - start) * min(part, 1.0), low), high)
    return Quantile(share, value, low, high)


def _isotonic(values: Floats) -> Floats:
    """Return the nearest values that never fall: pool adjacent violators."""
    pools: list[list[float]] = []
    for value in values.tolist():
        pools.append([value, 1.0])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, size = pools.pop()
            total = pools[-1][1] + size
            pools[-1] = [(pools[-1][0] * pools[-1][1] + mean * size) / total, total]
    return np.repeat([mean for mean, _ in pools], [int(size) for _, size in pools])


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
