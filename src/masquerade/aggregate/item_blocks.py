"""Blocks of named items: rankings of them, and votes on item-disjoint pairs of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from masquerade.aggregate.bit_circuits import require_length
from masquerade.aggregate.circuit import bit_weights, bits_of, require_whole
from masquerade.aggregate.field import Elements
from masquerade.aggregate.survey_circuit import Block, require_positive
from masquerade.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Order(Block):
    """A ranking of the first `ranked` of `items`; the answer is the items, the best first.

    A bit for each item and place, and for "not ranked" where that can be: each row adds to 1, and
    each place's column too, so that it is a ranking. Where it is `optional`, a last bit says
    whether there is one, and all others are 0 where there is none.

    Added up are, for each item, how often it is first, in units of the range of ranks, and twice
    its rank from the middle one, the rank of an item that is not ranked being the middle of those
    that are left.

    Attributes
    ----------
    items : int
        2 to 12.
    ranked : int
        1 to `items`.
    optional : bool

    Examples
    --------
    >>> block = Order(5, 5)
    >>> block.sensitivity_squared / block.unit**2
    4.5
    >>> first = Order(3, 1)  # first choices in units of 4
    >>> first.truncate(first.encode([2]))[:3]
    [0, 0, 4]
    """

    items: int
    ranked: int
    optional: bool = False

    def __post_init__(self) -> None:
        require_positive("items", self.items)
        require_positive("ranked", self.ranked)
        if not 2 <= self.items <= 12 or self.ranked > self.items:
            raise ParameterError(
                f"a ranking of {self.ranked} of {self.items} items is none; expected 2 to 12 items."
            )

    @property
    def _width(self) -> int:
        return self.ranked + (self.ranked < self.items)

    @property
    def _ranks(self) -> list[int]:
        """Twice the rank from the middle one, of each place and of an item without one."""
        placed = [2 * place - self.items - 1 for place in range(1, self.ranked + 1)]
        return [*placed, *([self.ranked] if self.ranked < self.items else [])]

    @property
    def bits(self) -> int:
        """Elements of the vector."""
        return self.items * self._width + self.optional

    @property
    def outputs(self) -> int:
        """Two for each item: first choices, and ranks."""
        return 2 * self.items

    @property
    def sensitivity_squared(self) -> int:
        """Largest squared change: from one ranking to its reversal, which changes both most."""
        ranks = self._ranks + [self.ranked] * (self.items - self.ranked - 1)
        return 2 * self.unit**2 + sum(
            (one - other) ** 2 for one, other in zip(ranks, reversed(ranks), strict=True)
        )

    @property
    def unit(self) -> int:
        """Largest change of one output: twice the range of ranks."""
        return 2 * (self.items - 1)

    @property
    def checks(self) -> int:
        """Number of linear checks: one for each item and for each place."""
        return self.items + self.ranked

    def encode(self, answer: Sequence[int]) -> Elements:
        """Return the bits of a ranking; of an empty one all are 0, where that can be."""
        if not answer and self.optional:
            return [0] * self.bits
        require_length(answer, self.ranked)
        places = [require_whole(item, self.items - 1) for item in answer]
        if len(set(places)) < len(places):
            raise ParameterError("an item is ranked twice.")
        bits = [0] * (self.items * self._width)
        for item in range(self.items):
            column = places.index(item) if item in places else self.ranked
            bits[item * self._width + column] = 1
        return bits + [1] * self.optional

    def check(self, encoded: Sequence[int], square: int, one: int) -> int:
        """Return the first check."""
        return self.all_checks(encoded, square, one)[0]

    def all_checks(self, encoded: Sequence[int], square: int, one: int) -> Elements:
        """Return how far rows and columns of places are from adding to whether it is answered."""
        width, said = self._width, encoded[-1] if self.optional else one
        cells = encoded[: self.items * width]
        rows = [sum(cells[start : start + width]) - said for start in range(0, len(cells), width)]
        return rows + [sum(cells[place::width]) - said for place in range(self.ranked)]

    def truncate(self, encoded: Sequence[int]) -> Elements:
        """Return first choices in units, then ranks, of each item."""
        width, ranks = self._width, self._ranks
        rows = [encoded[start : start + width] for start in range(0, self.items * width, width)]
        return [self.unit * row[0] for row in rows] + [sum(map(mul, row, ranks)) for row in rows]


@dataclass(frozen=True, slots=True)
class Matching(Block):
    """Votes on `pairs` pairs of `items`, none of which stands in two pairs.

    The answer is the items that won and the items that lost, equally many: those of pairs that
    ended even are in neither. Added up are, for each item, how often it won, then how often it
    lost.

    The check holds a person to as many wins as losses, and to as many of each as there are pairs
    (fewer where pairs can end even). Which items were paired is in no bit.

    Attributes
    ----------
    items : int
        At least twice the pairs.
    pairs : int
        At least 1.
    ties : bool
        Whether a pair can end even.

    Privacy
    -------
    Two answers differ in at most 4 `pairs` sums, each by 1: of the items that won at most `pairs`
    on either side, and of those that lost the same. Whoever turns all votes round attains it.

    Examples
    --------
    >>> block = Matching(6, 2, ties=True)
    >>> block.encode(([0, 3], [5, 1]))[:12]
    [1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]
    >>> block.sensitivity_squared
    8
    """

    items: int
    pairs: int
    ties: bool = False

    def __post_init__(self) -> None:
        for name in ("items", "pairs"):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value < 2**32:
                raise ParameterError(f"{name} is {value!r}, expected a whole number from 1 on.")
        if 2 * self.pairs > self.items:
            raise ParameterError(
                f"{self.pairs} pairs have {2 * self.pairs} different items, and there are "
                f"{self.items}; ask for at most {self.items // 2} pairs."
            )

    @property
    def bits(self) -> int:
        """Elements of the vector: two for each item, and the number of ties in bits."""
        return 2 * self.items + self._tie_bits

    @property
    def outputs(self) -> int:
        """Two for each item: wins, and losses."""
        return 2 * self.items

    @property
    def sensitivity_squared(self) -> int:
        """Largest squared change: all votes turned round."""
        # At most `pairs` items won before and as many other items after; the same of losses.
        return 4 * self.pairs

    @property
    def checks(self) -> int:
        """Number of linear checks: as many wins as losses, and as many as there are pairs."""
        return 2

    @property
    def _tie_bits(self) -> int:
        return self.pairs.bit_length() if self.ties else 0

    def encode(self, answer: Sequence[Sequence[int]]) -> Elements:
        """Return bits of wins, of losses, and of how many pairs ended even."""
        won, lost = answer
        places = [require_whole(item, self.items - 1) for item in (*won, *lost)]
        even = self.pairs - len(won)
        whole = len(won) == len(lost) and len(set(places)) == len(places)
        if not whole or not 0 <= even <= (self.pairs if self.ties else 0):
            raise ParameterError(
                f"{len(won)} items won and {len(lost)} lost, expected those of {self.pairs} pairs "
                "without an item in common."
            )
        bits = [0] * (2 * self.items)
        for item in won:
            bits[item] = 1
        for item in lost:
            bits[self.items + item] = 1
        return bits + (bits_of(even, self.pairs) if self.ties else [])

    def check(self, encoded: Sequence[int], square: int, one: int) -> int:
        """Return the first check."""
        return self.all_checks(encoded, square, one)[0]

    def all_checks(self, encoded: Sequence[int], square: int, one: int) -> Elements:
        """Return wins without losses, and wins with ties without the pairs; not reduced."""
        won, lost = sum(encoded[: self.items]), sum(encoded[self.items : 2 * self.items])
        # these bits stand for at most `pairs`, whatever they are
        even: int = sum(map(mul, encoded[2 * self.items :], bit_weights(self.pairs)))
        return [won - lost, won + even - self.pairs * one]
