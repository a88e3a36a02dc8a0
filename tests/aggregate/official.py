"""The standard's test vectors, and the instances of Prio3 that they are for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.aggregate.standard_circuits import (
    PolyEval,
    prio3_count,
    prio3_histogram,
    prio3_multihot_count_vec,
    prio3_sum,
    prio3_sum_vec,
    prio3_sum_vec_with_multiproof,
)

from masquerade.aggregate import FIELD_64, Circuit, Prio3

FOLDER = Path(__file__).parents[1] / "vectors" / "aggregate"
NAMES = sorted(path.stem for path in FOLDER.glob("Prio3*.json"))


class HigherDegree(Circuit[int, int]):
    """0, 1 or 2, by x**3 - 3x**2 + 2x: the vectors' only gadget of degree 3."""

    def __init__(self) -> None:
        self.field = FIELD_64
        self.gadgets, self.calls = (PolyEval((0, 2, -3, 1)),), (1,)
        self.measurement_length = self.output_length = self.evaluation_length = 1
        self.joint_rand_length = 0

    def encode(self, measurement: int) -> list[int]:
        """Return the number."""
        return [measurement]

    def wires(
        self, encoded: Sequence[int], joint: Sequence[int], shares: int
    ) -> list[list[list[int]]]:
        """Return the number."""
        return [[list(encoded)]]

    def outputs(
        self, encoded: Sequence[int], called: Sequence[Sequence[int]], shares: int
    ) -> list[int]:
        """Return the polynomial's value."""
        return list(called[0])

    def truncate(self, encoded: Sequence[int]) -> list[int]:
        """Return the number."""
        return list(encoded)

    def decode(self, output: Sequence[int], count: int) -> int:
        """Return the sum."""
        return output[0]


def read(name: str) -> dict[str, Any]:
    """Return a vector."""
    data: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return data


def instance(name: str, vector: dict[str, Any]) -> Prio3[Any, Any]:
    """Return the instance that a vector is for."""
    shares = vector["shares"]
    match name.split("_")[0]:
        case "Prio3Count":
            return prio3_count(shares=shares)
        case "Prio3Sum":
            return prio3_sum(vector["max_measurement"], shares=shares)
        case "Prio3SumVec" | "Prio3SumVecWithMultiproof" as kind:
            make = prio3_sum_vec if kind == "Prio3SumVec" else prio3_sum_vec_with_multiproof
            return make(
                length=vector["length"],
                largest=vector["max_measurement"],
                chunk=vector["chunk_length"],
                shares=shares,
            )
        case "Prio3Histogram":
            return prio3_histogram(
                length=vector["length"], chunk=vector["chunk_length"], shares=shares
            )
        case "Prio3MultihotCountVec":
            return prio3_multihot_count_vec(
                length=vector["length"],
                most=vector["max_weight"],
                chunk=vector["chunk_length"],
                shares=shares,
            )
        case "Prio3HigherDegree":
            return Prio3(0xFFFFFFFF, HigherDegree(), shares=shares)
    raise AssertionError(name)


def replay(vdaf: Prio3[Any, Any], vector: dict[str, Any]) -> list[tuple[str, bool]]:
    """Follow a vector in its order, compare everything, and return the successes.

    Each operation takes the messages of the vector as they are, so that a bad one is met at its
    step.
    """
    from masquerade.aggregate import GivenSeeds
    from masquerade.errors import InvalidReport

    key, context = bytes.fromhex(vector["verify_key"]), bytes.fromhex(vector["ctx"])
    states: dict[tuple[int, int], Any] = {}
    done = []
    for step in vector["operations"]:
        kind, party = step["operation"], step.get("aggregator_id", 0)
        index = step.get("report_index", 0)
        report = vector["reports"][index] if vector["reports"] else {}
        nonce = bytes.fromhex(report["nonce"])
        try:
            match kind:
                case "shard":
                    seeds = GivenSeeds.of_bytes(nonce, bytes.fromhex(report["rand"]))
                    split = vdaf.simulate(report["measurement"], context=context, seeds=seeds)
                    assert split.public_share.hex() == report["public_share"]
                    assert [s.hex() for s in split.input_shares] == report["input_shares"]
                case "verify_init":
                    states[index, party], share = vdaf.verify_init(
                        key,
                        context,
                        party,
                        nonce,
                        bytes.fromhex(report["public_share"]),
                        bytes.fromhex(report["input_shares"][party]),
                    )
                    assert share.hex() == report["verifier_shares"][0][party]
                case "verifier_shares_to_message":
                    shares = [bytes.fromhex(s) for s in report["verifier_shares"][0]]
                    message = vdaf.verifier_message(context, shares)
                    assert message.hex() == report["verifier_messages"][0]
                case "verify_next":
                    message = bytes.fromhex(report["verifier_messages"][0])
                    output = vdaf.verify_next(states[index, party], message)
                    assert vdaf.encode_aggregate(output).hex() == report["out_shares"][party]
                case "aggregate":
                    total = vdaf.aggregate(
                        vdaf.decode_aggregate(bytes.fromhex(one["out_shares"][party]))
                        for one in vector["reports"]
                    )
                    assert vdaf.encode_aggregate(total).hex() == vector["agg_shares"][party]
                case "unshard":
                    sums = [vdaf.decode_aggregate(bytes.fromhex(s)) for s in vector["agg_shares"]]
                    result = vdaf.unshard(sums, count=len(vector["reports"]))
                    assert result == vector["agg_result"]
        except InvalidReport:
            done.append((kind, False))
        else:
            done.append((kind, True))
    return done
