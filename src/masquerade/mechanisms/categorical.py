"""Mechanisms whose answers and reports are categories."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from masquerade.answers import Claims
from masquerade.errors import ParameterError, UnknownLabel
from masquerade.exact.arrays import Codes
from masquerade.exact.coins import WordSource
from masquerade.mechanisms.channel import Channel, FlipMixture
from masquerade.mechanisms.mechanism import Mechanism


class CategoricalMechanism(Mechanism):
    """A local randomizer of categories.

    It masks codes 0, ..., options - 1, and also the code ``options`` ("no answer") where `null` is
    true.
    """

    kind: ClassVar[Literal["categorical", "numeric"]] = "categorical"

    #: Number of options, at least 2; "no answer" not counted.
    options: int

    @property
    def symbols(self) -> int:
        """Number of different reports."""
        return self.options + self.null

    @property
    def mean_flip_probability(self) -> Fraction:
        """P(report differs from the answer) of one report, as it is drawn."""
        return 1 - self.channel().table[0][0]

    @property
    def keep_probability(self) -> Fraction:
        """P(report is the answer) of one report, as it is drawn."""
        return 1 - self.mean_flip_probability

    @property
    def other_probability(self) -> Fraction:
        """P(report is a certain other symbol) of one report, as it is drawn."""
        return self.mean_flip_probability / (self.symbols - 1)

    @property
    def signal(self) -> Fraction:
        """Share of a difference between answers that is left in reports.

        `keep_probability` less `other_probability`: 1 where reports are answers, 0 where they say
        nothing, below 0 where they deny.
        """
        return self.keep_probability - self.other_probability

    @abstractmethod
    def channel(self) -> Channel:
        """Return P(report | answer) of one report, in exact fractions."""

    @abstractmethod
    def flip_mixture(self, nodes: int = 24) -> FlipMixture:
        """Return the distribution of a person's flip probability, as inference integrates it."""

    @abstractmethod
    def device_form(self) -> dict[str, str | int]:
        """Return the whole-number form that a device draws from, as JSON-ready values.

        ``first`` to ``last`` (both included) is the range of which a person draws one number once,
        for all answers masked together; each other symbol is then reported with probability that
        number / ``total``. The three are texts, for they exceed 2**53.
        """

    @abstractmethod
    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return a report for each answer.

        Parameters
        ----------
        answers : int32 array, shape (n,)
            Codes below `symbols`.
        persons : int32 array, shape (n,)
            Who gives each answer; codes from 0.
        source : WordSource
            Where randomness comes from. What is drawn never depends on the answers.
        """

    def check(self, claims: Claims) -> None:
        """Raise where the claims are not of this mechanism's domain."""
        if claims.options is None:
            raise ParameterError(
                f"{self} masks categories, the claims are numbers; read them with "
                "kind='categorical' (--kind categorical on the command line)."
            )
        if claims.n_options != self.options:
            raise ParameterError(
                f"{self} is for {self.options} options, the claims have {claims.n_options} "
                f"({claims.options.to_pylist()[:10]}); declare all options when reading the "
                "claims (--options on the command line), or change options= of the mechanism."
            )
        if claims.null and not self.null and bool((claims.value == claims.n_options).any()):
            row = int(np.flatnonzero(claims.value == claims.n_options)[0]) + 1
            raise UnknownLabel(
                f"row {row}: no answer was given and {self} cannot mask that; "
                "use null=true, or remove such rows."
            )

    def variance(self) -> float:
        """Return what the mask adds to the variance of the one-hot estimate of an answer.

        The estimate of the indicator of symbol c from report y is ``(1[y = c] - q) / (1 - s q)``, q
        the probability of each other symbol and s the number of symbols. It is unbiased; the noise
        variances of its s coordinates add to this amount, the same for every answer. Infinite
        where reports are independent of answers.
        """
        flip, signal = self.mean_flip_probability, self.signal
        if signal == 0:
            return float("inf")
        # q = flip / (s - 1): the sum over symbols of P(report) (1 - P(report)) is 2 flip - flip**2
        # s / (s - 1), whatever the answer; the estimate divides by the signal 1 - s q.
        return float((2 * flip - flip**2 * self.symbols / (self.symbols - 1)) / signal**2)

    def _masked(self, claims: Claims, source: WordSource) -> Claims:
        self.check(claims)
        return claims.with_values(
            self.mask(claims.value, claims.worker, source), null=claims.null or self.null
        )
