"""Mechanisms of your own, as an audit takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from masquerade.accounting.audit_subject import (
    Answers,
    Claim,
    Law,
    Subject,
    Vector,
    chosen_inputs,
    vectors_of,
)
from masquerade.accounting.audit_views import Drawn
from masquerade.accounting.exact_loss import ExactLoss, of_table, of_table_at
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, Micro
from masquerade.exact.number import exact, finite, in_range


@runtime_checkable
class Auditable(Protocol):
    """Anything that masks one answer and claims an epsilon: the interface of your own classes.

    Optional: ``claimed_delta``; ``name``; and ``distribution(answer)``, a mapping from every report
    to its probability, with which the audit is exact. Give probabilities as fractions.

    Examples
    --------
    >>> from masquerade.accounting import audit
    >>> class TooOften:
    ...     claimed_epsilon = 1
    ...     inputs = ("yes", "no")
    ...     def sample(self, answer, size, rng):
    ...         other = "no" if answer == "yes" else "yes"
    ...         return np.where(rng.random(size) < 0.75, answer, other)
    ...     def distribution(self, answer):
    ...         return {option: Fraction(3 if option == answer else 1, 4) for option in self.inputs}
    >>> found = audit(TooOften(), rng=np.random.default_rng(1))
    >>> found.holds, found.exact_epsilon, str(found.worst)  # the truth is ln 3
    (False, Micro(micro=1098613), 'report yes: answer yes against no')
    """

    #: The claimed loss of one report, in nats: a number or a `Micro`.
    claimed_epsilon: Any

    #: All answers that can be given, at least 2; of more than 512 a sample is drawn for.
    inputs: Sequence[Any]

    def sample(self, answer: Any, size: int, rng: np.random.Generator) -> ArrayLike:
        """Return `size` reports of `answer`, independent of each other and of every other call.

        Numbers or texts, or rows of a table, one a report.
        """
        ...


@dataclass(frozen=True, slots=True)
class Randomizer:
    """A function that masks answers, and the claimed epsilon, to audit.

    Attributes
    ----------
    sampler : callable
        ``sampler(answer, size, rng)`` gives `size` reports: numbers, texts or rows.
    inputs : sequence
        The answers to compare.
    table : callable, optional
        ``table(answer)`` gives a mapping from every report to its probability; reports that are
        rows are tuples in it.

    Examples
    --------
    >>> from masquerade.accounting import audit
    >>> def sampler(answer, size, rng):
    ...     return np.where(rng.random(size) < 0.75, answer, 1 - answer)
    >>> coin = Randomizer(sampler, inputs=(0, 1), claimed_epsilon=1)
    >>> found = audit(coin, rng=np.random.default_rng(1))
    >>> found.holds, found.exact_epsilon, found.sampled_lower_bound > 1  # the truth is ln 3
    (False, None, True)
    """

    sampler: Callable[[Any, int, np.random.Generator], ArrayLike]
    inputs: Sequence[Any]
    claimed_epsilon: Micro | Fraction | float
    claimed_delta: Fraction | float = 0
    table: Callable[[Any], Mapping[Any, Fraction | float]] | None = None

    def sample(self, answer: Any, size: int, rng: np.random.Generator) -> ArrayLike:
        """Return `size` reports of `answer`."""
        return self.sampler(answer, size, rng)

    def distribution(self, answer: Any) -> Mapping[Any, Fraction | float] | None:
        """Return the probability of every report, None where it is not known."""
        return None if self.table is None else self.table(answer)


class OfAuditable(Subject):
    """A mechanism of your own; answers are places of its inputs, of which `rng` picks if many."""

    independent = False
    most_calls = 1_000

    def __init__(self, own: Auditable, rng: np.random.Generator) -> None:
        one = _amount(own.claimed_epsilon)
        delta = finite(getattr(own, "claimed_delta", 0), "claimed_delta")
        in_range(delta, "claimed_delta", low=0, below=1)
        self._inputs = list(own.inputs)
        if len(self._inputs) < 2:
            raise ParameterError(f"inputs has {len(self._inputs)} answers, expected at least 2.")
        self.claim = Claim(one, one, delta, "claimed")
        self.name = str(getattr(own, "name", type(own).__name__))
        self.inputs = len(self._inputs)
        self._places = chosen_inputs(self.inputs, rng)
        self.compared = len(self._places)
        self._own = own
        law = getattr(own, "distribution", None)
        rows = [] if law is None else [law(answer) for answer in self._inputs]
        told = [{_named(report): p for report, p in row.items()} for row in rows if row is not None]
        if told and len(told) < len(self._inputs):
            raise ParameterError("distribution gives the probabilities of some answers only.")
        self._rows = told

    def vectors(self) -> list[Answers]:
        """Return places in the inputs; see `Subject.vectors`."""
        names = [str(self._inputs[place]) for place in self._places]
        found = vectors_of(self._places.tolist(), 1, names)
        if len(set(names)) == len(names):
            return found
        return [one._replace(words=f"{one.words} (input {one.vector[0] + 1})") for one in found]

    def draw(self, vector: Vector, persons: int, rng: np.random.Generator) -> Drawn:
        """Return reports; see `Subject.draw`."""
        reports = _reports(self._own.sample(self._inputs[int(vector[0])], persons, rng))
        if reports.ndim not in (1, 2) or len(reports) != persons or not reports.size:
            raise ParameterError(
                f"sample(..., {persons}, rng) gave an array of shape {reports.shape}, expected "
                f"({persons},): one number, text or row for each report."
            )
        return Drawn.of(reports[:, None] if reports.ndim == 1 else reports)

    def form(self, vector: Vector, rng: np.random.Generator) -> str | None:
        """Return type and shape of the result of a call for one report, or the error it raises."""
        try:
            raw = self._own.sample(self._inputs[int(vector[0])], 1, rng)
        except Exception as error:  # what a person's device would raise, tells
            return f"raises {type(error).__name__}"
        if isinstance(raw, np.ndarray) and raw.dtype.kind != "O":
            kind = "text" if raw.dtype.kind == "U" else str(raw.dtype)
            return f"array of {kind}, shape {raw.shape}"
        try:
            items = list(raw)  # type: ignore[arg-type]
        except TypeError:
            return type(raw).__name__
        parts = ", ".join(
            f"{type(item).__name__} of {len(item)}"
            if isinstance(item, tuple | list | np.ndarray)
            else type(item).__name__
            for item in items
        )
        return f"{type(raw).__name__} ({parts})"

    def exact(self) -> ExactLoss | None:
        """Return the loss by the table, where there is one."""
        if not self._rows:
            return None
        reports = list(dict.fromkeys(report for row in self._rows for report in row))
        table = [[row.get(report, 0) for report in reports] for row in self._rows]
        if self.claim.delta:
            return of_table_at(
                table, inputs=self._inputs, delta=self.claim.delta, claimed=self.claim.user
            )
        return of_table(table, inputs=self._inputs, reports=reports)

    def laws(self, vector: Vector, drawn: Drawn) -> list[tuple[Law, NDArray[Any]]]:
        """Return the claimed law and the drawn reports; see `Subject.laws`."""
        if not self._rows:
            return []
        row = self._rows[int(vector[0])]
        law = _keys(list(row)), np.array([float(p) for p in row.values()])
        if drawn.reports.shape[1] == 1:
            seen = drawn.reports[:, 0]
        else:
            kinds, place = np.unique(drawn.reports, axis=0, return_inverse=True)
            seen = np.array([_named(kind) for kind in kinds.tolist()])[place.ravel()]
        if seen.dtype.kind in "US" and law[0].dtype.kind not in "US":
            law = np.array([_typed(report) for report in row]), law[1]
        return [(law, seen)]


def _reports(raw: Any) -> NDArray[Any]:
    """Return reports as an array of one type: numbers, texts, or rows of numbers."""
    array = raw if isinstance(raw, np.ndarray) else None
    if array is None or array.dtype.kind not in "iubfU":
        items = list(raw) if array is None else array.tolist()
        array = _keys(items)
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def _keys(items: list[Any]) -> NDArray[Any]:
    kinds = {type(item) for item in items}
    plain = kinds <= {int} or kinds <= {float} or kinds <= {str} or kinds <= {bool}
    if plain:
        try:
            return np.array(items)
        except OverflowError:
            return np.array([_typed(item) for item in items])
    if all(isinstance(item, np.generic) for item in items) and len(kinds) == 1:
        found = np.array(items)
        if found.dtype.kind in "iubfU":
            return found
    if all(isinstance(item, tuple | list | np.ndarray) for item in items):
        lengths = {len(item) for item in items}
        if len(lengths) == 1:
            rows = np.array([list(item) for item in items])
            if rows.ndim == 2 and rows.dtype.kind in "iubf":
                return rows.astype(np.int64) if rows.dtype.kind == "b" else rows
        return np.array([_named(list(item)) for item in items])
    return np.array([_typed(item) for item in items])


def _typed(item: Any) -> str:
    """Return a report among reports of several types as a text that tells its type too."""
    value = item.item() if isinstance(item, np.generic) else item
    return f"{type(value).__name__} {value!r}"


def _named(report: Any) -> Any:
    """Return a report that is a row as a text, any other as it is."""
    if isinstance(report, tuple | list):
        flags = bool | np.bool_
        return " ".join(str(int(part) if isinstance(part, flags) else part) for part in report)
    return report


def _amount(number: Any) -> Micro:
    if isinstance(number, Micro):
        return number
    amount = exact(number, "claimed_epsilon")
    if isinstance(amount, float):
        return INFINITE_LOSS
    if amount < 0:
        raise ParameterError(f"claimed_epsilon is {number!r}, expected at least 0.")
    return Micro.of_amount(amount)
