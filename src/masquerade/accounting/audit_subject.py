"""The subject of an audit: a mechanism, and how many answers of a person it masks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masquerade.accounting.audit_report import Witness
from masquerade.accounting.audit_views import Drawn
from masquerade.accounting.exact_loss import (
    MOST_ANSWERS,
    ExactLoss,
    device_numbers,
    of_numbers,
    of_response,
    of_table,
    pattern_law,
    pattern_probabilities,
)
from masquerade.accounting.lattice_loss import LatticeLaw, of_laplace, of_lattice, of_lattice_at
from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact import Micro
from masquerade.exact.arrays import Floats, Integers
from masquerade.mechanisms import CategoricalMechanism, LatticeMechanism, Mechanism

Vector = NDArray[Any]
#: Reports, and the probability of each.
Law = tuple[NDArray[Any], Floats]

#: With more inputs than these, a random sample of them is compared.
MOST_INPUTS = 512

SAMPLED_INPUTS = 256

_LARGEST_TABLE = 1 << 16
_LARGEST_JOINT = 1 << 12
_NOTHING_SENT = -1
_NO_STEP = -(1 << 62)
_MOST_COLUMNS = 6
_MOST_IN_LAW = 5
_MOST_NAMED = 6
_MOST_CHANGES = 24


@dataclass(frozen=True, slots=True)
class Claim:
    """The claimed losses of one changed answer, and of all of them."""

    event: Micro
    user: Micro
    delta: Fraction
    status: str
    rho: Micro | None = None

    @classmethod
    def of(cls, mechanism: Mechanism, answers: int) -> Claim:
        """Return the claim of a mechanism's guarantee."""
        promise = mechanism.guarantee(answers=answers)
        return cls(
            promise.epsilon_event,
            promise.epsilon_user,
            promise.delta,
            promise.status,
            promise.rho_user,
        )


class Subject(ABC):
    """A mechanism under audit, and how many answers of a person it masks."""

    name: str
    claim: Claim
    #: How many answers can be given.
    inputs: int
    #: How many of them are drawn for.
    compared: int
    #: Whether the reports of one person are said to be independent.
    independent: bool
    #: How many small calls may be made in a row.
    most_calls: int = 512

    @abstractmethod
    def vectors(self) -> list[Answers]:
        """Return the answers of persons to compare; all of one length."""

    @abstractmethod
    def draw(self, vector: Vector, persons: int, rng: np.random.Generator) -> Drawn:
        """Return the reports of persons with these answers, from one call."""

    @abstractmethod
    def exact(self) -> ExactLoss | None:
        """Return the loss by the mechanism's own probabilities; None where it has none."""

    @abstractmethod
    def laws(self, vector: Vector, drawn: Drawn) -> list[tuple[Law, NDArray[Any]]]:
        """Return pairs of a claimed law and drawn reports, in one or more ways."""

    def form(self, vector: Vector, rng: np.random.Generator) -> str | None:
        """Return the outward form of one call for one report; None where that is fixed."""
        return None

    def whole(self, reports: NDArray[Any]) -> Integers | None:
        """Return reports as whole steps of a lattice; None where they are not on one."""
        return None

    def together(self, answers: int) -> Subject | None:
        """Return the mechanism with more answers of a person; None where it masks one at a time."""
        return None


class Answers(NamedTuple):
    """Answers of a person: values, the places of these among all inputs, and words."""

    words: str
    vector: Vector
    places: Integers


