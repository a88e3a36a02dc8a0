"""Shares of people who hold each answer, from masked reports: unbiased, or likeliest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation.estimate import Estimate, share_table, shown_shares
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism
from masquerade.truth.channel_view import SymbolChannel
from masquerade.truth.estimator import check_proper_share

_MOST_STEPS = 60  # of Newton's iteration


@dataclass(frozen=True, slots=True, eq=False)
class Shares(Result):
    """Estimated shares of people who hold each answer to one question.

    Attributes
    ----------
    n : int
        Number of reports.
    reported : float array, shape (n_symbols,)
        Raw share of each report: what one would publish without knowing the mask.
    estimates : tuple of Estimate, length n_symbols
        One for each option (and "no answer", last, where the mechanism has it).
    confidence : float
        Of each interval.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> from masquerade.truth import estimate_shares
    >>> estimate_shares([60, 40], RandomizedResponse(2, epsilon=1)).n
    100
    """

    drawing: ClassVar[str] = "shares"

    n: int
    reported: Floats
    estimates: tuple[Estimate, ...]
    confidence: float
    _channel: SymbolChannel
    _options: int

    def to_arrow(self) -> pa.Table:
        """Return a row for each option: its code, its estimated share and what was reported."""
        return share_table(self.estimates, self.reported)

    def mean(self, scores: Sequence[float]) -> Estimate:
        """Return the mean of `scores` over the people, one score for each option.

        People who chose "no answer" are left out of a mean over a mechanism with that symbol
        (a ratio of two estimates; its error is by the delta method).
        """
        if len(scores) != self._options or not np.isfinite(scores).all():
            raise ParameterError(
                f"scores are {list(scores)} for {self._options} options; give one finite number an "
                "option."
            )
        symbols = len(self.reported)
        score = np.zeros(symbols)
        score[: self._options] = scores
        held = np.array([e.value for e in self.estimates])
        answered = (np.arange(symbols) < self._options).astype(np.float64)
        base = float(held @ answered)
        low, high = min(scores), max(scores)
        if base <= 0:
            return Estimate.unknown(low, high)
        value = float(held @ score) / base
        # A report y counts contribution[y] to the mean; its expectation given the answer x is
        # deviation[x], so the variance splits into what people differ by and what masks add.
        deviation = (score - value * answered) / base
        contribution = self._channel.values(deviation)
        total = self._variance(contribution, self.reported)
        sampling = min(self._variance(deviation, np.clip(held, 0, None)), total)
        return _estimate(value, total, sampling, low, high, self.confidence)

    def _variance(self, values: Floats, weights: Floats) -> float:
        weights = weights / weights.sum()
        centred = values - float(weights @ values)
        return float(weights @ centred**2) / self.n


def estimate_shares(
    counts: Sequence[int], mechanism: CategoricalMechanism, *, confidence: float = 0.95
) -> Shares:
    """Estimate the share of people behind each answer from counts of masked reports.

    Parameters
    ----------
    counts : sequence of int, shape (n_symbols,)
        How many people sent each report; "no answer" last where the mechanism has it.
    mechanism : CategoricalMechanism
        With a symmetric channel; one report a person, so a two-layer mechanism acts as its
        marginal channel here.
    confidence : float
        Of each interval, between 0 and 1.

    Returns
    -------
    Shares
        The estimate ``(reported - q) / (1 - symbols q)``, q the probability of each other symbol,
        is unbiased. Its interval is Wilson's for the reported share, moved through the channel; it
        contains both the sampling of people and the masks. At 95 % it covers 95 % of the time on
        average over shares; with up to ten options at any privacy level, 93 % at the worst share
        from 50 reports on, and 92.5 % with 20.

    Raises
    ------
    EmptyTable
        No reports.
    ParameterError
        The counts do not fit the mechanism, or its reports say nothing about the answers.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> shares = estimate_shares([60, 40], RandomizedResponse(2, flip_probability=0.25))
    >>> round(shares.estimates[0].value, 3), round(shares.estimates[0].low, 3)
    (0.7, 0.504)
    """
    counted = np.asarray(counts)
    if (
        counted.shape != (mechanism.symbols,)
        or not np.issubdtype(counted.dtype, np.integer)
        or (counted < 0).any()
    ):
        raise ParameterError(
            f"counts are {list(counts)}, expected {mechanism.symbols} whole numbers of at least 0."
        )
    check_proper_share(confidence=confidence)
    n = int(counted.sum())
    if n == 0:
        raise EmptyTable("there are no reports; shares need at least one.")
    channel = SymbolChannel.of(mechanism)
    other, signal = channel.other, channel.signal
    reported = counted / n
    quantile = float(ndtri(0.5 + confidence / 2))
    estimates = []
    for share in reported:
        value = (share - other) / signal
        # Of one report: r (1 - r); the channel's inverse stretches it by 1 / signal.
        total = share * (1 - share) / n / signal**2
        held = min(max(value, 0.0), 1.0)
        sampling = min(held * (1 - held) / n, total)
        ends = sorted((end - other) / signal for end in _wilson(float(share), n, quantile))
        estimates.append(
            Estimate.bounded(
                float(value),
                below=float(value) - ends[0],
                above=ends[1] - float(value),
                sampling=sampling,
                mechanism=total - sampling,
                low=0.0,
                high=1.0,
            )
        )
    return Shares(n, reported, shown_shares(estimates), confidence, channel, mechanism.options)


def _estimate(
    value: float, total: float, sampling: float, low: float, high: float, confidence: float
) -> Estimate:
    reach = float(ndtri(0.5 + confidence / 2)) * math.sqrt(total)
    return Estimate.bounded(
        value,
        below=reach,
        above=reach,
        sampling=sampling,
        mechanism=total - sampling,
        low=low,
        high=high,
    )


def _wilson(share: float, n: int, quantile: float) -> tuple[float, float]:
    """Return the score interval of a share (Wilson 1927)."""
    z2 = quantile**2 / n
    centre = (share + z2 / 2) / (1 + z2)
    reach = math.sqrt(z2 * share * (1 - share) + z2**2 / 4) / (1 + z2)
    # The share lies within; rounding must not move an end past it.
    return max(min(centre - reach, share), 0.0), min(max(centre + reach, share), 1.0)


def likeliest_shares(groups: Sequence[tuple[Sequence[int], CategoricalMechanism]]) -> Floats:
    """Return the maximum-likelihood shares of answers, from reports at several levels.

    They lie within 0 and 1 and sum to 1, and every report counts as much as its mask lets through.
    That is best if levels do not differ, and biased if they do; shares near 0 are biased upwards.

    Parameters
    ----------
    groups : sequence of (counts, CategoricalMechanism)
        For each level how many people sent each report, and the mask; all of one question.

    Returns
    -------
    float array, shape (n_symbols,)

    Raises
    ------
    EmptyTable
        No reports.

    Notes
    -----
    The logarithm of the likelihood, ``sum over levels and symbols of count ln(q + D share)``, is
    concave and a sum over symbols but for the constraint. So a symbol's share follows from the
    constraint's multiplier by a monotone Newton iteration, and the multiplier is found by
    bracketing: the same shares as by expectation and maximisation, which takes thousands of
    iterations where masks are strong.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> mask = RandomizedResponse(2, flip_probability=0.25)
    >>> likeliest_shares([([60, 40], mask), ([100, 0], mask)]).round(6).tolist()
    [1.0, 0.0]
    """
    levels = [(np.asarray(counts, float), SymbolChannel.of(m)) for counts, m in groups]
    levels = [(counts, channel) for counts, channel in levels if counts.sum() > 0]
    if not levels:
        raise EmptyTable("there are no reports; shares need at least one.")
    count = np.stack([counts for counts, _ in levels])  # [level, symbol]
    other = np.array([channel.other for _, channel in levels])[:, None]
    signal = np.array([channel.signal for _, channel in levels])[:, None]
    n = float(count.sum())

    def shares_at(multiplier: float) -> Floats:
        # From the left: each level alone would put the share no lower, and the slope is convex.
        start = count / multiplier - other / signal
        held: Floats = np.maximum(start.max(axis=0), 0.0)
        for _ in range(_MOST_STEPS):
            reported = other + signal * held
            part = np.divide(signal, reported, out=np.zeros_like(count), where=count > 0)
            slope = (count * part).sum(axis=0) - multiplier
            curve = (count * part**2).sum(axis=0)
            step = np.divide(slope, curve, out=np.zeros_like(held), where=curve > 0)
            step = np.maximum(step, 0.0)  # below 0 only where the share is 0, or by rounding
            held = held + step
            if step.max() <= 1e-15:
                break
        return held

    # The multiplier is at most n, and n without masks; shares fall as it grows.
    low = n
    while shares_at(low).sum() < 1:
        low /= 2
    multiplier = low
    if low < n:
        from scipy.optimize import brentq  # dear to load, and only masks need it

        multiplier = float(
            brentq(lambda m: float(shares_at(m).sum()) - 1, low, 2 * low, xtol=1e-12 * n)
        )
    held = shares_at(multiplier)
    total: Floats = held / held.sum()
    return total
