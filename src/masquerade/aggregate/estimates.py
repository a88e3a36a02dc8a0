"""Shares, means and quantiles from noisy sums, each with an interval.

The number of responses n is known exactly; every count has noise of a known variance v, the sum of
both parties' noise, independent from count to count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from masquerade.aggregate.score_intervals import Design, Quadratic, SumEstimate
from masquerade.answers.result import Result
from masquerade.exact.arrays import Flags, Floats, on_simplex


def share_estimates(
    counts: Sequence[float], *, variance: float, design: Design, among: ArrayLike | None = None
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
    noisy counts.

    Examples
    --------
    >>> share_estimates([300, 100], variance=40.0, design=Design(400))[0].noise_error
    0.0158113883008419
    """
    held, whole, base = _whole(counts, among, design)
    # of A - r B, with B the sum of all counts of the whole, A among them; or B = n, without noise
    noise = Quadratic(variance)
    if not whole.all():
        noise = Quadratic(variance, -2 * variance, variance * int(whole.sum()))
    return [
        design.ratio(
            float(held[place]),
            base,
            sampling=Quadratic(0.0, base, -base),
            noise=noise,
            low=0.0,
            high=1.0,
        )
        for place in np.flatnonzero(whole)
    ]


def top_probability(
    counts: Sequence[float],
    *,
    variance: float,
    design: Design,
    contenders: int | None = None,
    draws: int = 4000,
    seed: int = 20141,
) -> Floats:
    """Return how often each option would have the largest count, were the survey repeated.

    A parametric bootstrap: people are drawn again from the shares that were estimated, and noise
    is added again; ties count for both.

    Parameters
    ----------
    counts : sequence of int
        Noisy counts of the options of a question with exactly one answer.
    variance : float
        Of the noise of each count; in the draws it is normal.
    design : Design
        Where it has a population, people are drawn with its smaller sampling error.
    contenders : int, optional
        How many options, the first ones, can come first; the others are chosen too, as "no
        answer" is. By default all.
    draws, seed : int
        The seed is fixed, so that the same sums give the same numbers. A probability is within
        0.016 of what more draws would give, 19 times of 20.

    Returns
    -------
    float array of shape (contenders,)
        It sums to 1.

    Examples
    --------
    >>> top_probability([300, 100], variance=40.0, design=Design(400)).tolist()
    [1.0, 0.0]
    """
    rng = np.random.default_rng(seed)
    shares = on_simplex(np.asarray(counts, dtype=float) / design.count)
    # people[draw, option]: counts of a survey with the shares that were estimated
    people = rng.multinomial(design.count, shares / shares.sum(), draws).astype(float)
    # Of a finite population, only those who did not answer could have answered differently.
    expected = design.count * shares
    people = expected + (people - expected) * math.sqrt(design.sampling_factor)
    total = (people + rng.standard_normal(people.shape) * math.sqrt(variance))[:, :contenders]
    # best[draw, option]: all leaders of a draw share it
    best = total >= total.max(axis=1, keepdims=True)
    chance: Floats = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    return chance


