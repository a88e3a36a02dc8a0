"""The circuit of a whole survey: one vector of bits, one proof, for all answers of a person.

Blocks stand one after another. Every element is checked to be 0 or 1 as in SumVec; each kind of
block adds its own linear check, and all checks are reduced by one random combination (VDAF draft
20, section 7.3.1.1). A survey of one `One` or `Some` has the bytes of Prio3Histogram or
Prio3MultihotCountVec but for the algorithm's identifier.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise, starmap
from operator import mul
from typing import Any

from masquerade.aggregate.bit_circuits import BitCircuit, best_chunk, require_length
from masquerade.aggregate.circuit import bit_weights, bits_of, require_whole
from masquerade.aggregate.field import FIELD_128, Elements
from masquerade.aggregate.prio3 import Prio3
from masquerade.errors import ParameterError

#: Identifier of the circuit, from the range for private use (VDAF draft 20, section 10).
SURVEY = 0xFFFF4D51
#: Of soundness.
LARGEST_ERROR = Fraction(1, 2**120)


class Block(ABC):
    """One part of the vector, for one question.

    Examples
    --------
    >>> from masquerade.aggregate import One
    >>> block = One(3)
    >>> isinstance(block, Block), block.encode(1)
    (True, [0, 1, 0])
    """

    __slots__ = ()

    @property
    @abstractmethod
    def bits(self) -> int:
        """Elements of the vector."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Number of elements that the block adds to the sums."""

    @property
    @abstractmethod
    def sensitivity_squared(self) -> int:
        """Largest squared Euclidean change of the output when a person answers otherwise."""

    @property
    def unit(self) -> int:
        """Largest size of one output: 1 for counts."""
        return 1

    @property
    def largest_change_squared(self) -> int:
        """Largest squared change of one output."""
        return min(self.unit**2, self.sensitivity_squared)

    @property
    def checks(self) -> int:
        """Number of linear checks."""
        return 1

    @property
    def squared(self) -> int:
        """Number of values that are squared for the check."""
        return 0

    @abstractmethod
    def encode(self, answer: Any) -> Elements:
        """Return the bits of an answer; refuse one that does not fit."""

    @abstractmethod
    def check(self, encoded: Sequence[int], square: int, one: int) -> int:
        """Return a value that must be 0, given a share of the constant 1; not reduced."""

    def all_checks(self, encoded: Sequence[int], square: int, one: int) -> Elements:
        """Return all values that must be 0; not reduced."""
        return [self.check(encoded, square, one)] if self.checks else []

    def truncate(self, encoded: Sequence[int]) -> Elements:
        """Return the elements to be added up; not reduced."""
        return list(encoded[: self.outputs])

    def numbers(self, encoded: Sequence[int], one: int) -> Elements:
        """Return the numbers that the check needs squared; not reduced."""
        return []

    def decode(self, sums: Sequence[int], count: int) -> list[int]:
        """Return the block's result, from sums over `count` people."""
        return list(sums)


@dataclass(frozen=True, slots=True)
class One(Block):
    """Exactly one of `options`; the answer is its place.

    Attributes
    ----------
    options : int
        At least 1.

    Examples
    --------
    >>> One(3).encode(1), One(3).sensitivity_squared
    ([0, 1, 0], 2)
    """

    options: int

    def __post_init__(self) -> None:
        require_positive("options", self.options)

    @property
    def bits(self) -> int:
        """Elements of the vector."""
        return self.options

    @property
    def outputs(self) -> int:
        """Number of options, each counted by one element."""
        return self.options

    @property
    def sensitivity_squared(self) -> int:
        """Largest squared change: two counts change by one."""
        # Neighbours change their answer: one count falls by 1 and another rises by 1.
        return 2 if self.options > 1 else 0

    def encode(self, answer: int) -> Elements:
        """Return a 1 at the answer and 0 elsewhere."""
        require_whole(answer, self.options - 1)
        return [int(place == answer) for place in range(self.options)]

    def check(self, encoded: Sequence[int], square: int, one: int) -> int:
        """Return how far the bits are from adding up to 1."""
        return sum(encoded) - one


@dataclass(frozen=True, slots=True)
class Some(Block):
    """Any of `options`, at most `most` of them where given; the answer is a flag for each.

    Attributes
    ----------
    options : int
        At least 1.
    most : int or None
        1 to `options`.

    Examples
    --------
    >>> Some(3, most=2).encode([True, False, True])
    [1, 0, 1, 1, 1]
    """

    options: int
    most: int | None = None

    def __post_init__(self) -> None:
        require_positive("options", self.options)
        if self.most is not None and not 1 <= self.most <= self.options:
            raise ParameterError(f"most is {self.most}, expected 1 to {self.options}.")

    @property
    def bits(self) -> int:
        """Elements of the vector."""
        return self.options + (self.most.bit_length() if self.most else 0)

    @property
    def outputs(self) -> int:
        """Number of options, each counted by one element."""
        return self.options

    @property
    def sensitivity_squared(self) -> int:
        """Largest squared change: every count by one; with a limit, those of two answers."""
        # Two sets differ in each option at most, and in no more than all that both may tick.
        return min(self.options, 2 * self.most) if self.most else self.options

    @property
    def checks(self) -> int:
        """Number of linear checks: one where there is a limit."""
        return 1 if self.most else 0

    def encode(self, answer: Sequence[bool]) -> Elements:
        """Return a bit for each option, then their number in bits where there is a limit."""
        require_length(answer, self.options)
        flags = [require_whole(int(flag), 1) for flag in answer]
        return flags + (bits_of(sum(flags), self.most) if self.most else [])

    def check(self, encoded: Sequence[int], square: int, one: int) -> int:
        """Return how far the options are from being as many as is said."""
        # these bits stand for at most `most`, whatever they are: so equality is the limit
        said: int = sum(map(mul, encoded[self.options :], bit_weights(self.most or 1)))
        return sum(encoded[: self.options]) - said


