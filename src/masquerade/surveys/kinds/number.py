"""A number on a public scale of equal steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from masquerade.mechanisms import Lattice, level_named
from masquerade.mechanisms.device_mechanism import DeviceMechanism, Domain, Labels, Scale
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.surveys.builder_form import BuilderForm, FormField
from masquerade.surveys.condition_tree import Leaf, Within
from masquerade.surveys.question import (
    NOT_SAID,
    Answer,
    MaskRules,
    Question,
    clear_response,
    gaussian_noise,
    point_of,
    point_text,
)
from masquerade.surveys.question_checks import check_text, fault_of_range, is_in_range, stretches
from masquerade.surveys.question_encoding import QuestionEncoding, Total, binned

MOST_POINTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Number(Question):
    """Name a number on a public scale of equal steps.

    Attributes
    ----------
    id, text
        As in `Choice`.
    low, high, step : int or float
        The answers that can be given: low, low + step, ..., high; read as people mean them, 0.1 is
        a tenth. At most a million points.
    unit : str
        What is counted, such as ``"hours a week"``.
    allow_skip : bool
        As in `Choice`. A number that can be skipped is sent as one of a few levels, or as "no
        answer", for noise on a scale has no report for that.

    Examples
    --------
    >>> Number("hours", "How long did you sleep?", 0, 12, "hours", 0.5).answer_count
    25
    """

    id: str
    text: str
    low: int | float
    high: int | float
    unit: str
    step: int | float = 1
    allow_skip: bool = False
    kind: ClassVar[str] = "number"
    called: ClassVar[str] = "a number"
    translatable: ClassVar[tuple[str, ...]] = ("text", "unit")
    optional: ClassVar[tuple[str, ...]] = ("allow_skip",)
    summable: ClassVar[bool] = True
    builder: ClassVar[BuilderForm] = BuilderForm(
        name="Number",
        glyph="0 … 40",
        blank={"text": "", "low": 0, "high": 10, "step": 1, "unit": "times", "allow_skip": False},
        rows=(
            (FormField("low", "From", "number"), FormField("high", "To", "number")),
            (FormField("step", "In steps of", "number"), FormField("unit", "Unit")),
        ),
        place=6,
    )

    def __post_init__(self) -> None:
        self._check()
        check_text(self.unit, "unit", question=self.id)
        for name, value in (("low", self.low), ("high", self.high), ("step", self.step)):
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not (whole or (isinstance(value, float) and math.isfinite(value))):
                raise self._error(name, f": {name} is {value!r}, expected a finite number.")
        # By their decimal text: 0.1 is a tenth, not the float beside it.
        low, high, step = (Fraction(str(x)) for x in (self.low, self.high, self.step))
        if step <= 0:
            raise self._error("step", f": steps of {self.step} lead nowhere; give more than 0.")
        if high <= low:
            raise self._error("high", f": {self.high} is not above {self.low}, where it begins.")
        steps = (high - low) / step
        if steps >= MOST_POINTS:
            raise self._error(
                "step",
                f": {self.low} to {self.high} has more than {MOST_POINTS:,} numbers in steps of "
                f"{self.step}; give larger steps.",
            )
        if steps.denominator != 1:
            raise self._error(
                "high", f": steps of {self.step} from {self.low} do not lead to {self.high}."
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """Empty: a number is not picked from a list."""
        return ()

    @property
    def lattice(self) -> Lattice:
        """The numbers that can be answered."""
        return _lattice(self.low, self.high, self.step)

    @property
    def answer_count(self) -> int:
        """Number of different answers."""
        return self.lattice.points

    @property
    def no_answer_code(self) -> int:
        """The code after the last number, which no answer has."""
        return self.lattice.points

    @property
    def codes(self) -> list[str]:
        """Empty: reports are whole steps from the lowest number, or levels, and have no labels."""
        return []

    def code_of(self, answer: Answer) -> int | None:
        """Return the number of steps from the lowest number."""
        return point_of(answer, self.lattice)

    def answer(self, code: int) -> Fraction | None:
        """Return the number of a code; None for "no answer"."""
        if code == self.no_answer_code:
            return None
        return self.lattice.low + self.lattice.step * code

    def fault_of(self, leaf: Leaf) -> str | None:
        """Return why a condition is no interval of the scale, or covers a required question."""
        if not isinstance(leaf, Within):
            return f"answers of {self.id!r}, {self.called}; give a range, from and to."
        return fault_of_range(self, leaf)

    def meets(self, code: int, leaf: Leaf) -> bool:
        """Return whether a number is in the interval."""
        return is_in_range(self, code, leaf)

    def deciding_codes(self, leaves: Sequence[Leaf]) -> Iterable[tuple[int, float]]:
        """Return the first number of each stretch that the intervals cut the scale into."""
        return stretches(self, leaves)

    def domains(self, *, clear: bool) -> tuple[Domain, ...]:
        """Return the numbers, "no answer" counted; in clear, each as a label."""
        numbers = Scale(self.lattice, null=self.allow_skip)
        return (numbers, Labels(self.lattice.points + self.allow_skip)) if clear else (numbers,)

    def mask(self, level: str, rules: MaskRules) -> DeviceMechanism:
        """Return Gaussian noise on the scale; where it can be skipped, a response on levels."""
        if level == CLEAR:
            return clear_response(self.lattice.points, null=self.allow_skip)
        if self.allow_skip:
            return level_named(level).quantised_response(self.lattice, null=True)
        return gaussian_noise(self.lattice, level)

    def encoding(self, *, bins: int, summed: bool, without: tuple[str, ...]) -> QuestionEncoding:
        """Return one count for each range of the scale, or the sum alone."""
        if summed and without:
            raise self._error(
                "allow_skip",
                ": it can be left out, and a sum alone does not say who answered. Take it out of "
                "the sums, or let nobody skip it.",
            )
        if summed:
            return Total(self.id, self.lattice, self.unit)
        return binned(self.id, self.lattice, bins=bins, without=without)

    @property
    def choices(self) -> str:
        """Possible answers, in words."""
        return f"{self.low} to {self.high} in steps of {self.step}"

    def report_in_words(self, report: int, mechanism: DeviceMechanism | None) -> str:
        """Return the number of a report with its unit."""
        numbers = None if mechanism is None else mechanism.as_numbers
        levels = None if numbers is None else numbers.level_values
        if levels is not None:
            return NOT_SAID if report == len(levels) else f"{levels[report]:g} {self.unit}"
        if self.allow_skip and report == self.no_answer_code:
            return NOT_SAID
        return f"{point_text(self.lattice, report)} {self.unit}"

    @property
    def prompt(self) -> tuple[str, ...]:
        """The ends of the scale, its step and its unit."""
        return (f"{self.choices}, in {self.unit}", *([f"-  {NOT_SAID}"] if self.allow_skip else []))

    def typed(self, text: str) -> Answer:
        """Return the number that somebody typed."""
        return None if self.allow_skip and text == "-" else text

    @property
    def typing_hint(self) -> str:
        """The sentence after something was typed that is no answer."""
        return f"Type one of {self.choices}."

    def codebook_fields(self) -> dict[str, Any]:
        """Return the scale of reports; those of levels are places of equal steps over the range."""
        levels = {"levels_from": self.low, "levels_to": self.high} if self.allow_skip else {}
        return levels | {"report_0_is": self.low, "report_step_is": self.step, "unit": self.unit}


@lru_cache(maxsize=1024, typed=True)  # a large float may equal a whole number that reads otherwise
def _lattice(low: float, high: float, step: float) -> Lattice:
    """Return the lattice of a scale, against which every answer is held."""
    return Lattice(low, high, step)
