"""Circuits of the standard that no survey uses, for its test vectors.

A survey shares with them the splitting, the prover and the bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

from masquerade.aggregate import FIELD_64, FIELD_128, Circuit, Field, Gadget, Mul, Prio3
from masquerade.aggregate.bit_circuits import BitCircuit, require_length
from masquerade.aggregate.circuit import Wires, bit_weights, bits_of, require_whole
from masquerade.aggregate.field import Elements
from masquerade.errors import ParameterError


class PolyEval(Gadget):
    """A polynomial of one input (appendix A.2).

    Parameters
    ----------
    coefficients : sequence of int
        From the constant up; the last is not 0.
    """

    arity = 1

    def __init__(self, coefficients: Sequence[int]) -> None:
        if len(coefficients) < 2 or coefficients[-1] == 0:
            raise ParameterError(
                f"coefficients are {list(coefficients)}, expected at least two, the last not 0."
            )
        self.coefficients = tuple(coefficients)
        self.degree = len(coefficients) - 1

    def evaluate(self, field: Field, inputs: Sequence[int]) -> int:
        """Return the output for these inputs."""
        value = 0
        for coefficient in reversed(self.coefficients):
            value = (value * inputs[0] + coefficient) % field.modulus
        return value


class Count(Circuit[int, int]):
    """One bit, yes or no; the result is the count of yes (section 7.4.1)."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.gadgets, self.calls = (Mul(),), (1,)
        self.measurement_length = self.output_length = self.evaluation_length = 1
        self.joint_rand_length = 0

    def encode(self, measurement: int) -> Elements:
        """Return the vector of 0 or 1."""
        return [require_whole(measurement, 1)]

    def wires(self, encoded: Sequence[int], joint: Sequence[int], shares: int) -> list[Wires]:
        """Return the measurement twice: its square is to be itself."""
        return [[[encoded[0]], [encoded[0]]]]

    def outputs(
        self, encoded: Sequence[int], called: Sequence[Sequence[int]], shares: int
    ) -> Elements:
        """Return how far the square is from the measurement."""
        return [(called[0][0] - encoded[0]) % self.field.modulus]

    def truncate(self, encoded: Sequence[int]) -> Elements:
        """Return the measurement."""
        return list(encoded)

    def decode(self, output: Sequence[int], count: int) -> int:
        """Return the count."""
        return output[0]


class Sum(Circuit[int, int]):
    """A whole number from 0 to `largest`; the result is the sum (section 7.4.2)."""

    def __init__(self, field: Field, largest: int) -> None:
        self.field, self.largest = field, largest
        self.weights = bit_weights(largest)
        bits = len(self.weights)
        self.gadgets, self.calls = (PolyEval((0, -1, 1)),), (bits,)
        self.measurement_length = self.evaluation_length = bits
        self.output_length, self.joint_rand_length = 1, 0

    def encode(self, measurement: int) -> Elements:
        """Return the bits of a number."""
        return bits_of(measurement, self.largest)

    def wires(self, encoded: Sequence[int], joint: Sequence[int], shares: int) -> list[Wires]:
        """Return the bits, each for one call of x**2 - x."""
        return [[list(encoded)]]

    def outputs(
        self, encoded: Sequence[int], called: Sequence[Sequence[int]], shares: int
    ) -> Elements:
        """Return x**2 - x of each bit."""
        return list(called[0])

    def truncate(self, encoded: Sequence[int]) -> Elements:
        """Return the number that the bits stand for."""
        return [sum(map(mul, encoded, self.weights)) % self.field.modulus]

    def decode(self, output: Sequence[int], count: int) -> int:
        """Return the sum."""
        return output[0]


class SumVec(BitCircuit[Sequence[int], list[int]]):
    """Whole numbers from 0 to `largest`; the result is the sum of each (section 7.4.3)."""

    def __init__(self, field: Field, *, length: int, largest: int, chunk: int) -> None:
        self.length, self.largest = length, largest
        self.weights = bit_weights(largest)
        super().__init__(
            field, bits=length * len(self.weights), output_length=length, chunk=chunk, checks=0
        )

    def encode(self, measurement: Sequence[int]) -> Elements:
        """Return the bits of the numbers."""
        require_length(measurement, self.length)
        return [bit for value in measurement for bit in bits_of(value, self.largest)]

    def checks(self, encoded: Sequence[int], squares: Sequence[int], shares: int) -> Elements:
        """Return no check: any bits stand for numbers in the range."""
        return []

    def truncate(self, encoded: Sequence[int]) -> Elements:
        """Return the numbers that the bits stand for."""
        bits = len(self.weights)
        return [
            sum(map(mul, encoded[start : start + bits], self.weights)) % self.field.modulus
            for start in range(0, len(encoded), bits)
        ]

    def decode(self, output: Sequence[int], count: int) -> list[int]:
        """Return the sums."""
        return list(output)


