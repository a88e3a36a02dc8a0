"""The base of all kinds of question: a closed public domain, its codes, masks and words.

Free text is no kind: it has no finite domain, so no mechanism can mask it.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Self

from masquerade.errors import MissingValue, ParameterError, UnknownLabel
from masquerade.mechanisms import (
    DiscreteGaussian,
    Lattice,
    RandomizedResponse,
    TwoLayer,
    level_named,
)
from masquerade.mechanisms.device_mechanism import DeviceMechanism, Domain, Labels
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.surveys.builder_form import BuilderForm
from masquerade.surveys.condition_tree import Leaf, ShowIf
from masquerade.surveys.question_checks import check_text, fault_of_labels
from masquerade.surveys.question_encoding import Counts, QuestionEncoding

KEEP_PER_ANSWER, KEEP_PER_PERSON = "per-answer", "per-person"
RESPONSE_MASK, GAUSSIAN_MASK = "randomized-response", "gaussian"

#: Words of people for no answer, and for a set without options.
NOT_SAID = "prefer not to say"
NONE_OF_THESE = "none of these"
#: Label of "no answer" in files.
NO_ANSWER = "Prefer not to say"

#: A label, several labels, a point of a scale, a number, or None for "prefer not to say".
Answer = str | Sequence[str] | int | float | Decimal | None
#: An answer in its one form.
Canonical = str | tuple[str, ...] | Fraction | None


@dataclass(frozen=True, slots=True)
class MaskRules:
    """A survey's rules for masks, as in `Survey.at_levels`."""

    masking: str = KEEP_PER_ANSWER
    rating_mask: str = RESPONSE_MASK


