"""Gadgets: the only places where a validity circuit multiplies (draft 20, appendix A)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import mul

from masquerade.aggregate.field import Field
from masquerade.errors import ParameterError


class Gadget(ABC):
    """An arithmetic function of several inputs.

    Attributes
    ----------
    arity : int
        Number of inputs.
    degree : int
        Of the polynomial that computes it.
    """

    arity: int
    degree: int

    @abstractmethod
    def evaluate(self, field: Field, inputs: Sequence[int]) -> int:
        """Return the output for these inputs."""


class Mul(Gadget):
    """The product of two inputs (appendix A.1)."""

    arity = 2
    degree = 2

    def evaluate(self, field: Field, inputs: Sequence[int]) -> int:
        """Return the output for these inputs."""
        return inputs[0] * inputs[1] % field.modulus


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


class ParallelSum(Gadget):
    """The sum of one gadget's outputs for several groups of inputs (appendix A.3).

    Parameters
    ----------
    inner : Gadget
    count : int
        Number of groups.
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
