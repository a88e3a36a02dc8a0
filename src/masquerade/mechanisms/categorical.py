"""Mechanisms of categories, and their channels."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from masquerade.errors import ParameterError, UnknownLabel
from masquerade.exact.arrays import Codes, Floats
from masquerade.exact.coins import WordSource
from masquerade.exact.micro import Micro
from masquerade.mechanisms.device_mechanism import DeviceMechanism, Labels

if TYPE_CHECKING:
    from masquerade.answers import Claims

_MOST_ENTRIES = 1 << 22


@dataclass(frozen=True, slots=True)
class Channel:
    """P(report | answer) for every answer and report, in exact fractions.

    Attributes
    ----------
    table : tuple of tuples of Fraction
        ``table[answer][report]``; each row sums to 1.

    Examples
    --------
    >>> Channel.symmetric(symbols=2, flip_probability=Fraction(1, 4)).epsilon()
    Micro(micro=1098613)
    """

    table: tuple[tuple[Fraction, ...], ...]

    @classmethod
    def symmetric(cls, *, symbols: int, flip_probability: Fraction) -> Channel:
        """Return the channel that keeps an answer or moves it evenly to another symbol.

        Raises
        ------
        ParameterError
            The table would have more than 2**22 entries.
        """
        require_small(symbols, symbols)
        keep, other = 1 - flip_probability, flip_probability / (symbols - 1)
        return cls(
            tuple(
                tuple(keep if report == answer else other for report in range(symbols))
                for answer in range(symbols)
            )
        )

    def matrix(self) -> Floats:
        """Return the table as floats, shape (answers, reports), for inference."""
        return np.array([[float(p) for p in row] for row in self.table])

    def worst_ratio(self) -> Fraction | float:
        """Return the largest P(report | answer) / P(report | other answer)."""
        worst = Fraction(1)
        # One report y tells a from b by P(y | a) / P(y | b): the worst pair of each column.
        for column in zip(*self.table, strict=True):
            high, low = max(column), min(column)
            if low == 0 and high > 0:
                return math.inf
            if low > 0:
                worst = max(worst, high / low)
        return worst

    def epsilon(self) -> Micro:
        """Return the exact pure epsilon of one report, found by looking at the whole table."""
        return Micro.of_ratio(self.worst_ratio())


@dataclass(frozen=True, slots=True, eq=False)
class FlipMixture:
    """A person's flip probability as a discrete mixture, for inference.

    Attributes
    ----------
    flip_probability : float array, shape (n_nodes,)
    weight : float array, shape (n_nodes,)
        Sums to 1.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> mixture = RandomizedResponse(2, flip_probability="0.25").flip_mixture()
    >>> mixture.flip_probability.tolist(), mixture.weight.tolist()
    ([0.25], [1.0])
    """

    flip_probability: Floats
    weight: Floats


def require_small(answers: int, reports: int) -> None:
    """Raise `ParameterError` where a table of so many answers and reports would be too large."""
    if answers * reports > _MOST_ENTRIES:
        raise ParameterError(
            f"a table of {answers} answers and {reports} reports has more than 2**22 entries; work "
            "with the few probabilities that matter."
        )


class CategoricalMechanism(DeviceMechanism):
    """A local randomizer of categories.

    It masks codes 0, ..., options - 1, and also the code ``options`` ("no answer") where `null` is
    true.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> mechanism = RandomizedResponse(2, flip_probability="0.25")
    >>> isinstance(mechanism, CategoricalMechanism), mechanism.symbols
    (True, 2)
    >>> mechanism.channel().matrix().tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """

    kind: ClassVar[Literal["categorical", "numeric"]] = "categorical"

    in_surveys = True
    code_type = np.int32

    #: Number of options, at least 2; "no answer" not counted.
    options: int

    @property
    def as_categorical(self) -> CategoricalMechanism:
        """The mechanism itself."""
        return self

    @property
    def symbols(self) -> int:
        """Number of different reports."""
        return self.options + self.null

    @property
    def domain(self) -> Labels:
        """The labels that it masks."""
        return Labels(self.symbols)

    @property
    def codes(self) -> int:
        """Number of different answers, "no answer" counted where it is masked."""
        return self.symbols

    def possible_reports(self) -> tuple[int, int]:
        """Return the first and the last code."""
        return 0, self.symbols - 1

    @property
    def option_response(self) -> CategoricalMechanism:
        """The mechanism itself: each label is a share."""
        return self

    @property
    def label_response(self) -> CategoricalMechanism:
        """The mechanism itself."""
        return self

    @property
    def separate_response(self) -> CategoricalMechanism | None:
        """The mechanism itself: it masks each label by itself."""
        return self

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
        """Return the variance that the mask adds to the one-hot estimate of an answer.

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
