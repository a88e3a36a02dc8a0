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
    NOT_SAID,
    RESPONSE_MASK,
    Answer,
    LabelQuestion,
    MaskRules,
    Question,
    gaussian_noise,
    point_of,
    point_text,
)
from masquerade.surveys.question_checks import MOST_OPTIONS, check_further, check_text

#: Fields of the form of a scale.
SCALE_ROWS = (
    (FormField("low", "From", "whole"), FormField("high", "To", "whole")),
    (
        FormField("low_label", "Word for the lowest"),
        FormField("high_label", "Word for the highest"),
    ),
    (
        FormField(
            "words",
            "A word for each point",
            "lines",
            hint="One on each line, from the lowest. Empty: numbers alone.",
        ),
        FormField(
            "dont_know",
            "An answer beside the scale",
            hint="Such as “Don't know”. It counts in no mean. Empty: there is none.",
        ),
    ),
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
    words : tuple of str
        A word for each point, from the lowest; empty where there are none.
    dont_know : str
        Label of an answer beside the scale, such as "Don't know", which counts in no mean; empty
        where there is none.

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
    words: tuple[str, ...] = ()
    dont_know: str = ""
    kind: ClassVar[str] = "rating"
    called: ClassVar[str] = "a rating"
    optional: ClassVar[tuple[str, ...]] = ("words", "dont_know")
    translatable: ClassVar[tuple[str, ...]] = (
        *("text", "low_label", "high_label", "words", "dont_know"),
    )
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
        rows=SCALE_ROWS,
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

        if not isinstance(self.words, tuple) or len(self.words) not in (0, points):
            raise self._error(
                "words", f": {len(self.words)} words for {points} points; give one for each."
            )
        for place, word in enumerate(self.words):
            check_text(word, "word", question=self.id, field=f"words/{place}")
        check_further(self, "dont_know", self.dont_know, self.labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """The points of the scale as text, in order, then the answer beside it."""
        return (*map(str, self.scores), *([self.dont_know] if self.dont_know else []))

    @property
    def codes(self) -> list[str]:
        """The label of each code, with its word where points have words."""
        codes = Question.codes.fget(self)  # type: ignore[attr-defined]
        named = [f"{code} ({word})" for code, word in zip(codes, self.words, strict=False)]
        return [*named, *codes[len(named) :]]

    @property
    def scores(self) -> tuple[int, ...]:
        """The points of the scale."""
        return tuple(range(self.low, self.high + 1))

    @property
    def lattice(self) -> Lattice:
        """The points of the scale, as numbers."""
        return Lattice(self.low, self.high, 1)

    def code_of(self, answer: Answer) -> int | None:
        """Return the place of a point, given as a number or its text, or of the answer beside."""
        if self.dont_know and answer == self.dont_know:
            return len(self.scores)
        return point_of(answer, self.lattice)

    def domains(self, *, clear: bool) -> tuple[Domain, ...]:
        """Return the points as labels, and as numbers where nobody can skip the question."""
        # Noise on a scale has no report for "prefer not to say".
        beside = self.allow_skip or self.dont_know
        numbers = () if beside else (Scale(self.lattice, null=False),)
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
        if self.dont_know:
            raise self._error(
                "dont_know",
                f": noise on the scale ({GAUSSIAN_MASK}) has no report for an answer beside it. "
                f"Take it out, or send another point at random ({RESPONSE_MASK}).",
            )
        return gaussian_noise(self.lattice, level)

    def report_in_words(self, report: int, mechanism: DeviceMechanism | None) -> str:
        """Return the point of a report, which noise can move beyond the ends."""
        if report == self.no_answer_code and self.allow_skip:
            return NOT_SAID
        if self.dont_know and report == len(self.scores):
            return self.dont_know
        point = point_text(self.lattice, report)
        known = self.words and 0 <= report < len(self.words)
        return f"{point} ({self.words[report]})" if known else point

    @property
    def prompt(self) -> tuple[str, ...]:
        """The ends of the scale."""
        ends = (str(self.low), self.low_label, "to", str(self.high), self.high_label)
        words = (f"{point}  {word}" for point, word in zip(self.scores, self.words, strict=False))
        return (
            " ".join(filter(None, ends)),
            *words,
            *([f"or: {self.dont_know}"] if self.dont_know else []),
            *([f"-  {NOT_SAID}"] if self.allow_skip else []),
        )

    def typed(self, text: str) -> Answer:
        """Return the point that somebody typed."""
        return None if self.allow_skip and text == "-" else text

    @property
    def typing_hint(self) -> str:
        """The sentence after something was typed that is no answer."""
        return f"Type one of {self.choices}."
