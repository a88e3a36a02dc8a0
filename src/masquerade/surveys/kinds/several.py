"""Several answers: tick all options that apply."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from masquerade.errors import UnknownLabel
from masquerade.mechanisms import BitwiseResponse, level_named
from masquerade.mechanisms.device_mechanism import DeviceMechanism, Domain, Sets
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.surveys.builder_form import BuilderForm, FormField
from masquerade.surveys.condition_tree import Leaf, ShowIf
from masquerade.surveys.question import (
    NONE_OF_THESE,
    NOT_SAID,
    Answer,
    Canonical,
    MaskRules,
    Question,
)
from masquerade.surveys.question_checks import check_further, check_options, fault_of_labels
from masquerade.surveys.question_encoding import QuestionEncoding, Ticks

# The code of an answer has a bit each, and one for "no answer"; a browser's numbers are whole up to
# 2**53.
MOST_TO_TICK = 51


@dataclass(frozen=True, slots=True)
class SeveralOf(Question):
    """Tick all options that apply, or none of them.

    The code of an answer is a whole number whose bit i stands for option i.

    Attributes
    ----------
    id, text, allow_skip
        As in `Choice`.
    options : tuple of str
        Two to 51 different labels.
    most : int or None
        How many options can be ticked; None for all.
    other : str
        Label of a further option, after all others; empty where there is none.

    Examples
    --------
    >>> question = SeveralOf("pets", "Which pets do you have?", ("Cat", "Dog", "Fish"), most=2)
    >>> question.code(["Cat", "Fish"]), question.ticked(5)
    (5, ('Cat', 'Fish'))
    """

    id: str
    text: str
    options: tuple[str, ...]
    most: int | None = None
    allow_skip: bool = False
    other: str = ""
    kind: ClassVar[str] = "several"
    called: ClassVar[str] = "which has several answers"
    optional: ClassVar[tuple[str, ...]] = ("other",)
    translatable: ClassVar[tuple[str, ...]] = ("text", "options", "other")
    parts_of_whole: ClassVar[bool] = False
    shuffles: ClassVar[bool] = True
    builder: ClassVar[BuilderForm] = BuilderForm(
        name="Tick several",
        glyph="☑ ☐ ☑",
        blank={
            "text": "",
            "options": ["One", "Another", "A third"],
            "most": None,
            "allow_skip": False,
        },
        rows=(
            (
                FormField(
                    "options",
                    "Options",
                    "lines",
                    hint="One on each line. “None of these” is always offered.",
                ),
            ),
            (
                FormField(
                    "most",
                    "How many can be ticked",
                    "at-most",
                    hint="The fewer, the sharper the result: the mask of each option can be "
                    "lighter.",
                    of="options",
                    none="all",
                ),
                FormField("other", "Last option", hint="Such as “Other”. Empty: there is none."),
            ),
        ),
        place=3,
    )

    def __post_init__(self) -> None:
        self._check()
        check_options(self, self.options, most=MOST_TO_TICK - bool(self.other))
        check_further(self, "other", self.other, self.labels)
        if self.most is None:
            return
        whole = isinstance(self.most, int) and not isinstance(self.most, bool)
        if not whole or not 1 <= self.most <= len(self.labels):
            raise self._error(
                "most",
                f": most is {self.most!r}, expected 1 to {len(self.labels)}, the number of its "
                "options.",
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """The options, in order, then the further one."""
        return (*self.options, *([self.other] if self.other else []))

    @property
    def no_answer_code(self) -> int:
        """The bit after the last option."""
        return 1 << len(self.labels)

    def code_of(self, answer: Answer) -> int | None:
        """Return the bits of a list of options."""
        if not isinstance(answer, list | tuple) or not all(isinstance(x, str) for x in answer):
            return None
        return self.bits(answer)

    def bits(self, ticked: Collection[str]) -> int | None:
        """Return the code of these options; None where they cannot be ticked together."""
        chosen = set(ticked)
        if len(chosen) < len(ticked) or not chosen <= set(self.labels):
            return None
        if len(chosen) > (self.most or len(self.labels)):
            return None
        return sum(1 << place for place, option in enumerate(self.labels) if option in chosen)

    def ticked(self, code: int) -> tuple[str, ...]:
        """Return the options of a code."""
        return tuple(option for place, option in enumerate(self.labels) if code >> place & 1)

    def answer(self, code: int) -> Canonical:
        """Return the options of a code; None for "no answer"."""
        return None if code == self.no_answer_code else self.ticked(code)

    def fault_of(self, leaf: Leaf) -> str | None:
        """Return why a condition names none of the options."""
        return fault_of_labels(self, leaf, most=len(self.labels))

    def meets(self, code: int, leaf: Leaf) -> bool:
        """Return whether one of the options named is ticked."""
        named = self._named(leaf)
        return 0 <= code < self.no_answer_code and bool(code & named)

    def deciding_codes(self, leaves: Sequence[Leaf]) -> Iterable[tuple[int, float]]:
        """Return a set of options for each combination of conditions that can be met at once."""
        masks = [self._named(leaf) for leaf in leaves]
        rows = {(False,) * len(masks): 0}
        for _ in range(self.most or len(self.labels)):
            found = dict(rows)
            for place in range(len(self.labels)):
                for code in rows.values():
                    ticked = code | 1 << place
                    found.setdefault(tuple(bool(ticked & mask) for mask in masks), ticked)
            if len(found) == len(rows):
                break
            rows = found
        return ((code, 1.0) for code in rows.values())

    def _named(self, leaf: Leaf) -> int:
        """Return the bits of the options that a condition names."""
        answers = leaf.answers if isinstance(leaf, ShowIf) else ()
        return sum(1 << place for place, one in enumerate(self.labels) if one in answers)

    def domains(self, *, clear: bool) -> tuple[Domain, ...]:
        """Return the sets of options that can be ticked."""
        return (Sets(len(self.labels), self.most, self.allow_skip),)

    def mask(self, level: str, rules: MaskRules) -> DeviceMechanism:
        """Return the mask of each option by itself."""
        options, skip = len(self.labels), self.allow_skip
        if level == CLEAR:
            return BitwiseResponse(options, self.most, epsilon=math.inf, null=skip)
        return level_named(level).bitwise_response(options, self.most, null=skip)

    def encoding(self, *, bins: int, summed: bool, without: tuple[str, ...]) -> QuestionEncoding:
        """Return one bit for each option."""
        return Ticks(self.id, self.labels, self.most, without)

    @property
    def choices(self) -> str:
        """Possible answers, in words."""
        most = "" if self.most is None else f", at most {self.most}"
        return f"several of {', '.join(self.labels)}{most}"

    def report_in_words(self, report: int, mechanism: DeviceMechanism | None) -> str:
        """Return the options of a report, with "no answer" where the mask leaves it beside them."""
        skip = (NOT_SAID,) if report >= self.no_answer_code else ()
        return ", ".join((*self.ticked(report), *skip)) or NONE_OF_THESE

    @property
    def prompt(self) -> tuple[str, ...]:
        """The options with their numbers, and how to type several."""
        limit = f", at most {self.most}" if self.most else ""
        return (
            *(f"{place}  {label}" for place, label in enumerate(self.labels, start=1)),
            f"Type the numbers of all that apply{limit}, such as 1 3; 0 for none.",
            *([f"-  {NOT_SAID}"] if self.allow_skip else []),
        )

    def typed(self, text: str) -> Answer:
        """Return the options of the numbers that were typed."""
        if self.allow_skip and text == "-":
            return None
        numbers = text.replace(",", " ").split()
        places = [int(one) if one.isascii() and one.isdigit() else -1 for one in numbers]
        if places == [0]:
            return []
        if not places or not all(1 <= place <= len(self.labels) for place in places):
            raise UnknownLabel(self.typing_hint)
        return [self.labels[place - 1] for place in places]

    @property
    def typing_hint(self) -> str:
        """The sentence after something was typed that is no answer."""
        return f"Type one of {self.choices}."

    def codebook_fields(self) -> dict[str, Any]:
        """Return how a report is read: bit i, of value 2**i, is the label i."""
        return {"report_is": "bits", "most": self.most}