@dataclass(frozen=True, slots=True)
class Whole(Block):
    """A whole number from 0 to `largest`.

    Attributes
    ----------
    largest : int
        At least 1.

    Examples
    --------
    >>> Whole(10).encode(7)
    [1, 1, 1, 0]
    """

    largest: int

    def __post_init__(self) -> None:
        require_positive("largest", self.largest)

    @property
    def bits(self) -> int:
        """Elements of the vector."""
        return self.largest.bit_length()

    @property
    def outputs(self) -> int:
        """The sum alone."""
        return 1

    @property
    def sensitivity_squared(self) -> int:
        """Largest squared change: from one end of the range to the other."""
        return self.largest**2

    @property
    def unit(self) -> int:
        """Largest size of the output: the range."""
        return self.largest

    @property
    def checks(self) -> int:
        """Number of linear checks, 0: all bits stand for a number in the range."""
        return 0

    def encode(self, answer: int) -> Elements:
        """Return the number in bits."""
        return bits_of(answer, self.largest)

    def check(self, encoded: Sequence[int], square: int, one: int) -> int:
        """Return 0."""
        return 0

    def truncate(self, encoded: Sequence[int]) -> Elements:
        """Return the number that the bits stand for."""
        return [sum(map(mul, encoded, bit_weights(self.largest)))]


@dataclass(frozen=True, slots=True)
class Vector(Block):
    """Whole numbers from -largest to largest, as a ball: their squares add to at most largest**2.

    Attributes
    ----------
    length, largest : int
        At least 1.
    ball : bool
        False for a box: every number by itself.

    Examples
    --------
    >>> Vector(2, 3).outputs
    2
    """

    length: int
    largest: int
    ball: bool = True

    def __post_init__(self) -> None:
        require_positive("length", self.length)
        require_positive("largest", self.largest)

    @property
    def bits(self) -> int:
        """Elements of the vector."""
        norm = (self.largest**2).bit_length() if self.ball else 0
        return self.length * self._each + norm

    @property
    def outputs(self) -> int:
        """Number of coordinates, each summed by one element."""
        return self.length

    @property
    def sensitivity_squared(self) -> int:
        """Largest squared change: from one vector to its opposite."""
        # Two points of a ball are a diameter apart; of a cube, one in each coordinate.
        return (1 if self.ball else self.length) * (2 * self.largest) ** 2

    @property
    def largest_change_squared(self) -> int:
        """Largest squared change of one number: from one end to the other."""
        return (2 * self.largest) ** 2

    @property
    def unit(self) -> int:
        """Largest size of an output: the largest number."""
        return self.largest

    @property
    def checks(self) -> int:
        """Number of linear checks: one for a ball."""
        return int(self.ball)

    @property
    def squared(self) -> int:
        """Number of values that are squared: all of a ball."""
        return self.length if self.ball else 0

    def encode(self, answer: Sequence[int]) -> Elements:
        """Return the bits of the shifted numbers, then those of the sum of squares."""
        require_length(answer, self.length)
        width = 2 * self.largest
        bits = [bit for value in answer for bit in bits_of(value + self.largest, width)]
        squares = sum(value**2 for value in answer)
        return bits + (bits_of(squares, self.largest**2) if self.ball else [])

    def check(self, encoded: Sequence[int], square: int, one: int) -> int:
        """Return the difference between the sum of squares and the one that the bits state."""
        bits = encoded[self.length * self._each :]
        said: int = sum(map(mul, bits, bit_weights(self.largest**2)))
        # the bits stand for at most largest**2, whatever they are: so equality is the ball
        return square - said

    def truncate(self, encoded: Sequence[int]) -> Elements:
        """Return the numbers, still shifted to start at 0."""
        each, weights = self._each, bit_weights(2 * self.largest)
        return [
            sum(map(mul, encoded[start : start + each], weights))
            for start in range(0, self.length * each, each)
        ]

    def numbers(self, encoded: Sequence[int], one: int) -> Elements:
        """Return the numbers of a ball."""
        # `one` is the party's share of 1, so that the shares of the shift add up to the shift
        return [value - self.largest * one for value in self.truncate(encoded)]

    def decode(self, sums: Sequence[int], count: int) -> list[int]:
        """Return the sums of the numbers, no longer shifted."""
        return [value - count * self.largest for value in sums]

    @property
    def _each(self) -> int:
        return (2 * self.largest).bit_length()


