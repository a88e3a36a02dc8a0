"""Forged responses, by the hundred and by the hundred thousand: none is ever added up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.aggregate.test_prio3 import CONTEXT, check, seeds

from masquerade.aggregate import (
    FIELD_128,
    One,
    Prio3,
    SimulatedSplitReport,
    Some,
    SurveyCircuit,
    Whole,
    prio3_survey,
)
from masquerade.errors import InvalidReport

BLOCKS = (One(5), Some(4, 2), Whole(10))
VALID: list[Any] = [2, [True, False, True, False], 7]
P = FIELD_128.modulus
ELEMENT = 16  # bytes


class Forged(SurveyCircuit):
    """The circuit of a device that encodes arbitrary values."""

    def __init__(self, vector: list[int]) -> None:
        super().__init__(BLOCKS)
        self.vector = vector

    def encode(self, measurement: Any) -> list[int]:
        """Return the forged vector."""
        return self.vector


def with_element(share: bytes, place: int, change: int) -> bytes:
    """Return a leader's share one element of which is greater by `change`."""
    start = ELEMENT * place
    value = (int.from_bytes(share[start : start + ELEMENT], "little") + change) % P
    return share[:start] + value.to_bytes(ELEMENT, "little") + share[start + ELEMENT :]


def forged(kind: str, rng: np.random.Generator) -> SimulatedSplitReport:
    """Return a report that no honest device makes, with the best proof that there is of it."""
    honest = prio3_survey(BLOCKS)
    circuit = SurveyCircuit(BLOCKS)
    vector = list(circuit.encode(VALID))
    place = int(rng.integers(len(vector)))
    if kind == "two ones":
        vector[(2 + int(rng.integers(1, 5))) % 5] = 1
    elif kind == "none":
        vector[2] = 0
    elif kind == "2 and -1":
        other = (2 + int(rng.integers(1, 5))) % 5
        vector[2], vector[other] = 2, P - 1  # adds up to 1
    elif kind == "too many":
        vector[5:9] = [1, 1, 1, int(rng.integers(2))]
    elif kind in ("2", "p - 1"):
        vector[place] = 2 if kind == "2" else P - 1
    elif kind == "any":
        vector[place] = int.from_bytes(rng.bytes(15)) + 2
    liar: Prio3[Any, Any] = Prio3(honest.algorithm, Forged(vector))
    report = liar.simulate(None, context=CONTEXT, seeds=seeds(rng, liar))
    leader, helper = report.input_shares
    if kind == "proof":
        elements = (len(leader) - 32) // ELEMENT  # behind them: the blind
        at = int(rng.integers(len(vector), elements))
        leader = with_element(leader, at, int.from_bytes(rng.bytes(15)) + 1)
    elif kind == "share":
        leader = with_element(leader, place, 1 if rng.integers(2) else P - 1)
    return type(report)(report.nonce, report.public_share, (leader, helper))


KINDS = ("two ones", "none", "2 and -1", "too many", "2", "p - 1", "any", "proof", "share")


@pytest.mark.parametrize(
    "count",
    [450, pytest.param(100_000, marks=[pytest.mark.exhaustive, pytest.mark.slow])],
)
def test_no_forged_response_is_added_up(count: int) -> None:
    """Two ones, none, 2, -1, too many, a wrong proof, a share changed by one: all are refused.

    n = 450 in nine kinds, 100,000 where everything is run. False alarm below 2**-100: one would
    have to be accepted by chance.
    """
    rng, honest = np.random.default_rng(16), prio3_survey(BLOCKS)
    refused = dict.fromkeys(KINDS, 0)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        with pytest.raises(InvalidReport, match="does not hold"):
            check(honest, forged(kind, rng))
        refused[kind] += 1
    assert sum(refused.values()) == count
    assert check(honest, honest.shard(VALID, context=CONTEXT))
