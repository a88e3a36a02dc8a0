"""Conditions of other tools: expressions, read into one small tree and written as conditions here.

Read are comparisons of one question with a value, ``selected``, ``is_empty``, and, or, not.
Whatever else such an expression can say (arithmetic, functions, two questions compared) raises
`UnreadableLogic`, so that the report can name it. Expressions are those of LimeSurvey and XLSForm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from masquerade.surveys.question import Question

MOST_LENGTH = 5_000
MOST_DEPTH = 40


class UnreadableLogic(ValueError):
    """An expression that says more than can be asked here."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A question compared with a value: ``=``, ``<``, ``<=``, ``>`` or ``>=``."""

    name: str
    sign: str
    value: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A question that has an answer."""

    name: str


@dataclass(frozen=True, slots=True)
class Joined:
    """Parts of which all, any or none hold."""

    rule: str
    parts: tuple[Logic, ...]


@dataclass(frozen=True, slots=True)
class Fixed:
    """A condition that always holds, or never."""

    holds: bool


Logic = Compared | Answered | Joined | Fixed
ALWAYS = Fixed(True)

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<number>-?\d+(?:\.\d+)?(?![\w.]))
      | \$\{(?P<field>[^{}]+)\}
      | (?P<sign>==|!=|<>|<=|>=|=|<|>)
      | (?P<mark>&&|\|\||!|\(|\)|,)
      | (?P<name>[A-Za-z_][\w.:-]*(?:\#\w+)?|\.(?![\w.]))
    )""",
    re.VERBOSE,
)
_WORDS = {
    "eq": "=",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "==": "=",
    "<>": "!=",
    "&&": "and",
    "||": "or",
}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SIGNS = set(_MIRRORED)
_SUFFIX = re.compile(r"\.(NAOK|code|value|valueNAOK|shown)$", re.IGNORECASE)


def read_logic(text: str) -> Logic:
    """Return the tree of an expression; `ALWAYS` for an empty one.

    Examples
    --------
    >>> read_logic("Q1.NAOK == 'A1' and Q2 > 3").rule
    'all'
    >>> read_logic("not(selected(${pets}, 'cat'))").rule
    'none'
    """
    if not text.strip():
        return ALWAYS
    if len(text) > MOST_LENGTH:
        raise UnreadableLogic("it is too long")
    return _Reader(_tokens(text)).whole()


def join(rule: str, parts: list[Logic]) -> Logic:
    """Return parts of which all or any hold, without those that are fixed."""
    neutral = rule == "all"
    left: list[Logic] = []
    for part in parts:
        if isinstance(part, Fixed):
            if part.holds != neutral:
                return part
        elif isinstance(part, Joined) and part.rule == rule:
            left += part.parts
        else:
            left.append(part)
    if not left:
        return Fixed(neutral)
    return left[0] if len(left) == 1 else Joined(rule, tuple(left))


def negated(part: Logic) -> Logic:
    """Return the opposite."""
    if isinstance(part, Fixed):
        return Fixed(not part.holds)
    if isinstance(part, Joined) and part.rule == "none":
        return join("any", list(part.parts))
    return Joined("none", (part,))


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.end() == at:
            raise UnreadableLogic(f"“{text[at : at + 20].strip()}” cannot be said here")
        kind = str(match.lastgroup)
        value = match[kind]
        if kind == "text":
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        elif kind == "field":
            kind = "name"
        if kind == "name":
            value = _SUFFIX.sub("", value.strip())
        if kind in ("name", "sign", "mark") and value.lower() in _WORDS:
            kind, value = "sign", _WORDS[value.lower()]
        if value in ("and", "or") or (kind == "name" and value.lower() in ("and", "or", "not")):
            kind, value = "mark", value.lower()
        found.append((kind, value))
        at = match.end()
    return found


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def whole(self) -> Logic:
        found = self._either()
        if self._at < len(self._tokens):
            raise UnreadableLogic(f"“{self._tokens[self._at][1]}” cannot be said here")
        return found

    def _next(self, *marks: str) -> bool:
        kind, value = self._peek()
        if kind == "mark" and value in marks:
            self._at += 1
            return True
        return False

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "the end")

    def _either(self) -> Logic:
        parts = [self._both()]
        while self._next("or"):
            parts.append(self._both())
        return join("any", parts)

    def _both(self) -> Logic:
        parts = [self._one()]
        while self._next("and"):
            parts.append(self._one())
        return join("all", parts)

    def _one(self) -> Logic:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise UnreadableLogic("it is nested too deeply")
        try:
            if self._next("!", "not"):
                return negated(self._one())
            if self._next("("):
                inner = self._either()
                self._expect(")")
                return inner
            return self._comparison()
        finally:
            self._depth -= 1

    def _expect(self, mark: str) -> None:
        if not self._next(mark):
            raise UnreadableLogic(f"“{self._peek()[1]}” stands where “{mark}” is expected")

    def _operand(self) -> tuple[str, str]:
        kind, value = self._peek()
        if kind not in ("name", "text", "number"):
            raise UnreadableLogic(f"“{value}” cannot be said here")
        self._at += 1
        return kind, value

    def _comparison(self) -> Logic:
        first = self._operand()
        if first[0] == "name" and self._next("("):
            return self._function(first[1].lower())
        kind, sign = self._peek()
        if kind != "sign":
            return _alone(first)
        self._at += 1
        second = self._operand()
        if second[0] == "name" and self._next("("):
            raise UnreadableLogic(f"the function “{second[1]}” cannot be said here")
        return _compared(first, sign, second)

    def _function(self, name: str) -> Logic:
        arguments: list[tuple[str, str]] = []
        while not self._next(")"):
            if arguments:
                self._expect(",")
            arguments.append(self._operand())
        named = bool(arguments) and arguments[0][0] == "name"
        if name in ("true", "false") and not arguments:
            return Fixed(name == "true")
        if name == "selected" and named and len(arguments) == 2 and arguments[1][0] != "name":
            return Compared(arguments[0][1], "=", arguments[1][1])
        if name in ("is_empty", "empty") and named and len(arguments) == 1:
            return negated(Answered(arguments[0][1]))
        raise UnreadableLogic(f"the function “{name}” cannot be said here")