def mean_estimate(
    counts: Sequence[float],
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

    Examples
    --------
    >>> from masquerade.aggregate import Design
    >>> found = mean_estimate([10, 30, 60], [1, 2, 3], variance=4.0, design=Design(count=100))
    >>> round(found.value, 2), found.low < found.value < found.high
    (2.5, True)
    """
    held, whole, base = _whole(counts, among, design)
    score = np.where(whole, np.asarray(scores, dtype=np.float64), 0.0)
    # Counts of all options add up to n but for the noise. Scores from the middle of the scale carry
    # the least of it.
    middle = float(score[whole].mean())
    moved = np.where(whole, score - middle, 0.0)
    noise = Quadratic(variance * float(moved @ moved))
    if not whole.all():
        noise = _squares(np.where(whole, variance, 0.0), score)
    return design.ratio(
        float(moved @ held) + middle * base,
        base,
        sampling=_squares(_possible(held * whole, whole, base), score),
        noise=noise,
        low=float(score[whole].min()),
        high=float(score[whole].max()),
    )


def bit_estimates(
    counts: Sequence[float],
    *,
    variance: float,
    design: Design,
    among: tuple[float, float] | None = None,
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
    base, noise = (float(design.count), 0.0) if among is None else among
    return [
        design.ratio(
            count,
            base,
            sampling=Quadratic(0.0, base, -base),
            noise=Quadratic(variance, 0.0, noise),
            low=0.0,
            high=1.0,
        )
        for count in counts
    ]


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

    Examples
    --------
    >>> Quantile(share=0.5, value=3.2, low=2.8, high=3.6).value
    3.2
    """

    share: float
    value: float
    low: float
    high: float


def quantile_estimate(
    counts: Sequence[float],
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
    ranges = len(ends)
    whole = np.arange(len(counts)) < ranges
    held, whole, base = _whole(counts, whole, design)
    if base <= 0:
        return Quantile(share, math.nan, ends[0][0], ends[-1][1])
    values, deviations = [], []
    for last in range(ranges - 1):
        weights = (np.arange(len(held)) <= last).astype(np.float64)
        shift = 0.0
        # From the end that has fewer noisy counts: the other one is what is left of 1.
        if 2 * (last + 1) > ranges:
            weights, shift = weights - whole, 1.0
        noisy = weights if whole.all() else weights + (shift - share) * whole
        values.append(shift + float(weights @ held) / base)
        # as it would be if just this share of people stayed at or below
        square = share * (1 - share) * design.sampling_factor * base
        square += variance * float(noisy @ noisy)
        deviations.append(design.reach * math.sqrt(square) / base)
    pairs = list(zip(values, deviations, strict=True))
    # The first end whose upper bound reaches the share, and the last whose lower bound does not.
    first = next((at for at, (v, d) in enumerate(pairs) if v + d >= share), ranges - 1)
    missing = [at for at, (v, d) in enumerate(pairs) if v - d < share]
    last = missing[-1] + 1 if missing else 0
    # Noise can make cumulative shares fall; made monotone they can be read backwards.
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
        # Pool adjacent violators: neighbours in the wrong order become their common mean.
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, size = pools.pop()
            total = pools[-1][1] + size
            pools[-1] = [(pools[-1][0] * pools[-1][1] + mean * size) / total, total]
    return np.repeat([mean for mean, _ in pools], [int(size) for _, size in pools])


def mean_of_sum(
    total: float, *, low: float, step: float, largest: int, variance: float, design: Design
) -> SumEstimate:
    """Return the mean of numbers ``low + step * k``, k from 0 to `largest`, from the sum of all k.

    A sum tells nothing of how people differ: the sampling error is the largest that people with
    this mean can have (Bhatia and Davis, 2000).

    Examples
    --------
    >>> from masquerade.aggregate import Design
    >>> found = mean_of_sum(250, low=1, step=1, largest=4, variance=4.0, design=Design(count=100))
    >>> found.value
    3.5
    """
    n, high = design.count, low + step * largest
    return design.ratio(
        step * total + low * n,
        n,
        # the largest variance between two ends with mean r is (r - low) (high - r)
        sampling=Quadratic(-n * low * high, n * (low + high), -float(n)),
        noise=Quadratic(step**2 * variance),
        low=low,
        high=high,
    )


def _whole(
    counts: Sequence[float], among: ArrayLike | None, design: Design
) -> tuple[Floats, Flags, float]:
    """Return counts, which of them are the whole, and its size: exact where it is everybody."""
    held = np.asarray(counts, dtype=np.float64)
    whole = np.ones(len(held), dtype=bool) if among is None else np.asarray(among, dtype=bool)
    return held, whole, float(design.count if whole.all() else held[whole].sum())


def _squares(counts: Floats, scores: Floats) -> Quadratic:
    """Return the sum of ``count * (score - r)**2`` by r."""
    return Quadratic(float(counts @ scores**2), -2 * float(counts @ scores), float(np.sum(counts)))


def _possible(counts: Floats, whole: Flags, total: float) -> Floats:
    """Return the nearest counts that could be: none below 0, and `total` in all.

    Noise on empty options is no spread of answers, which a mere cut at 0 would make of it.
    """
    if total <= 0:
        return np.zeros_like(counts)
    falling = np.sort(counts[whole])[::-1]
    # projection onto the simplex: all counts lose alike, until the rest add up
    excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    loss = excess[np.flatnonzero(falling > excess)[-1]]
    return np.where(whole, np.clip(counts - loss, 0.0, None), 0.0)