class OfMechanism(Subject):
    """A mechanism through its public face; `rng` chooses the inputs beyond `MOST_INPUTS`."""

    def __init__(
        self, mechanism: Mechanism, answers: int, rng: np.random.Generator | None = None
    ) -> None:
        self.name, self.claim = str(mechanism), Claim.of(mechanism, answers)
        self._mechanism, self._answers, self._rng = mechanism, answers, rng
        self._inputs, self.inputs = _inputs_of(mechanism, rng)
        self.compared = len(self._inputs)
        self._response, self._numbers = mechanism.option_response, mechanism.as_numbers
        self._shared = self._response is not None and _shares_a_number(self._response)
        self._names: dict[int, tuple[pa.Array, pa.Array, pa.Array | None]] = {}
        known = self._response is not None or self._numbers is not None
        self.independent = known and not self._shared

    def vectors(self) -> list[Answers]:
        """Return the answers of persons to compare; see `Subject.vectors`."""
        return vectors_of(self._inputs, self._answers, [_named(value) for value in self._inputs])

    def together(self, answers: int) -> Subject | None:
        """Return the same mechanism with more answers of a person; see `Subject.together`."""
        return OfMechanism(self._mechanism, answers, self._rng)

    def draw(self, vector: Vector, persons: int, rng: np.random.Generator) -> Drawn:
        """Return reports; NaN or -1 where none was sent."""
        mechanism, n = self._mechanism, len(vector)
        claims = self._claims(vector, persons)
        reports = mechanism.simulate(claims, rng, presence="assigned" if mechanism.null else None)
        worker, task = reports.worker, reports.task
        # the usual case: one report for each answer, in order, so that nothing has to be moved
        if (
            len(worker) == persons * n
            and np.array_equal(task, claims.task)
            and np.array_equal(worker, claims.worker)
        ):
            return Drawn.of(reports.value.reshape(persons, n))
        nothing = _NOTHING_SENT if mechanism.kind == "categorical" else math.nan
        out = np.full((persons, n), nothing, dtype=reports.value.dtype)
        out[worker, task] = reports.value
        return Drawn(out, _sent(worker, task, persons, n))

    def _claims(self, vector: Vector, persons: int) -> Claims:
        """Return the answers of persons as claims; lists of names are made only once."""
        mechanism, n = self._mechanism, len(vector)
        if persons not in self._names:
            options = np.arange(_options_of(mechanism)) if mechanism.kind == "categorical" else None
            self._names[persons] = (
                pa.array(np.arange(n)),
                pa.array(np.arange(persons)),
                None if options is None else pa.array(options),
            )
        tasks, workers, names = self._names[persons]
        return Claims(
            task=_repeated(np.arange(n, dtype=np.int32), persons),
            worker=np.arange(persons, dtype=np.int32).repeat(n),
            value=_repeated(vector, persons),
            tasks=tasks,
            workers=workers,
            options=names,
            null=mechanism.null,
        )

    def whole(self, reports: NDArray[Any]) -> Integers | None:
        """Return reports as whole steps above the lowest answer; see `Subject.whole`."""
        if self._numbers is None:
            return None
        steps = self._numbers.lattice.offsets(reports)
        return np.where(np.isfinite(steps), np.rint(steps), _NO_STEP).astype(np.int64)

    def exact(self) -> ExactLoss | None:
        """Return the loss by the mechanism's own probabilities; see `Subject.exact`."""
        answers, claim = self._answers, self.claim
        if self._response is not None:
            return of_response(self._response, answers)
        numbers = self._numbers
        if numbers is None:
            return None
        if numbers.report_values is not None:
            return _of_levels(numbers, numbers.report_values, answers)
        law = self._lattice_law
        if claim.delta:
            return of_lattice_at(law, answers=answers, claimed=claim.user, delta=claim.delta)
        if (scale := numbers.laplace_scale) is not None:
            return of_laplace(law, scale=scale, answers=answers, claimed=claim.event)
        return of_lattice(law, answers=answers, claimed=claim.user)

    def laws(self, vector: Vector, drawn: Drawn) -> list[tuple[Law, NDArray[Any]]]:
        """Return pairs of a claimed law and drawn reports; see `Subject.laws`.

        Each report by itself; where answers share a private flip probability also in how many
        places reports differ, and all reports together where these are not too many.
        """
        response, n = self._response, len(vector)
        columns = range(n) if n <= _MOST_COLUMNS else (0, 1, n // 2, n - 2, n - 1)
        found = []
        for place in columns:
            law = self._law_of_one(vector[place])
            if law is not None:
                found.append((law, drawn.reports[:, place]))
        if n == 1 or response is None or n > MOST_ANSWERS:
            return found
        # differing[person]: in how many places reports differ from answers
        differing = (drawn.reports != vector).sum(axis=1)
        found.append(((np.arange(n + 1), pattern_law(response, n)), differing))
        symbols = response.symbols
        if symbols**n <= _LARGEST_JOINT:
            # all reports of a person as one number, each report a digit
            weights = symbols ** np.arange(n, dtype=np.int64)
            every = np.arange(symbols**n)
            changed = ((every[:, None] // weights % symbols) != vector).sum(axis=1)
            by_places = [float(p) for p in pattern_probabilities(*device_numbers(response), n)]
            known = np.where(drawn.reports < 0, symbols**n, drawn.reports)
            found.append(((every, np.array(by_places)[changed]), known @ weights))
        return found

    def _law_of_one(self, answer: Any) -> Law | None:
        response, numbers = self._response, self._numbers
        if response is not None:
            keep, other = pattern_probabilities(*device_numbers(response), 1)
            row = np.full(response.symbols, float(other))
            row[int(answer)] = float(keep)
            return np.arange(response.symbols), row
        if numbers is None:
            return None
        reports = numbers.report_values
        if reports is None:
            if self._window is None:
                return None
            reports = self._window[0]
        return reports, numbers.probability(float(answer), reports)

    @cached_property
    def _window(self) -> tuple[Floats, Floats] | None:
        return self._lattice_law.window()

    @cached_property
    def _lattice_law(self) -> LatticeLaw:
        """The law of all answers that are compared, or of five where the table is too large."""
        mechanism = self._numbers
        assert mechanism is not None
        inputs = [float(value) for value in self._inputs]
        lattice = mechanism.lattice
        every = LatticeLaw(tuple(inputs), mechanism.probability, lattice.values, lattice.points)
        if len(inputs) <= _MOST_IN_LAW or every.window() is not None:
            return every
        last = len(inputs) - 1 - mechanism.null
        some = [0, 1, last // 2, last, *([last + 1] if mechanism.null else [])]
        return replace(every, inputs=tuple(inputs[place] for place in some))


def vectors_of(inputs: Sequence[Any], answers: int, names: Sequence[str]) -> list[Answers]:
    """Return vectors of answers to compare.

    For one answer, all inputs. For more: one input each time, and the second in one place, in half
    of them and in all; vectors of unequal answers in which every input stands in every place; and
    one of these with its first answer changed to every other, and each of some later ones to two.
    """
    kind = np.float64 if isinstance(inputs[0], float) else np.int32
    values = np.array(inputs, dtype=kind)
    many = len(inputs)
    if answers == 1:
        rows = [(name, np.array([place])) for place, name in enumerate(names)]
        return [Answers(name, values[row], row) for name, row in rows]
    out = [(f"{names[0]} each time", np.zeros(answers, dtype=np.int64))]
    for count in sorted({1, answers // 2, answers}):
        row = (np.arange(answers) < count).astype(np.int64)
        out.append((f"{names[1]} {count} times of {answers}", row))
    for start in range(many):
        row = (start + np.arange(answers)) % many
        out.append((_some([names[place] for place in row[:_MOST_NAMED]], answers), row))
    unequal = np.arange(answers) % many
    for at in sorted({0, 1, answers // 2, answers - 1}):
        others = range(1, many) if at == 0 else {1, many // 2, many - 1} - {0}
        for step in list(others)[:_MOST_CHANGES]:
            row = unequal.copy()
            row[at] = (row[at] + step) % many
            words = _some([names[place] for place in row[:_MOST_NAMED]], answers)
            out.append((words if at < _MOST_NAMED else f"{words}, answer {at + 1} changed", row))
    unlike: dict[tuple[int, ...], Answers] = {}
    for words, row in out:
        unlike.setdefault(tuple(row.tolist()), Answers(words, values[row], row))
    return list(unlike.values())


def differences(answers: Sequence[Answers]) -> Integers:
    """Return in how many places each two vectors of answers differ."""
    rows = np.array([one.places for one in answers])
    found = np.zeros((len(rows), len(rows)), dtype=np.int64)
    for column in rows.T:
        found += column[:, None] != column[None, :]
    return found


def chosen_inputs(many: int, rng: np.random.Generator | None) -> Integers:
    """Return places of inputs to compare: all, or both ends and some more (by `rng`, or evenly)."""
    if many <= MOST_INPUTS:
        return np.arange(many)
    if rng is None:
        return np.unique(np.linspace(0, many - 1, SAMPLED_INPUTS).round().astype(np.int64))
    ends = [0, 1, many - 1]
    drawn = rng.integers(0, many, 2 * SAMPLED_INPUTS).tolist()
    unlike = list(dict.fromkeys([*ends, *drawn]))[:SAMPLED_INPUTS]
    return np.array(sorted(unlike), dtype=np.int64)


def _some(names: Sequence[str], answers: int) -> str:
    return ", ".join(names) + (", ..." if answers > len(names) else "")


def _inputs_of(mechanism: Mechanism, rng: np.random.Generator | None) -> tuple[list[Any], int]:
    """Return the answers to compare, "no answer" where masked, and how many there are."""
    if (numbers := mechanism.as_numbers) is not None:
        points = numbers.lattice.points
        places = chosen_inputs(points, rng)
        values: list[float] = numbers.lattice.values(places).tolist()
        return ([*values, math.nan] if mechanism.null else values), points + mechanism.null
    if mechanism.kind == "categorical":
        symbols = _options_of(mechanism) + mechanism.null
        return chosen_inputs(symbols, rng).tolist(), symbols
    raise ParameterError(
        f"{mechanism} cannot be audited as it is: say which answers to compare, and how reports "
        "are drawn, with Randomizer."
    )


def _shares_a_number(mechanism: CategoricalMechanism) -> bool:
    first, last, _, _ = device_numbers(mechanism)
    return first != last


def _sent(worker: NDArray[Any], task: NDArray[Any], persons: int, answers: int) -> Integers:
    """Return a code of which reports each person sent, in which order; 0 where none is missing."""
    order = np.argsort(worker, kind="stable")
    who, what = worker[order], task[order].astype(np.int64)
    start = np.searchsorted(who, np.arange(persons))
    place = np.arange(len(who)) - start[who]
    ascending = np.ones(len(who), dtype=np.bool_)
    ascending[1:] = (who[1:] != who[:-1]) | (what[1:] > what[:-1])
    # Reports in ascending order, each once: how many says all that which are missing does not.
    code = np.bincount(who, minlength=persons).astype(np.int64) - answers
    unusual = np.bincount(who, ~ascending, persons) > 0
    if unusual.any():
        words = np.bincount(who, (what + 1.0) * (place + 1.0) ** 2, persons).astype(np.int64)
        code = np.where(unusual, 1 + answers + words, code)
    return code


def _of_levels(mechanism: LatticeMechanism, reports: Floats, answers: int) -> ExactLoss | None:
    lattice = mechanism.lattice
    if lattice.points * len(reports) > _LARGEST_TABLE:
        # Answers between two levels are mixtures of them, so the ends, which are levels, lose most.
        found = of_numbers(*device_numbers(mechanism), answers)
        if found is None:
            return None
        low, high = (_named(value) for value in lattice.values(np.array([0, lattice.points - 1])))
        gap = "every row of channel(), for it would be too large; the levels stand for all answers"
        return replace(found, worst=Witness(low, (low, high)), gaps=(gap,))
    nothing = [math.nan] * mechanism.null
    values = lattice.values(np.arange(lattice.points)).tolist()
    return of_table(
        mechanism.channel().table,
        inputs=[_named(value) for value in values + nothing],
        reports=[_named(value) for value in reports.tolist()],
        answers=answers,
    )


def _repeated(row: NDArray[Any], times: int) -> NDArray[Any]:
    """Return the same as np.tile, which is slow for the many calls that are small."""
    return row[None].repeat(times, axis=0).ravel()


def _named(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return "'no answer'" if math.isnan(value) else f"{value:g}"


def _options_of(mechanism: Any) -> int:
    options: int = mechanism.options
    return options
