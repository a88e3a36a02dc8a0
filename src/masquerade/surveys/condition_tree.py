"""Conditions on earlier answers: a tree of all, any and none over answers that were given."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self, TypeVar

from masquerade.errors import ParameterError

#: What a surveyor may write for one question or page.
MOST_LEAVES, MOST_DEPTH = 8, 3
#: What a question may hold once its page's condition and early ends are part of its own.
MOST_LEAVES_TOGETHER, MOST_DEPTH_TOGETHER = 32, 6
ALL, ANY, NONE = RULES = "all", "any", "none"

#: A truth value, or an array of them, one for each of several worlds.
Truth = TypeVar("Truth")


class SingleCondition:
    """A condition on the answer to one earlier question: a leaf of the tree."""

    __slots__ = ()

    def leaves(self) -> tuple[Self, ...]:
        """Return the conditions on single questions: this one."""
        return (self,)

    @property
    def depth(self) -> int:
        """Levels of the tree."""
        return 1

    def holds(self, met: Callable[[Self], Truth]) -> Truth:
        """Return whether it is met, from whether each leaf is."""
        return met(self)


@dataclass(frozen=True, slots=True)
class ShowIf(SingleCondition):
    """The condition that an earlier question has one of some answers.

    Attributes
    ----------
    question : str
        Id of an earlier question with labels.
    answers : tuple of str
        Labels of that question; any of them, given or ticked, meets the condition.

    Examples
    --------
    >>> ShowIf("ill", ("Yes",)).to_json()
    {'question': 'ill', 'answers': ['Yes']}
    """

    question: str
    answers: tuple[str, ...]

    def to_json(self) -> dict[str, str | list[str]]:
        """Return the condition as a JSON object."""
        return {"question": self.question, "answers": list(self.answers)}

    def in_words(self, text_of: Callable[[str], str]) -> str:
        """Return the condition in words; `text_of` gives the text of a question by its id."""
        answers = " or ".join(f"“{one}”" for one in self.answers)
        return f"{answers} to “{text_of(self.question)}”"


@dataclass(frozen=True, slots=True)
class Within(SingleCondition):
    """The condition that the answer to an earlier question is in a public interval.

    Attributes
    ----------
    question : str
        Id of an earlier question that is answered with a number or a date.
    low, high : int, float or str
        First and last answer that meet the condition, both on the question's scale; dates as texts.

    Examples
    --------
    >>> Within("hours", 40, 60).to_json()
    {'question': 'hours', 'from': 40, 'to': 60}
    >>> Within("since", "2025-01", "2025-06").to_json()
    {'question': 'since', 'from': '2025-01', 'to': '2025-06'}
    """

    question: str
    low: int | float | str
    high: int | float | str

    def to_json(self) -> dict[str, str | float]:
        """Return the condition as a JSON object."""
        return {"question": self.question, "from": self.low, "to": self.high}

    def in_words(self, text_of: Callable[[str], str]) -> str:
        """Return the condition in words; `text_of` gives the text of a question by its id."""
        return f"{self.low} to {self.high} to “{text_of(self.question)}”"


@dataclass(frozen=True, slots=True)
class Placed(SingleCondition):
    """The condition that one of some items stands among the first of an earlier ranking.

    Attributes
    ----------
    question : str
        Id of an earlier ranking.
    answers : tuple of str
        Items of that ranking; any of them meets the condition.
    first : int
        Among how many of the first places; 1 for the first place alone.

    Examples
    --------
    >>> Placed("topics", ("Pay",), 3).to_json()
    {'question': 'topics', 'answers': ['Pay'], 'first': 3}
    """

    question: str
    answers: tuple[str, ...]
    first: int

    def to_json(self) -> dict[str, str | int | list[str]]:
        """Return the condition as a JSON object."""
        return {"question": self.question, "answers": list(self.answers), "first": self.first}

    def in_words(self, text_of: Callable[[str], str]) -> str:
        """Return the condition in words; `text_of` gives the text of a question by its id."""
        items = " or ".join(f"“{one}”" for one in self.answers)
        places = "in the first place" if self.first == 1 else f"among the first {self.first}"
        return f"{items} {places} of “{text_of(self.question)}”"


@dataclass(frozen=True, slots=True)
class Combined:
    """Several conditions of which all, any or none are to be met.

    Attributes
    ----------
    rule : str
        ``"all"``, ``"any"`` or ``"none"``.
    parts : tuple of conditions
        At least one.

    Examples
    --------
    >>> both = Combined("all", (ShowIf("ill", ("Yes",)), Within("hours", 40, 60)))
    >>> [leaf.question for leaf in both.leaves()], both.depth
    (['ill', 'hours'], 2)
    """

    rule: str
    parts: tuple[Condition, ...]

    def leaves(self) -> tuple[Leaf, ...]:
        """Return the conditions on single questions."""
        return tuple(leaf for part in self.parts for leaf in part.leaves())

    @property
    def depth(self) -> int:
        """Levels of the tree."""
        return 1 + max(part.depth for part in self.parts)

    def holds(self, met: Callable[[Leaf], Truth]) -> Truth:
        """Return whether it is met, from whether each leaf is."""
        parts = [part.holds(met) for part in self.parts]
        found: Truth = reduce(operator.and_ if self.rule == ALL else operator.or_, parts)
        return operator.xor(found, True) if self.rule == NONE else found

    def to_json(self) -> dict[str, object]:
        """Return the condition as a JSON object."""
        return {self.rule: [part.to_json() for part in self.parts]}

    def in_words(self, text_of: Callable[[str], str]) -> str:
        """Return the condition in words; `text_of` gives the text of a question by its id."""
        words = [
            f"({part.in_words(text_of)})" if part.depth > 1 else part.in_words(text_of)
            for part in self.parts
        ]
        if self.rule == NONE:
            return f"none of {', '.join(words)}"
        return (" and " if self.rule == ALL else " or ").join(words)


Leaf = ShowIf | Within | Placed
Condition = Leaf | Combined
Conditions = tuple[Condition | None, ...]


def together(*conditions: Condition | None) -> Condition | None:
    """Return the condition that all of these are met; None where there are none.

    Examples
    --------
    >>> page, own = ShowIf("ill", ("Yes",)), ShowIf("boss", ("No",))
    >>> together(page, own) == together(page, together(page, own))
    True
    >>> together(None, own) is own
    True
    """
    parts: list[Condition] = []
    for one in conditions:
        if one is None:
            continue
        inner = one.parts if isinstance(one, Combined) and one.rule == ALL else (one,)
        parts += [part for part in inner if part not in parts]
    if len(parts) < 2:
        return parts[0] if parts else None
    return Combined(ALL, tuple(parts))


def condition_from_json(data: Any, *, of: str) -> Condition:
    """Return the condition that a JSON object describes.

    `of` is the id of the question that it belongs to, for messages.

    Raises
    ------
    ParameterError
        It is no tree of conditions, or too large.

    Examples
    --------
    >>> condition_from_json({"any": [{"question": "a", "answers": ["Yes"]}]}, of="b")
    Combined(rule='any', parts=(ShowIf(question='a', answers=('Yes',)),))
    """
    found = _read(data, of, MOST_DEPTH_TOGETHER)
    if len(found.leaves()) > MOST_LEAVES_TOGETHER:
        raise condition_error(
            of, f": show_if names answers {len(found.leaves())} times; drop some of them."
        )
    return found


def _read(data: Any, of: str, depth: int) -> Condition:
    keys = set(data) if isinstance(data, dict) else set()
    named = keys and isinstance(data.get("question"), str)
    answers = data.get("answers") if named else None
    if isinstance(answers, list) and all(isinstance(one, str) for one in answers):
        if keys == {"question", "answers"}:
            return ShowIf(data["question"], tuple(answers))
        if keys == {"question", "answers", "first"} and type(data["first"]) is int:
            return Placed(data["question"], tuple(answers), data["first"])
    ends = [data["from"], data["to"]] if named and keys == {"question", "from", "to"} else []
    if ends and all(type(end) in (int, float, str) for end in ends):
        return Within(data["question"], *ends)
    [rule] = keys if len(keys) == 1 else ("",)
    if rule in RULES and isinstance(data[rule], list) and data[rule]:
        if depth < 2:
            raise condition_error(of, ": show_if is nested too deeply; use fewer groups.")
        return Combined(rule, tuple(_read(part, of, depth - 1) for part in data[rule]))
    raise condition_error(
        of,
        f': show_if is {data!r}, expected {{"question": an earlier id, "answers": [its labels]}}, '
        '{"question": an earlier id, "from": a number or date, "to": a number or date}, '
        '{"question": an earlier ranking, "answers": [its items], "first": among how many places}, '
        'or {"all": [...]}, {"any": [...]} or {"none": [...]} of such.',
    )


def check_written(condition: Condition, *, of: str) -> None:
    """Raise where somebody wrote more into one condition than can be read at a glance."""
    leaves = len(condition.leaves())
    if leaves > MOST_LEAVES:
        raise condition_error(
            of, f": the condition has {leaves} parts; give it at most {MOST_LEAVES}."
        )
    if condition.depth > MOST_DEPTH:
        raise condition_error(
            of, f": the condition is {condition.depth} levels deep; use at most {MOST_DEPTH}."
        )


def condition_error(question: str, wrong: str) -> ParameterError:
    """Return the error of a question's condition."""
    return ParameterError(f"question {question!r}{wrong}", field="show_if", question=question)