class Question(ABC):
    """A question of one kind; each kind is a frozen dataclass in a module of `surveys.kinds`.

    What a kind declares here is all that surveys, exports, clients, pages and parties know of it.
    """

    __slots__ = ()

    #: The name of the kind in definitions.
    kind: ClassVar[str]
    #: The kind with its article, in messages.
    called: ClassVar[str]
    #: Fields that the text of a survey leaves out, because people who answer must not see them.
    secret: ClassVar[tuple[str, ...]] = ()
    #: Fields that a definition leaves out where they are as they would be by default.
    optional: ClassVar[tuple[str, ...]] = ()
    #: Why the answer cannot decide which other questions are shown; empty where it can.
    cannot_decide: ClassVar[str] = ""
    #: Whether the labels are parts of a whole, so that their shares add to one.
    parts_of_whole: ClassVar[bool] = True
    #: Whether two parties can add up the answers as one sum.
    summable: ClassVar[bool] = False
    #: Of the normal law, cut to the range, of answers that forecasts expect: its standard deviation
    #: in widths of the range.
    expected_spread: ClassVar[float] = 0.25
    #: How a headline names the mean of its answers.
    mean_name: ClassVar[str] = "mean"
    #: Whether questions of the kind can be the items of a labelling task.
    labelling: ClassVar[bool] = False
    #: Whether each person is asked about a pair of a list that is drawn for them.
    takes_pair: ClassVar[bool] = False
    #: Whether its options may stand in any order.
    shuffles: ClassVar[bool] = False
    #: Fields with texts that people read: texts, or lists of texts.
    translatable: ClassVar[tuple[str, ...]] = ("text",)
    #: The form in which a surveyor writes a question of this kind.
    builder: ClassVar[BuilderForm]

    id: str
    text: str
    allow_skip: bool

    # --- definition

    def to_json(self) -> dict[str, Any]:
        """Return the question as a JSON object."""
        values = {
            field.name: getattr(self, field.name)
            for field in fields(self)  # type: ignore[arg-type]
            if field.name not in self.optional or getattr(self, field.name) != field.default
        }
        lists = {name: list(one) for name, one in values.items() if isinstance(one, tuple)}
        return {"kind": self.kind} | values | lists

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> Self:
        """Return the question of a JSON object's fields, without its kind.

        Raises `ParameterError` where a field is missing, unknown or out of range.
        """
        declared = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
        for name in values:
            if name not in declared:
                raise ParameterError(
                    f"a {cls.kind} question cannot be read: it has no field {name!r}, only "
                    f"{', '.join(declared)}."
                )
        for name, field in declared.items():
            # A list of options that is missing has none.
            listed = str(field.type).startswith("tuple") and name not in cls.optional
            if name not in values and listed:
                values = {**values, name: []}
            elif name not in values and field.default is MISSING:
                raise ParameterError(
                    f"a {cls.kind} question cannot be read: it has no {name!r}; give it one.",
                    field=name,
                )
        return cls(
            **{
                name: tuple(value)
                if isinstance(value, list) and str(declared[name].type).startswith("tuple")
                else value
                for name, value in values.items()
            }
        )

    def texts(self) -> dict[str, str]:
        """Return the texts of the question, by their place in the definition.

        Places are paths such as ``"text"`` and ``"options/0"``; empty texts are left out.
        """
        values = self.to_json()
        return dict(
            item for name in self.translatable for item in _texts_in(values.get(name), name)
        )

    def place_of(self, place: str, text: str) -> str:
        """Return the place of a text of one of its `parts`; the same place, or another with it."""
        own = self.texts()
        if own.get(place) == text:
            return place
        return next((other for other, one in own.items() if one == text), place)

    # --- votes on pairs of a list

    def parts(self) -> tuple[Question, ...]:
        """Return the questions as which it is asked: more than one where people vote repeatedly."""
        return (self,)

    @property
    def pictures_of_items(self) -> dict[str, str]:
        """The picture of each item of the list, by the item; empty where there are none."""
        return {}

    @property
    def votes_asked(self) -> int:
        """Number of votes on its list, which further questions follow; 0 where it has none."""
        return 0

    @property
    def listed(self) -> tuple[str, ...]:
        """The list of which pairs are shown; empty where none are."""
        return ()

    def of_pair(self, items: tuple[str, ...], pair: tuple[int, int]) -> Question:
        """Return the question about two items of a list."""
        return self

    # --- answers and codes

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The labels to choose from, in order; none where the answer is no label."""

    @property
    def scores(self) -> tuple[float, ...] | None:
        """The number of each label, of the first ones where others have none; None without any."""
        return None

    @property
    def lattice(self) -> Lattice | None:
        """The numbers that can be answered; None where answers are no numbers."""
        return None

    @property
    def span(self) -> tuple[float, float] | None:
        """The ends of the range of a mean; None where answers have no numbers."""
        if self.lattice is not None:
            return float(self.lattice.low), float(self.lattice.high)
        return None if self.scores is None else (float(min(self.scores)), float(max(self.scores)))

    @property
    def compared(self) -> tuple[str, str] | None:
        """The two items that are compared; None where none are."""
        return None

    @property
    def right_answer(self) -> str | None:
        """The right label, where it is known."""
        return None

    @property
    def answer_count(self) -> int:
        """Number of different answers, "no answer" not counted."""
        return len(self.labels)

    @property
    def no_answer_code(self) -> int:
        """Code of "no answer": after the last answer."""
        return len(self.labels)

    @property
    def codes(self) -> list[str]:
        """The label of each code, "no answer" included; none for numbers."""
        return [*self.labels, *([NO_ANSWER] if self.allow_skip else [])]

    @abstractmethod
    def code_of(self, answer: Answer) -> int | None:
        """Return the code of an answer; None where it is none that can be given."""

    def code(self, answer: Answer) -> int:
        """Return the whole number that stands for an answer.

        Raises
        ------
        UnknownLabel, MissingValue
            It is none that can be given. No message repeats it: messages end up in logs.
        """
        if answer is None:
            if self.allow_skip:
                return self.no_answer_code
            raise MissingValue(
                f"question {self.id!r} has no answer and cannot be left out; give one of "
                f"{self.choices}."
            )
        # To Python True is 1, which would be read as a point of a scale.
        code = None if isinstance(answer, bool) else self.code_of(answer)
        if code is None:
            raise UnknownLabel(
                f"question {self.id!r}: the answer is not one of {self.choices}; correct it."
            )
        return code

    def answer(self, code: int) -> Canonical:
        """Return the answer that a code stands for, in its one form; None for "no answer"."""
        return None if code == self.no_answer_code else self.labels[code]

    # --- conditions on its answers

    def fault_of(self, leaf: Leaf) -> str | None:
        """Return why a condition cannot be on answers to this question; None where it can."""
        return (
            f"{self.id!r}, {self.called}, which cannot decide what is shown: {self.cannot_decide}."
        )

    def meets(self, code: int, leaf: Leaf) -> bool:
        """Return whether the answer of a code meets a condition; "no answer" meets none."""
        return False

    def deciding_codes(self, leaves: Sequence[Leaf]) -> Iterable[tuple[int, float]] | None:
        """Return codes of answers, between them all that these conditions or masks tell apart.

        With each its weight: how many answers it stands for. None where there are too many to go
        through.
        """
        return ()

    # --- masks

    def masked_code(self, code: int) -> int:
        """Return the code that a mask takes for an answer: the place of its label.

        It is the answer's own, unless several answers have one label.
        """
        return code

    @abstractmethod
    def domains(self, *, clear: bool) -> tuple[Domain, ...]:
        """Return the domains of mechanisms that mask exactly the answers.

        `clear`: whether answers are sent as they are.
        """

    @abstractmethod
    def mask(self, level: str, rules: MaskRules) -> DeviceMechanism:
        """Return the mask at a level, or at ``"none"``."""

    def masked_by(self, mechanism: DeviceMechanism, *, clear: bool) -> bool:
        """Return whether a mechanism masks exactly the answers to the question."""
        return mechanism.in_surveys and mechanism.domain in self.domains(clear=clear)

    # --- two parties

    @abstractmethod
    def encoding(self, *, bins: int, summed: bool, without: tuple[str, ...]) -> QuestionEncoding:
        """Return how two parties add up the answers.

        `bins`: into how many ranges a scale is cut at most.
        `summed`: whether only the sum is wanted.
        `without`: what stands for no answer.
        """

    # --- words

    @property
    def choices(self) -> str:
        """Possible answers, in words."""
        return ", ".join(self.labels)

    @property
    def short_text(self) -> str:
        """The text by which the question differs from others of the survey."""
        return self.text

    def margin_words(self, low: float, high: float) -> str:
        """Return the unit of a margin of its mean, and the range in which the mean lies."""
        ends = f"{low:g} to {high:g}".replace("-", "−")
        return f"{getattr(self, 'unit', 'points')}, of {ends}"

    def report_in_words(self, report: int, mechanism: DeviceMechanism | None) -> str:
        """Return a report as people read it."""
        if report == self.no_answer_code and self.allow_skip:
            return NOT_SAID
        return self.labels[report]

    def sent_in_words(self, report: int, mechanism: DeviceMechanism | None) -> str:
        """Return a report as people read it; of a set of answers each of them."""
        subsets = None if mechanism is None else mechanism.as_subsets
        if subsets is None:
            return self.report_in_words(report, mechanism)
        members = subsets.members_of_report(report)
        return " · ".join(self.report_in_words(one, None) for one in members)

    def answer_in_words(self, code: int) -> str:
        """Return the code of an answer as people read it."""
        return self.report_in_words(code, None)

    @property
    def whole_text(self) -> str:
        """The text with which the question stands alone, as results show it."""
        return self.text

    @property
    def prompt(self) -> tuple[str, ...]:
        """Lines under the question at a terminal: the answers and how to type them."""
        lines = [f"{place}  {label}" for place, label in enumerate(self.labels, start=1)]
        return (*lines, *([f"0  {NOT_SAID}"] if self.allow_skip else []))

    def typed(self, text: str) -> Answer:
        """Return the answer that somebody typed; `UnknownLabel` where it is none.

        Options are picked by number, so that they can be called whatever they are called.
        """
        if self.allow_skip and text == "0":
            return None
        if text.isascii() and text.isdigit() and 1 <= int(text) <= len(self.labels):
            return self.labels[int(text) - 1]
        raise UnknownLabel(self.typing_hint)

    @property
    def typing_hint(self) -> str:
        """The sentence after something was typed that is no answer."""
        return f"Type a number from {0 if self.allow_skip else 1} to {len(self.labels)}."

    # --- files

    def codebook_fields(self) -> dict[str, Any]:
        """Return the fields of the question's codebook entry that other kinds do not have."""
        return {}

    # --- checks of a definition

    def _error(self, field: str | None, wrong: str) -> ParameterError:
        return ParameterError(f"question {self.id!r}{wrong}", field=field, question=self.id)

    def _check(self) -> None:
        """Raise unless id, text and allow_skip, which all kinds have, are of their types."""
        check_text(self.id, "id")
        check_text(self.text, "text", question=self.id)
        if not isinstance(self.allow_skip, bool):
            raise self._error(
                "allow_skip", f": allow_skip is {self.allow_skip!r}, expected true or false."
            )


