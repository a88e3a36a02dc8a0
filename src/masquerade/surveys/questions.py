"""The kinds of question a survey can ask, each with a closed, public domain.

Free text is not among them: it has no finite domain, so no mechanism can mask it.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from masquerade.errors import ParameterError

MOST_OPTIONS = 100
# Of several: the code of an answer has a bit each, and one for "no answer"; a browser's numbers are
# whole up to 2**53.
MOST_TO_TICK = 51
MOST_CHARACTERS = 500
MOST_POINTS = 1_000_000


class _Kind:
    """A kind of question."""

    __slots__ = ()
    kind: ClassVar[str]
    id: str

    def to_json(self) -> dict[str, Any]:
        """Return the question as a JSON object."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        lists = {name: list(one) for name, one in values.items() if isinstance(one, tuple)}
        return {"kind": self.kind} | values | lists

    def _error(self, field: str | None, wrong: str) -> ParameterError:
        return ParameterError(f"question {self.id!r}{wrong}", field=field, question=self.id)


class _Options(_Kind):
    """A question with options to choose from."""

    __slots__ = ()
    options: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The options to choose from, in order."""
        return self.options

    @property
    def scores(self) -> None:
        """None: options have no numbers."""
        return


@dataclass(frozen=True, slots=True)
class Choice(_Options):
    """Pick one of several options.

    Attributes
    ----------
    id : str
        Names the question within its survey.
    text : str
        What the person reads.
    options : tuple of str
        Two to 100 different labels.
    allow_skip : bool
        Offers "prefer not to say", which is masked like every other answer.
    truth : str or None
        The right option, where it is known (labelling tasks); used for scoring, never shown.

    Examples
    --------
    >>> question = Choice("ill", "Have you worked while ill?", ("Yes", "No"))
    >>> question.labels
    ('Yes', 'No')
    """

    id: str
    text: str
    options: tuple[str, ...]
    allow_skip: bool = False
    truth: str | None = None
    kind: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        _check_common(self)
        _check_options(self)
        if self.truth is not None and self.truth not in self.options:
            raise self._error(
                "truth",
                f": the truth {self.truth!r} is not one of its options {list(self.options)}.",
            )


@dataclass(frozen=True, slots=True)
class SeveralOf(_Options):
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
    kind: ClassVar[str] = "several"

    def __post_init__(self) -> None:
        _check_common(self)
        _check_options(self)
        if self.most is None:
            return
        whole = isinstance(self.most, int) and not isinstance(self.most, bool)
        if not whole or not 1 <= self.most <= len(self.options):
            raise self._error(
                "most",
                f": most is {self.most!r}, expected 1 to {len(self.options)}, the number of its "
                "options.",
            )

    def code(self, ticked: Collection[str]) -> int | None:
        """Return the code of an answer; None where it is none that can be given."""
        chosen = set(ticked)
        if len(chosen) < len(ticked) or not chosen <= set(self.options):
            return None
        if len(chosen) > (self.most or len(self.options)):
            return None
        return sum(1 << place for place, option in enumerate(self.options) if option in chosen)

    def ticked(self, code: int) -> tuple[str, ...]:
        """Return the options of a code."""
        return tuple(option for place, option in enumerate(self.options) if code >> place & 1)


@dataclass(frozen=True, slots=True)
class Rating(_Kind):
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

    def __post_init__(self) -> None:
        _check_common(self)
        for name, end in (("low", self.low), ("high", self.high)):
            # To Python true and false are whole numbers.
            if not isinstance(end, int) or isinstance(end, bool):
                raise self._error(name, f": {name} is {end!r}, expected a whole number.")
        for name, label in (("low_label", self.low_label), ("high_label", self.high_label)):
            if label != "":
                _check_text(label, name, question=self.id)
        if not 2 <= self.high - self.low + 1 <= MOST_OPTIONS:
            raise self._error(
                "high", f": the scale {self.low} to {self.high} needs 2 to {MOST_OPTIONS} points."
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """The points of the scale as text, in order."""
        return tuple(str(point) for point in self.scores)

    @property
    def scores(self) -> tuple[int, ...]:
        """The points of the scale."""
        return tuple(range(self.low, self.high + 1))


@dataclass(frozen=True, slots=True)
class Number(_Kind):
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

    Examples
    --------
    >>> Number("hours", "How long did you sleep?", 0, 12, "hours", 0.5).points
    25
    """

    id: str
    text: str
    low: int | float
    high: int | float
    unit: str
    step: int | float = 1
    kind: ClassVar[str] = "number"
    allow_skip: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_common(self)
        _check_text(self.unit, "unit", question=self.id)
        for name, value in (("low", self.low), ("high", self.high), ("step", self.step)):
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not (whole or (isinstance(value, float) and math.isfinite(value))):
                raise self._error(name, f": {name} is {value!r}, expected a finite number.")
        # By their decimal text: 0.1 is a tenth, not the float beside it.
        low, high, step = (Fraction(str(x)) for x in (self.low, self.high, self.step))
        steps = (high - low) / step if step > 0 else Fraction(0)
        if steps.denominator != 1 or not 1 <= steps < MOST_POINTS:
            raise self._error(
                "high" if step > 0 else "step",
                f": {self.low} to {self.high} by {self.step} is no scale; low must reach high in 1 "
                f"to {MOST_POINTS - 1} whole steps.",
            )

    @property
    def points(self) -> int:
        """Number of different answers."""
        return _scale(self.low, self.high, self.step)[2]

    @property
    def exact_scale(self) -> tuple[Fraction, Fraction]:
        """The lowest answer and the step, by their decimal text."""
        return _scale(self.low, self.high, self.step)[:2]

    @property
    def labels(self) -> tuple[str, ...]:
        """Empty: a number is not picked from a list."""
        return ()

    @property
    def scores(self) -> None:
        """None: reports are already numbers."""
        return


