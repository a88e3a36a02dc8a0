"""Base of all truth methods: fit, predict, fitted attributes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import Field, dataclass, fields
from html import escape
from importlib import import_module
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims, Frame, Progress, like_frame
from masquerade.answers.claim_layouts import LABEL_COLUMNS
from masquerade.answers.frames import is_pandas
from masquerade.answers.result import Result
from masquerade.errors import NotFitted, ParameterError
from masquerade.lazy import suggestion
from masquerade.plots import estimates, reliability
from masquerade.truth.diagnostics import Remark

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["categorical", "numeric"]

#: Message of `NotFitted`, after the name of the method.
NOT_FITTED = (
    "has learnt nothing yet; call fit(claims) or fit_predict(claims) before asking for results."
)


@dataclass(frozen=True, slots=True, eq=False)
class Inference(Result):
    """The result of a truth method.

    Attributes
    ----------
    method : str
        Its name.
    truths : pyarrow.Table
        Of categories ``task``, ``label`` and ``posterior``, the label's share of the posterior; of
        numbers ``task``, ``value``, ``claims``, ``standard_error``, ``low``, ``high``.
    workers : pyarrow.Table
        ``worker``, ``claims``, and what the method knows of them, such as ``reliability``.
    converged : bool
    iterations : int
    remarks : tuple of Remark

    Examples
    --------
    >>> from masquerade.truth import MajorityVote
    >>> fit = MajorityVote().fit({"task": ["a", "a", "a"], "worker": ["x", "y", "z"],
    ...                           "label": ["no", "yes", "no"]})
    >>> fit.result_.to_arrow().to_pylist()
    [{'task': 'a', 'label': 'no', 'posterior': 0.6666666666666666}]
    """

    method: str
    truths: pa.Table
    workers: pa.Table
    converged: bool
    iterations: int
    remarks: tuple[Remark, ...]

    def to_arrow(self) -> pa.Table:
        """Return ``truths``."""
        return self.truths

    def plot(self, *, axes: Axes | None = None, theme: str = "light") -> Axes:
        """Draw the reliability of workers; of numbers, the values where nothing else is known."""
        if "reliability" in self.workers.column_names:
            return reliability(self.workers, axes=axes, theme=theme)
        return estimates(self.truths, axes=axes, theme=theme, title="Values of tasks")


class Parametrized:
    """Base of the methods with parameters as fields of a dataclass, as scikit-learn's."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor by name, as scikit-learn asks for them.

        Parameters
        ----------
        deep : bool
            For scikit-learn; no parameter has parameters of its own.
        """
        return {field.name: getattr(self, field.name) for field in self._parameters()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters of the constructor, and return the method itself.

        Raises
        ------
        ParameterError
            One is unknown or out of range; nothing is changed then.
        """
        known = self.get_params()
        for name in parameters:
            if name not in known:
                raise ParameterError(
                    f"{type(self).__name__} has no parameter {name!r}, expected one of "
                    f"{sorted(known)}.{suggestion(name, known)}"
                )
        type(self)(**(known | parameters))
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def _parameters(self) -> list[Field[Any]]:
        return [field for field in fields(cast(Any, self)) if field.init]


def require_no_targets(y: object) -> None:
    """Refuse targets, from which no truth method learns; `ParameterError`."""
    if y is not None:
        raise ParameterError(
            "y is given, and truth methods find the answers from claims alone; leave it out. "
            "Truths that are known of some tasks are given by gold=.",
            field="y",
        )


