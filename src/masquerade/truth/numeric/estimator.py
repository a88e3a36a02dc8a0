"""Base of the methods for numbers, and the check that numbers are reports of a mechanism."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims, Frame, Progress, Truths
from masquerade.errors import InputError, MissingValue, NotFitted, ParameterError, UnknownLabel
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.number import text_of
from masquerade.mechanisms import Mechanism
from masquerade.truth.diagnostics import Remark, components, remarks_on
from masquerade.truth.estimator import (
    NOT_FITTED,
    Estimator,
    Kind,
    check_proper_share,
    require_no_targets,
)
from masquerade.truth.report_mechanisms import AnyMechanism, Masks, mechanisms_of

#: A function that methods call after each round.
AfterRound = Callable[[], None]


def no_round() -> None:
    """Do nothing after a round."""


def median_of(values: Floats) -> float:
    """Return the median of values; NaN of none."""
    return float(np.median(values)) if len(values) else np.nan


@dataclass(frozen=True, slots=True, eq=False)
class ValueIntervals:
    """Each task's value, its standard error and interval; NaN where there is none."""

    value: Floats
    standard_error: Floats
    low: Floats
    high: Floats

    def table(self, claims: Claims) -> pa.Table:
        """Return ``task``, ``value``, ``claims``, ``standard_error``, ``low``, ``high``.

        `claims`: those of the tasks, in the order of the arrays.
        """
        columns = {
            "task": claims.tasks,
            "value": self.value,
            # those that are not "no answer"
            "claims": np.bincount(claims.answered().task, minlength=claims.n_tasks),
            "standard_error": self.standard_error,
            "low": self.low,
            "high": self.high,
        }
        # from_pandas: NaN becomes null
        return pa.table({n: pa.array(column, from_pandas=True) for n, column in columns.items()})


@dataclass(frozen=True, slots=True, eq=False)
class NumericSolution:
    """Result of a method for numbers."""

    intervals: ValueIntervals  # arrays of shape (n_tasks,)
    # dict of float arrays, each of shape (n_workers,). Columns of ``reliability_``.
    workers: dict[str, Floats] = field(default_factory=dict)
    converged: bool = True
    iterations: int = 1
    # Those of the method; the ones on the claims themselves are added.
    remarks: tuple[Remark, ...] = ()
    #: The best guess that does not tell tasks apart, where the method has one of its own.
    constant: float | None = None
    #: Why methods were chosen; see `NumericAuto.selection_`.
    selection: pa.Table | None = None
    #: What attributes of the method's own are read from, of claims in memory.
    basis: Any = None