@lru_cache(maxsize=1024, typed=True)  # a large float may equal a whole number that reads otherwise
def _scale(low: float, high: float, step: float) -> tuple[Fraction, Fraction, int]:
    """Return the lowest answer, the step and the number of points of a scale.

    Kept, for every answer to a number is held against its scale, and texts are slow to read.
    """
    lowest, highest, by = (Fraction(str(x)) for x in (low, high, step))
    return lowest, by, int((highest - lowest) / by) + 1


@dataclass(frozen=True, slots=True)
class Comparison(_Kind):
    """Say which of two is preferred.

    Attributes
    ----------
    id, text, allow_skip
        As in `Choice`.
    item_a, item_b : str
        The two.
    tie : str
        Label of a third answer, for no preference; empty where there is none.

    Examples
    --------
    >>> Comparison("pair", "Which do you prefer?", "Tea", "Coffee", tie="Both alike").labels
    ('Tea', 'Coffee', 'Both alike')
    """

    id: str
    text: str
    item_a: str
    item_b: str
    tie: str = ""
    allow_skip: bool = False
    kind: ClassVar[str] = "comparison"

    def __post_init__(self) -> None:
        _check_common(self)
        for name, item in (("item_a", self.item_a), ("item_b", self.item_b)):
            _check_text(item, name, question=self.id)
        if self.tie != "":
            _check_text(self.tie, "tie", question=self.id)
        if len(set(self.labels)) < len(self.labels):
            raise self._error(None, f": the answers {list(self.labels)} are not all different.")

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels to choose from: the two, then the tie where there is one."""
        return (self.item_a, self.item_b, *([self.tie] if self.tie else []))

    @property
    def scores(self) -> None:
        """None: the answers have no numbers."""
        return


#: Every kind of question.
Question = Choice | SeveralOf | Rating | Number | Comparison


_KINDS: dict[object, type[Question]] = {
    kind.kind: kind for kind in (Choice, SeveralOf, Rating, Number, Comparison)
}


def no_answer_code(question: Question) -> int:
    """Return the code of "no answer": after the last label, or the bit after the last option."""
    places = len(question.labels)
    return 1 << places if isinstance(question, SeveralOf) else places


def question_from_json(data: dict[str, Any]) -> Question:
    """Return the question that a JSON object describes.

    Raises
    ------
    ParameterError
        The kind is unknown, or a field is missing, unknown or out of range.

    Examples
    --------
    >>> from masquerade.surveys import Choice
    >>> question = Choice("ill", "Have you worked while ill?", ("Yes", "No"))
    >>> question_from_json(question.to_json()).labels
    ('Yes', 'No')
    """
    if not isinstance(data, dict):
        raise ParameterError(f"a question is {data!r}, expected a JSON object.")
    values = dict(data)
    kind = values.pop("kind", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ParameterError(
            f"question kind {kind!r} is unknown; expected 'choice', 'several', 'rating', "
            "'number' or 'comparison'. Free text cannot be masked and is not offered.",
            field="kind",
        )
    if kind in ("choice", "several") and isinstance(options := values.get("options", []), list):
        values["options"] = tuple(options)
    declared = {field.name: field for field in fields(_KINDS[kind])}
    for name in values:
        if name not in declared:
            raise ParameterError(
                f"a {kind} question cannot be read: it has no field {name!r}, only "
                f"{', '.join(declared)}."
            )
    for name, field in declared.items():
        if name not in values and field.default is MISSING:
            raise ParameterError(
                f"a {kind} question cannot be read: it has no {name!r}; give it one.", field=name
            )
    return _KINDS[kind](**values)


def _check_common(question: Question) -> None:
    """Raise unless id, text and allow_skip, which all kinds have, are of their types."""
    _check_text(question.id, "id")
    _check_text(question.text, "text", question=question.id)
    if not isinstance(question.allow_skip, bool):
        raise ParameterError(
            f"question {question.id!r}: allow_skip is {question.allow_skip!r}, expected true or "
            "false.",
            field="allow_skip",
            question=question.id,
        )


def _check_options(question: Choice | SeveralOf) -> None:
    """Raise unless the options are different texts, not too many."""
    options = question.options
    most = MOST_TO_TICK if isinstance(question, SeveralOf) else MOST_OPTIONS
    if not isinstance(options, tuple):
        raise question._error("options", f": options is {options!r}, expected several texts.")
    if not 2 <= len(options) <= most:
        raise question._error("options", f" has {len(options)} options; give 2 to {most}.")
    for index, option in enumerate(options):
        _check_text(option, "option", question=question.id, field=f"options/{index}")
    if len(set(options)) < len(options):
        twice = next(o for o in options if options.count(o) > 1)
        raise question._error("options", f": option {twice!r} stands twice; drop one.")


def _check_text(
    text: object, name: str, *, question: str | None = None, field: str | None = None
) -> None:
    """Raise unless `text` is one with some words; ``name`` is what messages call it."""
    if not isinstance(text, str):
        wrong = f" is {text!r}, expected a text."
    elif not text.strip():
        wrong = " is empty; give it some words."
    elif len(text) > MOST_CHARACTERS:
        wrong = f" has {len(text)} characters; shorten it to {MOST_CHARACTERS}."
    else:
        return
    prefix = "" if question is None else f"question {question!r}: "
    raise ParameterError(f"{prefix}{name}{wrong}", field=field or name, question=question)