class Estimator(Parametrized, ABC):
    """Base of the truth methods for labels and numbers.

    The conventions are scikit-learn's and crowd-kit's: the constructor takes parameters only,
    `fit` learns and returns the estimator, and what was learnt has names that end in ``_``.

    Examples
    --------
    >>> from masquerade.truth import MajorityVote
    >>> claims = {"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": ["no", "no", "yes"]}
    >>> MajorityVote().fit(claims).truths_.to_pylist()
    [{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'yes'}]
    """

    #: Name of the method on the command line.
    name: ClassVar[str]

    #: Kind of claims that the method takes.
    kind: ClassVar[Kind]

    @abstractmethod
    def fit(
        self,
        data: Claims | Frame,
        y: None = None,
        *,
        mechanism: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from claims, masked or not, and return the estimator.

        Parameters
        ----------
        data : Claims, or pandas, polars, pyarrow or duckdb table, or dict of arrays
            Columns ``task``, ``worker`` and ``label`` (or ``value``) of a table; see
            `Claims.from_frame`.
        y : None
            There for scikit-learn's pipelines: nothing is learnt from targets.
        mechanism : Mechanism, mapping of str to Mechanism, or ReportMechanisms, optional
            What masked the claims; see the kinds of methods.
        progress : callable, optional
            Called, now and then, with how much is done and how much there is, 0 where nobody knows.

        Raises
        ------
        InputError
            A row cannot be used; the message names it.
        ParameterError
            The claims are of another kind, or not of the mechanism's domain.
        """

    def fit_predict(self, data: Claims | Frame, y: None = None, *, mechanism: Any = None) -> Frame:
        """Learn from claims and return each task's answer, in the kind of `data`.

        Returns
        -------
        pandas.Series, or table of the kind of `data`
            For a pandas table a series named ``agg_label`` (``agg_value`` for numbers) with the
            sorted tasks as index, named ``task``, exactly as crowd-kit returns it. Otherwise a
            table with columns ``task`` and ``label`` (or ``value``), tasks in order of first
            appearance; an Arrow table for `Claims`. See `fit` for parameters and errors.
        """
        table = self.fit(data, y, mechanism=mechanism).truths_
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
    def reliability_(self) -> pa.Table:
        """Estimates of workers: ``worker``, ``claims`` and more."""

    @property
    @abstractmethod
    def remarks_(self) -> tuple[Remark, ...]:
        """Limits of the result that a reader should know."""

    @property
    def result_(self) -> Inference:
        """Everything that was found, as one result: table, figure, file."""
        return Inference(
            self.name,
            self._truth_table(),
            self.reliability_,
            self.converged_,
            self.iterations_,
            self.remarks_,
        )

    @abstractmethod
    def _truth_table(self) -> pa.Table:
        """Return the truths, and how sure they are."""

    def _repr_html_(self) -> str:
        return self.result_._repr_html_() if self._is_fitted else f"<p>{escape(repr(self))}</p>"

    @property
    def _is_fitted(self) -> bool:
        try:
            return self.claims_ is not None
        except NotFitted:
            return False

    @property
    @abstractmethod
    def converged_(self) -> bool:
        """Whether the result stopped changing before the last iteration allowed."""

    @property
    @abstractmethod
    def iterations_(self) -> int:
        """Number of iterations done."""

    @property
    @abstractmethod
    def unanswered_(self) -> pa.Array:
        """Tasks that nobody answered (all reports are "no answer")."""

    @property
    @abstractmethod
    def components_(self) -> int:
        """Number of groups of workers and tasks that share no answer with one another."""

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


def option_columns(options: pa.Array, key: str) -> list[str]:
    """Return the name of each option's column, beside a column `key`: the option itself.

    Where that is the key's name, or an earlier option's as text, ``label`` stands before it.
    """
    names = [key]
    for option in options.to_pylist():
        name = str(option)
        while name in names:
            name = f"label {name}"
        names.append(name)
    return names[1:]


def probabilities(posteriors: pa.Table, options: pa.Array | None) -> Any:
    """Return a table of posteriors as a pandas frame: sorted tasks by labels, as crowd-kit's."""
    frame = posteriors.to_pandas().set_index("task").sort_index()
    if options is not None:
        frame.columns = [str(option) for option in options.to_pylist()]
    frame.columns.name = "label"
    return frame


def probabilities_like(posteriors: pa.Table, data: Any, options: pa.Array | None) -> Any:
    """Return posteriors as a pandas frame with the types of a pandas table of claims."""
    frame = probabilities(posteriors, options)
    if "task" in data.columns:
        # As crowd-kit, which keeps the type of the task column.
        frame.index = frame.index.astype(data["task"].dtype)
    return frame


def check_iteration(max_iterations: int, *, tolerance: float | None = None) -> None:
    """Raise `ParameterError` unless the limits of an iteration are in range."""
    _check_numbers(max_iterations=max_iterations)
    if tolerance is not None:
        _check_numbers(tolerance=tolerance)
        if not tolerance > 0:
            raise ParameterError(f"tolerance is {tolerance}, expected above 0.")
    if not max_iterations >= 1:
        raise ParameterError(f"max_iterations is {max_iterations}, expected at least 1.")


def check_positive(**numbers: float) -> None:
    """Raise `ParameterError` unless all numbers are above 0 and finite; they go by their names."""
    _check_numbers(**numbers)
    for name, number in numbers.items():
        if not 0 < number < math.inf:
            raise ParameterError(f"{name} is {number}, expected above 0.")


def check_not_negative(**numbers: float) -> None:
    """Raise `ParameterError` unless all numbers are at least 0 and finite."""
    _check_numbers(**numbers)
    for name, number in numbers.items():
        if not 0 <= number < math.inf:
            raise ParameterError(f"{name} is {number}, expected at least 0.")


def check_proper_share(**numbers: float) -> None:
    """Raise `ParameterError` unless all numbers are above 0 and below 1."""
    _check_numbers(**numbers)
    for name, number in numbers.items():
        if not 0 < number < 1:
            raise ParameterError(f"{name} is {number}, expected above 0 and below 1.")


def _check_numbers(**values: object) -> None:
    """Raise `ParameterError` unless all are numbers: a text or None is not compared with one."""
    for name, value in values.items():
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise ParameterError(f"{name} is {value!r}, expected a number.")


def check_accuracy_prior(prior: tuple[float, float]) -> None:
    """Raise `ParameterError` unless `prior` holds the two numbers of a Beta distribution."""
    if len(prior) != 2 or not all(0 < value < math.inf for value in prior):
        raise ParameterError(f"accuracy_prior is {prior!r}, expected two positive numbers (a, b).")
