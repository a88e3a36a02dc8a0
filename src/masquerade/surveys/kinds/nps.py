"""Would recommend, 0 to 10: its class is masked, and the score follows from the classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from masquerade.mechanisms import Lattice
from masquerade.mechanisms.device_mechanism import DeviceMechanism
from masquerade.surveys.builder_form import BuilderForm, FormField
from masquerade.surveys.condition_tree import Leaf, Within
from masquerade.surveys.question import NOT_SAID, Answer, Canonical, LabelQuestion, point_of
from masquerade.surveys.question_checks import check_text, fault_of_range, is_in_range, stretches
from masquerade.surveys.question_encoding import Counts, QuestionEncoding

_SCALE = Lattice(0, 10, 1)
_POINTS = tuple(str(point) for point in range(11))
#: Classes of answers, with the first answer of each.
CLASSES = ("0–6", "7–8", "9–10")
_FIRST = (0, 7, 9)
_SCORES = (-100, 0, 100)


@dataclass(frozen=True, slots=True)
class PromoterScore(LabelQuestion):
    """Say from 0 to 10 how likely it is that one recommends something.

    The score is the share of 9 and 10 less that of 0 to 6, times 100. A mask on three classes errs
    half as much in it as one on eleven answers.

    Attributes
    ----------
    id, text, allow_skip
        As in `Choice`.
    low_label, high_label : str
        Words at the two ends, may be empty.
    each : bool
        Whether results show each of the eleven answers too; the score then errs more.

    Examples
    --------
    >>> question = PromoterScore("nps", "Would you recommend us?")
    >>> question.code(9), question.masked_code(9), question.labels
    (9, 2, ('0–6', '7–8', '9–10'))
    """

    id: str
    text: str
    low_label: str = ""
    high_label: str = ""
    each: bool = False
    allow_skip: bool = False
    kind: ClassVar[str] = "nps"
    called: ClassVar[str] = "a recommendation"
    translatable: ClassVar[tuple[str, ...]] = ("text", "low_label", "high_label")
    mean_name: ClassVar[str] = "score"
    #: Most people are at an end: about as many in each of the three classes.
    expected_spread: ClassVar[float] = 1.0
    builder: ClassVar[BuilderForm] = BuilderForm(
        name="Would recommend (NPS)",
        glyph="0 … 10",
        blank={
            "text": "How likely is it that you would recommend us?",
            "low_label": "not at all likely",
            "high_label": "very likely",
            "each": False,
            "allow_skip": False,
        },
        rows=(
            (FormField("low_label", "Word for 0"), FormField("high_label", "Word for 10")),
            (
                FormField(
                    "each",
                    "Also show how many give each answer",
                    "yes-no",
                    hint="Without it only a class is sent: 0 to 6, 7 and 8, or 9 and 10. With it, "
                    "the score errs 1.4 to 1.8 times as much.",
                ),
            ),
        ),
        place=4,
    )

    def __post_init__(self) -> None:
        self._check()
        for name, label in (("low_label", self.low_label), ("high_label", self.high_label)):
            if label != "":
                check_text(label, name, question=self.id)
        if not isinstance(self.each, bool):
            raise self._error("each", f": each is {self.each!r}, expected true or false.")

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes, or the eleven answers."""
        return _POINTS if self.each else CLASSES

    @property
    def scores(self) -> tuple[int, ...]:
        """The worth of each label in the score."""
        return tuple(_SCORES[_class_of(p)] for p in range(11)) if self.each else _SCORES

    @property
    def answer_count(self) -> int:
        """Eleven."""
        return len(_POINTS)

    @property
    def no_answer_code(self) -> int:
        """The code after 10."""
        return len(_POINTS)

    def code_of(self, answer: Answer) -> int | None:
        """Return a number from 0 to 10, given as such or as its text."""
        return point_of(answer, _SCALE)

    def answer(self, code: int) -> Canonical:
        """Return the answer of a code; None for "no answer"."""
        return None if code == self.no_answer_code else _POINTS[code]

    def masked_code(self, code: int) -> int:
        """Return the class of an answer, or the answer where each is shown."""
        if self.each:
            return code
        return len(CLASSES) if code == self.no_answer_code else _class_of(code)

    def fault_of(self, leaf: Leaf) -> str | None:
        """Return why a condition names no classes, and is no interval of 0 to 10."""
        if isinstance(leaf, Within):
            return fault_of_range(self, leaf)
        return LabelQuestion.fault_of(self, leaf)

    def meets(self, code: int, leaf: Leaf) -> bool:
        """Return whether the class of an answer is named, or the answer is in the interval."""
        return is_in_range(self, code, leaf) or LabelQuestion.meets(self, code, leaf)

    def deciding_codes(self, leaves: Sequence[Leaf]) -> Iterable[tuple[int, float]]:
        """Return the first answer of each stretch that intervals and classes cut."""
        return stretches(self, leaves, range(len(_POINTS)) if self.each else _FIRST)

    def encoding(self, *, bins: int, summed: bool, without: tuple[str, ...]) -> QuestionEncoding:
        """Return one count for each of the eleven answers: between two parties these cost alike."""
        scores = tuple(float(_SCORES[_class_of(point)]) for point in range(len(_POINTS)))
        return Counts(self.id, _POINTS, without, scores)

    @property
    def choices(self) -> str:
        """Possible answers, in words."""
        return "0 to 10"

    def report_in_words(self, report: int, mechanism: DeviceMechanism | None) -> str:
        """Return a report as people read it."""
        return NOT_SAID if report == len(self.labels) else self.labels[report]

    def answer_in_words(self, code: int) -> str:
        """Return an answer as people read it."""
        return NOT_SAID if code == self.no_answer_code else _POINTS[code]

    @property
    def prompt(self) -> tuple[str, ...]:
        """The ends of the scale."""
        ends = ("0", self.low_label, "to", "10", self.high_label)
        return (" ".join(filter(None, ends)), *([f"-  {NOT_SAID}"] if self.allow_skip else []))

    def typed(self, text: str) -> Answer:
        """Return the point that somebody typed."""
        return None if self.allow_skip and text == "-" else text

    @property
    def typing_hint(self) -> str:
        """The sentence after something was typed that is no answer."""
        return f"Type one of {', '.join(_POINTS)}."

    def codebook_fields(self) -> dict[str, list[float]]:
        """Return the worth of each label in the score."""
        return {"worth_in_score": list(self.scores)}


def _class_of(point: int) -> int:
    return sum(point >= first for first in _FIRST[1:])
