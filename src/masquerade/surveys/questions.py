"""The kinds of question a survey can ask, each with a closed, public domain.

Free text is not among them: it has no finite domain, so no mechanism can mask it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from masquerade.errors import ParameterError

MOST_OPTIONS = 100
MOST_CHARACTERS = 500
MOST_POINTS = 1_000_000


class _Asked:
    """What all kinds have in common."""

    __slots__ = ()
    kind: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """Return the question as a JSON object."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        lists = {name: list(one) for name, one in values.items() if isinstance(one, tuple)}
        return {"kind": self.kind} | values | lists


@dataclass(frozen=True, slots=True)
class Choice(_Asked):
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
    """

    id: str
    text: str
    options: tuple[str, ...]
    allow_skip: bool = False
    truth: str | None = None
    kind: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        _check_asked(self)
        if not isinstance(self.options, tuple):
            raise ParameterError(
                f"question {self.id!r}: options is {self.options!r}, expected several texts."
            )
        if not 2 <= len(self.options) <= MOST_OPTIONS:
            raise ParameterError(
                f"question {self.id!r} has {len(self.options)} options; give 2 to {MOST_OPTIONS}."
            )
        for option in self.options:
            _check_text(option, f"question {self.id!r}: option")
        if len(set(self.options)) < len(self.options):
            twice = next(o for o in self.options if self.options.count(o) > 1)
            raise ParameterError(f"question {self.id!r}: option {twice!r} stands twice; drop one.")
        if self.truth is not None and self.truth not in self.options:
            raise ParameterError(
                f"question {self.id!r}: the truth {self.truth!r} is not one of its options "
                f"{list(self.options)}."
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """What the person can choose, in order."""
        return self.options

    @property
    def scores(self) -> None:
        """None: options of a choice have no numbers."""
        return


@dataclass(frozen=True, slots=True)
class Rating(_Asked):
    """Rate on a scale of whole steps.

    Attributes
    ----------
    id, text, allow_skip
        As in `Choice`.
    low, high : int
        Ends of the scale, both included; 2 to 100 points.
    low_label, high_label : str
        Words at the two ends, may be empty.
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
        _check_asked(self)
        for name, end in (("low", self.low), ("high", self.high)):
            if not isinstance(end, int) or isinstance(end, bool):
                raise ParameterError(
                    f"question {self.id!r}: {name} is {end!r}, expected a whole number."
                )
        for name, label in (("low_label", self.low_label), ("high_label", self.high_label)):
            if label != "":
                _check_text(label, f"question {self.id!r}: {name}")
        if not 2 <= self.high - self.low + 1 <= MOST_OPTIONS:
            raise ParameterError(
                f"question {self.id!r}: the scale {self.low} to {self.high} needs 2 to "
                f"{MOST_OPTIONS} points."
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
class Number(_Asked):
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
        _check_asked(self)
        _check_text(self.unit, f"question {self.id!r}: unit")
        for name, value in (("low", self.low), ("high", self.high), ("step", self.step)):
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not (whole or (isinstance(value, float) and math.isfinite(value))):
                raise ParameterError(
                    f"question {self.id!r}: {name} is {value!r}, expected a finite number."
                )
        low, high, step = (Fraction(str(x)) for x in (self.low, self.high, self.step))
        steps = (high - low) / step if step > 0 else Fraction(0)
        if steps.denominator != 1 or not 1 <= steps < MOST_POINTS:
            raise ParameterError(
                f"question {self.id!r}: {self.low} to {self.high} by {self.step} is no scale; low "
                f"must reach high in 1 to {MOST_POINTS - 1} whole steps."
            )

    @property
    def points(self) -> int:
        """How many different answers there are."""
        low, high, step = (Fraction(str(x)) for x in (self.low, self.high, self.step))
        return int((high - low) / step) + 1

    @property
    def labels(self) -> tuple[str, ...]:
        """Empty: a number is not picked from a list."""
        return ()

    @property
    def scores(self) -> None:
        """None: reports are already numbers."""
        return


@dataclass(frozen=True, slots=True)
class Comparison(_Asked):
    """Say which of two is preferred.

    Attributes
    ----------
    id, text, allow_skip
        As in `Choice`.
    item_a, item_b : str
        The two.
    tie : str
        Label of a third answer, for no preference; empty where there is none.
    """

    id: str
    text: str
    item_a: str
    item_b: str
    tie: str = ""
    allow_skip: bool = False
    kind: ClassVar[str] = "comparison"

    def __post_init__(self) -> None:
        _check_asked(self)
        for name, item in (("item_a", self.item_a), ("item_b", self.item_b)):
            _check_text(item, f"question {self.id!r}: {name}")
        if self.tie != "":
            _check_text(self.tie, f"question {self.id!r}: tie")
        if len(set(self.labels)) < len(self.labels):
            raise ParameterError(
                f"question {self.id!r}: the answers {list(self.labels)} are not all different."
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """What the person can choose: the two, then the tie where there is one."""
        return (self.item_a, self.item_b, *([self.tie] if self.tie else []))

    @property
    def scores(self) -> None:
        """None: the answers have no numbers."""
        return


Question = Choice | Rating | Number | Comparison


def question_from_json(data: dict[str, Any]) -> Question:
    """Return the question that a JSON object describes.

    Raises
    ------
    ParameterError
        The kind is unknown, or a field is missing, unknown or out of range.
    """
    if not isinstance(data, dict):
        raise ParameterError(f"a question is {data!r}, expected a JSON object.")
    fields = dict(data)
    kind = fields.pop("kind", None)
    try:
        if kind == "choice":
            if isinstance(options := fields.get("options", []), list):
                fields["options"] = tuple(options)
            return Choice(**fields)
        if kind == "rating":
            return Rating(**fields)
        if kind == "number":
            return Number(**fields)
        if kind == "comparison":
            return Comparison(**fields)
    except TypeError as error:
        raise ParameterError(f"a {kind} question cannot be read: {error}") from error
    raise ParameterError(
        f"question kind {kind!r} is unknown; expected 'choice', 'rating', 'number' or "
        "'comparison'. Free text cannot be masked and is not offered."
    )


def _check_asked(question: Question) -> None:
    _check_text(question.id, "id")
    _check_text(question.text, f"question {question.id!r}: text")
    _check_flag(question.allow_skip, f"question {question.id!r}: allow_skip")


def _check_flag(flag: bool, what: str) -> None:
    if not isinstance(flag, bool):
        raise ParameterError(f"{what} is {flag!r}, expected true or false.")


def _check_text(text: str, what: str) -> None:
    if not isinstance(text, str):
        raise ParameterError(f"{what} is {text!r}, expected a text.")
    if not text.strip():
        raise ParameterError(f"{what} is empty; give it some words.")
    if len(text) > MOST_CHARACTERS:
        raise ParameterError(f"{what} has {len(text)} characters; shorten it to {MOST_CHARACTERS}.")
