"""The survey's circuit: its sizes, its soundness, and its refusals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from tests.aggregate.standard_circuits import MultihotCountVec, PolyEval, SumVec, prio3_count

from masquerade.aggregate import Block, One, ParallelSum, Prio3, Some, SurveyCircuit, Vector, Whole
from masquerade.aggregate.bit_circuits import best_chunk
from masquerade.aggregate.circuit import bit_weights, bits_of
from masquerade.aggregate.field import FIELD_64, FIELD_128, Field
from masquerade.errors import ParameterError


@pytest.mark.parametrize(
    ("blocks", "length", "chunk", "calls", "proof", "share", "bits"),
    [
        ([One(5)] * 10, 50, 8, 7, 31, 1328, 123.5),
        ([One(6)] * 10, 60, 9, 7, 33, 1520, 123.4),
        ([One(7)] * 30, 210, 14, 15, 59, 4336, 122.5),
        ([One(200)], 200, 14, 15, 59, 4176, 122.5),
        ([Some(12, 3)] * 5, 70, 10, 7, 35, 1712, 123.4),
        ([Vector(10, 1 << 16)], 213, 16, 15, 63, 4448, 122.4),
    ],
)
def test_sizes_are_those_of_the_design(
    blocks: list[Block], length: int, chunk: int, calls: int, proof: int, share: int, bits: float
) -> None:
    """Lengths, chunk, proof, bytes of the leader's share and soundness are those worked out."""
    circuit = SurveyCircuit(blocks)
    assert circuit.measurement_length == length
    assert (circuit.chunk, circuit.calls, circuit.proof_length) == (chunk, (calls,), proof)
    assert 16 * (length + proof) + 32 == share
    assert circuit.verifier_length == 2 + 2 * chunk
    assert -math.log2(circuit.soundness_error()) == pytest.approx(bits, abs=0.06)


def test_no_survey_can_be_forged_more_often_than_once_in_2_to_the_120() -> None:
    """Allowed inputs keep to the bound, and inputs beyond it are refused."""
    assert SurveyCircuit([One(2)] * 3500).soundness_error() <= Fraction(1, 2**120)
    for blocks, chunk in (([One(2)] * 5000, None), ([One(2)] * 200, 1)):
        with pytest.raises(ParameterError, match="more often than once"):
            SurveyCircuit(blocks, chunk=chunk)


def test_a_survey_without_linear_checks_takes_no_combination() -> None:
    """With one output alone, nothing is combined and one random number fewer is drawn."""
    assert SurveyCircuit([Some(3), Whole(5)]).query_rand_length == 1
    assert SurveyCircuit([Some(3), One(5)]).query_rand_length == 3


@pytest.mark.parametrize("largest", [1, 2, 3, 7, 8, 10, 255, 1337])
def test_exact_bits_stand_for_every_number_of_the_range_and_no_other(largest: int) -> None:
    """Every subset of the weights adds up to a number in the range, and each is reached."""
    weights = bit_weights(largest)
    for value in range(largest + 1):
        assert sum(b * w for b, w in zip(bits_of(value, largest), weights, strict=True)) == value
    assert sum(weights) == largest
    assert min(weights) >= 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: One(0), "options is 0"),
        (lambda: Some(3, 4), "most is 4"),
        (lambda: Whole(0), "largest is 0"),
        (lambda: Vector(0, 1), "length is 0"),
        (lambda: SurveyCircuit([]), "without blocks"),
        (lambda: SurveyCircuit([One(3)], chunk=0), "chunk 0"),
        (lambda: MultihotCountVec(FIELD_64, length=2, most=3, chunk=1), "most is 3"),
        (lambda: Prio3(1, prio3_count().circuit, shares=1), "shares 1"),
        (lambda: PolyEval([1, 0]), "the last not 0"),
        (lambda: ParallelSum(PolyEval([0, 1]), 0), "count is 0"),
        (lambda: Field("small", 97, 8, 5), "7 bits in 8 bytes"),
    ],
)
def test_parameters_out_of_range_are_refused(make: Any, message: str) -> None:
    """An impossible value is an error that says the value."""
    with pytest.raises(ParameterError, match=message):
        make()


def test_the_best_chunk_makes_the_shortest_proof() -> None:
    """No chunk makes a shorter proof than the one that is chosen."""
    for bits in (1, 2, 7, 50, 64, 130):
        lengths = [
            SumVec(FIELD_128, length=bits, largest=1, chunk=chunk).proof_length
            for chunk in range(1, bits + 1)
        ]
        assert lengths[best_chunk(bits) - 1] == min(lengths)
        assert SurveyCircuit([Some(bits)]).chunk == best_chunk(bits)


def test_a_parallel_sum_of_any_gadget_adds_its_outputs() -> None:
    """The sum over groups is that of the inner gadget's outputs."""
    gadget = ParallelSum(PolyEval([1, 0, 1]), 3)
    assert (gadget.arity, gadget.degree) == (3, 2)
    assert gadget.evaluate(FIELD_64, [1, 2, 3]) == 2 + 5 + 10


def test_exact_linear_checks_are_0_for_well_formed_bits_alone() -> None:
    """All rows of bits: one option exactly, and as many as the bits of the limit say."""
    for bits in itertools.product((0, 1), repeat=3):
        assert (One(3).check(bits, 0, 1) == 0) == (sum(bits) == 1)
    some = Some(3, most=2)
    encoded = {
        tuple(some.encode(flags))
        for flags in itertools.product((False, True), repeat=3)
        if sum(flags) <= 2
    }
    passed = {b for b in itertools.product((0, 1), repeat=some.bits) if not some.check(b, 0, 1)}
    assert encoded <= passed
    assert {b[:3] for b in passed} == {b[:3] for b in encoded}