class LabelQuestion(Question):
    """A question that is answered with one of a few labels."""

    __slots__ = ()

    def code_of(self, answer: Answer) -> int | None:
        """Return the place of a label."""
        return self.labels.index(answer) if answer in self.labels else None

    def fault_of(self, leaf: Leaf) -> str | None:
        """Return why a condition names no answers of it; all only where it can be skipped."""
        if self.cannot_decide:
            return Question.fault_of(self, leaf)
        return fault_of_labels(self, leaf, most=len(self.labels) - 1 + self.allow_skip)

    def meets(self, code: int, leaf: Leaf) -> bool:
        """Return whether a label is among those named."""
        place = self.masked_code(code)
        return (
            isinstance(leaf, ShowIf)
            and 0 <= place < len(self.labels)
            and self.labels[place] in leaf.answers
        )

    def deciding_codes(self, leaves: Sequence[Leaf]) -> Iterable[tuple[int, float]]:
        """Return the first answer of every label, and the number of its answers."""
        places = [self.masked_code(code) for code in range(self.answer_count)]
        return ((places.index(place), float(places.count(place))) for place in sorted(set(places)))

    def domains(self, *, clear: bool) -> tuple[Domain, ...]:
        """Return the labels, "no answer" counted."""
        return (Labels(len(self.labels) + self.allow_skip),)

    def mask(self, level: str, rules: MaskRules) -> DeviceMechanism:
        """Return randomized response or subset selection; per person the two-layer mechanism."""
        if level == CLEAR:
            return clear_response(len(self.labels), null=self.allow_skip)
        if rules.masking == KEEP_PER_ANSWER:
            return _categorical(level, len(self.labels), self.allow_skip)
        response = level_named(level).randomized_response(len(self.labels), null=self.allow_skip)
        if self.allow_skip:
            raise self._error(
                "allow_skip",
                f": it can be skipped, and a mask drawn once for each person ({KEEP_PER_PERSON}) "
                f"does not hide that. Let nobody skip it, or mask each answer ({KEEP_PER_ANSWER}).",
            )
        # The mean of the person's flip probability is the level's, so a single report loses as
        # much; the widest range around the mean that stays within 0 and 1.
        mean = response.flip_probability.limit_denominator(10**9)
        width = min(mean, 1 - mean)
        return TwoLayer(response.options, low=mean - width, high=mean + width)

    def encoding(self, *, bins: int, summed: bool, without: tuple[str, ...]) -> QuestionEncoding:
        """Return one count for each label."""
        scores = None if self.scores is None else tuple(map(float, self.scores))
        ends = None if scores is None else tuple((score, score) for score in scores)
        return Counts(self.id, self.labels, without, scores, ends)