def _alone(operand: tuple[str, str]) -> Logic:
    kind, value = operand
    if kind == "number":
        return Fixed(float(value) != 0)
    if kind == "name":
        return Answered(value)
    raise UnreadableLogic(f"the text “{value}” stands alone")


def _compared(first: tuple[str, str], sign: str, second: tuple[str, str]) -> Logic:
    if first[0] != "name":
        first, sign, second = second, _MIRRORED[sign], first
    if first[0] != "name" or second[0] == "name":
        raise UnreadableLogic("it compares no question with a value")
    name, value = first[1], second[1]
    if value == "":
        if sign not in ("=", "!="):
            raise UnreadableLogic("it compares a question with nothing")
        return negated(Answered(name)) if sign == "=" else Answered(name)
    if sign == "!=":
        return negated(Compared(name, "=", value))
    return Compared(name, sign, value)


Json = dict[str, Any]


_YES = ("y", "yes", "1", "true")


@dataclass(frozen=True, slots=True)
class Target:
    """A question as conditions name it: by codes of its labels, or as a number."""

    question: Question
    labels: Mapping[str, str] = field(default_factory=dict)
    tick: str = ""  # the option that the name stands for
    origin: float = 0
    point: float = 1


def names_in(logic: Logic | None) -> set[str]:
    """Return the names of questions in a condition."""
    if isinstance(logic, Compared | Answered):
        return {logic.name}
    return (
        {n for part in logic.parts for n in names_in(part)} if isinstance(logic, Joined) else set()
    )


def leaf_of(logic: Compared | Answered, target: Target) -> Json | bool:
    """Return a leaf of our conditions."""
    question, lattice = target.question, target.question.lattice
    number = not target.labels and lattice is not None
    if isinstance(logic, Answered):
        if target.tick:
            return {"question": question.id, "answers": [target.tick]}
        if not question.allow_skip:
            return True
        if number and lattice is not None:
            ends = {"from": plain_number(lattice.low), "to": plain_number(lattice.high)}
            return {"question": question.id, **ends}
        return {"question": question.id, "answers": list(question.labels)}
    if target.tick:
        ticked = {"question": question.id, "answers": [target.tick]}
        if logic.value.lower() not in (*_YES, "n", "0", "no", "false") or logic.sign != "=":
            raise UnreadableLogic(f"“{logic.value}” is no answer of {question.id}")
        return ticked if logic.value.lower() in _YES else {"none": [ticked]}
    if number and lattice is not None:
        return _interval(logic, question)
    value = logic.value
    if target.point != 1 or target.origin:
        value = f"{(_number(value) - target.origin) / target.point:.9g}"
    codes = [code for code in target.labels if _holds(code, logic.sign, value)]
    labels = [target.labels[code] for code in codes]
    if not labels and logic.sign == "=":
        labels = [label for label in question.labels if label == logic.value]
    if not labels:
        raise UnreadableLogic(f"“{logic.value}” is no answer of {question.id}")
    return {"question": question.id, "answers": labels}


def _interval(logic: Compared, question: Question) -> Json | bool:
    lattice = question.lattice
    assert lattice is not None
    value = _number(logic.value)
    points = [float(lattice.low + lattice.step * n) for n in range(min(lattice.points, 100_001))]
    kept = [point for point in points if _holds(str(point), logic.sign, str(value))]
    if not kept:
        return False
    return {"question": question.id, "from": plain_number(kept[0]), "to": plain_number(kept[-1])}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UnreadableLogic(f"“{text}” is no number") from None


def _holds(code: str, sign: str, value: str) -> bool:
    if sign == "=" and code == value:
        return True
    try:
        one, other = float(code), float(value)
    except ValueError:
        return False
    return {
        "=": one == other,
        "<": one < other,
        "<=": one <= other,
        ">": one > other,
        ">=": one >= other,
    }[sign]


def grouped(rule: str, parts: list[Any]) -> Any:
    """Return parts of which all or any hold; answers of one question are named together."""
    if rule == "any":
        merged: list[Any] = []
        for part in parts:
            same = next(
                (
                    one
                    for one in merged
                    if "answers" in one
                    and part.get("question") == one["question"]
                    and "answers" in part
                ),
                None,
            )
            if same is None:
                merged.append({**part})
            else:
                same["answers"] = list(dict.fromkeys([*same["answers"], *part["answers"]]))
        parts = merged
    return parts[0] if len(parts) == 1 else {rule: parts}


def plain_number(value: Any) -> int | float:
    """Return a number as JSON writes it, a whole one without a point."""
    number = float(value)
    return int(number) if number.is_integer() else round(number, 9)
