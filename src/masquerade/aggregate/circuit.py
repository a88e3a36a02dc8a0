"""Validity circuits: the conditions of a well-formed measurement, in sums and few products.

VDAF draft 20, section 7.3.2. A circuit here says two things: the inputs ("wires") of every call of
its gadgets, and its outputs given the gadgets' outputs. Both are affine in the measurement, so that
each party computes them on its share; a measurement is well-formed where all outputs are 0.
Gadgets (appendix A) are the only places where a circuit multiplies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import mul
from typing import Generic, TypeVar

from masquerade.aggregate.field import Elements, Field
from masquerade.errors import ParameterError


class Gadget(ABC):
    """An arithmetic function of several inputs.

    Attributes
    ----------
    arity : int
        Number of inputs.
    degree : int
        Of the polynomial that computes it.

    Examples
    --------
    >>> from masquerade.aggregate import FIELD_64, Mul
    >>> Mul().evaluate(FIELD_64, [3, 5])
    15
    """

    arity: int
    degree: int

    @abstractmethod
    def evaluate(self, field: Field, inputs: Sequence[int]) -> int:
        """Return the output for these inputs."""


class Mul(Gadget):
    """The product of two inputs (appendix A.1).

    Examples
    --------
    >>> from masquerade.aggregate import FIELD_64
    >>> Mul().evaluate(FIELD_64, [3, 5])
    15
    """

    arity = 2
    degree = 2

    def evaluate(self, field: Field, inputs: Sequence[int]) -> int:
        """Return the output for these inputs."""
        return inputs[0] * inputs[1] % field.modulus


class ParallelSum(Gadget):
    """The sum of one gadget's outputs for several groups of inputs (appendix A.3).

    Parameters
    ----------
    inner : Gadget
    count : int
        Number of groups.

    Examples
    --------
    >>> from masquerade.aggregate import FIELD_64, Mul
    >>> ParallelSum(Mul(), 2).evaluate(FIELD_64, [3, 5, 1, 4])
    19
    """

    def __init__(self, inner: Gadget, count: int) -> None:
        if count < 1:
            raise ParameterError(f"count is {count}, expected at least 1.")
        self.inner, self.count = inner, count
        self.arity, self.degree = inner.arity * count, inner.degree

    def evaluate(self, field: Field, inputs: Sequence[int]) -> int:
        """Return the output for these inputs."""
        if isinstance(self.inner, Mul):  # one reduction for all products
            total: int = sum(map(mul, inputs[::2], inputs[1::2]))
            return total % field.modulus
        size = self.inner.arity
        groups = (inputs[start : start + size] for start in range(0, self.arity, size))
        return sum(self.inner.evaluate(field, group) for group in groups) % field.modulus


Measurement = TypeVar("Measurement")
Result = TypeVar("Result")
#: Inputs of the calls of one gadget: ``wires[input][call]``.
Wires = list[Elements]


def next_power_of_two(number: int) -> int:
    """Return the smallest power of two that is at least `number`."""
    return 1 << (number - 1).bit_length()


class Circuit(ABC, Generic[Measurement, Result]):
    """A validity circuit and its encoding.

    Attributes
    ----------
    gadgets, calls : tuple
        The gadgets, and how often each is called.
    measurement_length, output_length : int
        Elements of an encoded measurement, and of what is added up.
    joint_rand_length : int
        Random elements that the outputs depend on, known to all after the measurement is fixed.
    evaluation_length : int
        Number of outputs.

    Examples
    --------
    >>> from masquerade.aggregate import One, prio3_survey
    >>> isinstance(prio3_survey([One(3)]).circuit, Circuit)
    True
    """

    field: Field
    gadgets: tuple[Gadget, ...]
    calls: tuple[int, ...]
    measurement_length: int
    output_length: int
    joint_rand_length: int
    evaluation_length: int

    @abstractmethod
    def encode(self, measurement: Measurement) -> Elements:
        """Return the vector of a measurement; refuse one that is not well-formed."""

    @abstractmethod
    def wires(self, encoded: Sequence[int], joint: Sequence[int], shares: int) -> list[Wires]:
        """Return the inputs of every call of every gadget, for one of `shares` shares."""

    @abstractmethod
    def outputs(
        self, encoded: Sequence[int], called: Sequence[Sequence[int]], shares: int
    ) -> Elements:
        """Return the circuit's outputs, given the outputs ``called[gadget][call]``."""

    @abstractmethod
    def truncate(self, encoded: Sequence[int]) -> Elements:
        """Return the elements to be added up, from an encoded measurement or a share of one."""

    @abstractmethod
    def decode(self, output: Sequence[int], count: int) -> Result:
        """Return the result, from the sum over `count` measurements."""

    def wires_at(
        self,
        encoded: Sequence[int],
        joint: Sequence[int],
        shares: int,
        weights: Sequence[Sequence[int]],
    ) -> list[Elements]:
        """Return for each gadget the weighted sum over its calls of each input.

        Parameters
        ----------
        encoded, joint, shares
            As for `wires`.
        weights : sequence
            ``weights[gadget][call]``.
        """
        modulus = self.field.modulus
        return [
            [sum(map(mul, wire, weight)) % modulus for wire in gadget]
            for gadget, weight in zip(self.wires(encoded, joint, shares), weights, strict=True)
        ]

    @property
    def prove_rand_length(self) -> int:
        """Random elements that a proof takes."""
        return sum(gadget.arity for gadget in self.gadgets)

    @property
    def query_rand_length(self) -> int:
        """Random elements that checking a proof takes."""
        return len(self.gadgets) + (self.evaluation_length if self.evaluation_length > 1 else 0)

    @property
    def proof_length(self) -> int:
        """Elements of a proof."""
        return sum(
            gadget.arity + gadget_length(gadget.degree, calls)
            for gadget, calls in zip(self.gadgets, self.calls, strict=True)
        )

    @property
    def verifier_length(self) -> int:
        """Number of elements that a party sends to check a proof."""
        return 1 + sum(gadget.arity + 1 for gadget in self.gadgets)