@dataclass(eq=False, kw_only=True)
class NumericEstimator(Estimator):
    """Base of the methods for numbers.

    Parameters
    ----------
    confidence : float
        Coverage of the intervals, above 0 and below 1.

    Examples
    --------
    >>> from masquerade.truth.numeric import Median
    >>> isinstance(Median(), NumericEstimator)
    True
    """

    kind: ClassVar[Kind] = "numeric"
    #: Whether the method takes categories that stand for numbers, too.
    ordinal: ClassVar[bool] = False

    confidence: float = 0.95
    _claims: Claims | None = field(default=None, init=False, repr=False)
    _solution: NumericSolution | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_proper_share(confidence=self.confidence)

    def fit(
        self,
        data: Claims | Frame,
        y: None = None,
        *,
        mechanism: AnyMechanism = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from claims, masked or not, and return the estimator; see `Estimator.fit`.

        `progress` is called after every round with the number of rounds so far and 0: how many
        there will be is not known.
        """
        require_no_targets(y)
        masks = mechanisms_of(data, mechanism)
        claims = self._as_claims(data, masks)
        if masks is not None:
            masks = masks.distinct()
            for each, rows in masks.rows(claims):
                check_reports(claims.among(rows), each, rows=np.flatnonzero(rows))
        rounds = count(1)

        def after_round() -> None:
            if progress is not None:
                progress(next(rounds), 0)

        return self._with(claims, self.solve(claims, masks, after_round))

    @abstractmethod
    def solve(
        self, claims: Claims, mechanism: Masks, after_round: AfterRound = no_round
    ) -> NumericSolution:
        """Return each task's value and interval, of claims that were checked."""

    def constant(self, claims: Claims) -> float:
        """Return the best guess that does not tell tasks apart."""
        return median_of(claims.answered().value)

    def with_solution(self, claims: Claims, solution: NumericSolution) -> Self:
        """Return a copy of the method that is fitted to claims."""
        return copy(self)._with(claims, solution)

    def _with(self, claims: Claims, solution: NumericSolution) -> Self:
        self._claims, self._solution = claims, solution
        return self

    def _as_claims(self, data: Claims | Frame, mechanism: Masks) -> Claims:
        if not self.ordinal:
            return super()._as_claims(data, mechanism)
        # Methods by levels take either kind: that of the mechanism, else numbers.
        if isinstance(data, Claims):
            return data
        if mechanism is None:
            return Claims.from_frame(data, kind="numeric")
        return Claims.from_frame(data, kind=mechanism.kind, null=mechanism.null)

    @property
    def claims_(self) -> Claims:
        """The claims that were fitted."""
        if self._claims is None:
            raise NotFitted(f"{type(self).__name__} {NOT_FITTED}")
        return self._claims

    @property
    def solution_(self) -> NumericSolution:
        """The solution, as arrays in the order of ``claims_``."""
        _ = self.claims_  # raises where nothing is fitted
        assert self._solution is not None
        return self._solution

    @property
    def truths_(self) -> pa.Table:
        """The values found: ``task``, ``value``; null for a task without any answer."""
        # from_pandas: NaN becomes null
        value = pa.array(self.values_, from_pandas=True)
        return pa.table({"task": self.claims_.tasks, "value": value})

    @property
    def values_(self) -> Floats:
        """Each task's value, shape (n_tasks,), in the order of ``claims_.tasks``; may be NaN."""
        return self.solution_.intervals.value

    @property
    def intervals_(self) -> pa.Table:
        """``task``, ``value``, ``claims``, ``standard_error``, ``low``, ``high``.

        ``claims`` are those that are not "no answer". Null where a task has too few of them for
        the figure.
        """
        return self.solution_.intervals.table(self.claims_)

    def _truth_table(self) -> pa.Table:
        return self.intervals_

    @property
    def reliability_(self) -> pa.Table:
        """``worker``, ``claims``, and the method's estimates of workers.

        ``standard_deviation`` of a worker's answers around the truth and ``weight`` of a worker's
        claims, where the method has them; see its own text.
        """
        claims = self.claims_
        columns = {name: pa.array(column) for name, column in self.solution_.workers.items()}
        counted = np.bincount(claims.answered().worker, minlength=claims.n_workers)
        return pa.table({"worker": claims.workers, "claims": counted, **columns})

    @property
    def unanswered_(self) -> pa.Array:
        """Tasks that nobody answered (all reports are "no answer")."""
        counted = np.bincount(self.claims_.answered().task, minlength=self.claims_.n_tasks)
        return self.claims_.tasks.take(pa.array(np.flatnonzero(counted == 0)))

    @property
    def remarks_(self) -> tuple[Remark, ...]:
        """Limits of the result that a reader should know: see `Remark`; ``PRIOR_ONLY`` is first."""
        return self.solution_.remarks + remarks_on(self.claims_)

    @property
    def constant_(self) -> float:
        """The error of the best guess that does not tell tasks apart, for comparison."""
        constant = self.solution_.constant
        return self.constant(self.claims_) if constant is None else constant

    def constant_error(self, truths: Truths | Frame) -> float:
        """Return the mean absolute error of giving `constant_` to every task of known truth."""
        off = self.constant_ - Truths.of(truths).numbers(self.claims_)[~np.isnan(self.values_)]
        known = off[~np.isnan(off)]
        if not len(known):
            raise InputError("no task has both a value and a truth.")
        return float(np.abs(known).mean())

    @property
    def components_(self) -> int:
        """Number of groups of workers and tasks that share no answer with one another."""
        return components(self.claims_).count

    @property
    def converged_(self) -> bool:
        """Whether the result stopped changing before the last iteration allowed."""
        return self.solution_.converged

    @property
    def iterations_(self) -> int:
        """Number of iterations done; 1 where nothing is iterated."""
        return self.solution_.iterations


def check_reports(claims: Claims, mechanism: Mechanism, *, rows: Integers | None = None) -> None:
    """Raise where a claim is not a report of the mechanism; `rows` are places in the whole table.

    Unlike answers, reports with added noise may leave the range of answers, but not the lattice.
    """

    def place_of(row: int) -> int:
        return row if rows is None else int(rows[row])

    if mechanism.kind != claims.kind:
        mechanism.check(claims)  # says so
        raise ParameterError(f"{mechanism} does not mask {claims.kind} claims.")
    if claims.kind == "categorical":
        mechanism.check(claims)
        return
    numbers = mechanism.as_numbers
    levels = None if numbers is None else numbers.level_values
    missing = np.isnan(claims.value)
    if not (levels is not None and mechanism.null) and missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise MissingValue(
            f"row {place_of(row) + 1}: there is no report, and {mechanism} always gives a number; "
            "remove such rows, or name the mechanism that masked the claims."
        )
    if numbers is None:
        return  # profiles stand for real numbers
    reports = claims.value[~missing]
    if levels is not None:
        spacing = levels[1] - levels[0]
        place = np.clip(np.rint((reports - levels[0]) / spacing), 0, len(levels) - 1)
        # A millionth of a step is rounding, of floats and of numbers read from text.
        off = np.abs(reports - levels[place.astype(np.int64)]) > 1e-6 * spacing
        expected = f"one of its {len(levels)} levels from {levels[0]:g} to {levels[-1]:g}"
    else:
        steps = numbers.lattice.offsets(reports)
        # Noise may be many steps out, where a float itself is off by more.
        off = np.abs(steps - np.rint(steps)) > 1e-6 * np.maximum(1, np.abs(steps) * 1e-6)
        step = text_of(numbers.lattice.step)
        expected = f"a whole number of steps of {step} from {float(numbers.lattice.low):g}"
    if off.any():
        # the row among all claims, missing ones included
        row = int(np.flatnonzero(~missing)[np.flatnonzero(off)[0]])
        raise UnknownLabel(
            f"row {place_of(row) + 1}: {claims.value[row]} is not a report of {mechanism}, "
            f"expected {expected}; name the mechanism that masked the claims."
        )
