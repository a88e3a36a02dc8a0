"""The moment decoder: unbiased counts of the answers behind the reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Floats
from masquerade.exact.number import quantity
from masquerade.mechanisms import Mechanism
from masquerade.truth.diagnostics import Remark, prior_only
from masquerade.truth.estimator import check_not_negative
from masquerade.truth.numeric.estimator import (
    AfterRound,
    NumericEstimator,
    NumericSolution,
    ValueIntervals,
    median_of,
    no_round,
)
from masquerade.truth.numeric.reports_table import ReportTable, option_values
from masquerade.truth.report_mechanisms import Masks


@dataclass(eq=False, kw_only=True)
class Moments(NumericEstimator):
    """Undo the mask on counts: the mean of the answers behind each task's reports.

    Of N(y) reports of symbol y among m on a task, ``c(y) = (N(y) - m q) / (p - q)`` is an unbiased
    estimate of how many answered y; the value is ``sum y c(y) / sum c(y)``. Nothing is assumed
    about workers or answers, so nothing is borrowed from other tasks, and with few reports a task
    is told apart from noise only at large epsilon. Needs a mechanism whose reports are levels:
    randomized response on numeric options, or quantised response.

    Parameters
    ----------
    least : float
        A task gets a value only where the estimated number of answers is above this many of its
        standard deviations.
    levels : tuple of float, optional
        See `ChannelEM`.
    confidence : float
        See `NumericEstimator`.

    Notes
    -----
    Values are kept within the range of levels; the interval is that of a ratio of means (delta
    method), the mask's noise and the spread of answers both in it. Tasks without a value are
    counted by the remark ``INSUFFICIENT``.

    Examples
    --------
    >>> from masquerade.mechanisms import QuantisedResponse
    >>> mechanism = QuantisedResponse(1, 5, epsilon=8, levels=5, null=True)
    >>> table = {"task": ["a"] * 5, "worker": list("vwxyz"), "value": [4.0, 4.0, None, 5.0, 4.0]}
    >>> Moments().fit(table, mechanism=mechanism).values_.round(2).tolist()
    [4.25]
    """

    name: ClassVar[str] = "moments"
    ordinal: ClassVar[bool] = True

    least: float = 2.0
    levels: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(least=self.least)

    def constant(self, claims: Claims) -> float:
        """Return the median of all reports that are levels."""
        value = claims.answered().value
        if claims.options is not None:
            value = option_values(claims.options, self.levels)[value]
        return median_of(value)

    def solve(
        self, claims: Claims, mechanism: Masks, after_round: AfterRound = no_round
    ) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        tables = ReportTable.of_each(claims, mechanism, self.levels)
        parts = [_Counted.of(table, mask) for table, mask in tables]
        # Reports of which all answers are reported alike tell nothing.
        parts = [part for part in parts if part.gain]
        if not parts:
            nothing = np.full(claims.n_tasks, np.nan)
            remark = prior_only("no task has an estimate", "reports are independent of answers")
            return NumericSolution(
                ValueIntervals(nothing, nothing, nothing, nothing), remarks=(remark,)
            )
        levels = parts[0].levels
        if any(not np.array_equal(levels, part.levels) for part in parts):
            raise ParameterError(
                "the mechanisms have different levels of answers; give mechanisms of the same."
            )
        task = np.concatenate([part.task for part in parts])
        # The noise of a report is about 1 / gain: a report counts by its precision.
        weight = np.concatenate([np.full(len(part.task), part.gain**2) for part in parts])
        weight /= weight.sum() / len(weight)
        number = weight * np.concatenate([part.number for part in parts])
        amount = weight * np.concatenate([part.amount for part in parts])

        def total_of(figure: NDArray[Any]) -> Floats:
            return np.bincount(task, figure, claims.n_tasks).astype(np.float64)

        reports = total_of(np.ones(len(task)))
        answers, sums = total_of(number), total_of(amount)
        with np.errstate(divide="ignore", invalid="ignore"):
            # delta method: the variance of a ratio is that of y c(y) - ratio c(y)
            spread = total_of(number**2) - answers**2 / reports
            # Half an answer is the least that a ratio is taken of.
            enough = answers > np.maximum(self.least * np.sqrt(np.maximum(spread, 0)), 0.5)
            ratio = np.where(enough, sums / answers, np.nan)
            off = amount - np.where(enough, ratio, 0)[task] * number
            few = np.maximum(reports - 1, 1)
            # m / (m - 1): the ratio itself was estimated from these reports
            error = np.sqrt(total_of(off**2) * reports / few) / np.where(enough, answers, np.nan)
        middle, ends = levels.mean(), levels[[0, -1]]
        reach = float(ndtri((1 + self.confidence) / 2)) * error
        value = middle + ratio
        intervals = ValueIntervals(
            np.clip(value, *ends),
            error,
            np.clip(value - reach, *ends),
            np.clip(value + reach, *ends),
        )
        missing = int(np.isnan(value).sum())
        text = (
            f"{quantity(missing, 'task has', 'tasks have')} too few answers behind the noise for a "
            "value"
        )
        return NumericSolution(
            intervals, remarks=(Remark("INSUFFICIENT", text),) if missing else ()
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """Reports that went through one mechanism, as unbiased parts of a task's counts of answers."""

    task: Codes
    levels: Floats
    gain: float  # p - q of the channel; 0 where reports tell nothing
    # number, amount: float array, shape (n_reports,). One report's parts of sum c and of sum y c,
    # levels counted from their mean.
    number: Floats
    amount: Floats

    @classmethod
    def of(cls, table: ReportTable, mechanism: Mechanism | None) -> _Counted:
        """Return the parts of each report, of a mechanism with levels for reports."""
        size = len(table.levels)
        if not table.every_answer and mechanism is not None and table.given.shape[1] > size + 1:
            raise ParameterError(
                f"{mechanism} adds noise, so the mean of reports is unbiased already; use mean."
            )
        nothing = np.zeros(len(table.task))
        if mechanism is not None and np.ptp(table.given[:, :size]) == 0:
            return cls(table.task, table.levels, 0.0, nothing, nothing)
        # The channel is p on the diagonal and q elsewhere.
        floor = float(table.given[0, 1]) if size > 1 else 0.0
        gain = float(table.given[0, 0]) - floor
        is_level = table.symbol < size
        # Counted from the mean of levels: then the m q of all levels add up to 0 in sum y c(y).
        level = table.levels[np.minimum(table.symbol, size - 1)] - table.levels.mean()
        number = np.asarray((is_level - size * floor) / gain, dtype=np.float64)
        return cls(table.task, table.levels, gain, number, is_level * level / gain)
