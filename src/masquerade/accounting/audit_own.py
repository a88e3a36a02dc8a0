"""What an audit asks of a mechanism of your own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from masquerade.accounting.audit_subject import Claim, Law, Subject, Vector, vectors_of
from masquerade.accounting.exact_loss import ExactLoss, of_table, of_table_at
from masquerade.errors import ParameterError
from masquerade.mechanisms import INFINITE_LOSS, Loss
from masquerade.mechanisms.number import exact, finite

_MOST_INPUTS = 8


@runtime_checkable
class Auditable(Protocol):
    """Anything that masks one answer and claims an epsilon: what a class of your own needs.

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
    (False, Loss(micro=1098613), 'report yes: answer yes against no')
    """

    claimed_epsilon: Any
    """What one report is claimed to lose, in nats: a number or a `Loss`."""

    inputs: Sequence[Any]
    """The answers that can be given, or those to compare; at least 2."""

    def sample(self, answer: Any, size: int, rng: np.random.Generator) -> ArrayLike:
        """Return `size` reports of `answer`: numbers or texts, or rows of a table, one a report."""
        ...


@dataclass(frozen=True, slots=True)
class Randomizer:
    """A function that masks answers, and what is claimed of it, to audit.

    Attributes
    ----------
    sampler : callable
        ``sampler(answer, size, rng)`` gives `size` reports: numbers, texts or rows.
    inputs : sequence
        The answers to compare.
    claimed_epsilon : number or Loss
    claimed_delta : number
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
    claimed_epsilon: Loss | Fraction | float
    claimed_delta: Fraction | float = 0
    table: Callable[[Any], Mapping[Any, Fraction | float]] | None = None

    def sample(self, answer: Any, size: int, rng: np.random.Generator) -> ArrayLike:
        """Return `size` reports of `answer`."""
        return self.sampler(answer, size, rng)

    def distribution(self, answer: Any) -> Mapping[Any, Fraction | float] | None:
        """Return the probability of every report, None where it is not known."""
        return None if self.table is None else self.table(answer)


class OfAuditable(Subject):
    """A mechanism of your own. Answers are the places of its inputs."""

    def __init__(self, own: Auditable) -> None:
        one = _amount(own.claimed_epsilon)
        delta = finite(getattr(own, "claimed_delta", 0), "claimed_delta")
        if not 0 <= delta < 1:
            raise ParameterError(f"claimed_delta is {float(delta)}, expected from 0 to below 1.")
        self._inputs = list(own.inputs)
        if len(self._inputs) < 2:
            raise ParameterError(f"inputs has {len(self._inputs)} answers, expected at least 2.")
        self.claim = Claim(one, one, delta, "claimed")
        self.name = str(getattr(own, "name", type(own).__name__))
        self._own = own
        law = getattr(own, "distribution", None)
        rows = [] if law is None else [law(answer) for answer in self._inputs]
        told = [{_named(report): p for report, p in row.items()} for row in rows if row is not None]
        if told and len(told) < len(self._inputs):
            raise ParameterError("distribution gives the probabilities of some answers only.")
        self._rows = told

    def vectors(self) -> list[tuple[str, Vector]]:
        """Return vectors of places in the inputs; see `Subject.vectors`."""
        places = list(range(len(self._inputs)))
        few = places if len(places) <= _MOST_INPUTS else [*places[: _MOST_INPUTS - 1], places[-1]]
        return vectors_of(few, 1, [str(self._inputs[place]) for place in few])

    def draw(self, vector: Vector, persons: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return reports; see `Subject.draw`."""
        reports = np.asarray(self._own.sample(self._inputs[int(vector[0])], persons, rng))
        if reports.ndim == 2 and len(reports) == persons:
            reports = np.array([_named(row) for row in reports.tolist()])
        if reports.shape != (persons,):
            raise ParameterError(
                f"sample(..., {persons}, rng) gave an array of shape {reports.shape}, expected "
                f"({persons},): one number, text or row for each report."
            )
        return reports[:, None]

    def exact(self) -> ExactLoss | None:
        """Return the loss by the table, where there is one."""
        if not self._rows:
            return None
        reports = list(dict.fromkeys(report for row in self._rows for report in row))
        table = [[row.get(report, 0) for report in reports] for row in self._rows]
        if self.claim.delta:
            return of_table_at(table, inputs=self._inputs, delta=self.claim.delta)
        return of_table(table, inputs=self._inputs, reports=reports)

    def law(self, vector: Vector) -> Law | None:
        """Return what should be drawn; see `Subject.law`."""
        if not self._rows:
            return None
        row = self._rows[int(vector[0])]
        return np.array(list(row)), np.array([float(p) for p in row.values()])


def _named(report: Any) -> Any:
    """Return a report that is a row as a text, any other as it is."""
    if isinstance(report, tuple | list):
        flags = bool | np.bool_
        return " ".join(str(int(part) if isinstance(part, flags) else part) for part in report)
    return report


def _amount(number: Any) -> Loss:
    if isinstance(number, Loss):
        return number
    amount = exact(number, "claimed_epsilon")
    if isinstance(amount, float):
        return INFINITE_LOSS
    if amount < 0:
        raise ParameterError(f"claimed_epsilon is {number!r}, expected at least 0.")
    return Loss.of_amount(amount)