class Histogram(BitCircuit[int, list[int]]):
    """One of `length` buckets; the result is the count of each (section 7.4.4)."""

    def __init__(self, field: Field, *, length: int, chunk: int) -> None:
        super().__init__(field, bits=length, output_length=length, chunk=chunk, checks=1)

    def encode(self, measurement: int) -> Elements:
        """Return a 1 in the bucket and 0 elsewhere."""
        require_whole(measurement, self.measurement_length - 1)
        return [int(place == measurement) for place in range(self.measurement_length)]

    def checks(self, encoded: Sequence[int], squares: Sequence[int], shares: int) -> Elements:
        """Return how far the bits are from adding up to 1."""
        return [(sum(encoded) - self._one(shares)) % self.field.modulus]

    def decode(self, output: Sequence[int], count: int) -> list[int]:
        """Return the counts."""
        return list(output)


class MultihotCountVec(BitCircuit[Sequence[bool], list[int]]):
    """Any of `length` options, at most `most` of them; the result counts each (section 7.4.5)."""

    def __init__(self, field: Field, *, length: int, most: int, chunk: int) -> None:
        if not 1 <= most <= length:
            raise ParameterError(f"most is {most}, expected 1 to {length}.")
        self.most, self.weights = most, bit_weights(most)
        super().__init__(
            field, bits=length + len(self.weights), output_length=length, chunk=chunk, checks=1
        )

    def encode(self, measurement: Sequence[bool]) -> Elements:
        """Return a bit for each option, then how many they are in bits."""
        require_length(measurement, self.output_length)
        options = [require_whole(int(one), 1) for one in measurement]
        return options + bits_of(sum(options), self.most)

    def checks(self, encoded: Sequence[int], squares: Sequence[int], shares: int) -> Elements:
        """Return how far the options are from being as many as is said."""
        said = sum(map(mul, encoded[self.output_length :], self.weights))
        return [(sum(encoded[: self.output_length]) - said) % self.field.modulus]

    def decode(self, output: Sequence[int], count: int) -> list[int]:
        """Return the counts."""
        return list(output)


def prio3_count(*, shares: int = 2) -> Prio3[int, int]:
    """Return Prio3Count (section 7.4.1)."""
    return Prio3(1, Count(FIELD_64), shares=shares)


def prio3_sum(largest: int, *, shares: int = 2) -> Prio3[int, int]:
    """Return Prio3Sum of numbers from 0 to `largest` (section 7.4.2)."""
    return Prio3(2, Sum(FIELD_64, largest), shares=shares)


def prio3_sum_vec(
    *, length: int, largest: int, chunk: int, shares: int = 2
) -> Prio3[Sequence[int], list[int]]:
    """Return Prio3SumVec (section 7.4.3)."""
    circuit = SumVec(FIELD_128, length=length, largest=largest, chunk=chunk)
    return Prio3(3, circuit, shares=shares)


def prio3_sum_vec_with_multiproof(
    *, length: int, largest: int, chunk: int, shares: int = 2
) -> Prio3[Sequence[int], list[int]]:
    """Return SumVec over the smaller field with three proofs (section 9.7)."""
    circuit = SumVec(FIELD_64, length=length, largest=largest, chunk=chunk)
    return Prio3(0xFFFFFFFF, circuit, proofs=3, shares=shares)


def prio3_histogram(*, length: int, chunk: int, shares: int = 2) -> Prio3[int, list[int]]:
    """Return Prio3Histogram (section 7.4.4)."""
    return Prio3(4, Histogram(FIELD_128, length=length, chunk=chunk), shares=shares)


def prio3_multihot_count_vec(
    *, length: int, most: int, chunk: int, shares: int = 2
) -> Prio3[Sequence[bool], list[int]]:
    """Return Prio3MultihotCountVec (section 7.4.5)."""
    circuit = MultihotCountVec(FIELD_128, length=length, most=most, chunk=chunk)
    return Prio3(5, circuit, shares=shares)
