"""Encodings of one question for two parties: its block of the vector, and its symbols."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from masquerade.aggregate.item_blocks import Matching, Order
from masquerade.aggregate.survey_circuit import Block, One, Some, Whole
from masquerade.mechanisms import Lattice
from masquerade.mechanisms.masked_order import ranking_of

#: Shares of people below each of a question's quartiles.
QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
ANSWERED = "answered"
#: What noise of so much is on.
ON_COUNTS = "people on each count"


@dataclass(frozen=True, slots=True)
class NoisySums:
    """The sums of a block, and the variance of the noise on each."""

    values: Sequence[float]
    variance: float


class QuestionEncoding(ABC):
    """The encoding of one question's answers; public, and the same on every device."""

    __slots__ = ()

    #: Whether answers are one of the symbols, so that a cross table can be made of them.
    crossable: ClassVar[bool] = False

    question: str
    #: Words for each reason not to answer, whose codes follow those of answers.
    without: tuple[str, ...]

    @property
    @abstractmethod
    def block(self) -> Block:
        """The question's block of the vector."""

    @property
    @abstractmethod
    def symbols(self) -> tuple[str, ...]:
        """The labels, then the reasons not to answer."""

    @property
    def counted(self) -> tuple[str, ...]:
        """The symbols that the block itself counts."""
        return self.symbols

    @property
    @abstractmethod
    def answers(self) -> int:
        """Number of codes of answers; the codes of `without` follow."""

    def code(self, answer: int) -> int:
        """Return the code of an answer, from its code in the question."""
        return answer

    def code_without(self, reason: str) -> int:
        """Return the code of a reason not to answer."""
        return self.answers + self.without.index(reason)

    def measured(self, code: int) -> int | list[bool] | list[int]:
        """Return the measurement of a code."""
        return code

    def measurement(
        self, codes: Sequence[int], pairs: Sequence[tuple[int, int]]
    ) -> int | list[bool] | list[int] | list[list[int]]:
        """Return the measurement of all codes that go into the block: one, but of votes on a list.

        `pairs`: those that were shown for the votes.
        """
        [code] = codes
        return self.measured(code)

    @property
    def states(self) -> tuple[str, ...]:
        """Symbols of a second block, for answered or not; empty where there is none."""
        return ()

    def state(self, code: int) -> int:
        """Return the place of a code among `states`."""
        raise NotImplementedError

    @abstractmethod
    def in_words(self) -> str:
        """Return the sums in words."""

    def unit_of_noise(self) -> tuple[float, str]:
        """Return the size of one step of a sum, and its unit."""
        return 1.0, ON_COUNTS


@dataclass(frozen=True, slots=True)
class Counts(QuestionEncoding):
    """How many people give each answer.

    `labels`: of the counts: answers, or ranges of them.
    `scores`: the number that each label counts as; None where labels have no numbers.
    `ends`: first and last number of each label, where it has a score.
    `points`: number of answers where labels are ranges of them.
    """

    question: str
    labels: tuple[str, ...]
    without: tuple[str, ...]
    scores: tuple[float, ...] | None = None
    ends: tuple[tuple[float, float], ...] | None = None
    points: int | None = None
    crossable: ClassVar[bool] = True

    @property
    def block(self) -> Block:
        """One count for each symbol."""
        return One(len(self.symbols))

    @property
    def symbols(self) -> tuple[str, ...]:
        """The labels, then the reasons not to answer."""
        return (*self.labels, *self.without)

    @property
    def answers(self) -> int:
        """Number of labels."""
        return len(self.labels)

    def code(self, answer: int) -> int:
        """Return the label's place, or that of the range."""
        if self.points is None:
            return answer
        # Bin i holds the points from floor(i n / b) to below floor((i + 1) n / b).
        return ((answer + 1) * len(self.labels) - 1) // self.points

    def in_words(self) -> str:
        """Return the counts in words."""
        each = "give each answer" if self.points is None else "are in each range"
        return f"how many people {each} ({', '.join(self.symbols)})"


