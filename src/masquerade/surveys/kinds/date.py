"""A date: from a list, or within a public range of days, months or years."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np

from masquerade.mechanisms.device_mechanism import DeviceMechanism
from masquerade.surveys.builder_form import BuilderForm, FormField
from masquerade.surveys.condition_tree import Leaf, Within
from masquerade.surveys.question import NOT_SAID, Answer, Canonical, LabelQuestion
from masquerade.surveys.question_checks import (
    MOST_OPTIONS,
    check_options,
    fault_of_range,
    is_in_range,
    stretches,
)
from masquerade.surveys.question_encoding import Counts, QuestionEncoding

STEPS = ("day", "month", "year")
#: How a date is written, and numpy's name of its step.
_WRITTEN = {"day": r"\d{4}-\d\d-\d\d", "month": r"\d{4}-\d\d", "year": r"\d{4}"}
_UNITS: dict[str, Literal["D", "M", "Y"]] = {"day": "D", "month": "M", "year": "Y"}
MOST_DATES = 40_000
#: Ranges into which dates are cut under masks, where a survey does not say otherwise.
USUAL_BINS = 12


@dataclass(frozen=True, slots=True)
class DateQuestion(LabelQuestion):
    """Name a date.

    Masked on the device, a range of dates is sent, of few that are public: the error of its share
    hardly depends on how many there are.

    Attributes
    ----------
    id, text, allow_skip
        As in `Choice`.
    dates : tuple of str
        The days to choose from, such as ``"2026-05-17"``; empty where there is a range.
    first, last : str
        Ends of the range, both included, such as ``"2026-05"`` for months.
    step : str
        ``"day"``, ``"month"`` or ``"year"``.
    bins : int
        Into how many ranges the dates are cut where they are masked, 2 to 100.

    Examples
    --------
    >>> question = DateQuestion("d", "Since when?", first="2024-01", last="2025-12", bins=4)
    >>> question.labels[0], question.code("2024-07"), question.masked_code(6)
    ('2024-01 – 2024-06', 6, 1)
    """

    id: str
    text: str
    dates: tuple[str, ...] = ()
    first: str = ""
    last: str = ""
    step: str = "month"
    bins: int = USUAL_BINS
    allow_skip: bool = False
    kind: ClassVar[str] = "date"
    called: ClassVar[str] = "a date"
    optional: ClassVar[tuple[str, ...]] = ("dates", "bins")
    mean_name: ClassVar[str] = "mean"
    builder: ClassVar[BuilderForm] = BuilderForm(
        name="Date",
        glyph="2026-05",
        blank={
            "text": "",
            "dates": [],
            "first": "2025-01",
            "last": "2026-12",
            "step": "month",
            "allow_skip": False,
        },
        rows=(
            (FormField("first", "From", hint="Such as 2025-01."), FormField("last", "To")),
            (
                FormField(
                    "step",
                    "In steps of",
                    "choice",
                    choices=(("day", "a day"), ("month", "a month"), ("year", "a year")),
                ),
                FormField("bins", "Ranges", "whole", hint="Of which one is sent; usually 12."),
            ),
            (
                FormField(
                    "dates",
                    "Or these days",
                    "lines",
                    hint="One on each line, such as 2026-05-17. From and To are empty then.",
                    instead=("first", "last"),
                ),
            ),
        ),
        place=8,
    )

    def __post_init__(self) -> None:
        self._check()
        if self.dates:
            self._check_dates()
            return
        if self.step not in STEPS:
            raise self._error("step", f": step is {self.step!r}, expected {', '.join(STEPS)}.")
        for name, text in (("first", self.first), ("last", self.last)):
            if _number(text, self.step) is None:
                example = {"day": "2026-05-17", "month": "2026-05", "year": "2026"}[self.step]
                raise self._error(name, f": {text!r} is no {self.step}; write it like {example}.")
        if self.answer_count < 2:
            raise self._error("last", f": {self.last} is not after {self.first}, where it begins.")
        if self.answer_count > MOST_DATES:
            raise self._error(
                "last", f": there are more than {MOST_DATES:,} {self.step}s; give larger steps."
            )
        whole = isinstance(self.bins, int) and not isinstance(self.bins, bool)
        if not whole or not 2 <= self.bins <= MOST_OPTIONS:
            raise self._error("bins", f": bins is {self.bins!r}, expected 2 to {MOST_OPTIONS}.")

    def _check_dates(self) -> None:
        check_options(self, self.dates, most=MOST_OPTIONS, field="dates")
        for place, text in enumerate(self.dates):
            if _number(text, "day") is None:
                raise self._error(
                    f"dates/{place}", f": {text!r} is no day; write it like 2026-05-17."
                )
        if self.first or self.last:
            raise self._error("dates", ": there is a range too; empty From and To, or these days.")

    @property
    def answer_count(self) -> int:
        """Number of dates."""
        if self.dates:
            return len(self.dates)
        first, last = (_number(text, self.step) for text in (self.first, self.last))
        return 0 if first is None or last is None else max(last - first + 1, 0)

    @property
    def no_answer_code(self) -> int:
        """The code after the last date."""
        return self.answer_count

    @property
    def labels(self) -> tuple[str, ...]:
        """The days of the list, or the ranges that are sent."""
        return self.dates or _labels(self.first, self.step, self.answer_count, self.bins)

    @property
    def scores(self) -> tuple[float, ...] | None:
        """The middle of each range, counted in steps from the first; None of a list."""
        if self.dates:
            return None
        return tuple((a + b) / 2 for a, b in _ends(self.answer_count, self.bins))

    @property
    def unit(self) -> str:
        """The unit of a mean."""
        return "" if self.dates else f"{self.step}s after {self.first}"

    def margin_words(self, low: float, high: float) -> str:
        """Return the unit of a margin of a mean date: a span of time has no range of dates."""
        return f"{self.step}s"

    def code_of(self, answer: Answer) -> int | None:
        """Return the place of a date."""
        if not isinstance(answer, str):
            return None
        if self.dates:
            return self.dates.index(answer) if answer in self.dates else None
        first, given = _number(self.first, self.step), _number(answer, self.step)
        if first is None or given is None or not 0 <= given - first < self.answer_count:
            return None
        return given - first

    def answer(self, code: int) -> Canonical:
        """Return the date of a code; None for "no answer"."""
        if code == self.no_answer_code:
            return None
        return self.dates[code] if self.dates else _text(self.first, self.step, code)

    def masked_code(self, code: int) -> int:
        """Return the range of a date."""
        if self.dates:
            return code
        bins, points = len(self.labels), self.answer_count
        return bins if code == points else ((code + 1) * bins - 1) // points

    def fault_of(self, leaf: Leaf) -> str | None:
        """Return why a condition names no days of a list, or is no interval of a range."""
        if self.dates:
            return LabelQuestion.fault_of(self, leaf)
        if not isinstance(leaf, Within):
            return f"answers of {self.id!r}, {self.called}; give a range, from and to."
        return fault_of_range(self, leaf, str)

    def meets(self, code: int, leaf: Leaf) -> bool:
        """Return whether a date is named, or in the interval."""
        if self.dates:
            return LabelQuestion.meets(self, code, leaf)
        return is_in_range(self, code, leaf)

    def deciding_codes(self, leaves: Sequence[Leaf]) -> Iterable[tuple[int, float]]:
        """Return the first date of each stretch that intervals and masked ranges cut."""
        if self.dates:
            return LabelQuestion.deciding_codes(self, leaves)
        return stretches(self, leaves, [low for low, _ in _ends(self.answer_count, self.bins)])

    def encoding(self, *, bins: int, summed: bool, without: tuple[str, ...]) -> QuestionEncoding:
        """Return one count for each range, or for each day of a list."""
        if self.dates:
            return Counts(self.id, self.dates, without)
        ends = _ends(self.answer_count, bins)
        labels = _labels(self.first, self.step, self.answer_count, bins)
        scores = tuple((a + b) / 2 for a, b in ends)
        return Counts(self.id, labels, without, scores, points=self.answer_count)

    @property
    def choices(self) -> str:
        """Possible answers, in words."""
        return ", ".join(self.dates) or f"a {self.step} from {self.first} to {self.last}"

    def report_in_words(self, report: int, mechanism: DeviceMechanism | None) -> str:
        """Return the range of a report."""
        return NOT_SAID if report == len(self.labels) else self.labels[report]

    def answer_in_words(self, code: int) -> str:
        """Return a date as people read it."""
        return str(self.answer(code) or NOT_SAID)

    @property
    def prompt(self) -> tuple[str, ...]:
        """The dates that can be typed."""
        return (self.choices, *([f"-  {NOT_SAID}"] if self.allow_skip else []))

    def typed(self, text: str) -> Answer:
        """Return the date that somebody typed."""
        return None if self.allow_skip and text == "-" else text

    @property
    def typing_hint(self) -> str:
        """The sentence after something was typed that is no answer."""
        return f"Type {self.choices}."

    def codebook_fields(self) -> dict[str, str]:
        """Return the dates of which a report is a range."""
        return {"first": self.first, "last": self.last, "step": self.step}


@lru_cache(maxsize=4096)
def _number_of(text: str, step: str) -> int | None:
    try:
        return int(np.datetime64(text, _UNITS[step]).astype(np.int64))
    except ValueError:  # such as a 13th month
        return None


def _number(text: object, step: str) -> int | None:
    """Return a date as a number of its steps since 1970; None where it is no date."""
    known = isinstance(text, str) and text.isascii() and re.fullmatch(_WRITTEN[step], text)
    return _number_of(text, step) if known and isinstance(text, str) else None


def _text(first: str, step: str, steps: int) -> str:
    """Return the date so many steps after the first."""
    return str(np.datetime64((_number(first, step) or 0) + steps, _UNITS[step]))


@lru_cache(maxsize=1024)
def _ends(points: int, bins: int) -> tuple[tuple[int, int], ...]:
    count = min(bins, points)
    return tuple((n * points // count, (n + 1) * points // count - 1) for n in range(count))


@lru_cache(maxsize=1024)
def _labels(first: str, step: str, points: int, bins: int) -> tuple[str, ...]:
    texts = (
        (_text(first, step, low), _text(first, step, high)) for low, high in _ends(points, bins)
    )
    return tuple(low if low == high else f"{low} – {high}" for low, high in texts)