def wire_length(calls: int) -> int:
    """Return how many values fix the polynomial of an input: the seed and the calls, padded."""
    return next_power_of_two(1 + calls)


def gadget_length(degree: int, calls: int) -> int:
    """Return how many values fix the polynomial of a gadget's output."""
    return degree * (wire_length(calls) - 1) + 1


def bit_weights(largest: int) -> tuple[int, ...]:
    """Return weights of bits of which every subset adds up to a number from 0 to `largest`.

    Powers of two, but for the last, which is what is missing to `largest` (section 7.4.2).

    Examples
    --------
    >>> bit_weights(10)
    (1, 2, 4, 3)
    """
    if largest < 1:
        raise ParameterError(f"largest is {largest}, expected at least 1.")
    # Every number up to largest is reached, and none above it: no range check is needed.
    powers = tuple(1 << place for place in range(largest.bit_length() - 1))
    return (*powers, largest - sum(powers))


def bits_of(value: int, largest: int) -> Elements:
    """Return bits that, by `bit_weights`, stand for `value` (section 7.4.2)."""
    require_whole(value, largest)
    weights = bit_weights(largest)
    full = (1 << (len(weights) - 1)) - 1
    # the last weight is used only where the powers of two are not enough
    last = int(value > full)
    rest = value - last * weights[-1]
    return [*(rest >> place & 1 for place in range(len(weights) - 1)), last]


def require_whole(value: int, largest: int) -> int:
    """Return a whole number from 0 to `largest`; refuse everything else."""
    if not isinstance(value, int) or not 0 <= value <= largest:
        raise ParameterError(f"a measurement is {value!r}, expected a whole number 0 to {largest}.")
    return int(value)
