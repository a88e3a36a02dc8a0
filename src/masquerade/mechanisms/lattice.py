"""Numbers on a public lattice, and the mechanisms that mask them."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from masquerade.errors import MissingValue, ParameterError, UnknownLabel
from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.number import NumberLike, finite
from masquerade.mechanisms.device_mechanism import DeviceMechanism, Scale
from masquerade.mechanisms.text import text_fields

if TYPE_CHECKING:
    from masquerade.answers import Claims
    from masquerade.mechanisms.categorical import CategoricalMechanism, Channel

MOST_POINTS = 1 << 32
_EXACT_IN_FLOATS = 1 << 53
_EXACT_WITH_ROOM = 1 << 50


@dataclass(frozen=True, slots=True, init=False)
class Lattice:
    """The numbers low, low + step, ..., high, exactly.

    Parameters
    ----------
    low, high, step : number
        Read as people mean them: 0.1 is a tenth. `high` is one of the points, of which there are 2
        to 2**32.

    Examples
    --------
    >>> lattice = Lattice(0, 1, "0.1")
    >>> lattice.points, lattice.values(np.array([0, 3, 12])).tolist()
    (11, [0.0, 0.3, 1.2])
    """

    low: Fraction
    high: Fraction
    step: Fraction

    def __init__(self, low: NumberLike, high: NumberLike, step: NumberLike = 1) -> None:
        for name, value in (("low", low), ("high", high), ("step", step)):
            object.__setattr__(self, name, finite(value, name))
        texts = text_fields(self)
        if self.step <= 0:
            raise ParameterError(f"step is {texts['step']}, expected above 0.")
        if self.high <= self.low:
            raise ParameterError(
                f"low is {texts['low']} and high is {texts['high']}, expected low below high."
            )
        steps = (self.high - self.low) / self.step
        if steps.denominator != 1:
            raise ParameterError(
                f"low {texts['low']} plus whole steps of {texts['step']} never is high "
                f"{texts['high']}; change one of them."
            )
        if steps >= MOST_POINTS:
            raise ParameterError(
                f"low {texts['low']} to high {texts['high']} by step {texts['step']} are more "
                "than 2**32 points; use a larger step."
            )

    @classmethod
    def of_answers(cls, low: NumberLike, high: NumberLike, step: NumberLike) -> Lattice:
        """Return a lattice of points that are different floats, with room for `indices`.

        Raises
        ------
        ParameterError
            The ends or the step have too many digits.
        """
        lattice = cls(low, high, step)
        offset, factor, common = _whole_numbers(lattice.low, lattice.step)
        last = offset + factor * (lattice.points - 1)
        if max(abs(offset), abs(last), common) >= _EXACT_WITH_ROOM:
            fields = ", ".join(f"{key} {value}" for key, value in text_fields(lattice).items())
            raise ParameterError(f"{fields} have more digits than a float can hold; round them.")
        return lattice

    @property
    def points(self) -> int:
        """Number of points, at least 2."""
        return int((self.high - self.low) / self.step) + 1

    def values(self, indices: Integers) -> Floats:
        """Return low + step * index, each the nearest float; indices may lie outside the range."""
        offset, factor, common = _whole_numbers(self.low, self.step)
        farthest = max(-int(indices.min()), int(indices.max())) if indices.size else 0
        if max(abs(offset) + factor * farthest, common) >= _EXACT_IN_FLOATS:
            return np.array([float(self.low + self.step * i) for i in indices.tolist()])
        # whole numbers below 2**53 and one division: the nearest float, without drift
        return (offset + factor * indices) / common

    def indices(self, values: Floats) -> Integers:
        """Return the index of each value, 0 to points - 1; `points` for NaN.

        Raises
        ------
        UnknownLabel
            A value is outside the range or between two points; the message names row and value.
        """
        low, high = float(self.low), float(self.high)
        missing = np.isnan(values)
        known = np.where(missing, low, values)
        outside = ((known < low) | (known > high)).nonzero()[0]
        if outside.size:
            row = int(outside[0])
            fields = text_fields(self)
            raise UnknownLabel(
                f"row {row + 1}: {values[row]} is outside {fields['low']} to {fields['high']}; "
                "correct it, or widen the range, which costs precision or privacy for everybody."
            )
        offset, factor, common = _whole_numbers(self.low, self.step)
        last = self.points - 1
        # A guess by rounding; whether it is the point itself is looked at below.
        nearest = np.rint((known * common - offset) / factor).astype(np.int64)
        places = np.minimum(np.maximum(nearest, 0), last)
        # by the float of the point itself, so that 0.3 typed is the point three tenths
        between = (self.values(places) != known).nonzero()[0]
        if between.size:
            row = int(between[0])
            fields = text_fields(self)
            raise UnknownLabel(
                f"row {row + 1}: {values[row]} is not {fields['low']} plus a whole number of steps "
                f"of {fields['step']}; round it on the device before it is masked, or use a "
                "smaller step."
            )
        return np.where(missing, last + 1, places)

    def offsets(self, values: ArrayLike) -> Floats:
        """Return (value - low) / step as floats, unchecked: for probabilities, never for masks."""
        return (np.asarray(values, dtype=np.float64) - float(self.low)) / float(self.step)


@lru_cache(maxsize=256)
def _whole_numbers(low: Fraction, step: Fraction) -> tuple[int, int, int]:
    """``(a, b, c)`` with low + step * index = (a + b * index) / c."""
    common = math.lcm(low.denominator, step.denominator)
    return int(low * common), int(step * common), common


class LatticeMechanism(DeviceMechanism):
    """A local randomizer of numbers on a lattice.

    Examples
    --------
    >>> from masquerade.mechanisms import DiscreteLaplace
    >>> mechanism = DiscreteLaplace(1, 5, epsilon=1)
    >>> isinstance(mechanism, LatticeMechanism), mechanism.lattice.points
    (True, 5)
    """

    #: The answers that can be given: low, low + step, ..., high.
    lattice: Lattice

    @property
    def domain(self) -> Scale:
        """The numbers that it masks."""
        return Scale(self.lattice, self.null)

    @property
    def as_numbers(self) -> LatticeMechanism:
        """The mechanism itself."""
        return self

    @property
    def level_values(self) -> Floats | None:
        """The levels that reports name; None where reports are numbers with noise."""
        return None

    @property
    def level_response(self) -> CategoricalMechanism | None:
        """The mechanism of a level; None where reports are numbers with noise."""
        return None

    @property
    def report_values(self) -> Floats | None:
        """All reports on the question's scale; None where noise has no end."""
        return None

    def channel(self) -> Channel:
        """Return P(report | answer); `ParameterError` where reports have no end."""
        raise ParameterError(f"reports of {self} have no end, so that no table holds them.")

    @property
    def codes(self) -> int:
        """Number of lattice points, and one more where "no answer" is masked."""
        return self.lattice.points + self.null

    @abstractmethod
    def mask(self, answers: Integers, persons: Codes, source: WordSource) -> Integers:
        """Return a report for each answer.

        Parameters
        ----------
        answers : int64 array, shape (n,)
            Indices of lattice points; the number of points is "no answer" where `null`.
        persons : int32 array, shape (n,)
            Who gives each answer; codes from 0.
        source : WordSource
            Where randomness comes from. What is drawn never depends on the answers.

        Returns
        -------
        int64 array, shape (n,)
            In lattice steps from low; may lie outside the range.
        """

    @abstractmethod
    def probability(self, answer: ArrayLike, report: ArrayLike) -> Floats:
        """Return P(report | answer) in floats, for inference; both on the question's scale.

        NaN stands for "no answer" where `null`.
        """

    @abstractmethod
    def device_form(self) -> dict[str, Any]:
        """Return the whole numbers that a device draws from, as JSON-ready values.

        Numbers that may exceed 2**53 are texts.
        """

    def check(self, claims: Claims) -> None:
        """Raise where the claims are not numbers on the lattice."""
        self._indices(claims)

    def _indices(self, claims: Claims) -> Integers:
        if claims.options is not None:
            raise ParameterError(
                f"{self} masks numbers, the claims are categories; read them with kind='numeric' "
                "(--kind numeric on the command line)."
            )
        if not self.null:
            missing = np.flatnonzero(np.isnan(claims.value))
            if missing.size:
                raise MissingValue(
                    f"row {missing[0] + 1}: no answer was given and {self} cannot mask that; "
                    "use a mechanism with null=true, or remove such rows."
                )
        return self.lattice.indices(claims.value)

    def _masked(self, claims: Claims, source: WordSource) -> Claims:
        reports = self.mask(self._indices(claims), claims.worker, source)
        return self._reported(claims, reports)

    def _reported(self, claims: Claims, reports: Integers) -> Claims:
        """Return the reports as claims on the question's scale."""
        return claims.with_values(self.lattice.values(reports), null=False)
