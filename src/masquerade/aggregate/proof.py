"""Fully linear proofs of well-formed measurements, checked by parties with shares of them.

VDAF draft 20, sections 7.3.3 to 7.3.5. The draft's reference computes with polynomials; here every
polynomial is only ever evaluated at one point, from its values, so each check is a sum of products
with weights that depend on the point alone (Lagrange's formula), reduced once. The bytes are the
same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from operator import mul
from typing import Any

from masquerade.aggregate.circuit import Circuit, gadget_length, next_power_of_two, wire_length
from masquerade.aggregate.field import Elements, Field
from masquerade.errors import InvalidReport


def prove(
    circuit: Circuit[Any, Any],
    encoded: Sequence[int],
    prove_rand: Sequence[int],
    joint: Sequence[int],
) -> Elements:
    """Return the proof of an encoded measurement (section 7.3.3), by the person's device.

    `encoded`: whole, not a share. `prove_rand`: one for each input of each gadget; they hide the
    measurement from who checks.
    """
    field, proof = circuit.field, []
    rest = list(prove_rand)
    for gadget, calls, wires in zip(
        circuit.gadgets, circuit.calls, circuit.wires(encoded, joint, 1), strict=True
    ):
        shape = _shape(field, calls, gadget.degree)
        seeds, rest = rest[: gadget.arity], rest[gadget.arity :]
        # An input's polynomial: a random value, which hides the rest, the calls, and zeros.
        padding = [0] * (shape.wire - 1 - calls)
        extended = [
            field.extend([seed, *wire, *padding], shape.order)
            for seed, wire in zip(seeds, wires, strict=True)
        ]
        proof += seeds
        # The gadget of polynomials is the polynomial of the gadget's values.
        columns = list(zip(*extended, strict=True))[: shape.gadget]
        proof += [gadget.evaluate(field, column) for column in columns]
    return proof


def query(
    circuit: Circuit[Any, Any],
    encoded: Sequence[int],
    proof: Sequence[int],
    query_rand: Sequence[int],
    joint: Sequence[int],
    shares: int,
) -> Elements:
    """Return one party's share of the values that decide on a proof (section 7.3.4).

    `query_rand` comes from the verification key; whoever proves does not know it. Raises
    `InvalidReport` where a point of the check is a root of unity, which would show an input.
    """
    field, modulus = circuit.field, circuit.field.modulus
    many = circuit.evaluation_length > 1
    points = query_rand[circuit.evaluation_length if many else 0 :]
    called, weights, tests, place = [], [], [], 0
    for gadget, calls, point in zip(circuit.gadgets, circuit.calls, points, strict=True):
        shape = _shape(field, calls, gadget.degree)
        seeds = proof[place : place + gadget.arity]
        values = proof[place + gadget.arity : place + gadget.arity + shape.gadget]
        place += gadget.arity + shape.gadget
        at_wires = _wire_weights(field, shape, point)
        called.append(shape.outputs(values, modulus))
        weights.append(at_wires[1 : calls + 1])
        gadget_check = sum(map(mul, _gadget_weights(field, shape, point), values)) % modulus
        tests.append((seeds, at_wires[0], gadget_check))
    outputs = circuit.outputs(encoded, called, shares)
    # Section 7.3.4: many outputs become one by a random combination, 0 for certain only if all are.
    reduced = sum(map(mul, query_rand, outputs)) % modulus if many else outputs[0]
    verifier = [reduced]
    sums = circuit.wires_at(encoded, joint, shares, weights)
    for (seeds, first, gadget_check), at_point in zip(tests, sums, strict=True):
        verifier += [
            (seed * first + value) % modulus for seed, value in zip(seeds, at_point, strict=True)
        ]
        verifier.append(gadget_check)
    return verifier


def decide(circuit: Circuit[Any, Any], verifier: Sequence[int]) -> bool:
    """Return whether the sum of all parties' shares says that a proof holds (section 7.3.5)."""
    # The circuit's outputs, combined at random: 0 where the measurement is well-formed.
    if verifier[0] != 0:
        return False
    place = 1
    for gadget in circuit.gadgets:
        inputs, output = verifier[place : place + gadget.arity], verifier[place + gadget.arity]
        # Schwartz and Zippel: two different polynomials agree at a random point hardly ever.
        if gadget.evaluate(circuit.field, inputs) != output:
            return False
        place += gadget.arity + 1
    return True


