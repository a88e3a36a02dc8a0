"""What an audit looks at: a mechanism, and how many answers of a person it masks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

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
from masquerade.accounting.witness import Witness
from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.mechanisms import (
    CategoricalMechanism,
    DiscreteLaplace,
    LatticeMechanism,
    Loss,
    Mechanism,
    QuantisedResponse,
    QuestionSampling,
)

Vector = NDArray[Any]
Law = tuple[NDArray[Any], NDArray[np.float64]]
"""Reports, and the probability of each."""

_MOST_INPUTS = 8
_LARGEST_TABLE = 1 << 16
_NOTHING_SENT = -1


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed for one changed answer, and for all of them."""

    event: Loss
    user: Loss
    delta: Fraction
    status: str
    rho: Loss | None = None

    @classmethod
    def of(cls, mechanism: Mechanism, answers: int) -> Claim:
        """Return a mechanism's guarantee; of one without, what was published."""
        promise = mechanism.guarantee(answers=answers)
        published = getattr(mechanism, "published_loss", None)
        if promise.status == "none" and published is not None:
            return cls(published(answers=1), published(answers=answers), promise.delta, "none")
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

    @abstractmethod
    def vectors(self) -> list[tuple[str, Vector]]:
        """Return the answers of persons to compare, with names; all of one length."""

    @abstractmethod
    def draw(self, vector: Vector, persons: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return the reports of persons with these answers, shape (persons, answers)."""

    @abstractmethod
    def exact(self) -> ExactLoss | None:
        """Return the loss by the mechanism's own probabilities; None where it has none."""

    @abstractmethod
    def law(self, vector: Vector) -> Law | None:
        """Return what should be drawn: reports of one answer, or in how many places they differ."""


class OfMechanism(Subject):
    """One of our mechanisms, or a subclass of `Mechanism`, through its public face alone."""

    def __init__(self, mechanism: Mechanism, answers: int) -> None:
        self.name, self.claim = str(mechanism), Claim.of(mechanism, answers)
        self._mechanism, self._answers = mechanism, answers
        self._inputs = _inputs_of(mechanism)

    def vectors(self) -> list[tuple[str, Vector]]:
        """Return the answers of persons to compare; see `Subject.vectors`."""
        return vectors_of(self._inputs, self._answers, [_named(value) for value in self._inputs])

    def draw(self, vector: Vector, persons: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return reports; NaN or -1 where none was sent."""
        mechanism, n = self._mechanism, len(vector)
        categorical = mechanism.kind == "categorical"
        claims = Claims(
            task=np.tile(np.arange(n, dtype=np.int32), persons),
            worker=np.repeat(np.arange(persons, dtype=np.int32), n),
            value=np.tile(vector, persons),
            tasks=pa.array(range(n)),
            workers=pa.array(range(persons)),
            options=pa.array(range(_options_of(mechanism))) if categorical else None,
            null=mechanism.null,
        )
        reports = mechanism.simulate(claims, rng, presence="assigned" if mechanism.null else None)
        nothing = _NOTHING_SENT if categorical else math.nan
        out = np.full((persons, n), nothing, dtype=reports.value.dtype)
        out[reports.worker, reports.task] = reports.value
        return out

    def exact(self) -> ExactLoss | None:
        """Return the loss by the mechanism's own probabilities; see `Subject.exact`."""
        mechanism, answers, claim = self._mechanism, self._answers, self.claim
        if isinstance(mechanism, QuestionSampling):
            # Which answers are reported does not depend on them, so every choice loses the same.
            return of_response(mechanism.inner(answers), mechanism.reported(answers))
        if isinstance(mechanism, CategoricalMechanism):
            return of_response(mechanism, answers)
        if isinstance(mechanism, QuantisedResponse):
            return _of_quantised(mechanism, answers)
        if not isinstance(mechanism, LatticeMechanism):
            return None
        law = self._lattice_law(mechanism)
        if claim.delta:
            return of_lattice_at(law, answers=answers, claimed=claim.user, delta=claim.delta)
        if isinstance(mechanism, DiscreteLaplace):
            top, bottom = mechanism.device_form()["scale"]
            scale = Fraction(int(top), int(bottom))
            return of_laplace(law, scale=scale, answers=answers, claimed=claim.event)
        return of_lattice(law, answers=answers, claimed=claim.user)

    def law(self, vector: Vector) -> Law | None:
        """Return what should be drawn; see `Subject.law`."""
        mechanism, n = self._mechanism, len(vector)
        if isinstance(mechanism, CategoricalMechanism):
            if n == 1:
                keep, other = pattern_probabilities(*device_numbers(mechanism), 1)
                row = np.full(mechanism.symbols, float(other))
                row[int(vector[0])] = float(keep)
                return np.arange(mechanism.symbols), row
            return (np.arange(n + 1), pattern_law(mechanism, n)) if n <= MOST_ANSWERS else None
        if n > 1 or not isinstance(mechanism, LatticeMechanism):
            return None
        if isinstance(mechanism, QuantisedResponse):
            reports = mechanism.level_values
            if mechanism.null:
                reports = np.append(reports, math.nan)
        else:
            window = self._lattice_law(mechanism).window()
            if window is None:
                return None
            reports = window[0]
        return reports, mechanism.probability(float(vector[0]), reports)

    def _lattice_law(self, mechanism: LatticeMechanism) -> LatticeLaw:
        return LatticeLaw(
            tuple(float(value) for value in self._inputs),
            mechanism.probability,
            mechanism.lattice.values,
            mechanism.lattice.points,
        )


def vectors_of(
    inputs: Sequence[Any], answers: int, names: Sequence[str]
) -> list[tuple[str, Vector]]:
    """Return vectors of answers to compare; for more than one answer, of the first two inputs."""
    kind = np.float64 if isinstance(inputs[0], float) else np.int32
    if answers == 1:
        values = zip(names, inputs, strict=True)
        return [(name, np.array([value], dtype=kind)) for name, value in values]
    out = [(f"{names[0]} each time", np.full(answers, inputs[0], dtype=kind))]
    for count in sorted({1, answers // 2, answers}):
        vector = np.full(answers, inputs[0], dtype=kind)
        vector[:count] = inputs[1]
        out.append((f"{names[1]} {count} times of {answers}", vector))
    return out


def _inputs_of(mechanism: Mechanism) -> list[Any]:
    """Return the answers to compare: the ends, some between, and "no answer" where masked."""
    if isinstance(mechanism, LatticeMechanism):
        points = mechanism.lattice.points
        places = dict.fromkeys((0, points - 1, (points - 1) // 2, 1))
        values: list[float] = mechanism.lattice.values(np.array(list(places))).tolist()
        return [*values, math.nan] if mechanism.null else values
    if mechanism.kind == "categorical":
        symbols = _options_of(mechanism) + mechanism.null
        some = list(range(min(symbols, _MOST_INPUTS - 1)))
        return some if len(some) == symbols else [*some, symbols - 1]
    raise ParameterError(
        f"{mechanism} cannot be audited as it is: say which answers to compare, and how reports "
        "are drawn, with Randomizer."
    )


def _of_quantised(mechanism: QuantisedResponse, answers: int) -> ExactLoss | None:
    lattice = mechanism.lattice
    if lattice.points * mechanism.symbols > _LARGEST_TABLE:
        # Answers between two levels are mixtures of them, so the ends, which are levels, lose most.
        found = of_numbers(*device_numbers(mechanism), answers)
        if found is None:
            return None
        low, high = (_named(value) for value in lattice.values(np.array([0, lattice.points - 1])))
        return replace(found, worst=Witness(low, (low, high)))
    nothing = [math.nan] * mechanism.null
    values = lattice.values(np.arange(lattice.points)).tolist()
    return of_table(
        mechanism.channel().table,
        inputs=[_named(value) for value in values + nothing],
        reports=[_named(value) for value in mechanism.level_values.tolist() + nothing],
        answers=answers,
    )


def _named(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return "'no answer'" if math.isnan(value) else f"{value:g}"


def _options_of(mechanism: Any) -> int:
    options: int = mechanism.options
    return options