class SurveyCircuit(BitCircuit[Sequence[Any], list[list[int]]]):
    """All answers of a person in one vector of bits.

    Parameters
    ----------
    blocks : sequence of Block
        One for each question.
    chunk : int, optional
        Bits that one call of the gadget checks; by default what makes the shortest proof.

    Raises
    ------
    ParameterError
        The soundness error would exceed 2**-120: beyond about 8,000 bits.

    Examples
    --------
    >>> circuit = SurveyCircuit([One(5)] * 10)
    >>> circuit.measurement_length, circuit.chunk, circuit.calls, circuit.proof_length
    (50, 8, (7,), 31)
    """

    def __init__(self, blocks: Sequence[Block], *, chunk: int | None = None) -> None:
        if not blocks:
            raise ParameterError("a survey without blocks adds up nothing; give one a question.")
        self.blocks = tuple(blocks)
        # The bits of each block stand behind those of the blocks before.
        ends = list(accumulate((block.bits for block in self.blocks), initial=0))
        self._places = list(zip(self.blocks, starmap(slice, pairwise(ends)), strict=True))
        bits = ends[-1]
        squared = [block.squared for block in self.blocks if block.squared]
        super().__init__(
            FIELD_128,
            bits=bits,
            output_length=sum(block.outputs for block in self.blocks),
            chunk=best_chunk(bits, squared) if chunk is None else chunk,
            checks=sum(block.checks for block in self.blocks),
            squared=squared,
        )
        if self.soundness_error() > LARGEST_ERROR:
            raise ParameterError(
                f"{bits} bits in chunks of {self.chunk} can be forged more often than once in "
                "2**120; ask fewer questions or use wider bins, and leave chunk out."
            )

    def encode(self, measurement: Sequence[Any]) -> Elements:
        """Return the bits of all blocks."""
        require_length(measurement, len(self.blocks))
        pairs = zip(self.blocks, measurement, strict=True)
        return [bit for block, answer in pairs for bit in block.encode(answer)]

    def squared(self, encoded: Sequence[int], shares: int) -> list[Elements]:
        """Return the numbers of each ball."""
        one, modulus = self._one(shares), self.field.modulus
        return [
            [value % modulus for value in block.numbers(part, one)]
            for block, part in self._parts(encoded)
            if block.squared
        ]

    def checks(self, encoded: Sequence[int], squares: Sequence[int], shares: int) -> Elements:
        """Return the linear checks, in the order of the blocks."""
        one, waiting = self._one(shares), iter(squares)
        return [
            value % self.field.modulus
            for block, part in self._parts(encoded)
            for value in block.all_checks(part, next(waiting) if block.squared else 0, one)
        ]

    def truncate(self, encoded: Sequence[int]) -> Elements:
        """Return the elements to be added up, block by block."""
        modulus = self.field.modulus
        parts = self._parts(encoded)
        return [value % modulus for block, part in parts for value in block.truncate(part)]

    def decode(self, output: Sequence[int], count: int) -> list[list[int]]:
        """Return the sums of each block; noise may make them negative, so they are centred."""
        require_length(output, self.output_length)
        result, start = [], 0
        for block in self.blocks:
            sums = [self.field.centred(x) for x in output[start : start + block.outputs]]
            result.append(block.decode(sums, count))
            start += block.outputs
        return result

    def soundness_error(self) -> Fraction:
        """Return a bound on the probability that one ill-formed measurement is accepted.

        ``(chunk + 1) / p + 2 (P - 1) / (p - P)``: the random combination of bits and outputs, and
        the check of the gadget's polynomial at one of p - P points (Boneh et al., 2019, Theorem
        4.3). Whoever tries q measurements before sending one gains at most ``q chunk / p`` more.
        """
        # Roots of a random polynomial (Schwartz and Zippel): its degree over the field's size.
        p, wire = self.field.modulus, 1 << self.calls[0].bit_length()
        return Fraction(self.chunk + 1, p) + Fraction(2 * (wire - 1), p - wire)

    def _parts(self, encoded: Sequence[int]) -> list[tuple[Block, Sequence[int]]]:
        return [(block, encoded[place]) for block, place in self._places]


def prio3_survey(
    blocks: Sequence[Block], *, chunk: int | None = None
) -> Prio3[Sequence[Any], list[list[int]]]:
    """Return Prio3 between two parties for a survey: Field128, one proof.

    The identifier does not bind the blocks and the chunk, so they have to be in what gives
    `context` its value.

    Examples
    --------
    >>> from masquerade.aggregate import One
    >>> vdaf = prio3_survey([One(5), One(2)])
    >>> [len(share) for share in vdaf.shard([3, 1], context=b"a survey").input_shares]
    [352, 64]
    """
    return Prio3(SURVEY, SurveyCircuit(blocks, chunk=chunk))


def require_positive(name: str, value: int) -> None:
    """Raise unless a size is a whole number of at least 1."""
    if not isinstance(value, int) or value < 1:
        raise ParameterError(f"{name} is {value!r}, expected a whole number of at least 1.")