@dataclass(frozen=True, slots=True)
class Ticks(QuestionEncoding):
    """How many people tick each option; `most`: how many one person can tick, None for all."""

    question: str
    labels: tuple[str, ...]
    most: int | None
    without: tuple[str, ...]

    @property
    def block(self) -> Block:
        """One bit for each option."""
        return Some(len(self.labels), self.most)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The options, then the reasons not to answer."""
        return (*self.labels, *self.without)

    @property
    def counted(self) -> tuple[str, ...]:
        """The options."""
        return self.labels

    @property
    def answers(self) -> int:
        """Number of sets of options; beyond them stand the codes of no answer."""
        return 1 << len(self.labels)

    def measured(self, code: int) -> list[bool]:
        """Return whether each option is ticked."""
        answered = code < self.answers
        return [answered and bool(code >> place & 1) for place in range(len(self.labels))]

    @property
    def states(self) -> tuple[str, ...]:
        """Answered or not: bits alone do not tell nothing ticked from no answer."""
        return (ANSWERED, *self.without) if self.without else ()

    def state(self, code: int) -> int:
        """Return 0 for an answer, else the place of the reason."""
        return 0 if code < self.answers else 1 + code - self.answers

    def in_words(self) -> str:
        """Return the counts in words."""
        return "how many tick each answer"


@dataclass(frozen=True, slots=True)
class Ranked(QuestionEncoding):
    """How often each item is ranked first, and the sum of its ranks.

    `items`: of the ranking; `top`: how many are ranked.
    """

    question: str
    items: tuple[str, ...]
    top: int
    without: tuple[str, ...]

    @property
    def block(self) -> Block:
        """A bit for each item and place."""
        return Order(len(self.items), self.top, bool(self.without))

    @property
    def symbols(self) -> tuple[str, ...]:
        """Empty: the sums are no counts of answers."""
        return ()

    @property
    def counted(self) -> tuple[str, ...]:
        """The sums: first choices, each in units of the range, then twice the ranks."""
        unit = 2 * (len(self.items) - 1)
        firsts = (f"{item}: {unit} x ranked first" for item in self.items)
        return (*firsts, *(f"{item}: 2 x rank from the middle" for item in self.items))

    @property
    def answers(self) -> int:
        """Number of rankings."""
        return math.perm(len(self.items), self.top)

    def measured(self, code: int) -> list[int]:
        """Return the items of a code, the best first; empty without an answer."""
        return ranking_of(code, len(self.items), self.top) if code < self.answers else []

    @property
    def states(self) -> tuple[str, ...]:
        """Answered or not, where some may not."""
        return (ANSWERED, *self.without) if self.without else ()

    def state(self, code: int) -> int:
        """Return 0 for an answer, else the place of the reason."""
        return 0 if code < self.answers else 1 + code - self.answers

    def in_words(self) -> str:
        """Return the sums in words."""
        return "how often each item is ranked first, and the sum of its ranks"

    def unit_of_noise(self) -> tuple[float, str]:
        """Return the size of one step of a sum, and its unit."""
        return 0.5, "ranks on the sum of ranks of each item"


@dataclass(frozen=True, slots=True)
class Matched(QuestionEncoding):
    """How often each item of a list wins and loses in votes on pairs of it.

    `items`: of the list; `votes`: pairs for each person; `labels`: of a vote, with a tie the third.
    """

    question: str
    items: tuple[str, ...]
    votes: int
    labels: tuple[str, ...]
    without: tuple[str, ...] = ()  # who is shown a list votes on it

    @property
    def block(self) -> Matching:
        """Two bits for each item."""
        return Matching(len(self.items), self.votes, len(self.labels) > 2)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Empty: the sums are no counts of answers."""
        return ()

    @property
    def counted(self) -> tuple[str, ...]:
        """The sums: wins of each item, then losses."""
        wins = (f"{item}: won" for item in self.items)
        return (*wins, *(f"{item}: lost" for item in self.items))

    @property
    def answers(self) -> int:
        """Number of labels of one vote."""
        return len(self.labels)

    def measurement(
        self, codes: Sequence[int], pairs: Sequence[tuple[int, int]]
    ) -> list[list[int]]:
        """Return the items that won and those that lost."""
        sides = [pair if code == 0 else pair[::-1] for pair, code in zip(pairs, codes, strict=True)]
        # A tie is in neither.
        decided = [side for side, code in zip(sides, codes, strict=True) if code < 2]
        return [[won for won, _ in decided], [lost for _, lost in decided]]

    def in_words(self) -> str:
        """Return the sums in words."""
        return "how many votes each item of the list wins, and how many it loses"

    def unit_of_noise(self) -> tuple[float, str]:
        """Return the size of one step of a sum, and its unit."""
        return 1.0, "votes on each count"


@dataclass(frozen=True, slots=True)
class Total(QuestionEncoding):
    """The sum of all answers to a number, in steps from the lowest on."""

    question: str
    lattice: Lattice
    unit: str
    without: tuple[str, ...] = ()

    @property
    def block(self) -> Block:
        """One whole number, in steps."""
        return Whole(self.lattice.points - 1)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Empty: nothing is counted."""
        return ()

    @property
    def answers(self) -> int:
        """Number of points."""
        return self.lattice.points

    def in_words(self) -> str:
        """Return the sum in words."""
        return "the sum of all answers, and no counts"

    def unit_of_noise(self) -> tuple[float, str]:
        """Return the step of the scale, for sums are counted in steps."""
        return float(self.lattice.step), f"{self.unit} on the sum of all answers"


def binned(question: str, lattice: Lattice, *, bins: int, without: tuple[str, ...]) -> Counts:
    """Return the encoding of a number on a scale that is cut into at most so many ranges."""
    ends = _ends_of_bins(lattice, min(bins, lattice.points))
    return Counts(
        question,
        _labels_of_bins(ends),
        without,
        tuple(float(first + last) / 2 for first, last in ends),
        tuple((float(first), float(last)) for first, last in ends),
        lattice.points,
    )


@lru_cache(maxsize=1024)
def _ends_of_bins(lattice: Lattice, count: int) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return the first and the last number of each of `count` bins of a scale."""
    firsts = [place * lattice.points // count for place in range(count + 1)]
    return tuple(
        (lattice.low + lattice.step * first, lattice.low + lattice.step * (after - 1))
        for first, after in itertools.pairwise(firsts)
    )


@lru_cache(maxsize=1024)
def _labels_of_bins(ends: tuple[tuple[Fraction, Fraction], ...]) -> tuple[str, ...]:
    return tuple(
        f"{float(first):g}" if first == last else f"{float(first):g} to {float(last):g}"
        for first, last in ends
    )
