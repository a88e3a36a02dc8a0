"""What every method for numbers can do, on top of `Estimator`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims, Frame, Truths
from masquerade.errors import InputError, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import Mechanism
from masquerade.truth.components import components
from masquerade.truth.estimator import Estimator, Kind
from masquerade.truth.numeric.remarks import Remark, remarks_on
from masquerade.truth.numeric.reports import check_reports


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """Each task's value, its standard error and interval; NaN where there is none."""

    value: Floats
    standard_error: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a method found.

    Attributes
    ----------
    located : Located
        Arrays of shape (n_tasks,).
    workers : dict of float arrays, each of shape (n_workers,)
        Columns of ``reliability_``.
    converged : bool
    iterations : int
    remarks : tuple of Remark
        Those of the method; the ones on the claims themselves are added.
    """

    located: Located
    workers: dict[str, Floats] = field(default_factory=dict)
    converged: bool = True
    iterations: int = 1
    remarks: tuple[Remark, ...] = ()


@dataclass(eq=False, kw_only=True)
class NumericEstimator(Estimator):
    """Base of the methods for numbers.

    Parameters
    ----------
    confidence : float
        Coverage of the intervals, above 0 and below 1.
    """

    kind: ClassVar[Kind] = "numeric"
    ordinal: ClassVar[bool] = False
    """Whether the method takes categories that stand for numbers, too."""

    confidence: float = 0.95
    _found: Found | None = field(default=None, init=False, repr=False)
    _remarks: tuple[Remark, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ParameterError(
                f"confidence is {self.confidence}, expected above 0 and below 1, such as 0.95."
            )

    @abstractmethod
    def _solve(self, claims: Claims, mechanism: Mechanism | None) -> Found:
        """Return each task's value and interval."""

    def _learn(self, claims: Claims, mechanism: Mechanism | None) -> None:
        self._found = self._solve(claims, mechanism)
        self._remarks = self._found.remarks + remarks_on(claims)

    def _check(self, claims: Claims, mechanism: Mechanism) -> None:
        check_reports(claims, mechanism)

    def _as_claims(self, data: Claims | Frame, mechanism: Mechanism | None) -> Claims:
        if isinstance(data, Claims):
            return super()._as_claims(data, mechanism)
        null = mechanism is not None and mechanism.null
        return Claims.from_frame(data, kind=self.kind, null=null)

    @property
    def _solution(self) -> Found:
        _ = self.claims_  # raises where nothing is fitted
        assert self._found is not None
        return self._found

    @property
    def truths_(self) -> pa.Table:
        """The values found: ``task``, ``value``; null for a task without any answer."""
        value = pa.array(self.values_, from_pandas=True)
        return pa.table({"task": self.claims_.tasks, "value": value})

    @property
    def values_(self) -> Floats:
        """Each task's value, shape (n_tasks,), in the order of ``claims_.tasks``; may be NaN."""
        return self._solution.located.value

    @property
    def intervals_(self) -> pa.Table:
        """``task``, ``value``, ``claims``, ``standard_error``, ``low``, ``high``.

        ``claims`` are those that are not "no answer". Null where a task has too few of them for
        the figure.
        """
        claims, located = self.claims_, self._solution.located
        columns = {
            "value": located.value,
            "standard_error": located.standard_error,
            "low": located.low,
            "high": located.high,
        }
        found = {name: pa.array(column, from_pandas=True) for name, column in columns.items()}
        counted = np.bincount(claims.answered().task, minlength=claims.n_tasks)
        return pa.table({"task": claims.tasks, "value": found.pop("value"), "claims": counted,
                         **found})  # fmt: skip

    @property
    def reliability_(self) -> pa.Table:
        """``worker``, ``claims``, and what the method knows of workers.

        ``standard_deviation`` of a worker's answers around the truth and ``weight`` of a worker's
        claims, where the method has them; see its own text.
        """
        claims = self.claims_
        columns = {name: pa.array(column) for name, column in self._solution.workers.items()}
        counted = np.bincount(claims.answered().worker, minlength=claims.n_workers)
        return pa.table({"worker": claims.workers, "claims": counted, **columns})

    @property
    def unanswered_(self) -> pa.Array:
        """Tasks that nobody answered (all reports are "no answer")."""
        counted = np.bincount(self.claims_.answered().task, minlength=self.claims_.n_tasks)
        return self.claims_.tasks.take(pa.array(np.flatnonzero(counted == 0)))

    @property
    def remarks_(self) -> tuple[Remark, ...]:
        """What a reader should know: see `Remark`; ``PRIOR_ONLY`` comes first."""
        _ = self.claims_
        return self._remarks

    @property
    def constant_(self) -> float:
        """The best guess that does not tell tasks apart: what to compare an error with."""
        return middle_of(self.claims_)

    def constant_error(self, truths: Truths) -> float:
        """Return the mean absolute error of giving `constant_` to every task of known truth."""
        off = self.constant_ - truths.numbers(self.claims_)[~np.isnan(self.values_)]
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
        return self._solution.converged

    @property
    def iterations_(self) -> int:
        """Number of iterations done; 1 where nothing is iterated."""
        return self._solution.iterations


def middle_of(claims: Claims) -> float:
    """Return the median of all numbers given; NaN without any."""
    given = claims.answered().value
    return float(np.median(given)) if len(given) else np.nan
