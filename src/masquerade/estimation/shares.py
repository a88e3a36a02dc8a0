"""Shares of people behind each answer to one question, from counts of masked reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation.conditional import ratios
from masquerade.estimation.estimate import Estimate, share_table, shown_shares
from masquerade.estimation.figures import CONFIDENCE, Crowd, check_confidence
from masquerade.estimation.reports import Counts, counts_by_label
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism


@dataclass(frozen=True, slots=True, eq=False)
class Shares(Result):
    """Estimated shares of the answers to one question.

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
    >>> estimate_shares([60, 40], RandomizedResponse(2, epsilon=1)).n
    100
    """

    drawing: ClassVar[str] = "shares"

    n: int
    reported: Floats
    estimates: tuple[Estimate, ...]
    confidence: float
    _counts: Counts
    _options: int

    def to_arrow(self) -> pa.Table:
        """Return a row for each option: its code, its estimated share and its reported share."""
        return share_table(self.estimates, self.reported)

    def mean(self, scores: Sequence[float]) -> Estimate:
        """Return the mean of `scores` over the people, one score for each option.

        People who chose "no answer" are left out of a mean over a mechanism with that symbol.
        """
        if len(scores) != self._options or not np.isfinite(scores).all():
            raise ParameterError(
                f"scores are {list(scores)} for {self._options} options; give one finite number an "
                "option."
            )
        crowd = Crowd.of([self._counts])
        symbols, low, high = len(self.reported), float(min(scores)), float(max(scores))
        if low == high:
            return Estimate(low, 0.0, 0.0, 0.0, low, high, low)
        if symbols == self._options:
            return crowd.mean(list(scores)).estimates(self.confidence)[0]
        answered = (np.arange(symbols) < self._options).astype(np.float64)
        score = np.zeros(symbols)
        score[: self._options] = scores
        found = ratios(crowd, [score], answered, low=low, high=high)
        if not np.isfinite(found.value[0]):
            return Estimate.unknown(low, high)
        return found.estimates(self.confidence)[0]


def estimate_shares(
    counts: ArrayLike | Mapping[Any, int],
    mechanism: CategoricalMechanism,
    *,
    options: Sequence[Any] | None = None,
    confidence: float = CONFIDENCE,
) -> Shares:
    """Estimate the share of people behind each answer from counts of masked reports.

    Parameters
    ----------
    counts : sequence of int, shape (n_symbols,), or mapping of label to int
        How many people sent each report; "no answer" last where the mechanism has it. Counts with
        labels (a mapping, a Counter, a pandas Series as `value_counts` gives it) are read by their
        labels, whatever their order; a label that is missing counts 0.
    mechanism : CategoricalMechanism
        With a symmetric channel; one report a person, so a two-layer mechanism acts as its
        marginal channel here.
    options : sequence, optional
        Label of each symbol; by default labels are the codes 0, 1, 2 and so on.
    confidence : float
        Of each interval, between 0 and 1.

    Returns
    -------
    Shares
        The estimate ``(reported - q) / (1 - symbols q)``, q the probability of each other symbol,
        is unbiased. Its interval is that of the likelihood of the reports, with half a person at
        the far end; it contains both the sampling of people and the masks. At 95 % it holds in at
        least 93 of 100 surveys at any share, from 20 reports on, in clear and at any mask.

    Raises
    ------
    EmptyTable
        No reports.
    ParameterError
        The counts do not fit the mechanism, or its reports say nothing about the answers.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> mask = RandomizedResponse(2, flip_probability=0.25)
    >>> shares = estimate_shares([60, 40], mask)
    >>> round(shares.estimates[0].value, 3), round(shares.estimates[0].low, 3)
    (0.7, 0.499)
    >>> labelled = estimate_shares({"no": 40, "yes": 60}, mask, options=("yes", "no"))
    >>> round(labelled.estimates[0].value, 3)
    0.7
    """
    counted = counts_by_label(counts, mechanism, options)
    if (
        counted.shape != (mechanism.symbols,)
        or not np.issubdtype(counted.dtype, np.integer)
        or (counted < 0).any()
    ):
        raise ParameterError(
            f"counts are {counted.tolist()}, expected {mechanism.symbols} whole numbers of at "
            "least 0."
        )
    check_confidence(confidence)
    if abs(float(mechanism.signal)) < 1e-12:
        raise ParameterError(
            f"{mechanism} reports independently of the answers (epsilon 0); nothing can be learnt."
        )
    n = int(counted.sum())
    if n == 0:
        raise EmptyTable("there are no reports; shares need at least one.")
    reports = Counts.of(counted, mechanism)
    estimates = Crowd.of([reports]).shares().estimates(confidence)
    return Shares(n, counted / n, shown_shares(estimates), confidence, reports, mechanism.options)
