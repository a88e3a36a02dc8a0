"""The margin of a survey's estimates, expected before anybody is asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.estimation.bounded_reports import BoundedReport
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import (
    Mechanism,
)
from masquerade.surveys import Question
from masquerade.surveys.survey import EB, ESTIMATORS
from masquerade.truth.estimator import check_proper_share
from masquerade.truth.level_weights import LevelValues, combine

MEAN, SHARE = "mean", "share"

_SPREAD = 0.25  # standard deviation of answers, in widths of the range


@dataclass(frozen=True, slots=True)
class ReportVariance(Result):
    """Variance of one report's part of an unbiased estimate.

    Attributes
    ----------
    people, masks : float
        By who answers and by the mask, in squared widths of the question's range.
    width : float
        Of the range; 1 for the share of an option.
    kind : str
        ``"mean"`` of ratings and numbers, ``"share"`` of an option.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> from masquerade.surveys import Choice
    >>> from masquerade.truth import report_variance
    >>> question = Choice("ill", "Have you worked while ill?", ("Yes", "No"))
    >>> report_variance(question, RandomizedResponse(2, epsilon=1)).people
    0.25
    """

    people: float
    masks: float
    width: float
    kind: str


def report_variance(question: Question, mechanism: Mechanism, *, people: int = 1) -> ReportVariance:
    """Return the variance of one report, for answers as they may be.

    Of a mean: answers around the middle with a standard deviation of a quarter of the range. Of an
    option's share: half the people hold it, which is the worst case without a mask.

    Parameters
    ----------
    question : Question
    mechanism : Mechanism
        Of categories, of sets of them or on a lattice.
    people : int
        Whose reports there will be. The more, the less it costs that no single noisy report may
        count much (`BoundedReport`).

    Raises
    ------
    ParameterError
        Reports of the mechanism say nothing.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> from masquerade.surveys import Choice
    >>> question = Choice("ill", "Have you worked while ill?", ("Yes", "No"))
    >>> round(report_variance(question, RandomizedResponse(2, epsilon=1)).masks, 3)
    0.921
    """
    if (numbers := mechanism.as_numbers) is not None:
        width = float(numbers.lattice.high - numbers.lattice.low)
        masks = numbers.variance()
        if (gaussian := mechanism.as_gaussian) is not None:
            masks = BoundedReport.of(gaussian, people).variance
        return ReportVariance(_SPREAD**2, masks / width**2, width, MEAN)
    response = mechanism.option_response
    if response is None:
        raise ParameterError(f"{mechanism} reports neither a category nor a number.")
    other, signal = float(response.other_probability), float(response.signal)
    if signal <= 0:
        raise ParameterError(f"reports of {mechanism} say nothing; no number is enough.")
    if question.lattice is None:
        # Of an option that half of the people have: the widest interval.
        reported = other + signal / 2
        # the variance of an unbiased report, r (1 - r) / D**2, less that of the people
        return ReportVariance(0.25, reported * (1 - reported) / signal**2 - 0.25, 1.0, SHARE)
    points = question.answer_count
    value = (np.arange(points) / (points - 1)) - 0.5
    held = np.zeros(response.symbols)
    held[:points] = _around_the_middle(value)
    # "No answer" counts as the middle: a mean over who answered is a ratio of nearly this error.
    value = np.append(value, np.zeros(response.symbols - points))
    # The value of each report that makes the mean unbiased: the inverse channel.
    sent = (value - other * value.sum()) / signal
    # held[answer]: normal around the middle of the range; reported_share[symbol], after the mask
    reported_share = other + signal * held
    total = float(reported_share @ sent**2 - (reported_share @ sent) ** 2)
    # Variance of a report = that of the people + that of the mask.
    differ = float(held @ value**2 - (held @ value) ** 2)
    width = (points - 1) * float(getattr(question, "step", 1))
    return ReportVariance(differ, max(total - differ, 0.0), width, MEAN)


def _around_the_middle(value: Floats) -> Floats:
    half = 0.5 / (len(value) - 1)
    held = ndtr((value + half) / _SPREAD) - ndtr((value - half) / _SPREAD)
    return np.asarray(held / held.sum())


def expected_margin(
    question: Question,
    mechanisms: Mapping[str, Mechanism],
    people: Mapping[str, int],
    *,
    confidence: float = 0.95,
    estimator: str = EB,
) -> float:
    """Return half the width of the interval that a question's estimate will have.

    It is what `masquerade.truth.level_weights.combine` gives for levels that turn out alike, with
    the variances of `report_variance`; NaN where nobody is asked.

    Parameters
    ----------
    question : Question
    mechanisms : mapping of str to Mechanism
        That of the question at each level.
    people : mapping of str to int
        How many answer at each level.
    confidence : float
        0 to 1, both excluded.
    estimator : str
        ``"eb"``, ``"respondent"`` or ``"ivw"``.

    Returns
    -------
    float
        In the question's own unit: points of a rating, the unit of a number, or a share of people
        (0.05 is five points of a percentage).

    Raises
    ------
    ParameterError
        A parameter is out of range.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> from masquerade.surveys import Choice
    >>> question = Choice("ill", "Have you worked while ill?", ("Yes", "No"))
    >>> masks = {"high": RandomizedResponse(2, epsilon=1)}
    >>> round(expected_margin(question, masks, {"high": 400}), 3)
    0.106
    """
    check_proper_share(confidence=confidence)
    if estimator not in ESTIMATORS:
        raise ParameterError(f"estimator is {estimator!r}, expected one of {ESTIMATORS}.")
    positive = {name: count for name, count in people.items() if count > 0}
    if not positive:
        return math.nan
    unknown = [name for name in positive if name not in mechanisms]
    if unknown:
        raise ParameterError(
            f"people are asked at level {unknown[0]!r}, which has no mechanism; there are "
            f"{', '.join(mechanisms)}."
        )
    single = [
        report_variance(question, mechanisms[name], people=count)
        for name, count in positive.items()
    ]
    n = np.array(list(positive.values()), dtype=np.float64)
    levels = LevelValues(
        n,
        # Levels that turn out alike: `eb` then allows for its least difference only.
        np.zeros((n.size, 1)),
        np.array([[one.people] for one in single]) / n[:, None],
        np.array([[one.masks] for one in single]) / n[:, None],
    )
    combination = combine(levels)[estimator]
    variance = float(combination.sampling[0] + combination.mechanism[0] + combination.level[0])
    return float(ndtri(0.5 + confidence / 2)) * math.sqrt(variance) * single[0].width