def clear_response(answers: int, *, null: bool) -> RandomizedResponse:
    """Return the mechanism that sends answers as they are."""
    return RandomizedResponse(answers, flip_probability=0, null=null)


def gaussian_noise(lattice: Lattice, level: str) -> DiscreteGaussian:
    """Return the Gaussian noise of a level on a scale."""
    sigma = (lattice.high - lattice.low) / level_named(level).mu
    return DiscreteGaussian(lattice.low, lattice.high, lattice.step, sigma=sigma)


def point_of(answer: Answer, lattice: Lattice) -> int | None:
    """Return the place of a number on a lattice; None where it is not on it."""
    if not isinstance(answer, str | Decimal | numbers.Real) or len(str(answer)) > 40:
        return None
    try:
        # By its digits: 0.1 is a tenth here, and not the float nearest to it.
        steps = (Fraction(str(answer)) - lattice.low) / lattice.step
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    whole = steps.denominator == 1 and 0 <= steps < lattice.points
    return int(steps) if whole else None


def point_text(lattice: Lattice, steps: int) -> str:
    """Return the number so many steps from the lowest, as people write it."""
    value = lattice.low + lattice.step * steps
    return str(value.numerator) if value.denominator == 1 else str(float(value))


def _texts_in(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield the texts at a place of a definition and below it, each with its path."""
    if isinstance(value, str):
        if value.strip():
            yield path, value
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value):
            yield from _texts_in(one, f"{path}/{place}")
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from _texts_in(one, f"{path}/{name}")


@cache
def _categorical(level: str, options: int, null: bool) -> DeviceMechanism:
    return level_named(level).categorical_response(options, null=null)
