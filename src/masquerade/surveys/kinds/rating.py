"""A rating: a point of a scale of whole steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from masquerade.mechanisms import Lattice
from masquerade.mechanisms.device_mechanism import DeviceMechanism, Domain, Scale
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.surveys.builder_form import BuilderForm, FormField
from masquerade.surveys.question import (
    GAUSSIAN_MASK,
    MOST_OPTIONS,
    NOT_SAID,
    RESPONSE_MASK,
    Answer,
    LabelQuestion,
    MaskRules,
    check_text,
    gaussian_noise,
    point_of,
    point_text,
)


@dataclass(frozen=True, slots=True)
class Rating(LabelQuestion):
    """Rate on a scale of whole steps.

    Attributes
    ----------
    id, text, allow_skip
        As in `Choice`.
    low, high : int
        Ends of the scale, both included; 2 to 100 points.
    low_label, high_label : str
        Words at the two ends, may be empty.

    Examples
    --------
    >>> Rating("mood", "How is the mood?", low_label="bad", high_label="good").labels
    ('1', '2', '3', '4', '5')
    """

    id: str
    text: str
    low: int = 1
    high: int = 5
    low_label: str = ""
    high_label: str = ""
    allow_skip: bool = False
    kind: ClassVar[str] = "rating"
    called: ClassVar[str] = "a rating"
    translatable: ClassVar[tuple[str, ...]] = ("text", "low_label", "high_label")
    mean_name: ClassVar[str] = "mean rating"
    builder: ClassVar[BuilderForm] = BuilderForm(
        name="Rating",
        glyph="1 2 3 4 5",
        blank={
            "text": "",
            "low": 1,
            "high": 5,
            "low_label": "",
            "high_label": "",
            "allow_skip": False,
        },
        rows=(
            (FormField("low", "From", "whole"), FormField("high", "To", "whole")),
            (
                FormField("low_label", "Word for the lowest"),
                FormField("high_label", "Word for the highest"),
            ),
        ),
        place=0,
    )

    def __post_init__(self) -> None:
        self._check()
        for name, end in (("low", self.low), ("high", self.high)):
            # To Python true and false are whole numbers.
            if not isinstance(end, int) or isinstance(end, bool):
                raise self._error(name, f": {name} is {end!r}, expected a whole number.")
        for name, label in (("low_label", self.low_label), ("high_label", self.high_label)):
            if label != "":
                check_text(label, name, question=self.id)
        points = self.high - self.low + 1
        if points < 2:
            raise self._error("high", f": {self.high} is not above {self.low}, where it begins.")
        if points > MOST_OPTIONS:
            raise self._error(
                "high",
                f": {self.low} to {self.high} has {points:,} points; a rating has {MOST_OPTIONS} "
                "at most.",
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """The points of the scale as text, in order."""
        return tuple(str(point) for point in self.scores)

    @property
    def scores(self) -> tuple[int, ...]:
        """The points of the scale."""
        return tuple(range(self.low, self.high + 1))

    @property
    def lattice(self) -> Lattice:
        """The points of the scale, as numbers."""
        return Lattice(self.low, self.high, 1)

    def code_of(self, answer: Answer) -> int | None:
        """Return the place of a point, given as a number or its text."""
        return point_of(answer, self.lattice)

    def domains(self, *, clear: bool) -> tuple[Domain, ...]:
        """Return the points as labels, and as numbers where nobody can skip the question."""
        # Noise on a scale has no report for "prefer not to say".
        numbers = () if self.allow_skip else (Scale(self.lattice, null=False),)
        return (*LabelQuestion.domains(self, clear=clear), *numbers)

    def mask(self, level: str, rules: MaskRules) -> DeviceMechanism:
        """Return the mask of labels, or Gaussian noise on the scale."""
        if level == CLEAR or rules.rating_mask != GAUSSIAN_MASK:
            return LabelQuestion.mask(self, level, rules)
        if self.allow_skip:
            raise self._error(
                "allow_skip",
                f": it can be skipped, and noise on the scale ({GAUSSIAN_MASK}) does not hide "
                f"that. Let nobody skip it, or send another point at random ({RESPONSE_MASK}).",
            )
        return gaussian_noise(self.lattice, level)

    def report_in_words(self, report: int, mechanism: DeviceMechanism | None) -> str:
        """Return the point of a report, which noise can move beyond the ends."""
        if report == self.no_answer_code and self.allow_skip:
            return NOT_SAID
        return point_text(self.lattice, report)

    @property
    def prompt(self) -> tuple[str, ...]:
        """The ends of the scale."""
        ends = (self.labels[0], self.low_label, "to", self.labels[-1], self.high_label)
        return (
            " ".join(filter(None, ends)),
            *([f"-  {NOT_SAID}"] if self.allow_skip else []),
        )

    def typed(self, text: str) -> Answer:
        """Return the point that somebody typed."""
        return None if self.allow_skip and text == "-" else text

    @property
    def typing_hint(self) -> str:
        """The sentence after something was typed that is no answer."""
        return f"Type one of {self.choices}."
