"""Mechanisms of your own, as an audit takes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from masquerade.accounting.audit_sampled import (
    OWN_WORDS,
    Answers,
    Claim,
    Subject,
    Vector,
    chosen_inputs,
    key_of,
    value_of,
    vectors_of,
)
from masquerade.accounting.audit_table import TableLoss, of_table, of_table_at
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, Micro
from masquerade.exact.number import exact, finite, in_range

_ROUNDING = Fraction(1, 10**12)  # of the sum of a row of floats


@runtime_checkable
class Auditable(Protocol):
    """Anything that masks one answer and claims an epsilon: the interface of your own classes.

    Optional: ``claimed_delta``; ``name``; and ``distribution(answer)``, a mapping from every report
    to its probability, from which the exact loss follows. Give probabilities as fractions, which
    add to 1; floats are taken as proportions. A table of your own can refute a claim and never
    prove it, for it is your own statement: the verdict is then ``"not refuted"``.

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

    def sample(self, answer: Any, size: int, rng: np.random.Generator) -> Any:
        """Return `size` reports of `answer`, independent of each other and of every other call.

        An array or a list with one entry a report: numbers, texts, bytes, None, or tuples of them,
        also mixed. Rows of a table are reports of several numbers.
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

    sampler: Callable[[Any, int, np.random.Generator], Any]
    inputs: Sequence[Any]
    claimed_epsilon: Micro | Fraction | float
    claimed_delta: Fraction | float = 0
    table: Callable[[Any], Mapping[Any, Fraction | float]] | None = None

    def sample(self, answer: Any, size: int, rng: np.random.Generator) -> Any:
        """Return `size` reports of `answer`."""
        return self.sampler(answer, size, rng)

    def distribution(self, answer: Any) -> Mapping[Any, Fraction | float] | None:
        """Return the probability of every report, None where it is not known."""
        return None if self.table is None else self.table(answer)


class OfAuditable(Subject):
    """A mechanism of your own; `rng` picks some of its inputs if they are many."""

    def __init__(self, own: Auditable, rng: np.random.Generator) -> None:
        one = _amount(own.claimed_epsilon)
        delta = finite(getattr(own, "claimed_delta", 0), "claimed_delta")
        in_range(delta, "claimed_delta", low=0, below=1)
        self._own, self._inputs = own, list(own.inputs)
        if len(self._inputs) < 2:
            raise ParameterError(f"inputs has {len(self._inputs)} answers, expected at least 2.")
        # 0, 0.0 and False are one answer: what masks it may tell them apart or not
        seen = Counter(value_of(key_of(answer)) for answer in self._inputs)
        [(twice, count)] = seen.most_common(1)
        if count > 1:
            raise ParameterError(
                f"inputs names the answer {twice!r} {count} times, expected each answer once: "
                "nothing is compared with itself."
            )
        self.claim = Claim(one, one, delta, "claimed")
        self.name = str(getattr(own, "name", type(own).__name__))
        self.inputs = len(self._inputs)
        self._places = chosen_inputs(self.inputs, rng)
        self.compared = len(self._places)
        law = getattr(own, "distribution", None)
        rows = [] if law is None else [(answer, law(answer)) for answer in self._inputs]
        self._rows = [_by_value(answer, row) for answer, row in rows if row is not None]
        if self._rows and len(self._rows) < len(self._inputs):
            raise ParameterError("distribution gives the probabilities of some answers only.")

    def vectors(self) -> list[Answers]:
        """Return each input by itself; see `Subject.vectors`."""
        names = [str(self._inputs[place]) for place in self._places]
        if len(set(names)) < len(names):
            names = [
                f"{name} (input {place + 1})"
                for name, place in zip(names, self._places, strict=True)
            ]
        return vectors_of(self._places, 1, names)

    def draw(self, places: Vector, persons: int, rng: np.random.Generator) -> Any:
        """Return reports; see `Subject.draw`."""
        answer = self._inputs[int(places[0])]
        try:
            reports = self._own.sample(answer, persons, rng)
        except Exception as error:
            raise ParameterError(
                f"sample({answer!r}, {persons}, rng) raised {type(error).__name__}: {error}; "
                "a mechanism masks every one of its inputs, for an error tells the answer too."
            ) from error
        if isinstance(reports, np.ndarray):
            reports = np.atleast_1d(reports)
        else:
            reports = list(reports) if isinstance(reports, Iterable) else [reports]
        if len(reports) != persons:
            raise ParameterError(
                f"sample(..., {persons}, rng) gave {len(reports)} reports, expected {persons}: "
                "an array or a list with one number, text or row for each report."
            )
        return reports

    def table(self) -> TableLoss | None:
        """Return the loss by the table, where there is one."""
        if not self._rows:
            return None
        reports = list(dict.fromkeys(report for row in self._rows for report in row))
        table = [[row.get(report, 0) for report in reports] for row in self._rows]
        if self.claim.delta:
            found = of_table_at(
                table, inputs=self._inputs, delta=self.claim.delta, claimed=self.claim.user
            )
        else:
            found = of_table(table, inputs=self._inputs, reports=reports)
        return replace(found, gaps=(*found.gaps, OWN_WORDS))

    def law(self, places: Vector, place: int) -> Mapping[Any, float] | None:
        """Return the row of the table; see `Subject.law`."""
        if not self._rows:
            return None
        row = self._rows[int(places[place])]
        return {report: float(chance) for report, chance in row.items()}


def _by_value(answer: Any, row: Mapping[Any, Fraction | float]) -> dict[Any, Fraction]:
    """Return a row of a table in fractions, by the values that reports are looked up with."""
    try:
        law = {value_of(key_of(report)): Fraction(chance) for report, chance in row.items()}
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(
            f"distribution({answer!r}) holds what is no probability: {error}."
        ) from error
    total = sum(law.values(), Fraction(0))
    # Only floats can miss 1 by rounding: a report that is left out may be one in clear.
    rounding = _ROUNDING if any(isinstance(chance, float) for chance in row.values()) else 0
    if min(law.values(), default=-1) < 0 or abs(total - 1) > rounding:
        raise ParameterError(
            f"the probabilities of the reports for answer {answer} add to {float(total)}, expected "
            "1 and none below 0."
        )
    return {report: chance / total for report, chance in law.items()}


def _amount(number: Any) -> Micro:
    if isinstance(number, Micro):
        return number
    amount = exact(number, "claimed_epsilon")
    if isinstance(amount, float):
        return INFINITE_LOSS
    if amount < 0:
        raise ParameterError(f"claimed_epsilon is {number!r}, expected at least 0.")
    return Micro.of_amount(amount)
