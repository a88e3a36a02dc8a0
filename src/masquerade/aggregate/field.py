"""Finite fields of prime order, with large powers of two in their multiplicative groups.

VDAF draft 20, section 6.1 ("Finite Fields"). Elements are plain Python integers from 0 to the
modulus less 1: sums of products are reduced once, which is faster than any class of elements.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import add, sub

from masquerade.errors import InvalidReport, ParameterError

Elements = list[int]


@dataclass(frozen=True, slots=True)
class Field:
    """A prime field with a subgroup of order ``2**log_order``.

    Parameters
    ----------
    name : str
    modulus : int
        Prime, just below ``2**(8 * size)``.
    size : int
        Bytes of an encoded element: 8 or 16.
    log_order : int
        Of the subgroup that 7 generates when raised to ``(modulus - 1) / 2**log_order``.

    Examples
    --------
    >>> FIELD_64.decode(FIELD_64.encode([1, 2, 3]))
    [1, 2, 3]
    """

    name: str
    modulus: int
    size: int
    log_order: int

    def __post_init__(self) -> None:
        bits = 8 * self.size
        if self.size not in (8, 16) or self.modulus.bit_length() != bits:
            raise ParameterError(
                f"a field of {self.modulus.bit_length()} bits in {self.size} bytes is not "
                "offered; use FIELD_64 or FIELD_128."
            )

    def inverse(self, value: int) -> int:
        """Return the multiplicative inverse of `value`."""
        return _inverse(value, self.modulus)

    def centred(self, value: int) -> int:
        """Return an element as an integer from -modulus / 2 to modulus / 2."""
        return value - self.modulus if value > self.modulus // 2 else value

    def add(self, left: Sequence[int], right: Sequence[int]) -> Elements:
        """Return the sums of two vectors of the same length."""
        _same_length(left, right)
        return [value % self.modulus for value in map(add, left, right)]

    def subtract(self, left: Sequence[int], right: Sequence[int]) -> Elements:
        """Return the differences of two vectors of the same length."""
        _same_length(left, right)
        return [value % self.modulus for value in map(sub, left, right)]

    def encode(self, values: Iterable[int]) -> bytes:
        """Return elements as bytes, each with its lowest byte first (section 6.1.1)."""
        size = self.size
        return b"".join([value.to_bytes(size, "little") for value in values])

    def decode(self, data: bytes) -> Elements:
        """Return the elements that bytes encode.

        Raises
        ------
        InvalidReport
            The length is no multiple of an element's, or a number is not below the modulus.
        """
        values = self.unpack(data)
        if values and max(values) >= self.modulus:
            raise InvalidReport(
                f"a number of a share is not below the modulus of {self.name}; expected elements "
                "of the field, each written in the one way there is."
            )
        return values

    def unpack(self, data: bytes) -> Elements:
        """Return the numbers that bytes encode, also those at or above the modulus."""
        count, rest = divmod(len(data), self.size)
        if rest:
            raise InvalidReport(
                f"{len(data)} bytes were sent, expected a multiple of the {self.size} bytes of an "
                f"element of {self.name}."
            )
        # Structs know no 16-byte numbers: low and high halves.
        if self.size == 8:
            return list(struct.unpack(f"<{count}Q", data))
        halves = struct.unpack(f"<{2 * count}Q", data)
        return [low | high << 64 for low, high in zip(halves[::2], halves[1::2], strict=True)]

    def root(self, order: int) -> int:
        """Return the principal root of unity of this order, a power of two (section 6.1.2)."""
        if order < 1 or order & (order - 1) or order > 1 << self.log_order:
            raise ParameterError(
                f"order is {order}, expected a power of two up to 2**{self.log_order}."
            )
        # 7 generates the multiplicative groups of both fields (section 6.1.2).
        return pow(7, (self.modulus - 1) // order, self.modulus)

    def roots(self, order: int) -> tuple[int, ...]:
        """Return all powers of the principal root of unity of this order, from the 0th."""
        return _powers(self, order)

    def transform(self, coefficients: Sequence[int], order: int) -> Elements:
        """Return the values of a polynomial at the roots of unity of this order.

        The number theoretic transform, by halves (Cooley and Tukey); ``ntt`` of section 6.1.2.

        Cost: ``order * log2(order)`` products.
        """
        padded = list(coefficients) + [0] * (order - len(coefficients))
        return _transform(padded, self.roots(order), 1, self.modulus)

    def interpolate(self, values: Sequence[int]) -> Elements:
        """Return the coefficients of the polynomial with these values at the roots of unity.

        ``inv_ntt`` of section 6.1.2: the transform with the inverse root, over the length.
        """
        order = len(values)
        nodes = self.roots(order)
        # powers of the inverse root: w**-k is w**(order - k)
        reversed_nodes = (nodes[0], *nodes[:0:-1])
        scale = self.inverse(order)
        result = _transform(list(values), reversed_nodes, 1, self.modulus)
        return [value * scale % self.modulus for value in result]

    def extend(self, values: Sequence[int], order: int) -> Elements:
        """Return values at the roots of unity of a higher order, from those at a lower one."""
        if len(values) == order:
            return list(values)
        return self.transform(self.interpolate(values), order)


def _same_length(left: Sequence[int], right: Sequence[int]) -> None:
    if len(left) != len(right):
        raise ParameterError(
            f"vectors of {len(left)} and {len(right)} elements; expected the same length."
        )


def _transform(values: Elements, roots: Sequence[int], stride: int, modulus: int) -> Elements:
    """Return the transform of `values` by every `stride`-th of the roots."""
    size = len(values)
    if size == 1:
        return values
    even = _transform(values[::2], roots, 2 * stride, modulus)
    odd = _transform(values[1::2], roots, 2 * stride, modulus)
    half = roots[: size // 2 * stride : stride]
    # Cooley and Tukey: f(w) = even(w**2) + w odd(w**2), and f(-w) with the other sign.
    turned = [root * value % modulus for root, value in zip(half, odd, strict=True)]
    return [(e + t) % modulus for e, t in zip(even, turned, strict=True)] + [
        (e - t) % modulus for e, t in zip(even, turned, strict=True)
    ]


@lru_cache(maxsize=256)
def _inverse(value: int, modulus: int) -> int:
    return pow(value, -1, modulus)


@lru_cache(maxsize=256)
def _powers(field: Field, order: int) -> tuple[int, ...]:
    powers, root = [1], field.root(order)
    for _ in range(order - 1):
        powers.append(powers[-1] * root % field.modulus)
    return tuple(powers)


#: The field of counts, with elements of 8 bytes (VDAF, section 6.1.2).
FIELD_64 = Field("Field64", 2**32 * 4294967295 + 1, 8, 32)
#: The field of the other circuits, with elements of 16 bytes.
FIELD_128 = Field("Field128", 2**66 * 4611686018427387897 + 1, 16, 66)
