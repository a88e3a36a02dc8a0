"""The public range of values: it comes from the questions, never from the claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.exact.number import NumberLike, finite, positive, text_of

Ends = tuple[NumberLike, NumberLike]


@dataclass(frozen=True, slots=True)
class Domain:
    """The public range of values.

    Parameters
    ----------
    low, high : number
        Ends, low below high. Claims outside are moved to the nearer end.
    step : number, optional
        Distance of the values that can be answered (1 for whole numbers); high - low is a multiple.
        Releases are then rounded to such values.
    of_objects : mapping of object to (low, high), optional
        Ends of objects that have their own.

    Raises
    ------
    ParameterError
        Ends or step do not fit.

    Examples
    --------
    >>> Domain(0, 10, step="0.5").step
    Fraction(1, 2)
    """

    low: Fraction
    high: Fraction
    step: Fraction | None
    of_objects: Mapping[Any, tuple[Fraction, Fraction]]

    def __init__(
        self,
        low: NumberLike,
        high: NumberLike,
        *,
        step: NumberLike | None = None,
        of_objects: Mapping[Any, Ends] | None = None,
    ) -> None:
        exact_step = None if step is None else positive(step, "step")
        ends = _ends((low, high), exact_step)
        own = {name: _ends(pair, exact_step) for name, pair in (of_objects or {}).items()}
        for field, value in zip(
            ("low", "high", "step", "of_objects"), (*ends, exact_step, own), strict=True
        ):
            object.__setattr__(self, field, value)

    @classmethod
    def of(cls, domain: Domain | Ends | None) -> Domain:
        """Return a domain from itself or its two ends.

        Raises
        ------
        ParameterError
            There is none.
        """
        if domain is None:
            raise ParameterError(
                "a private release needs the public domain (low, high) of the values, for instance "
                "the survey's scale. It cannot be taken from the claims: their smallest and "
                "largest value are somebody's claims, and would be published."
            )
        if isinstance(domain, Domain):
            return domain
        try:
            low, high = domain
        except (TypeError, ValueError) as error:
            raise ParameterError(f"domain is {domain!r}, expected (low, high).") from error
        return cls(low, high)

    def ends(self, objects: pa.Array) -> tuple[Floats, Floats]:
        """Return the low and the high end of each object, shape (n_objects,) each.

        Raises
        ------
        ParameterError
            Objects have ends of their own, and none of them is among these.
        """
        # low, high[object]: an object's own ends, where it has any
        low = np.full(len(objects), float(self.low))
        high = np.full(len(objects), float(self.high))
        if self.of_objects:
            names = objects.to_pylist()
            if names and not any(name in self.of_objects for name in names):
                raise ParameterError(
                    f"ends of their own are given for {list(self.of_objects)[:5]}, and none of "
                    f"these has a claim; the claims are about {names[:5]}. A name as a text is not "
                    "the same name as a number."
                )
            for i, name in enumerate(names):
                if name in self.of_objects:
                    low[i], high[i] = map(float, self.of_objects[name])
        return low, high

    def rounded(self, values: Floats, low: Floats, high: Floats) -> Floats:
        """Return values moved into the range and, with a step, to the nearest that can be given."""
        inside = np.clip(values, low, high)
        if self.step is None:
            return inside
        step = float(self.step)
        # counted from each object's own low end; a float multiple can end just beyond the high one
        return np.clip(low + np.rint((inside - low) / step) * step, low, high)

    def __str__(self) -> str:
        step = "" if self.step is None else f" in steps of {text_of(self.step)}"
        own = f", {len(self.of_objects)} objects with their own ends" if self.of_objects else ""
        return f"{text_of(self.low)} to {text_of(self.high)}{step}{own}"


def _ends(pair: Ends, step: Fraction | None) -> tuple[Fraction, Fraction]:
    low, high = finite(pair[0], "low"), finite(pair[1], "high")
    if low >= high:
        raise ParameterError(
            f"the domain is {text_of(low)} to {text_of(high)}, expected low below high."
        )
    # in fractions: 1 is ten steps of a tenth, which floats would deny
    if step is not None and ((high - low) / step).denominator != 1:
        raise ParameterError(
            f"the domain {text_of(low)} to {text_of(high)} is no whole number of steps of "
            f"{text_of(step)}."
        )
    return low, high
