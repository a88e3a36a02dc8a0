"""How many people hold each answer, from masked reports: unbiased shares with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from masquerade.errors import EmptyTable, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism
from masquerade.truth.estimate import Estimate, shown_shares
from masquerade.truth.response_channel import ResponseChannel


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
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
    """

    n: int
    reported: Floats
    estimates: tuple[Estimate, ...]
    confidence: float
    _channel: ResponseChannel
    _options: int

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
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence is {confidence}, expected between 0 and 1.")
    n = int(counted.sum())
    if n == 0:
        raise EmptyTable("there are no reports; shares need at least one.")
    channel = ResponseChannel.of(mechanism)
    other, signal = channel.other, channel.signal
    reported = counted / n
    quantile = float(ndtri(0.5 + confidence / 2))
    estimates = []
    for share in reported:
        value = (share - other) / signal
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
