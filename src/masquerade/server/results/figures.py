"""Figures of results: numbers in words, and their places on the axis of a chart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masquerade.results import Figure
    from masquerade.results.columns import Column

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
    whole: bool = False  # whether its numbers are whole, so that no tick lies between two

    @classmethod
    def around(cls, values: Iterable[float | None]) -> Axis:
        """Return an axis that holds all values, and 0."""
        known = [0.0, *(value for value in values if value is not None)]
        # An axis needs a width, also where all values are 0.
        low, high = min(known), max(known)
        return cls(low, high if high > low else low + 1)

    def at(self, value: float) -> str:
        """Return the place of a value on the axis; one outside stands at the nearer end.

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
        >>> [text for _, text in Axis(1, 12, whole=True).ticks()]
        ['5', '10']
        """
        span = self.high - self.low
        # The power of ten below the width; steps are round parts of it.
        size = 10.0 ** math.floor(math.log10(span))
        most = 4 if self.percent else 5
        steps = [one * size * part for part in (0.1, 1.0) for one in _STEPS]
        if self.whole:
            steps = [step for step in steps if step >= 1 and step.is_integer()]
        step = next(step for step in steps if span / step <= most + 1e-9)
        # 1e-9 is for rounding: a tick that falls on an end must not be lost.
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [(self.at(k * step), self._text(k * step)) for k in range(first, last + 1)]

    def _text(self, value: float) -> str:
        if self.percent:
            return f"{100 * value:.3g} %"
        # A true minus sign, as wide as a digit.
        return f"{value:.6g}".replace("-", "−")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a chart and of its table: a figure in words and in numbers."""

    label: str
    value: float | None  # the possible estimate, where the chart has its bar or dot
    text: str
    low: float | None
    high: float | None
    between: str
    cells: tuple[str, ...]  # of `PAGE_COLUMNS`
    reported: float | None = None  # share of the reports
    known: float | None = None  # of made-up people
    people_there: int | None = None  # where the line is of one level
    whole: bool = False  # whether it is of everybody, among lines of levels

    @property
    def missed(self) -> bool:
        """Whether the known value of made-up people lies outside the interval."""
        if self.known is None or self.low is None or self.high is None:
            return False
        return not self.low <= self.known <= self.high


@dataclass(frozen=True, slots=True)
class Figures:
    """The written form of a question's numbers."""

    share: bool  # whether they are shares of people
    axis: Axis  # from one end of their range to the other
    digits: int
    unit: str = ""
    parts: bool = True  # whether the shares are parts of a whole and add to 100 %
    split: bool = False  # whether two parties added up the answers

    @property
    def _columns(self) -> tuple[Column, ...]:
        from masquerade.results.columns import PAGE_COLUMNS

        return PAGE_COLUMNS

    def text(self, value: float | None) -> str:
        """Return a value that a person reads, in words."""
        if value is None:
            return "–"
        return f"{self.margin(value)}{self.unit and f' {self.unit}'}"

    def margin(self, value: float | None) -> str:
        """Return an error or an end of an interval in words."""
        if value is None:
            return "–"
        return f"{self._number(100 * value)} %" if self.share else self._number(value)

    def spread(self, value: float | None) -> str:
        """Return half of an interval in words: of shares, percentage points."""
        points = self.share and value is not None
        return f"{100 * value:.{self.digits}f} %-points" if points and value else self.margin(value)

    def between(self, low: float | None, high: float | None, joint: str = "to") -> str:
        """Return an interval in words, rounded outwards, so that it holds the rounded estimate."""
        if low is None or high is None:
            return ""
        from masquerade.results.headline import outward_interval

        places = self.digits + 2 * self.share
        low, high = outward_interval(low, high, digits=places)
        # Cut at the ends of the range: shares outside 0 and 1 mean nothing to a reader.
        low, high = max(low, self.axis.low), min(high, self.axis.high)
        if self.share:
            return f"{self._number(100 * low)} {joint} {self._number(100 * high)} %"
        unit = self.unit and f" {self.unit}"
        return f"{self._number(low)} {joint} {self._number(high)}{unit}"

    def row(self, label: str, figure: Figure, *, percent: float | None = None) -> Row:
        """Return one line of a chart and of its table.

        A share's `percent` is rounded together with those of the others of its question.
        """
        text = self.text(figure.shown)
        if percent is not None:
            # What is rounded to 0 may be some share, and "0 %" alone would say none.
            # and what is rounded to 100 may be less.
            sure = 0 < percent < 100 or figure.low == figure.high
            text = f"{'' if sure else 'about '}{self._number(percent)} %"
        return Row(
            label=label,
            value=figure.shown,
            text=text,
            low=figure.low,
            high=figure.high,
            between=self.between(figure.low, figure.high),
            cells=tuple(self.margin(one.of(figure)) for one in self._columns if one.of),
        )

    def rows(self, options: Sequence[tuple[str, Figure]]) -> list[Row]:
        """Return one line for each answer; percentages of parts of a whole add to 100."""
        if not self.parts:
            return [self.row(label, one) for label, one in options]
        from masquerade.results.headline import whole_percents

        shown = [one.shown for _, one in options if one.shown is not None]
        percents = iter(whole_percents(shown, digits=self.digits))
        return [
            self.row(label, one, percent=None if one.shown is None else next(percents))
            for label, one in options
        ]

    def _number(self, value: float) -> str:
        text = f"{value:.{self.digits}f}".replace("-", "−")
        # Never "−0".
        return text.removeprefix("−") if not text.strip("−0.") else text
