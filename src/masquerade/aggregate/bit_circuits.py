"""Circuits over vectors of bits: whole numbers, one of several, some of several.

All of them check that every element is 0 or 1 in the same way (VDAF draft 20, section 7.4.3): in
chunks, each by one call of a sum of products ``r**(j+1) x_j (x_j - 1)`` with a random r that is
known only once the bits are fixed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from operator import mul

from masquerade.aggregate.circuit import (
    Circuit,
    Measurement,
    Mul,
    ParallelSum,
    Result,
    Wires,
    gadget_length,
    wire_length,
)
from masquerade.aggregate.field import Elements, Field
from masquerade.errors import ParameterError


class BitCircuit(Circuit[Measurement, Result]):
    """A circuit over a vector of `bits`, with linear checks and maybe sums of squares.

    `chunk`: bits that one call of the gadget checks. `squared`: for each sum of squares that a
    check needs, how many numbers are squared.
    """

    def __init__(
        self,
        field: Field,
        *,
        bits: int,
        output_length: int,
        chunk: int,
        checks: int,
        squared: Sequence[int] = (),
    ) -> None:
        if bits < 1 or chunk < 1:
            raise ParameterError(f"bits is {bits} and chunk {chunk}, expected at least 1.")
        self.field, self.chunk = field, chunk
        self.gadgets = (ParallelSum(Mul(), chunk),)
        self.joint_rand_length = -(-bits // chunk)
        self._square_calls = [-(-numbers // chunk) for numbers in squared]
        self.calls = (self.joint_rand_length + sum(self._square_calls),)
        self.measurement_length, self.output_length = bits, output_length
        self.evaluation_length = 1 + checks

    @abstractmethod
    def checks(self, encoded: Sequence[int], squares: Sequence[int], shares: int) -> Elements:
        """Return further values that must be 0: affine in the bits and in the sums of squares."""

    def squared(self, encoded: Sequence[int], shares: int) -> list[Elements]:
        """Return the numbers to be squared and summed, one list for each sum."""
        return []

    def wires(self, encoded: Sequence[int], joint: Sequence[int], shares: int) -> list[Wires]:
        """Return ``r**(j+1) x_j`` and ``x_j - 1`` of each bit, then numbers to be squared twice."""
        modulus, one = self.field.modulus, self._one(shares)
        result: Wires = []
        # powers[call] is r**(j + 1) for the j-th place of a chunk; each call has an r of its own
        powers = list(joint)
        for column in self._columns(encoded):
            result.append([r * x % modulus for r, x in zip(powers, column, strict=True)])
            result.append([(x - one) % modulus for x in column])
            powers = [r * base % modulus for r, base in zip(powers, joint, strict=True)]
        for place, column in enumerate(self._square_columns(encoded, shares)):
            result[2 * place] += column
            result[2 * place + 1] += column
        return [result]

    def wires_at(
        self,
        encoded: Sequence[int],
        joint: Sequence[int],
        shares: int,
        weights: Sequence[Sequence[int]],
    ) -> list[Elements]:
        """Return the weighted sums of `wires`, without a product for each bit and power."""
        modulus, one = self.field.modulus, self._one(shares)
        ranges = weights[0][: self.joint_rand_length]
        # the sum over calls of weight * (x - one), with its constant part taken out of the loop
        constant = one * sum(ranges)
        result: Elements = []
        powers = [w * r % modulus for w, r in zip(ranges, joint, strict=True)]
        for column in self._columns(encoded):
            result.append(sum(map(mul, powers, column)) % modulus)
            result.append((sum(map(mul, ranges, column)) - constant) % modulus)
            powers = [p * r % modulus for p, r in zip(powers, joint, strict=True)]
        if self._square_calls:
            squares = weights[0][self.joint_rand_length :]
            for place, column in enumerate(self._square_columns(encoded, shares)):
                value = sum(map(mul, squares, column))
                result[2 * place] = (result[2 * place] + value) % modulus
                result[2 * place + 1] = (result[2 * place + 1] + value) % modulus
        return [result]

    def outputs(
        self, encoded: Sequence[int], called: Sequence[Sequence[int]], shares: int
    ) -> Elements:
        """Return the sum of the checks of bits, then the linear checks."""
        outputs, place = called[0], self.joint_rand_length
        sums = []
        for calls in self._square_calls:
            sums.append(sum(outputs[place : place + calls]) % self.field.modulus)
            place += calls
        bits = sum(outputs[: self.joint_rand_length]) % self.field.modulus
        return [bits, *self.checks(encoded, sums, shares)]

    def truncate(self, encoded: Sequence[int]) -> Elements:
        """Return the first elements."""
        return list(encoded[: self.output_length])

    def _one(self, shares: int) -> int:
        # one party's share of the constant 1: the shares of all parties add up to it
        return self.field.inverse(shares)

    def _columns(self, encoded: Sequence[int]) -> list[Elements]:
        """Return for each place in a chunk the bits there, by call; 0 beyond the end."""
        padded = list(encoded) + [0] * (-len(encoded) % self.chunk)
        return [padded[place :: self.chunk] for place in range(self.chunk)]

    def _square_columns(self, encoded: Sequence[int], shares: int) -> list[Elements]:
        columns: list[Elements] = [[] for _ in range(self.chunk)]
        if self._square_calls:
            for numbers in self.squared(encoded, shares):
                for place, column in enumerate(self._columns(numbers)):
                    columns[place] += column
        return columns


def best_chunk(bits: int, squared: Sequence[int] = ()) -> int:
    """Return the chunk with the shortest proof, then the shortest polynomials.

    Parameters
    ----------
    bits : int
        Number of bits to check.
    squared : sequence of int
        For each sum of squares, how many numbers are squared.

    Examples
    --------
    >>> best_chunk(50), best_chunk(60), best_chunk(210)
    (8, 9, 14)
    """

    def size(chunk: int) -> tuple[int, int, int]:
        # every sum of squares begins with a call of its own, so each is rounded up by itself
        calls = sum(-(-numbers // chunk) for numbers in (bits, *squared))
        return 2 * chunk + gadget_length(2, calls), wire_length(calls), chunk

    return min(range(1, bits + 1), key=size)


def require_length(values: Sequence[object], length: int) -> None:
    """Refuse a vector of another length."""
    if len(values) != length:
        raise ParameterError(f"a measurement has {len(values)} parts, expected {length}.")
