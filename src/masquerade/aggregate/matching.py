"""Votes on item-disjoint pairs of a list as a block: which items won, and which lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from masquerade.aggregate.circuit import bit_weights, bits_of, require_whole
from masquerade.aggregate.field import Elements
from masquerade.aggregate.survey_circuit import Block
from masquerade.errors import ParameterError


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
