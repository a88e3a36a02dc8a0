"""What the reports of one level say: unbiased values, and what a mask adds to their variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism


@dataclass(frozen=True, slots=True)
class ResponseChannel:
    """A mask that reports each other symbol equally often.

    Attributes
    ----------
    other : float
        P(a symbol is reported that is not the answer), of each such symbol.
    signal : float
        P(the answer is reported) less `other`.
    symbols : int
    """

    other: float
    signal: float
    symbols: int

    @classmethod
    def of(cls, mechanism: CategoricalMechanism) -> ResponseChannel:
        """Return the channel of one report.

        Raises
        ------
        ParameterError
            Reports say nothing about the answers.
        """
        other, signal = float(mechanism.other_probability), float(mechanism.signal)
        if abs(signal) < 1e-12:
            raise ParameterError(
                f"{mechanism} reports independently of the answers (epsilon 0); nothing can be "
                "learnt."
            )
        return cls(other, signal, mechanism.symbols)

    def shares(self, counts: Floats) -> Floats:
        """Return unbiased shares of answers from counts of reports; may be below 0."""
        share: Floats = (counts / counts.sum() - self.other) / self.signal
        return share

    def reported(self, held: Floats) -> Floats:
        """Return the probability of each report where answers have the shares `held`."""
        share: Floats = self.other + self.signal * held
        return share

    def values(self, scores: Floats) -> Floats:
        """Return for each report an unbiased value of the score of the answer."""
        value: Floats = (scores - self.other * scores.sum()) / self.signal
        return value

    def mask_variance(self, scores: Floats, held: Floats) -> float:
        """Return what the mask adds to the variance of one person's value; `held` sums to 1."""
        value = self.values(scores)
        given = self.other + self.signal * np.eye(self.symbols)  # P(report | answer), by rows
        mean = given @ value
        return float(held @ (given @ value**2 - mean**2))

    def share_variance(self, held: Floats) -> Floats:
        """Return what the mask adds to the variance of one person's part of each share."""
        keep = self.other + self.signal
        variance: Floats = (
            held * keep * (1 - keep) + (1 - held) * self.other * (1 - self.other)
        ) / self.signal**2
        return variance


def on_simplex(shares: Floats) -> Floats:
    """Return the nearest shares that are at least 0 and sum to 1.

    Examples
    --------
    >>> on_simplex(np.array([1.1, 0.1, -0.2])).tolist()
    [1.0, 0.0, 0.0]
    """
    descending = np.sort(shares)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(shares) + 1)
    cut = excess[np.flatnonzero(descending > excess)[-1]]
    held: Floats = np.maximum(shares - cut, 0.0)
    return held