@dataclass(frozen=True, slots=True)
class _Shape:
    """Nodes and weights of a gadget's polynomials, the same for all values."""

    # calls, wire, gadget, order: calls; values that fix an input and the output; order of the roots
    # where the latter are.
    calls: int
    wire: int
    gadget: int
    order: int
    wire_scales: tuple[int, ...]  # ``a_k / P`` over the inputs' nodes, P of them
    scales: tuple[int, ...]  # ``1 / product over m != k of (x_k - x_m)`` over the output's nodes
    # Weights that give the output of those calls that lie beyond the output's nodes.
    later: tuple[tuple[int, ...], ...]

    def outputs(self, values: Sequence[int], modulus: int) -> Elements:
        """Return the outputs of the calls: call k is at the k-th root of the inputs' order."""
        step = self.order // self.wire
        # The output's nodes contain those of the inputs, `step` apart.
        read = list(values[step : step * self.calls + 1 : step])
        return read + [sum(map(mul, row, values)) % modulus for row in self.later]


@lru_cache(maxsize=256)
def _shape(field: Field, calls: int, degree: int) -> _Shape:
    wire, gadget = wire_length(calls), gadget_length(degree, calls)
    order = next_power_of_two(gadget)
    nodes, modulus = field.roots(order), field.modulus
    # Barycentric weights of Lagrange interpolation over the first roots of unity.
    scales = []
    for k in range(gadget):
        product = 1
        for m in range(gadget):
            product = product * (nodes[k] - nodes[m]) % modulus if m != k else product
        scales.append(field.inverse(product))
    share = field.inverse(wire)
    wire_scales = tuple(share * node % modulus for node in field.roots(wire))
    shape = _Shape(calls, wire, gadget, order, wire_scales, tuple(scales), ())
    step = order // wire
    later = [
        tuple(_gadget_weights(field, shape, nodes[step * call]))
        for call in range(1, calls + 1)
        if step * call >= gadget
    ]
    return replace(shape, later=tuple(later))


def _wire_weights(field: Field, shape: _Shape, point: int) -> Elements:
    """Return weights of an input's values that give its polynomial at `point`.

    Over the roots a_k of unity of order P they are ``a_k / P * product over m != k of (t - a_m)``.
    """
    nodes, modulus = field.roots(shape.wire), field.modulus
    others, whole = _products_of_others(nodes, point, modulus)
    # The product of all differences is t**P - 1. The draft (section 7.3.4) wants a refusal at a
    # root of unity: a value of the measurement would be seen there.
    if whole == 0:
        raise InvalidReport(
            "the point of a check is a root of unity, which hardly ever happens; expected any "
            "other. Count the report as refused."
        )
    return [scale * other % modulus for scale, other in zip(shape.wire_scales, others, strict=True)]


def _gadget_weights(field: Field, shape: _Shape, point: int) -> Elements:
    """Return weights of the output's values that give its polynomial at `point`."""
    nodes, modulus = field.roots(shape.order)[: shape.gadget], field.modulus
    others, _ = _products_of_others(nodes, point, modulus)
    return [scale * other % modulus for scale, other in zip(shape.scales, others, strict=True)]


def _products_of_others(nodes: Sequence[int], point: int, modulus: int) -> tuple[Elements, int]:
    """Return for each node the product of ``point - x`` over all others, and over all."""
    differences = [point - node for node in nodes]
    before = list(accumulate(differences, lambda a, b: a * b % modulus, initial=1))
    after = list(accumulate(differences[:0:-1], lambda a, b: a * b % modulus, initial=1))
    others = [a * b % modulus for a, b in zip(before[:-1], reversed(after), strict=True)]
    return others, before[-1]
