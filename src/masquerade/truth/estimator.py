"""Base of all truth methods: fit, predict, fitted attributes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, ClassVar, Literal, Self

import pyarrow as pa

from masquerade.answers import Claims, Frame, like_frame
from masquerade.answers.claims import LABEL_COLUMNS
from masquerade.answers.frames import is_pandas
from masquerade.errors import ParameterError

Kind = Literal["categorical", "numeric"]

#: Message of `NotFitted`, after the name of the method.
NOT_FITTED = (
    "has learnt nothing yet; call fit(claims) or fit_predict(claims) before asking for results."
)


class Estimator(ABC):
    """Base of all truth methods.

    The conventions are scikit-learn's and crowd-kit's: the constructor takes parameters only,
    `fit` learns and returns the estimator, and what was learnt has names that end in ``_``.
    """

    #: Name of the method on the command line.
    name: ClassVar[str]

    #: Kind of claims that the method takes.
    kind: ClassVar[Kind]

    @abstractmethod
    def fit(self, data: Claims | Frame, *, mechanism: Any = None) -> Self:
        """Learn from claims, masked or not, and return the estimator.

        Parameters
        ----------
        data : Claims, or pandas, polars, pyarrow or duckdb table, or dict of arrays
            Columns ``task``, ``worker`` and ``label`` (or ``value``) of a table; see
            `Claims.from_frame`.
        mechanism : Mechanism, mapping of str to Mechanism, or ReportMechanisms, optional
            What masked the claims; see the kinds of methods.

        Raises
        ------
        InputError
            A row cannot be used; the message names it.
        ParameterError
            The claims are of another kind, or not of the mechanism's domain.
        """

    def fit_predict(self, data: Claims | Frame, *, mechanism: Any = None) -> Frame:
        """Learn from claims and return each task's answer, in the kind of `data`.

        Returns
        -------
        pandas.Series, or table of the kind of `data`
            For a pandas table a series named ``agg_label`` (``agg_value`` for numbers) with the
            sorted tasks as index, named ``task``, exactly as crowd-kit returns it. Otherwise a
            table with columns ``task`` and ``label`` (or ``value``), tasks in order of first
            appearance; an Arrow table for `Claims`. See `fit` for parameters and errors.
        """
        table = self.fit(data, mechanism=mechanism).truths_
        return as_series(table, data) if is_pandas(data) else like_frame(table, data)

    @property
    @abstractmethod
    def claims_(self) -> Claims:
        """The claims that were fitted.

        Raises
        ------
        NotFitted
            Nothing is fitted yet.
        """

    @property
    @abstractmethod
    def truths_(self) -> pa.Table:
        """The answers found: ``task`` and ``label`` or ``value``."""

    @property
    @abstractmethod
    def converged_(self) -> bool:
        """Whether the result stopped changing before the last iteration allowed."""

    @property
    @abstractmethod
    def iterations_(self) -> int:
        """Number of iterations done."""

    def _as_claims(self, data: Claims | Frame, mechanism: Any) -> Claims:
        """Return data as claims of the method's kind."""
        if not isinstance(data, Claims):
            null = mechanism is not None and mechanism.null
            return Claims.from_frame(data, kind=self.kind, null=null)
        if data.kind != self.kind:
            raise ParameterError(
                f"{type(self).__name__} takes {self.kind} claims, these are {data.kind}; read them "
                f"with kind={self.kind!r}, or choose another method."
            )
        return data


def as_series(table: pa.Table, frame: Frame) -> Any:
    """Return the answers as a pandas series, with the types of the frame's own columns."""
    pandas = import_module("pandas")
    label = next(column for column in LABEL_COLUMNS if column in frame.columns)
    tasks, values = (table.column(i).to_pandas() for i in (0, 1))
    index = pandas.Index(tasks.astype(frame["task"].dtype), name="task")
    series = pandas.Series(values.to_numpy(), index=index, name=f"agg_{table.column_names[1]}")
    if table.column_names[1] == "label" and table.column(1).null_count == 0:
        series = series.astype(frame[label].dtype)
    return series.sort_index()


def probabilities(posteriors: pa.Table) -> Any:
    """Return a table of posteriors as a pandas frame: sorted tasks by labels, as crowd-kit's."""
    frame = posteriors.to_pandas().set_index("task").sort_index()
    frame.columns.name = "label"
    return frame


def probabilities_like(posteriors: pa.Table, data: Any) -> Any:
    """Return posteriors as a pandas frame with the types of a pandas table of claims."""
    frame = probabilities(posteriors)
    if "task" in data.columns:
        # As crowd-kit, which keeps the type of the task column.
        frame.index = frame.index.astype(data["task"].dtype)
    return frame


def check_iteration(max_iterations: int, *, tolerance: float | None = None) -> None:
    """Raise `ParameterError` unless the limits of an iteration are in range."""
    if tolerance is not None and not tolerance > 0:
        raise ParameterError(f"tolerance is {tolerance}, expected above 0.")
    if not max_iterations >= 1:
        raise ParameterError(f"max_iterations is {max_iterations}, expected at least 1.")


def check_positive(**numbers: float) -> None:
    """Raise `ParameterError` unless all numbers are above 0 and finite; they go by their names."""
    for name, number in numbers.items():
        if not 0 < number < math.inf:
            raise ParameterError(f"{name} is {number}, expected above 0.")


def check_not_negative(**numbers: float) -> None:
    """Raise `ParameterError` unless all numbers are at least 0 and finite."""
    for name, number in numbers.items():
        if not 0 <= number < math.inf:
            raise ParameterError(f"{name} is {number}, expected at least 0.")


def check_proper_share(**numbers: float) -> None:
    """Raise `ParameterError` unless all numbers are above 0 and below 1."""
    for name, number in numbers.items():
        if not 0 < number < 1:
            raise ParameterError(f"{name} is {number}, expected above 0 and below 1.")


def check_accuracy_prior(prior: tuple[float, float]) -> None:
    """Raise `ParameterError` unless `prior` holds the two numbers of a Beta distribution."""
    if len(prior) != 2 or not all(0 < value < math.inf for value in prior):
        raise ParameterError(f"accuracy_prior is {prior!r}, expected two positive numbers (a, b).")
