"""Reports of dishonest devices, with other parts than the circuit makes."""

from __future__ import annotations

import dataclasses
import os
from types import SimpleNamespace
from typing import Any

import pytest
from tests.server.parties.pairs import Pair
from tests.server.parties.test_hostile_parties import HONEST, Liar, _split

from masquerade.aggregate.dap_messages import Report
from masquerade.aggregate.prio3 import SplitReport
from masquerade.aggregate.proof import prove
from masquerade.errors import InvalidReport
from masquerade.surveys import SeveralOf
from masquerade.surveys.split_task import SplitTask


def sealed_parts(split: SplitTask, **parts: Any) -> Report:
    """Return a report of honest answers with other parts, sealed as a device would."""
    circuit: Any = Liar(split.task.vdaf.circuit)
    liar = dataclasses.replace(split.task.vdaf, circuit=circuit)
    shares = liar.shard(HONEST, context=split.task.context)
    changed = {name: change(getattr(shares, name)) for name, change in parts.items()}
    return split.task.seal(
        dataclasses.replace(shares, **changed),
        leader=split.terms.leader,
        helper=split.terms.helper,
    )


def test_a_number_beyond_the_field_is_refused_when_it_is_added_up(sqlite_pair: Pair) -> None:
    """Its form is right, so it is accepted; the one check of its nonce refuses and counts it."""
    record = sqlite_pair.open(rho="1.4")
    sqlite_pair.crowd(record, 9)
    split = _split(sqlite_pair, record)
    report = sealed_parts(split, input_shares=lambda all_: (b"\xff" * len(all_[0]), all_[1]))
    sqlite_pair.send(record, {"lunch": "soup", "mood": None}, change=lambda _: report)
    sqlite_pair.close(record)
    assert sqlite_pair.leader.aggregation.run() == 1
    result = sqlite_pair.result(record)
    assert (result["responses"], result["refused"]) == (9, 1)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("public share", {"public_share": lambda share: share[:-1]}),
        ("leader's share", {"input_shares": lambda both: (both[0] + b"\0", both[1])}),
        ("helper's share", {"input_shares": lambda both: (both[0], both[1][:-1])}),
    ],
)
def test_parts_of_another_length_are_refused_when_they_come(
    sqlite_pair: Pair, part: str, change: dict[str, Any]
) -> None:
    """Also the helper's, which the leader cannot open: the message names the part and its bytes."""
    record = sqlite_pair.open()
    report = sealed_parts(_split(sqlite_pair, record), **change)
    with pytest.raises(InvalidReport, match=f"{part} has .* bytes, expected"):
        sqlite_pair.send(record, {"lunch": "soup", "mood": None}, change=lambda _: report)


def test_a_key_exchange_of_another_length_is_refused_when_it_comes(sqlite_pair: Pair) -> None:
    """A few hundred such reports would make a job that the helper refuses as a whole."""
    record = sqlite_pair.open()

    def longer(report: Report) -> Report:
        sealed = report.helper_encrypted_input_share
        long = dataclasses.replace(sealed, enc=sealed.enc + bytes(60_000))
        return dataclasses.replace(report, helper_encrypted_input_share=long)

    with pytest.raises(InvalidReport, match="key exchange has 60065 bytes, expected 65"):
        sqlite_pair.send(record, {"lunch": "soup", "mood": None}, change=longer)


def two_faced(split: SplitTask, answer: Any) -> Report:
    """Return a report that names one part of the helper's randomness and is proven with another.

    With only ones in it the check of bits is 0 whatever the randomness, so that a proof over the
    wires of both parties holds: the helper's check does, and the leader's end does not.
    """
    vdaf, context = split.task.vdaf, split.task.context
    circuit, field = vdaf.circuit, vdaf.circuit.field
    encoded = circuit.encode(answer)
    assert all(encoded)
    nonce, wrong = os.urandom(16), os.urandom(32)
    seed, blind, own_blind = (os.urandom(32) for _ in range(3))
    theirs = vdaf._helper_measurement(context, 1, seed)
    mine = field.subtract(encoded, theirs)
    helper_part = vdaf._joint_part(context, 1, blind, theirs, nonce)
    leader_part = vdaf._joint_part(context, 0, own_blind, mine, nonce)
    wires = [
        circuit.wires(
            share,
            vdaf._joint_randomness(context, vdaf._joint_seed(context, [leader_part, part])),
            2,
        )
        for share, part in ((mine, wrong), (theirs, helper_part))
    ]
    mixed = [
        [field.add(one, other) for one, other in zip(*rows, strict=True)]
        for rows in zip(*wires, strict=True)
    ]
    both: Any = SimpleNamespace(
        field=field, gadgets=circuit.gadgets, calls=circuit.calls, wires=lambda *_: mixed
    )
    randomness = vdaf._expand(os.urandom(32), 5, context, b"\1", circuit.prove_rand_length)
    proof = field.subtract(
        prove(both, encoded, randomness, []), vdaf._helper_proofs(context, 1, seed)
    )
    own_share = field.encode(mine) + field.encode(proof) + own_blind
    report = SplitReport(nonce, leader_part + wrong, (own_share, seed + blind))
    return split.task.seal(report, leader=split.terms.leader, helper=split.terms.helper)


def test_a_report_that_the_parties_would_end_differently_spoils_no_survey(
    sqlite_pair: Pair,
) -> None:
    """The helper refuses it, both leave it out, and the sums of the others are shown."""
    questions = (SeveralOf("done", "Which of these have you done?", ("lied", "stolen", "drunk")),)
    record = sqlite_pair.open(sqlite_pair.define(questions, rho="1.4"))
    for _ in range(9):
        sqlite_pair.send(record, {"done": ["lied"]})
    split = _split(sqlite_pair, record)
    forged = two_faced(split, [[True] * 3])
    sqlite_pair.send(record, {"done": ["lied"]}, change=lambda _: forged)
    sqlite_pair.close(record)
    assert sqlite_pair.leader.aggregation.run() == 1
    result = sqlite_pair.result(record)
    assert (result["responses"], result["refused"]) == (9, 1)
