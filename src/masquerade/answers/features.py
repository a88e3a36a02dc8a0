"""The features of alternatives, each with a public range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from masquerade.errors import ParameterError, SchemaError
from masquerade.exact.arrays import Floats

#: For each feature, the lowest and the highest value that an alternative can have.
Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Feature:
    """A number that describes an alternative.

    Attributes
    ----------
    low, high : float
        The range in which every alternative's value lies. It is public: it comes from the design of
        the questions, never from the answers. Both infinite where no range was declared.

    Examples
    --------
    >>> Feature("price", 0, 5000).width
    5000.0
    """

    name: str
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ParameterError(f"a feature is named {self.name!r}; give it a text of its own.")
        if self.low == -math.inf and self.high == math.inf:
            return
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ParameterError(
                f"feature {self.name!r}: the range {self.low!r} to {self.high!r} must be two "
                "finite numbers, the lower one first."
            )

    @property
    def declared(self) -> bool:
        """Whether a range was declared."""
        return math.isfinite(self.low)

    @property
    def width(self) -> float:
        """The largest possible difference of two alternatives; 1 where no range was declared."""
        return float(self.high - self.low) if self.declared else 1.0


def declare_features(names: Sequence[str], ranges: Ranges | None = None) -> tuple[Feature, ...]:
    """Return features with their public ranges."""
    if not names:
        raise SchemaError("there is no feature; give at least one column of differences.")
    twice = [name for name in names if list(names).count(name) > 1]
    if twice:
        raise SchemaError(f"feature {twice[0]!r} stands twice; rename or drop one.")
    if ranges is None:
        return tuple(Feature(name) for name in names)
    for name in names:
        if name not in ranges:
            raise ParameterError(
                f"feature {name!r} has no range while others have one; give every feature the "
                "lowest and highest value that an alternative can have."
            )
    for name in ranges:
        if name not in names:
            raise ParameterError(
                f"a range is given for {name!r}, which is none of the features {list(names)}."
            )
    return tuple(Feature(name, *_pair(name, ranges[name])) for name in names)


def widths(features: Sequence[Feature]) -> Floats:
    """Return each feature's largest possible difference, shape (n_features,)."""
    return np.array([feature.width for feature in features], dtype=np.float64)


def _pair(name: str, ends: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = ends
        return float(low), float(high)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"feature {name!r}: the range is {ends!r}, expected two numbers (low, high)."
        ) from error
