"""Axes of charts: round ticks, and places along them in percent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

#: Of the width, kept free at both ends so that a dot at an end is whole.
_MARGIN = 0.025

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Axis:
    """A stretch of numbers that a chart shows from left to right."""

    # low, high: its ends, low below high.
    low: float
    high: float
    percent: bool = False  # whether its numbers are shares

    @classmethod
    def around(cls, values: Iterable[float | None]) -> Axis:
        """Return an axis that holds all values, and 0."""
        known = [0.0, *(value for value in values if value is not None)]
        # An axis needs a width, also where all values are 0.
        low, high = min(known), max(known)
        return cls(low, high if high > low else low + 1)

    def at(self, value: float) -> str:
        """Return where a value stands; what lies outside stands at the nearer end.

        Examples
        --------
        >>> Axis(0, 10).at(5), Axis(0, 10).at(99)
        ('50.00%', '97.50%')
        """
        part = (value - self.low) / (self.high - self.low)
        inside = min(max(part, 0.0), 1.0)
        return f"{100 * (_MARGIN + (1 - 2 * _MARGIN) * inside):.2f}%"

    def width(self, low: float, high: float) -> str:
        """Return how wide the stretch between two values is."""
        return f"{max(0.0, float(self.at(high)[:-1]) - float(self.at(low)[:-1])):.2f}%"

    def outside(self, value: float) -> bool:
        """Return whether a value lies beyond an end."""
        return not self.low <= value <= self.high

    def ticks(self) -> list[tuple[str, str]]:
        """Return place and text of some round numbers within the axis.

        Examples
        --------
        >>> [text for _, text in Axis(0, 80).ticks()]
        ['0', '20', '40', '60', '80']
        >>> [text for _, text in Axis(0, 1, percent=True).ticks()]
        ['0 %', '25 %', '50 %', '75 %', '100 %']
        """
        span = self.high - self.low
        # The power of ten below the width; steps are round parts of it.
        size = 10.0 ** math.floor(math.log10(span))
        most = 4 if self.percent else 5
        steps = [one * size * part for part in (0.1, 1.0) for one in _STEPS]
        step = next(step for step in steps if span / step <= most + 1e-9)
        # 1e-9 is for rounding: a tick that falls on an end must not be lost.
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [(self.at(k * step), self._text(k * step)) for k in range(first, last + 1)]

    def _text(self, value: float) -> str:
        if self.percent:
            return f"{100 * value:.3g} %"
        # A true minus sign, as wide as a digit.
        return f"{value:.6g}".replace("-", "−")
